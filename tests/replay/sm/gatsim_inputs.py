"""Inputs of the twin of GATSim's model: strategies of programs and warps, a trace's tables, and their engine form."""

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.schema.trace import RECORDED_SPACES, UNITS
from rayplay.replay.gpu.description import Gpu
from rayplay.replay.input.work import BARRIER, LOAD, PLAIN, STORE, Program, Work, pack
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.gatsim import units as gatsim_units
from rayplay.replay.sm.policies import OF_ALL
from tests.reference.gatsim_slow import Instruction, Machine, Warp
from tests.reference.replay_slow import bank_cycles, sectors

KINDS = {"plain": PLAIN, "load": LOAD, "store": STORE, "barrier": BARRIER}
Blocks = list[list[Warp]]


def machines() -> st.SearchStrategy[Machine]:
    """A small GPU."""
    few = st.integers(1, 3)
    return st.builds(
        Machine, sms=few, schedulers=few, policy=st.sampled_from(OF_ALL), active_warps=few, places=few,
        warps_per_block=st.integers(1, 5), load_store_units=few, special_units=st.integers(1, 2),
        trace_units=st.integers(1, 2), hit=st.integers(1, 29), miss=st.integers(30, 199), shared=st.integers(1, 29),
        record=st.integers(1, 39), sets=st.integers(0, 2), ways=st.integers(1, 4),
    )  # fmt: skip


def programs() -> st.SearchStrategy[list[list[Instruction]]]:
    """Four blocks of every kind of instruction."""
    stall, initiation, local = st.sampled_from((1, 1, 2, 2, 5, 70, 150)), st.integers(1, 19), st.booleans()
    memory = st.builds(Instruction, st.just("lsu"), stall, initiation, st.sampled_from(("load", "store")), local)
    unit = st.sampled_from(("int", "sp", "sfu", "branch"))
    kind = st.sampled_from(("plain", "plain", "plain", "plain", "barrier"))
    plain = st.builds(Instruction, unit, stall, initiation, kind, local)
    return st.lists(st.lists(plain | memory, min_size=1, max_size=5), min_size=4, max_size=4)


class Visit(NamedTuple):
    """A visit of a block: threads, an access for each of its instructions of memory, records of its longest ray."""

    block: int
    threads: int
    accesses: list[list[int] | tuple[str, int] | None]
    records: int


def visits() -> st.SearchStrategy[Visit]:
    """A visit with accesses to few lines, to shared memory, or none at all, and rays."""
    lines = st.sets(st.integers(0, 7), min_size=1, max_size=4).map(sorted)
    access = st.none() | lines | lines | st.tuples(st.just("shared"), st.integers(1, 8))
    records = st.sampled_from((0, 0, 0, 0, 1, 3, 5))
    return st.builds(Visit, st.integers(0, 3), st.integers(1, 32), st.lists(access, max_size=5), records)


def warp_of(program: list[list[Instruction]], chosen: list[Visit]) -> Warp:
    """A warp that makes these visits."""
    warp = Warp([(visit.block, visit.threads) for visit in chosen])
    for number, (block, _, accesses, records) in enumerate(chosen):
        for (place, instruction), access in zip(enumerate(program[block]), accesses, strict=False):
            if instruction.unit == "lsu" and access is not None:
                warp.accesses[number, place] = access
        if records and program[block][-1].unit != "lsu":
            warp.rays[number] = records
    return warp


@st.composite
def situations(draw: st.DrawFn) -> tuple[Machine, list[list[Instruction]], Blocks]:
    """A GPU, a program, and threadblocks that have work: of a few different warps, most of them several times."""
    machine, program = draw(machines()), draw(programs())
    paths = draw(st.lists(st.lists(visits(), max_size=6), min_size=1, max_size=6))
    warp = st.integers(0, len(paths) - 1)
    most = 3 * machine.sms * machine.places
    made = [[draw(warp) for _ in range(machine.warps_per_block)] for _ in range(draw(st.integers(1, most)))]
    blocks = [[warp_of(program, paths[index]) for index in block] for block in made]
    return machine, program, [block for block in blocks if any(warp.visits for warp in block)]


def engine_program(program: list[list[Instruction]]) -> Program:
    """The static instructions as the engine reads them."""
    flat = [instruction for block in program for instruction in block]
    columns = [
        [UNITS.index(one.unit) for one in flat], [KINDS[one.kind] for one in flat], [0] * len(flat), [-1] * len(flat),
        [one.stall for one in flat], [one.initiation for one in flat],
    ]  # fmt: skip
    length = np.array([len(block) for block in program])
    return Program(pack(*(np.array(column) for column in columns)), np.cumsum(length) - length, length)


