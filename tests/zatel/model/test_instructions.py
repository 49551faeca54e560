"""Launches without rays: their stream against a slow twin, their limit of all CTAs, their commands, refusals."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_tables
from rayplay.replay.gpu.description import load
from rayplay.zatel.__main__ import parser
from rayplay.zatel.changes.paired import change_intervals
from rayplay.zatel.model.accesses import LOCAL_LINES
from rayplay.zatel.model.instructions import SharedLines
from rayplay.zatel.model.schedule import Machine, Phases, schedule
from rayplay.zatel.model.sizes import read_sizes
from rayplay.zatel.model.traffic import read_stream
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.sample.estimate import estimate, estimate_many, read_work
from rayplay.zatel.sample.forecast import population
from rayplay.zatel.sample.machine import check_inputs, machine_for
from rayplay.zatel.sample.model_error import alike, read_table
from rayplay.zatel.sample.rows import as_source, read_rows
from rayplay.zatel.sample.whole import is_small, replay_whole

GPU = ["sm.kernel_launch_cycles=100"]


def write(path: Path, ctas: int, *extra: str) -> Trace:
    """A random launch without rays, of CTAs of two warps, with these tables beyond the ones that estimates allow."""
    tables = make_tables(3, None, ctas)
    if "fills" not in extra:
        tables.pop("fills")
    if "cooperative" in extra:
        tables["cooperative"] = {"kernel_id": np.zeros(1, np.uint32)}
    return written(path, tables)


def written(path: Path, tables: dict[str, dict[str, object]]) -> Trace:
    """A trace of these tables."""
    with TraceWriter(path, {"command": "test"}, None) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    return open_trace(path)


@pytest.fixture(scope="module")
def compute(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return write(tmp_path_factory.mktemp("compute") / "some.trace", 40)


def test_a_request_comes_after_the_instructions_before_its_access(compute: Trace) -> None:
    stream, visits, accesses = read_stream(compute), compute.read("visits"), compute.read("accesses")
    blocks, owner = compute.read("blocks"), np.repeat(np.arange(compute.rows("warps")), read_stream(compute).requests)
    first: dict[int, int] = {}
    for warp in range(compute.rows("warps")):
        mine = visits["block_id"][visits["warp_id"] == warp]
        before = np.concatenate([[0], np.cumsum(blocks["instruction_count"][mine])])
        assert stream.steps[warp] == stream.issued[warp] == before[-1]
        expected = set()
        for row in np.flatnonzero(accesses["warp_id"] == warp):
            visit, number = int(accesses["visit"][row]), int(accesses["instruction_id"][row])
            begin, end = accesses["address_offset"][row : row + 2].astype(int)
            for address in accesses["address"][begin:end].tolist():
                moment = int(before[visit]) + number - int(blocks["first_instruction"][mine[visit]])
                expected.add((moment, address >> 7))
        known = stream.line[owner == warp] < LOCAL_LINES
        found = zip(stream.step[owner == warp][known].tolist(), stream.line[owner == warp][known].tolist(), strict=True)
        found = list(found)
        assert set(found) <= expected
        for _, line in found:
            first.setdefault(line, warp)
        assert stream.records[warp] == (accesses["warp_id"] == warp).sum()
    assert stream.shared.tolist() == sorted(first)
    assert stream.first.tolist() == [first[line] for line in sorted(first)]
    sizes = read_sizes(compute)
    for name in ("steps", "records", "issued"):
        assert getattr(sizes, name).tolist() == getattr(stream, name).tolist()


def test_lines_of_many_batches_are_sorted_a_few_times(compute: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, merge, merges = read_stream(compute), SharedLines.merged, list[list[int]]()

    def counted(lines: SharedLines) -> tuple[np.ndarray, np.ndarray]:
        merges.append([len(line) for line, _ in lines._pieces])
        return merge(lines)

    monkeypatch.setattr(SharedLines, "merged", counted)
    monkeypatch.setattr("rayplay.zatel.model.traffic.WARPS_PER_BATCH", 2)
    found = read_stream(compute)
    for name in ("shared", "first", "step", "line", "issued"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    batches = sum(len(pieces) - 1 for pieces in merges)
    added = sum(sum(pieces[1:]) for pieces in merges)
    assert batches == 40
    assert len(merges) < batches / 2
    assert sum(map(sum, merges)) <= 2 * added + len(whole.shared)


def test_lines_that_other_ctas_ask_for_first_are_in_the_l2(compute: Trace) -> None:
    stream, chosen = read_stream(compute), np.repeat(np.arange(40) % 4 == 1, 2)
    owner = np.repeat(np.arange(len(chosen)), stream.requests)
    real = chosen[owner] & (stream.line < LOCAL_LINES)
    expected = {line for line in stream.line[real].tolist() if not chosen[owner[stream.line == line].min()]}
    assert set(read_rows(compute, None, chosen, stream).line.tolist()) == expected
    assert 0 < len(expected) < len(stream.shared)


def test_a_cta_waits_for_the_slots_of_a_whole_cta() -> None:
    # Two SMs with two slots each; CTAs of two warps of 2 and 5, 4 and 4, 1 and 1 instructions.
    length = np.array([2, 0, 5, 0, 4, 0, 4, 0, 1, 0, 1, 0])
    phases = Phases(np.arange(0, 13, 2), length, np.arange(0, 7, 2))
    found = schedule(phases, np.ones(6, bool), Machine(2, 1, 2, 1, 2))
    assert found.place.tolist() == [0, 2, 1, 3, 1, 3]  # SM 1 ends its CTA at 4, before SM 0 at 5
    assert found.begins[::2].tolist() == [0, 0, 0, 0, 4, 4]
    assert found.steps == 5
    # The second CTA lacks its second warp, so it ends at 4 and leaves both places to the third; without the first CTA
    # the third takes SM 1.
    fewer = Phases(np.arange(0, 11, 2), np.delete(length, [6, 7]), np.array([0, 2, 3, 5]))
    found = schedule(fewer, np.ones(5, bool), Machine(2, 1, 2, 1, 2))
    assert found.place.tolist() == [0, 2, 1, 1, 3]
    assert found.begins[::2].tolist() == [0, 0, 0, 4, 4]
    found = schedule(fewer, np.arange(5) > 1, Machine(2, 1, 2, 1, 2))
    assert found.place.tolist() == [0, 0, 0, 1, 3]
    assert found.begins[::2].tolist() == [0] * 5


def test_all_ctas_are_the_full_replay(compute: Trace) -> None:
    gpu = load("mobile", GPU)
    found, full = estimate(compute, gpu, 1.0), replay_whole(compute, gpu)
    assert {name: found.metrics[name] for name in RULES} == {name: full.metrics[name] for name in RULES}
    assert machine_for(gpu, compute, 0.5).warps == 2


def test_figures_of_a_gpu_do_not_depend_on_the_gpus_beside_it(compute: Trace) -> None:
    gpus = [load("mobile", [*GPU, f"memory.copies={copies}"]) for copies in ("whole", "none")]
    gpus.insert(1, load("mobile", [*GPU, "memory.copies=whole", "l1.latency_cycles=30"]))
    work = read_work(compute, keep=False)
    whole, slower, none = (one.metrics for one in estimate_many(compute, gpus, 0.5, 1, work))
    assert [whole, slower] == [one.metrics for one in estimate_many(compute, gpus[:2], 0.5, 1, work)]
    assert whole == estimate(compute, gpus[0], 0.5, 1, work).metrics
    assert none == estimate(compute, gpus[2], 0.5, 1, work).metrics
    assert whole["l2_miss_rate"] < none["l2_miss_rate"]


def test_a_sample_begins_with_the_traces_own_copies(tmp_path: Path) -> None:
    tables = make_tables(3, None, 8)
    later = {"kernel_id": [0, 0, 1], "address": [4096, 0, 8192], "bytes": [64, 32, 128]}
    trace = written(tmp_path / "copied.trace", tables | {"copies": later})
    chosen = np.repeat(np.arange(8) % 2 == 0, 2)
    rows = read_rows(trace, None, chosen, read_stream(trace))
    rows = rows._replace(line=np.array([7, 2]), sectors=np.array([15, 1], np.uint8))
    found = {has: as_source(trace, rows, chosen, has) for has in (True, False)}
    read = {has: Trace(source, trace.layout).read("copies") for has, source in found.items()}
    assert read[False]["address"].tolist() == [896, 256]
    assert read[True]["address"].tolist() == [4096, 0, 896, 256]  # nothing of what comes after the launch
    assert read[True]["bytes"].tolist() == [64, 32, 128, 32]
    assert not read[True]["kernel_id"].any()


def test_a_sample_of_ctas_has_intervals_without_a_value_for_rays(compute: Trace) -> None:
    found = estimate(compute, load("mobile", GPU), 0.5, 1, read_work(compute, keep=False))
    assert found.warps.reshape(-1, 2).all(axis=1).sum() == found.warps.sum() / 2 == 20
    assert found.intervals["rt_efficiency"] is None
    assert found.intervals["gpu_cycles"].low < found.metrics["gpu_cycles"] < found.intervals["gpu_cycles"].high
    assert found.metrics["bandwidth_utilisation"] <= 1.0


def test_twelve_kernels_teach_the_model_error() -> None:
    rows = alike(read_table(), False)
    assert len({row.scene for row in rows}) == 12
    assert len(rows) + len(alike(read_table(), True)) == len(read_table())


def test_the_estimate_replays_it_whole_and_the_forecast_says_so(compute: Trace, capsys: pytest.CaptureFixture) -> None:
    assert is_small(compute)
    assert not population(compute, load("mobile")).is_traced
    for given, said in (([], "that is the full replay"), (["--forecast"], "replayed whole")):
        arguments = parser().parse_args(["estimate", str(compute.path), "--gpu", "mobile", *given])
        assert arguments.run(arguments) == 0
        assert said in capsys.readouterr().out


def test_a_change_may_err_as_much_as_three_kernels_did() -> None:
    twins = [{"a": 100.0}, {"a": 100.0}]
    for change in (0.0, 1.0):
        found = change_intervals({"a": change}, {"a": 0.0}, twins, 1.0, is_traced=False)["a"]
        assert found.high - change == pytest.approx(4.3027 * 0.074 * (1 + change), rel=1e-4)


@pytest.mark.parametrize(("table", "said"), [("cooperative", "without barriers of the whole grid"),
                                             ("fills", "that no unit beside the SMs feeds")])  # fmt: skip
def test_what_waits_for_other_ctas_is_refused(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(UserError, match=f"{said}.*replay the whole trace"):
        check_inputs(write(tmp_path / "other.trace", 8, table))
