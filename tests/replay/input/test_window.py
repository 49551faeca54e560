"""The window keeps exactly what the warps that are not over need, wherever the others lay."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import FormatError
from rayplay.replay.gpu.description import load
from rayplay.replay.input import window
from rayplay.replay.input.coalescer import static_of
from rayplay.replay.input.program import load_program, read_characterisation
from rayplay.replay.input.rays import TABLES
from rayplay.replay.input.window import Window
from rayplay.replay.input.window_arrays import GROUPS, POINTERS, SPANS, bounds
from rayplay.replay.run.driver import simulate
from tests.formats.laws.test_laws import fresh_tables


def made(trace: Trace) -> Window:
    instructions, kernels = trace.read("instructions"), trace.read("kernels")
    tables = {"instructions": instructions, "blocks": trace.read("blocks")}
    program = load_program(tables, read_characterisation(trace, None), "test")
    warps = np.ones(len(kernels["kernel_id"]), np.int64)
    static = static_of(instructions, kernels, warps, warps * 0, load("accelsim-rtx2060").lsu)
    return Window(trace, program, static, False, TABLES.index("baseline"))


def rows_of(held: Window, warp: int) -> dict[str, list[int]]:
    """Everything the window holds of a warp; pointers from the warp's own first row."""
    begin, row, found = bounds(held.arrays), warp - held.first_warp, {}
    for leader, group in GROUPS.items():
        first, last = begin[leader][row : row + 2]
        for name in group:
            values = held.arrays[name][first:last].astype(np.int64)
            found[name] = (values - begin[POINTERS[name]][row] if name in POINTERS else values).tolist()
    ends = held.arrays["span"][row].reshape(-1, 2)
    assert [end - start for start, end in ends.tolist()] == [len(found[name]) for name in SPANS]
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_of_warps_that_are_not_over_stay(generated: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    trace = open_trace(generated)
    count = trace.rows("warps")
    whole = made(trace)
    while whole.loaded_warps < count:
        whole.load(lambda first, last: np.ones(last - first, bool))
    expected = [rows_of(whole, warp) for warp in range(count)]
    monkeypatch.setattr(window, "ROWS_PER_BATCH", 500)
    rng, needed, held = np.random.default_rng(seed), np.ones(count, bool), made(trace)
    while held.loaded_warps < count:
        before, begin = held.first_warp, {name: found.copy() for name, found in bounds(held.arrays).items()}
        needed[: held.loaded_warps] &= rng.random(held.loaded_warps) < 0.8
        moved = held.load(lambda first, last: needed[first:last])
        after = bounds(held.arrays)
        for warp in (np.flatnonzero(needed[before : held.loaded_warps]) + before).tolist():
            assert rows_of(held, warp) == expected[warp]
            if warp - before < len(begin["block"]) - 1:
                for name in GROUPS:
                    old, new = begin[name][warp - before], after[name][warp - held.first_warp]
                    assert moved.of_warps(name, np.array([warp]))[0] == old - new
                    if begin[name][warp - before + 1] > old:
                        assert moved.of_rows(name, np.array([old]))[0] == old - new
    assert held.first_warp == np.argmax(needed)


@pytest.mark.parametrize(
    ("table", "column", "value", "law"),
    [
        ("kernels", "grid_y", 0, "launches_are_possible"),
        ("visits", "active_mask", 0, "active_masks_are_launched"),
        ("rays", "kind", 2, "codes_are_known"),
        ("accesses", "instruction_id", 1 << 30, "references_exist"),
    ],
)
@pytest.mark.parametrize("model", ["characterised", "gatsim"])
def test_a_replay_refuses_the_first_broken_law(tmp_path: Path, model: str, table, column, value, law) -> None:
    tables = fresh_tables()
    tables[table][column][3 if table != "kernels" else 0] = value
    with TraceWriter(tmp_path / "a.trace", image_size=(40, 6)) as writer:
        for name, columns in tables.items():
            writer.put(name, columns)
    with pytest.raises(FormatError, match=f"a.trace: {law}: table {table}, row "):
        simulate(tmp_path / "a.trace", "mobile", model=model)
