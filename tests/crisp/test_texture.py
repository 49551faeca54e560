"""Accesses of texture instructions, against a count by sets over every address of a drawn trace."""

from collections import defaultdict
from pathlib import Path

import numpy as np

from rayplay.crisp.texture import texture_use
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.tracer.scenes.gltf.surfaces import MAPS, Surface
from tests.tracer.graphics.scenes import drawn, scene, square

REST = (-1,) * (len(MAPS) - 3)


def slow_use(trace: Trace) -> dict[int, tuple[int, int, int, int, list[int]]]:
    """Kernel -> instructions, requests, lines of pairs, sectors, lines of each CTA; an address at a time."""
    instructions, warps, rows = trace.read("instructions"), trace.read("warps"), trace.read("accesses")
    asked: dict[int, list[set[tuple[int, ...]]]] = defaultdict(lambda: [set(), set(), set(), set()])
    lines: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for row, instruction in enumerate(rows["instruction_id"].tolist()):
        if instructions["operation_class"][instruction] != "texture":
            continue
        warp, kernel = int(rows["warp_id"][row]), int(instructions["kernel_id"][instruction])
        lanes = [lane for lane in range(32) if int(rows["lane_mask"][row]) >> lane & 1]
        own = rows["address"][rows["address_offset"][row] : rows["address_offset"][row + 1]].tolist()
        pairs = sorted({lane // 8 for lane in lanes})
        further = own[len(lanes) :]
        dealt = [
            pair
            for part, pair in enumerate(pairs)
            for _ in range(part * len(further) // len(pairs), (part + 1) * len(further) // len(pairs))
        ]
        mine = (warp, int(rows["visit"][row]), instruction)
        asked[kernel][0].add(mine)
        quads_of_a_request = 1 if "cube" in instructions["opcode"][instruction].split(".") else 2
        asked[kernel][1] |= {(*mine, lane // (4 * quads_of_a_request)) for lane in lanes}
        for pair, address in zip([lane // 8 for lane in lanes] + dealt, own, strict=True):
            asked[kernel][2].add((*mine, pair, address // 128))
            asked[kernel][3].add((*mine, address // 32))
            lines[kernel][int(warps["cta_id"][warp])].add(address // 128)
    return {
        kernel: (*(len(one) for one in sets), [len(lines[kernel][cta]) for cta in sorted(lines[kernel])])  # type: ignore[misc]
        for kernel, sets in asked.items()
    }


def test_counts_are_the_slow_ones(tmp_path: Path) -> None:
    texels = np.random.default_rng(1).integers(0, 256, (64, 64, 4), np.uint8)
    maps = [Surface(pictures=(0, -1, 0, *REST)), Surface(pictures=(0, -1, -1, *REST))]
    made = scene([square(0.0, surface=0), square(-1.0, 3.0, surface=1), square(2.0, 0.3, surface=0)], maps, (texels,))
    path = tmp_path / "drawn.trace"
    with TraceWriter(path, {}) as writer:
        drawn(made, "pbr", writer)
    trace = open_trace(path)
    use, slow = texture_use(trace), slow_use(trace)
    found = {kernel: tuple(rest) for kernel, *rest in zip(*use.values(), strict=True)}
    assert found == slow
    assert len(found) == 3
    assert all(instructions <= requests <= 8 * instructions for instructions, requests, *_ in found.values())
    assert any(requests > 4 * instructions for instructions, requests, *_ in found.values()), "of cubes"


def test_a_picture_without_textures_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "plain.trace"
    with TraceWriter(path, {}) as writer:
        drawn(scene([square(0.0)], [Surface()]), "lit", writer)
    assert all(column == [] for column in texture_use(open_trace(path)).values())
