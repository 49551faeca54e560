"""A drawn program (``characterised_cases``) as a trace, and what the slow twin and the engine make of it."""

from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.schema.trace import NODE_HIT_BIT, NODE_KINDS, UNITS
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import Replay
from tests.reference.rt_unit_slow_parts import Options
from tests.reference.slow_gpu.characterised.config import CharacterisedConfig, RtConfig
from tests.reference.slow_gpu.characterised.gpu import Gpu
from tests.reference.slow_gpu.characterised.program import load as load_program
from tests.reference.slow_gpu.config import CacheConfig
from tests.replay.engine import twin_cases
from tests.replay.engine.characterised_cases import (
    BASE,
    FULL,
    LOCAL_BASE,
    LOCAL_BYTES,
    RT_KINDS,
    SHARED_BASE,
    SHARED_SPAN,
    SIZES,
    Case,
    Kernel,
    Line,
    Program,
)

TRIANGLE = NODE_KINDS.index("triangle")
Rows = dict[str, list[dict[str, Any]]]


def write_program(path: Path, program: Program) -> Path:
    """A trace of these kernels; every column is there, also what no replay reads."""
    rows: Rows = defaultdict(list)
    rows["nodes"] = [
        {"address": address, "bytes": SIZES[kind], "kind": kind, "node_id": number}
        for number, (address, kind) in enumerate(program.nodes)
    ]
    if program.copy:
        rows["copies"].append({"kernel_id": 0, "address": program.copy[0], "bytes": program.copy[1]})
    for number, kernel in enumerate(program.kernels):
        first_block = len(rows["blocks"])
        rows["kernels"].append(_launch(number, kernel))
        first = [_block(rows, number, block.lines) for block in kernel.blocks]
        for warp in range(kernel.ctas * kernel.warps):
            _warp(rows, number, kernel, warp, first_block, first)
    with TraceWriter(path, {"command": "test"}) as writer:
        for name, found in rows.items():
            if found:
                writer.put(name, _columns(found))
    return path


