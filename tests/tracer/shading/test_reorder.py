"""Reorders that are carried out on a trace: threads keep their work, warps get fuller, the state costs what it says."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.tracer.render import Request, render
from tools.gallery import ROOT, figures_of
from tools.reorder.__main__ import reorder

PROGRAM = ROOT / "examples" / "gallery" / "hit_objects.ptx"
WIDTH, HEIGHT = 32, 16


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """A trace whose threads reorder at every hit."""
    out = tmp_path_factory.mktemp("plain") / "hits.trace"
    render(Request("wknd", PROGRAM, None, out, WIDTH, HEIGHT, samples=2))
    return open_trace(out)


def lane_visits(trace: Trace) -> np.ndarray:
    """How many lanes visit each block of the program."""
    visits, count = trace.read("visits"), trace.rows("blocks")
    return np.bincount(visits["block_id"], np.bitwise_count(visits["active_mask"]), count).astype(int)


def lane_addresses(trace: Trace, instructions: int) -> np.ndarray:
    """Instruction and address of every access of a lane, sorted."""
    rows = trace.read("accesses")
    number = np.repeat(rows["instruction_id"], np.diff(rows["address_offset"].astype(np.int64)))
    found = np.stack([number.astype(np.uint64), rows["address"]], 1)[number < instructions]
    return found[np.lexsort(found.T)]


@pytest.mark.parametrize("key", ["none", "program", "path"])
def test_threads_keep_their_work_and_warps_get_fuller(plain: Trace, tmp_path: Path, key: str) -> None:
    times = reorder(plain, 8, 32, key, tmp_path / "out.trace")
    made = open_trace(tmp_path / "out.trace")
    program, lengths = plain.rows("blocks"), plain.rows("instructions")
    before, after = lane_visits(plain), lane_visits(made)
    assert np.array_equal(before, after[:program])
    assert np.array_equal(lane_addresses(plain, lengths), lane_addresses(made, lengths))
    columns = ["origin_x", "direction_y", "t_max", "hit_t", "instance", "primitive", "segment"]
    ours, theirs = (np.stack([t.read("rays", columns)[name] for name in columns]) for t in (made, plain))
    assert np.array_equal(ours[:, np.lexsort(ours)], theirs[:, np.lexsort(theirs)])
    assert after[program:].tolist() == [times, times, times], "stored, met, loaded: once each time"
    assert figures_of(made, 1).lanes > 1.1 * figures_of(plain, 1).lanes


def test_a_better_key_makes_fuller_warps(plain: Trace, tmp_path: Path) -> None:
    found = []
    for key in ("none", "program", "path"):
        reorder(plain, 16, 0, key, tmp_path / f"{key}.trace")
        found.append(figures_of(open_trace(tmp_path / f"{key}.trace"), 1).lanes)
    assert found[0] < found[1] < found[2]


def test_state_is_loaded_where_it_was_stored(plain: Trace, tmp_path: Path) -> None:
    reorder(plain, 8, 48, "path", tmp_path / "out.trace")
    made = open_trace(tmp_path / "out.trace")
    rows, program = made.read("accesses"), plain.rows("instructions")
    number = np.repeat(rows["instruction_id"].astype(int), np.diff(rows["address_offset"].astype(np.int64)))
    stores = [np.sort(rows["address"][number == program + k]) for k in range(3)]
    loads = [np.sort(rows["address"][number == program + 4 + k]) for k in range(3)]
    assert all(np.array_equal(s, load) for s, load in zip(stores, loads, strict=True))
    assert min(stores[0]) > rows["address"][number < program].max()
    assert not set(stores[0]) & set(stores[1])


@pytest.mark.parametrize("state_bytes", [0, 32])
def test_a_sort_costs_what_its_instructions_cost(plain: Trace, tmp_path: Path, state_bytes: int) -> None:
    """Every thread that is reordered executes them, and the launch takes longer by some of their chains."""
    cycles = []
    for sort in (0, 50):
        times = reorder(plain, 8, state_bytes, "path", tmp_path / f"{sort}.trace", sort)
        made = open_trace(tmp_path / f"{sort}.trace")
        rows, visits = made.read("instructions", ["opcode", "block_id"]), made.read("visits")
        lanes = np.bincount(visits["block_id"], np.bitwise_count(visits["active_mask"]), made.rows("blocks"))
        added = np.arange(len(rows["opcode"])) >= plain.rows("instructions")
        sorts = added & (rows["opcode"] == "add.s32")
        assert lanes[rows["block_id"][sorts]].sum() == times * sort
        cycles.append(simulate(made, load("mobile")).value("gpu_cycles"))
    assert cycles[1] > cycles[0] + 4 * 50


def test_what_cannot_be_reordered_is_one_line(plain: Trace, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--window must divide 16 warps, .* one of \[1, 2, 4, 8, 16\], found 5"):
        reorder(plain, 5, 0, "path", tmp_path / "out.trace")
    with pytest.raises(UserError, match="--state-bytes must be a multiple of 16, at most 1024, found 24"):
        reorder(plain, 8, 24, "path", tmp_path / "out.trace")
    with pytest.raises(UserError, match="--sort-instructions must be 0 to 4096, found -1"):
        reorder(plain, 8, 0, "path", tmp_path / "out.trace", -1)
    with pytest.raises(UserError, match="must have a call of _optix_hitobject_reorder"):
        reorder(open_trace(ROOT / "traces" / "sample.trace"), 1, 0, "path", tmp_path / "out.trace")
    assert not (tmp_path / "out.trace").exists()
