"""The store and the runs: nothing is replayed twice, and nothing stale or damaged is believed."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.filter import filter_trace
from rayplay.formats.guard.digest import json_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.replays.result_cache import Store, trace_identity
from rayplay.zatel.replays.runs import Run, missing_runs, run_key, simulate_runs
from rayplay.zatel.replays.simulate import simulate_group

SIZE = (64, 8)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_trace(tmp_path_factory.mktemp("runs") / "small.trace", 2, SIZE, 0)


def test_a_value_is_found_by_its_key(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.put({"a": 1, "b": [2]}, {"cycles": 7})
    assert store.get({"b": [2], "a": 1}) == {"cycles": 7}
    assert Store(tmp_path / "store").get({"a": 1, "b": [2]}) == {"cycles": 7}
    assert store.get({"a": 2, "b": [2]}) is None


DAMAGES = (
    "",
    "{",
    "[]",
    '{"value": {}}',
    '{"key": {"a": 2}, "value": {}}',
    '{"key": {"a": 1}, "value": {"cycles": 7}}',
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str) -> None:
    store = Store(tmp_path)
    store.put({"a": 1}, {"cycles": 7})
    [path] = tmp_path.glob("*/*.json")
    assert json.loads(path.read_text()) == {
        "key": {"a": 1}, "sha256": json_digest({"cycles": 7}), "value": {"cycles": 7},
    }  # fmt: skip
    path.write_text(damage)
    assert store.get({"a": 1}) is None
    assert capsys.readouterr().err.startswith(f"warning: {path}: is damaged")
    store.put({"a": 1}, {"cycles": 8})
    assert store.get({"a": 1}) == {"cycles": 8}


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_bit_gives_another_value(tmp_path: Path, seed: int) -> None:
    store, rng, key, value = Store(tmp_path), random.Random(seed), {"a": 1}, {"cycles": 7, "rates": [0.25, 1e-9]}
    store.put(key, value)
    [path] = tmp_path.glob("*/*.json")
    whole = path.read_bytes()
    for _ in range(100):
        changed = bytearray(whole)
        changed[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        assert store.get(key) in (None, value)


def test_an_entry_that_others_may_write_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put({"a": 1}, {"cycles": 7})
    [path] = tmp_path.glob("*/*.json")
    path.chmod(0o666)
    assert store.get({"a": 1}) is None


def test_a_store_in_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="the store must be a folder, but is a file"):
        Store(tmp_path / "file")


def test_a_trace_is_known_by_its_content(trace: Path, tmp_path: Path) -> None:
    shutil.copytree(trace, tmp_path / "other-name.trace")
    assert trace_identity(open_trace(trace)) == trace_identity(open_trace(tmp_path / "other-name.trace"))
    other = make_trace(tmp_path / "other.trace", 3, SIZE, 0)
    assert trace_identity(open_trace(trace)) != trace_identity(open_trace(other))


def test_a_run_is_known_by_trace_pixels_and_gpu_but_not_by_names() -> None:
    gpu, some, others = load_gpu("mobile"), np.zeros((8, 64), bool), np.ones((8, 64), bool)
    slower = gpu.with_values(["l1.latency_cycles=21"])
    runs = [Run(gpu), Run(gpu, some), Run(gpu, others), Run(slower, some)]
    keys = [run_key("t", run) for run in runs] + [run_key("u", runs[0])]
    assert len({json.dumps(key, sort_keys=True) for key in keys}) == 5
    assert run_key("t", Run(gpu.with_values(["name=other"]))) == keys[0]


def test_runs_are_replays_of_filtered_traces_and_are_done_once(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, some = load_gpu("mobile"), np.zeros((8, 64), bool)
    some[2:6, :32] = True
    runs = [Run(gpu.scaled(4), some), Run(gpu), Run(gpu, some), Run(gpu.scaled(4), some)]
    store = Store(tmp_path / "store")
    assert len(missing_runs(open_trace(trace), runs, store)) == 3
    found = simulate_runs(open_trace(trace), runs, store)
    filter_trace(trace, some, tmp_path / "some.trace")
    twins = [simulate_group(tmp_path / "some.trace", gpu.scaled(4)), simulate_group(trace, gpu)]
    assert [found[0].summary, found[1].summary] == [twin.summary for twin in twins]
    assert found[0] == found[3]
    assert found[1].metrics != found[2].metrics
    assert not missing_runs(open_trace(trace), runs, store)
    monkeypatch.setattr("rayplay.zatel.replays.runs.simulate_all", None)  # nothing is replayed again
    assert simulate_runs(open_trace(trace), runs, store) == found