def _columns(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Rows to columns; a list makes a ragged one."""
    columns: dict[str, Any] = {}
    for name in rows[0]:
        cells = [row[name] for row in rows]
        if isinstance(cells[0], list):
            columns[name] = np.array([value for cell in cells for value in cell], np.uint64)
            columns[f"{name}_offset"] = np.cumsum([0, *map(len, cells)])
        else:
            columns[name] = cells
    return columns


def _launch(number: int, kernel: Kernel) -> dict[str, Any]:
    return {
        "kernel_id": number, "name": f"k{number}", "stream": kernel.stream, "grid_x": kernel.ctas, "grid_y": 1,
        "grid_z": 1, "block_x": 32 * kernel.warps, "block_y": 1, "block_z": 1, "source": "ptx",
        "registers_per_thread": kernel.registers, "shared_bytes": kernel.shared_bytes, "shared_base": SHARED_BASE,
        "local_base": LOCAL_BASE, "local_bytes": LOCAL_BYTES,
    }  # fmt: skip


def _block(rows: Rows, kernel: int, lines: tuple[Line, ...]) -> int:
    """Add a block; returns its first instruction."""
    first, block = len(rows["instructions"]), len(rows["blocks"])
    rows["blocks"].append(
        {"kernel_id": kernel, "block_id": block, "first_instruction": first, "instruction_count": len(lines),
         "reconvergence_block": -1, "program": "drawn"}
    )  # fmt: skip
    for number, line in enumerate(lines, first):
        rows["instructions"].append(
            {"kernel_id": kernel, "instruction_id": number, "block_id": block, "opcode": line.opcode,
             "operation_class": line.kind, "memory_space": line.space, "access_bytes": line.size,
             "destination_registers": [], "source_registers": [], "line": number,
             "text": f"@%p1 {line.opcode}" if line.shape and line.shape.mask != FULL else line.opcode}
        )  # fmt: skip
        rows["characterisation"].append(
            {"instruction_id": number, "unit": UNITS.index(line.unit), "stall_cycles": line.stall,
             "initiation_cycles": line.initiation, "scoreboard_slot": line.slot, "wait_mask": line.waits}
        )  # fmt: skip
    return first


def _warp(rows: Rows, number: int, kernel: Kernel, warp: int, first_block: int, first: list[int]) -> None:
    """Add a warp and what it does."""
    me = {"warp_id": len(rows["warps"])}
    rows["warps"].append(
        {"kernel_id": number, **me, "cta_id": warp // kernel.warps, "warp_in_cta": warp % kernel.warps,
         "launched_mask": FULL}
    )  # fmt: skip
    for visit, (block, mask) in enumerate(kernel.paths[warp % len(kernel.paths)]):
        rows["visits"].append(me | {"block_id": first_block + block, "active_mask": mask})
        code = kernel.blocks[block]
        for place, line in enumerate(code.lines):
            lanes = _lanes(mask & line.shape.mask) if line.shape else []
            if lanes:
                rows["accesses"].append(
                    me | {"visit": visit, "instruction_id": first[block] + place,
                          "lane_mask": sum(1 << lane for lane in lanes),
                          "address": [*(_address(line, kernel, warp, visit, lane) for lane in lanes),
                                      *_further(line, warp, visit)]}
                )  # fmt: skip
        for lane in _lanes(mask) if code.rays else []:
            records = code.rays[lane % len(code.rays)]
            path = [node | (hit and rows["nodes"][node]["kind"] == TRIANGLE) * NODE_HIT_BIT for node, hit in records]
            rows["rays"].append(_ray(path) | me | {
                "visit": visit, "instruction_id": first[block] + len(code.lines) - 1, "lane": lane, "kind": warp % 2,
            })  # fmt: skip


def _ray(path: list[int]) -> dict[str, Any]:
    names = ("origin_x", "origin_y", "origin_z", "direction_x", "direction_y", "direction_z", "t_min", "t_max")
    missed = {"hit_t": np.inf, "instance": -1, "primitive": -1}
    return {"segment": 0, "node": path} | missed | dict.fromkeys(names, 1.0)


def _lanes(mask: int) -> list[int]:
    return [lane for lane in range(32) if mask >> lane & 1]


def _address(line: Line, kernel: Kernel, warp: int, visit: int, lane: int) -> int:
    """Of a lane's access; generic ones lie in the windows of the launch."""
    assert line.shape
    place = line.shape.place(warp, visit, lane, line.size)
    if line.inside == "local":
        return LOCAL_BASE + (32 * warp + lane) * LOCAL_BYTES + place % LOCAL_BYTES
    if line.inside == "shared" and line.space == "shared":
        return place % SHARED_SPAN
    if line.inside == "shared" and kernel.shared_bytes:
        return SHARED_BASE + place % kernel.shared_bytes
    return BASE + place


def _further(line: Line, warp: int, visit: int) -> list[int]:
    """Sectors behind the lanes' addresses: of every other texture access some, in no order."""
    draw = Random(f"{line} {warp} {visit}")
    if line.kind != "texture" or draw.random() < 0.5:
        return []
    return [BASE + 32 * number for number in draw.sample(range(64), draw.randrange(1, 40))]


def twin_config(values: dict[str, Any]) -> CharacterisedConfig:
    """The twin's GPU."""
    base = twin_cases.twin_config(values)
    own = {
        name: values[f"rt.{name}"]
        for name in ("warps", "cores", "hit_cycles", "mshr_entries", "coalescing", "refused_chunk", "response",
                     "hit_stores")
    }  # fmt: skip
    latency = (*(values[f"rt.{kind}_cycles"] for kind in RT_KINDS), 1)
    options = Options(latency, perfect=values["rt.perfect_memory"], **own)
    private = CacheConfig(
        *(values[f"rt.private.{name}"] for name in ("sets", *twin_cases.CACHE)), write_through=True, ipoly=True,
        dirty_percent=0,
    )  # fmt: skip
    return CharacterisedConfig(**{
        **vars(base), "schedulers": values["scheduler.count"], "registers": values["sm.registers"],
        "queue_entries": values["lsu.queue_entries"], "issue_cycles": values["lsu.issue_cycles"],
        "perfect_memory": values["lsu.perfect_memory"], "launch_cycles": values["sm.kernel_launch_cycles"],
        "kernels": values["sm.concurrent_kernels"], "textures": values["texture.path"] != "l1",
        "rt": RtConfig(options, values["rt.cache"], private, values["rt.intersection_table"] == "baseline"),
    })  # fmt: skip


Found = dict[str, int]
# Counters without a twin: they follow from other events, or the engine leaves them out while it sleeps
OF_THE_ENGINE = {
    *(f"{cache}.{name}" for cache in ("l1d", "l2") for name in ("fills", "evictions", "write_backs", "merges")),
    "l2.read_fails", "l2.texture_read_fails", "l2.write_fails",
    "l2.longest_reply_wait_cycles", "l2.request_wait_cycles",
    "dram.requests", "dram.row_hits", "dram.precharges", "dram.busy_ticks", "rt_unit.refused",
}  # fmt: skip


def run_twin(case: Case, trace: Path) -> list[Found]:
    """First cycle and end of each kernel; then its counters, or all kernels' where they may run side by side."""
    config = twin_config(case.gpu)
    gpu = Gpu(config)
    gpu.run_all(load_program(trace, config))
    added = gpu.added if config.kernels == 1 else [sum(gpu.added, Counter())]
    return [*(span(kernel, *cycles) for kernel, cycles in sorted(gpu.spans.items())), *parted(case.program, added)]


def parted(program: Program, added: list[Counter[str]]) -> list[Found]:
    """The counters of each part; of the L2 the sum of all parts, since reductions may still be under way as one ends.

    The engine's L2 is ahead of its SMs, so that it has counted what such a reduction will meet.
    """
    lines = [line for kernel in program.kernels for block in kernel.blocks for line in block.lines]
    if not any(line.opcode.startswith("red.global") for line in lines):
        return [present(counters) for counters in added]
    whole = present(sum(added, Counter()))
    return [
        {name: count for name, count in whole.items() if name.startswith("l2.")},
        *({name: n for name, n in present(counters).items() if not name.startswith("l2.")} for counters in added),
    ]


def span(kernel: int, start: int, end: int) -> Found:
    """Cycles of a kernel."""
    return {f"kernel {kernel}.start": start, f"kernel {kernel}.end": end}


def present(counters: dict[str, int]) -> Found:
    """Counters that both have and that are not 0."""
    return {name: count for name, count in sorted(counters.items()) if count and name not in OF_THE_ENGINE}


def run_engine(case: Case, trace: Path) -> list[Found]:
    """The same of the engine."""
    own = [f"sm.kernel_launch_cycles={case.gpu['sm.kernel_launch_cycles']}"]
    gpu, opened = load("accelsim-rtx2060", [*twin_cases.assignments(case.gpu), *own]), open_trace(trace)
    replay = Replay(Machine(opened, gpu, opened.read("characterisation"), model="characterised"), case.quantum)
    replay.run(lambda standing: None)
    table = replay.result().counters
    is_alone = gpu.sm.concurrent_kernels == 1
    added = [table["kernel_id"] == kernel for kernel in sorted(replay.kernels.spans)] if is_alone else [slice(None)]
    return [
        *(span(kernel, *cycles) for kernel, cycles in sorted(replay.kernels.spans.items())),
        *parted(case.program, [sums(table, rows) for rows in added]),
    ]


def sums(table: dict[str, np.ndarray], rows: Any) -> Counter[str]:
    """Each counter over the units, of some rows of the table ``counters``."""
    found: Counter[str] = Counter()
    names = zip(table["unit"][rows], table["counter"][rows], table["value"][rows].tolist(), strict=True)
    for unit, counter, value in names:
        found[f"{unit}.{counter}"] += value
    return found


def differences(case: Case, folder: Path) -> list[str]:
    """Differences between the counters of engine and twin."""
    trace = write_program(folder / "case.trace", case.program)
    twin, engine = run_twin(case, trace), run_engine(case, trace)
    assert len(twin) == len(engine)
    return [
        f"part {part}, {name}: twin {ours.get(name, 0)}, engine {theirs.get(name, 0)}"
        for part, (ours, theirs) in enumerate(zip(twin, engine, strict=True))
        for name in sorted({*ours, *theirs})
        if ours.get(name, 0) != theirs.get(name, 0)
    ]
