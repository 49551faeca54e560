"""Facts that estimates of a trace share: the same answers from the cache as without it, and nothing of others."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.zatel.sample.estimate import Estimate, estimate, estimate_many, read_work
from rayplay.zatel.sample.kept import ALIGNED_BYTES, SOURCES, Kept, from_bytes, to_parts
from rayplay.zatel.sample.machine import traffic_of_sample
from rayplay.zatel.sample.report import as_json
from rayplay.zatel.sample.rows import as_source, read_rows

ELSEWHERE = ("zatel/replays", "zatel/__init__.py")  # replays, and the names of metrics: nothing of them is kept
GPU = ["sm.kernel_launch_cycles=100"]


def record(found: Estimate) -> object:
    return as_json([found], "t", "g", 1, None)


def forbid(patch: pytest.MonkeyPatch, *names: str) -> None:
    def called(*_: object, **__: object) -> None:
        raise AssertionError("must come from the cache")

    for name in names:
        patch.setattr(name, called)


def test_arrays_come_back_from_their_bytes() -> None:
    arrays = {
        "none": np.zeros(0, np.int64), "number": np.array(7), "odd": np.arange(13, dtype=np.uint16)[::2],
        "table": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False, True]), "last": np.arange(3, dtype="u1"),
        "narrow": np.array([0, (1 << 32) - 1], np.uint64), "wide": np.array([0, 1 << 32]), "signed": np.array([-1, 2]),
    }  # fmt: skip
    data = bytearray(b"".join(to_parts(arrays)))
    found = from_bytes(data)
    assert len(data) % ALIGNED_BYTES == 0
    assert list(found) == list(arrays)
    for name, values in arrays.items():
        assert (found[name].dtype, found[name].shape) == (values.dtype, values.shape)
        assert found[name].tolist() == values.tolist()
        assert found[name].flags.writeable  # compiled code is made for arrays that may be written


def test_a_later_estimate_is_the_same_and_reads_no_warp(trace: Trace, kept: dict, monkeypatch) -> None:
    gpu = load("mobile", GPU)
    first = record(estimate(trace, gpu, 0.25))
    assert len(kept) == 4  # requests, rows, traffic of all, and of the sample
    forbid(
        monkeypatch, "rayplay.zatel.sample.estimate.read_stream", "rayplay.zatel.sample.rows.read_rows",
        "rayplay.zatel.sample.estimate.traffic_of_all", "rayplay.zatel.sample.estimate.traffic_of_sample",
    )  # fmt: skip
    assert record(estimate(open_trace(trace.path), gpu, 0.25)) == first


def test_another_sample_or_gpu_shares_only_what_is_its_own(trace: Trace, kept: dict, monkeypatch) -> None:
    gpu, other = load("mobile", GPU), load("mobile", [*GPU, "l2.slices_per_controller=1", "l2.ways=32"])
    fresh = [record(estimate(trace, *case)) for case in ((gpu, 0.25, 2), (other, 0.25, 1))]
    kept.clear()
    estimate(trace, gpu, 0.25)
    assert [record(estimate(trace, *case)) for case in ((gpu, 0.25, 2), (other, 0.25, 1))] == fresh


def test_designs_that_the_caches_cannot_tell_apart_share_a_pass(trace: Trace, monkeypatch) -> None:
    work, calls = read_work(trace), []
    monkeypatch.setattr(
        "rayplay.zatel.sample.estimate.traffic_of_sample",
        lambda *arguments: calls.append(arguments[0].name) or traffic_of_sample(*arguments),
    )
    designs = [load("mobile", [*GPU, *change]) for change in ([], ["l2.latency_cycles=100"], ["dram.latency_cycles=9"])]
    estimate_many(trace, [*designs, load("mobile", [*GPU, "l1.ways=256", "l1.bytes=32768"])], 0.25, 1, work)
    assert len(calls) == 2


def test_a_changed_file_is_refused_and_a_changed_trace_read_anew(trace: Trace, tmp_path: Path, kept: dict) -> None:
    path = tmp_path / "copy.trace"
    shutil.copytree(trace.path, path)
    read_work(open_trace(path))
    file = next(path.glob("rays*.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(FormatError, match="files_intact"):
        read_work(open_trace(path))
    objects = set(kept)
    read_work(open_trace(make_trace(tmp_path / "other.trace", 3, (128, 24), 0)))
    assert len(kept) == len(objects) + 1


def test_a_trace_in_memory_or_of_one_use_keeps_nothing(trace: Trace, kept: dict) -> None:
    work = read_work(trace)
    kept.clear()
    chosen = work.cta % 2 == 0
    rows = read_rows(trace, work.held, chosen, work.stream)
    part = Trace(as_source(trace, rows, chosen), trace.layout)
    Kept(part).keep({}, "stream")
    estimate(trace, load("mobile", GPU), 0.25, 1, read_work(trace, keep=False))
    assert Kept(part).load("stream") is None
    assert not kept


def test_the_sources_of_an_object_hold_all_that_zatel_imports() -> None:
    """Modules of ``zatel`` and ``formats.edit`` that the estimator imports decide its objects."""
    root = Path(__file__).resolve().parents[3]
    seen: set[Path] = set()
    left = [*(root / "zatel" / "sample").glob("*.py"), *(root / "zatel" / "model").glob("*.py")]
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in re.findall(
            r"^from rayplay\.((?:zatel|formats\.edit)[\w.]*) import", path.read_text(), re.MULTILINE
        ):
            found = root / (name.replace(".", "/") + ".py")
            left += [found] if found.exists() else []
    deciding = [root / source for source in (*SOURCES, *ELSEWHERE)]
    assert not [path for path in seen if not any(path.is_relative_to(source) for source in deciding)]