def engine_work(program: list[list[Instruction]], blocks: Blocks) -> tuple[Work, np.ndarray, np.ndarray]:
    """Warps as the engine reads them, the longest lane of each trace operation, and the bounds of the threadblocks."""
    first = engine_program(program).first
    visits: list[tuple[int, int]] = []
    keys, starts, conflict, sector, trace, longest, spans = [], [0], [], [], [], [], []
    for warp in [warp for block in blocks for warp in block]:
        here = [len(visits), len(keys), len(trace)]
        visits += [(block, (1 << threads) - 1) for block, threads in warp.visits]
        for (visit, place), access in warp.accesses.items():
            keys.append(visit << 32 | int(first[warp.visits[visit][0]]) + place)
            conflict.append(access[1] if isinstance(access, tuple) else 0)
            lines = [] if isinstance(access, tuple) else access
            sector += [line * 4 + part for line in lines for part in range(1 + line % 4)]
            starts.append(len(sector))
        trace += list(warp.rays)
        longest += list(warp.rays.values())
        spans.append([row for pair in zip(here, (len(visits), len(keys), len(trace)), strict=True) for row in pair])
    block, mask = (np.array(column, np.uint32) for column in (zip(*visits, strict=True) if visits else ([], [])))
    work = Work(
        block, mask, np.array(keys, np.int64), np.array(starts, np.int64), np.array(conflict, np.uint8),
        np.array(sector, np.int64), np.zeros(len(sector), np.uint32), np.array(trace, np.int64), np.zeros(0, np.int64),
        np.zeros(0, np.uint8), np.array(spans, np.int64).reshape(-1, 6), 0,
    )  # fmt: skip
    ends = np.cumsum([len(block) for block in blocks])
    bounds = np.stack([ends - [len(block) for block in blocks], ends], axis=1).astype(np.int64)
    return work, np.array(longest, np.int64), bounds


def engine_state(
    machine: Machine, program: list[list[Instruction]], bounds: np.ndarray
) -> tuple[gatsim_units.Gatsim, scheduler.Warps]:
    """The engine's SMs before their first cycle."""
    spec = gatsim_units.Spec(
        "behavioural" if machine.sets else "perfect", machine.load_store_units, machine.special_units, machine.hit,
        machine.miss, machine.shared, machine.record, machine.trace_units,
    )  # fmt: skip
    local = np.array([one.is_local for block in program for one in block])
    cache = (max(machine.sets, 1), machine.ways, 128)
    state = gatsim_units.make_state(
        spec, machine.sms, machine.places, machine.warps_per_block, bounds, cache, local, 0
    )  # fmt: skip
    of_policy = scheduler.Spec(machine.schedulers, machine.policy, machine.active_warps, 1, False)
    return state, scheduler.make_state(of_policy, machine.sms, machine.places * machine.warps_per_block)


def machine_of(gpu: Gpu, places: int, warps_per_block: int) -> Machine:
    """The twin's form of a GPU description."""
    spec, l1 = gpu.gatsim, gpu.l1
    sets = l1.bytes // (l1.line_bytes * l1.ways) if spec.caches == "behavioural" else 0
    return Machine(
        gpu.sm.count, gpu.scheduler.count, gpu.scheduler.policy, gpu.scheduler.active_warps, places, warps_per_block,
        spec.load_store_units, spec.special_units, spec.trace_units, spec.hit_cycles, spec.miss_cycles,
        spec.shared_cycles, spec.record_cycles, sets, l1.ways,
    )  # fmt: skip


def read_program(trace: Trace) -> list[list[Instruction]]:
    """A trace's blocks with its characterisation."""
    rows, blocks, timing = (trace.read(name) for name in ("instructions", "blocks", "characterisation"))

    def instruction(row: int) -> Instruction:
        name, space = str(rows["operation_class"][row]), str(rows["memory_space"][row])
        memory = space in RECORDED_SPACES and name in ("load", "store", "atomic", "texture")
        kind = ("load" if name in ("load", "texture") else "store") if memory else "plain"
        if name == "barrier":
            kind = "barrier"
        unit = "lsu" if kind == "load" else UNITS[timing["unit"][row]]
        return Instruction(
            unit, int(timing["stall_cycles"][row]), int(timing["initiation_cycles"][row]), kind, space == "local"
        )

    starts, counts = blocks["first_instruction"].astype(int), blocks["instruction_count"].astype(int)
    return [[instruction(first + row) for row in range(n)] for first, n in zip(starts, counts, strict=True)]


def read_warps(trace: Trace) -> list[Warp]:
    """All warps of a trace."""
    names = ("visits", "accesses", "rays", "instructions", "blocks", "kernels")
    visits, accesses, rays, rows, blocks, kernels = (trace.read(name) for name in names)
    warps = [Warp([]) for _ in range(trace.rows("warps"))]
    for warp, block, mask in zip(visits["warp_id"], visits["block_id"], visits["active_mask"], strict=True):
        warps[warp].visits.append((int(block), int(mask).bit_count()))
    for row, (warp, visit) in enumerate(zip(accesses["warp_id"], accesses["visit"], strict=True)):
        instruction = int(accesses["instruction_id"][row])
        place = instruction - int(blocks["first_instruction"][warps[warp].visits[visit][0]])
        first, last = accesses["address_offset"][row : row + 2]
        address = accesses["address"][first:last].astype(int).tolist()
        size = int(rows["access_bytes"][instruction])
        base, length = int(kernels["shared_base"].max()), int(kernels["shared_bytes"].max())
        space = str(rows["memory_space"][instruction])
        if space == "shared" or (space == "generic" and base <= address[0] < base + length):
            warps[warp].accesses[visit, place] = ("shared", bank_cycles(address, size))
        else:
            lines = {sector // 4 for sector in sectors(address, size)}
            warps[warp].accesses[visit, place] = sorted(lines, reverse=True)  # the coalescer's order
    lengths: dict[tuple[int, int], Any] = {}
    for warp, visit, count in zip(
        rays["warp_id"], rays["visit"], np.diff(rays["node_offset"].astype(int)), strict=True
    ):
        lengths[warp, visit] = max(lengths.get((warp, visit), 0), int(count))
    for (warp, visit), count in lengths.items():
        warps[warp].rays[int(visit)] = count
    return warps
