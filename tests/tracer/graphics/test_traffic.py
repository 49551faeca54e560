"""Data between stages in a trace: on chip or in the L2, and colours of four bytes; the picture never changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.formats.laws.check import validate
from rayplay.tracer.__main__ import parser
from rayplay.tracer.graphics.choices import TARGETS, VARYINGS
from rayplay.tracer.graphics.stages import Picture, Rules
from rayplay.tracer.graphics.traffic import ELSEWHERE, WINDOW, OnChip
from rayplay.tracer.scenes.gltf.surfaces import Surface
from tests.tracer.graphics.scenes import SIZE, drawn, joined, scene, square

GLASS = Surface("glass", (0.1, 0.2, 0.9, 0.25), alpha="BLEND")
RED = Surface("red", (0.8, 0.1, 0.05, 1.0))
MADE = scene([square(0, 2.0), joined(square(1, 1.5, 1), square(2, 1.0, 1))], [RED, GLASS])
"""A square behind two panes of glass, one draw, so that fragments of it cover pixels again."""
PIXELS = SIZE[0] * SIZE[1]


def traced(folder: Path, **rules: str | bool) -> tuple[Trace, Picture]:
    """The trace of ``MADE``, which keeps every law, and its picture."""
    name = folder / f"{'-'.join(map(str, rules.values()))}.trace"
    with TraceWriter(name, {}) as writer:
        picture = drawn(MADE, sink=writer, rules=Rules(**rules))  # type: ignore[arg-type]
    trace = open_trace(name)
    assert not list(validate(trace))
    return trace, picture


@pytest.mark.parametrize("merges", [False, True])
def test_on_chip_stages_load_only_what_is_in_memory(tmp_path: Path, merges: bool) -> None:
    """Every access but to vertex buffers, colours and depth lies in the shared memory of the CTA, in the row of
    its thread; nothing is found in the L2."""
    trace, picture = traced(tmp_path, varyings="chip", merges=merges)
    before, same = traced(tmp_path, varyings="l2", merges=merges)
    np.testing.assert_array_equal(picture.framebuffer.colour, same.framebuffer.colour)
    assert (trace.rows("fills") > 0, before.rows("fills") > 0) == (False, True)
    kernels, rows = trace.read("kernels"), trace.read("accesses")
    counts = np.diff(rows["address_offset"].astype(int))
    kernel = np.repeat(trace.read("warps")["kernel_id"][rows["warp_id"]], counts)
    base, size = (kernels[name][kernel] for name in ("shared_base", "shared_bytes"))
    on_chip = (base <= rows["address"]) & (rows["address"] < base + size)
    assert set(trace.read("instructions")["memory_space"]) <= {"generic", "none", "const", "param", "local", "texture"}
    old = before.read("accesses")
    np.testing.assert_array_equal(old["address"][~on_chip], rows["address"][~on_chip])
    for stage in picture.stages:
        own, fragment = kernel == stage.kernel_id, stage.stage == "fragment"
        # 16 + 32 bytes of a vertex; slot, varyings and with the merger's traffic the window of a fragment
        assert kernels["shared_bytes"][stage.kernel_id] == 64 * (4 + 32 + 8 * merges if fragment else 16 + 32)
        assert 0 < (own & on_chip).sum() < own.sum()
        fills = before.read("fills")
        lent = [(int(at), int(at + many)) for at, many, of in zip(fills["address"], fills["bytes"], fills["kernel_id"],
                strict=True) if of == stage.kernel_id]  # fmt: skip
        if fragment:
            was = np.zeros(len(own), bool)
            for first, end in lent:
                was |= (first <= old["address"]) & (old["address"] < end)
            np.testing.assert_array_equal(was & own, on_chip & own)


def test_a_pixel_of_rgba8_takes_four_bytes_however_often_it_is_covered(tmp_path: Path) -> None:
    """Three fragments of a pixel store to its one place, which the blending reads as well."""
    trace, picture = traced(tmp_path, target="rgba8", merges=True)
    before, same = traced(tmp_path, target="rgba32f", merges=True)
    np.testing.assert_array_equal(picture.framebuffer.colour, same.framebuffer.colour)
    instructions, old, rows = trace.read("instructions"), before.read("instructions"), trace.read("accesses")
    changed = instructions["access_bytes"] != old["access_bytes"]
    assert [set(one["access_bytes"][changed].tolist()) for one in (instructions, old)] == [{4}, {16}]
    counts = np.diff(rows["address_offset"].astype(int))
    chosen = np.repeat(changed[rows["instruction_id"]], counts)
    pixel = (rows["address"][chosen].astype(int) - rows["address"][chosen].min().astype(int)) // 4
    stores = instructions["operation_class"][np.repeat(rows["instruction_id"], counts)[chosen]] == "store"
    assert stores.sum() == sum(stage.live for stage in picture.stages if stage.stage == "fragment")
    assert pixel.max() < PIXELS, "nothing stores behind the picture"
    assert np.bincount(pixel[stores]).max() == 3
    assert 0 < (~stores).sum() == picture.stages[-1].live


def test_rows_of_other_ctas_stay_in_memory() -> None:
    """Of two buffers with 8 and 4 bytes a thread, in a launch of 100 threads: the last row of CTA 1 and the next."""
    on_chip = OnChip.of({"b": 4096, "a": 1024}, {"a": 8, "b": 4}, 100)
    assert on_chip.cta_bytes == 64 * 12
    address = np.array([1024, 1024 + 64 * 8, 1024 + 128 * 8 - 1, 1024 + 128 * 8, 4096 + 64 * 4, 0, 9000], np.uint64)
    found = on_chip.moved(address, np.ones(len(address), np.uint64))
    first = WINDOW
    assert found.tolist() == [
        int(ELSEWHERE), first, first + 511, int(ELSEWHERE), first + 512, int(ELSEWHERE), int(ELSEWHERE)
    ]  # fmt: skip


def test_choices_are_checked_and_the_commands() -> None:
    for name, wrong, near in (("varyings", "chips", "chip"), ("target", "rgba16", "rgba8")):
        with pytest.raises(UserError, match=f"{name}: unknown name '{wrong}'.*{near}"):
            Rules(**{name: wrong})  # type: ignore[arg-type]
    for varyings in VARYINGS:
        for target in TARGETS:
            options = parser().parse_args(["draw", "cornell", "--varyings", varyings, "--target", target])
            assert (options.varyings, options.target) == (varyings, target)


def test_crisps_rules_have_varyings_on_chip_too(tmp_path: Path) -> None:
    """Vertex buffers are still found in the L2."""
    trace, _ = traced(tmp_path, rules="crisp", varyings="chip")
    kernels = trace.read("fills")["kernel_id"]
    assert set(kernels.tolist()) == {stage.kernel_id for stage in drawn(MADE, rules=Rules("crisp")).stages[::2]}


def test_both_backends_move_the_same(tmp_path: Path) -> None:
    traces = []
    for backend in ("machine", "interpreter"):
        with TraceWriter(tmp_path / f"{backend}.trace", {}) as writer:
            drawn(replace(MADE), sink=writer, backend=backend, rules=Rules(varyings="chip", target="rgba8"))
        traces.append(open_trace(tmp_path / f"{backend}.trace").read("accesses"))
    for name, column in traces[0].items():
        np.testing.assert_array_equal(column, traces[1][name], name)
