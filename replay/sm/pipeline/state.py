"""State of the pipelined SM: warps with their instruction buffers, schedulers, latches, collectors, units in flight.

Peak rate: one warp-instruction per cycle and scheduler. An instruction is fetched into its warp's buffer of two,
issues into the ID_OC latch of its class and scheduler, takes a collector unit there, reads its operands from the
scheduler's register banks, goes through the OC_EX latch into its unit, and writes its result back ``latency + 2``
cycles after it entered the unit. Source: ``docs/sources/accel-sim.md#opcode-latencies, #execution-model``.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR
from rayplay.replay.jit.rows import FixedRows, aligned_rows
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.ctas import MAX_CTAS
from rayplay.replay.sm.warps import POLICIES, UNIT_THREADS, UNITS, WARP_COLUMNS
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import cycle_stack_streams as stack_shares
from rayplay.replay.unit.schema import law, value
from rayplay.replay.unit.streams import Shares, make_shares

# Classes of instructions, in the order in which the collector looks at their latches, and their rank in the order in
# which the units execute (on which the result buses depend; the memory unit is the last).
SP, SFU, MEMORY, DP, INT, BRANCH, TEXTURE, TENSOR, UNIFORM, RT = range(10)
CLASSES = ("sp", "sfu", "lsu", "dp", "int", "branch", "texture", "tensor", "uniform", "rt")
UNIT_OF_CLASS = (1, 3, 4, 2, 0, 8, 7, 6, 9, 5)  # place in formats.trace.UNITS
EXECUTE_RANK = (0, 3, 9, 1, 2, 4, 5, 6, 7, 8)
# columns of warp behind those of ``scheduler``: instructions in its buffer, instructions decoded and not complete,
# stores not acknowledged, registers to be written, cursor of predicates and its end, place in the order of launch,
# whether its last instruction has issued, class of the next instruction, registers that loads will write (as filter)
(BUFFERED, FLYING, STORES, WRITES, PREDICATE, PREDICATE_END, AGE, ENDED, CLASS, LOADS) = range(
    WARP_COLUMNS, WARP_COLUMNS + 10
)  # fmt: skip
COLUMNS = WARP_COLUMNS + 10
# columns of row (a scheduler): warp that issued last, cycle in which banks were written last, those banks (a byte each)
LAST, WRITTEN_AT, WRITTEN = range(3)
# columns of unit (an SM): full ID_OC latches (bit = class x schedulers + scheduler), full OC_EX latches (bit = rank of
# the class x schedulers + scheduler), warps to fetch for, warps that are over, warp fetched last, warp in the fetch
# latch or -1, instructions issued, first cycle of this stretch of activity, active cycles before it, collector units in
# use and those that have all operands (bit = scheduler x collectors + unit), warps at a fence, CTAs, warps launched,
# next cycle in which the stages behind the LD/ST unit may do something, instructions that entered a collector unit;
# then masks with bit = warp: with an instruction in the buffer, waiting, hindered by the scoreboard, live, hindered by
# a register of a load or through with its last instruction; and which the cycle stack was told of last: refused by the
# latch of the LD/ST unit, by another one, with an empty buffer, waiting for memory
(ISSUED_TO, EXECUTES, FETCH, OVER, LAST_FETCHED, FETCHED, SERIAL, ACTIVE_SINCE, ACTIVE_BEFORE, IN_USE, COMPLETE, FENCES,
 CTAS, LAUNCHED, NEXT_CYCLE, ENTERED, VALID, WAITING, COLLIDES, LIVE, ON_MEMORY, SEEN_FOR_LSU, SEEN_FOR_UNIT,
 SEEN_FETCHING, SEEN_ON_MEMORY) = range(25)  # fmt: skip
UNIT_COLUMNS = 32
LATCHES = 64  # of an SM: class or rank x schedulers + scheduler
# columns of collector: instruction, access, reads left per bank, OC_EX latch, order in which they entered
OPERATION, PLACE, LEFT, LATCH, ORDER = range(5)
# columns of copies: first group with copies under way, group that is being filled, groups up to which the warp waits
# (0: it does not); then of GROUPS groups copies under way, and of as many the serial number that ended them
FIRST_GROUP, LAST_GROUP, AWAITED, UNDER_WAY = range(4)
GROUPS = 64
ENDED_BY = UNDER_WAY + GROUPS
INSTRUCTION_BITS, WARP_BITS = 26, 6  # an instruction in flight is serial number << 32 | warp << 26 | instruction
SERIAL_SHIFT = INSTRUCTION_BITS + WARP_BITS
COUNT_SHIFT = 4  # of a cycle's results, above the schedulers whose integer unit ends one
BARRIERS = 16
# completion token of an instruction: its number + SLOT_BASE, beyond the slots of ``scheduler``; of an asynchronous copy
# also its serial number << SERIAL_SHIFT
SLOT_BASE = 16

OWNERS = ("scheduler", "sm")
MOST_BANKS = 8  # of a scheduler: what is read of each is a byte of a word


@dataclass(frozen=True)
class Spec:
    """The SM of the model ``pipeline``: front end, operand collectors, register banks and units."""

    fetches: int = value("warps/cycle", "Warps fetched for in a cycle, two instructions each", 1)
    collectors: int = value("count", "Collector units of an SM, a multiple of its schedulers", 1)
    collector_owner: str = value(
        "name", "Whom a collector unit serves: one scheduler, or all of the SM (GPGPU-Sim 4.0)", choices=OWNERS
    )
    collector_ports: int = value("count", "Instructions that enter or leave the collector units in one step", 1)
    register_banks: int = value("count", "Register banks of an SM, shared out evenly among its schedulers", 1)
    register_steps: int = value("steps/cycle", "Steps of the collector in a cycle: reads of a bank", 1)
    result_buses: int = value("count", "Results that the units of an SM may write in a cycle", 1)
    wide_loads: str = value(
        "name", "Registers of a wide SASS load that later instructions wait for", choices=("first", "all")
    )
    sp_latency_cycles: int = value("cycles", "Latency of single and half precision", 1)
    sp_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction; half of it for FP16", 1)
    int_latency_cycles: int = value("cycles", "Latency of integer and move instructions", 1)
    int_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)
    dp_latency_cycles: int = value("cycles", "Latency of double precision", 1)
    dp_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)
    sfu_latency_cycles: int = value("cycles", "Latency of special functions", 1)
    sfu_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)
    branch_latency_cycles: int = value("cycles", "Latency of branches and convergence instructions", 1)
    branch_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)
    texture_latency_cycles: int = value("cycles", "Latency of texture instructions without memory traffic", 1)
    texture_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)
    tensor_latency_cycles: int = value("cycles", "Latency of matrix instructions", 1)
    tensor_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)
    uniform_latency_cycles: int = value("cycles", "Latency of uniform instructions", 1)
    uniform_initiation_cycles: int = value("cycles", "Cycles the unit is taken by an instruction", 1)

    def __post_init__(self) -> None:
        for unit in ("sp", "int", "dp", "sfu", "branch", "texture", "tensor", "uniform"):
            latency, initiation = self.timing(unit)
            law(initiation <= latency, f"{unit}_initiation_cycles must be at most {unit}_latency_cycles ({latency})")
            law(latency <= 1000, f"{unit}_latency_cycles must be at most 1000, not {latency}")
        law(self.collectors <= 63, f"collectors must be at most 63, not {self.collectors}")

    def timing(self, unit: str) -> tuple[int, int]:
        """Latency and initiation cycles of a unit."""
        return getattr(self, f"{unit}_latency_cycles"), getattr(self, f"{unit}_initiation_cycles")


class Tables(NamedTuple):
    """What the SM knows of the static instructions: the fields of the same names of ``Pipeline``."""

    code: np.ndarray
    register: np.ndarray
    register_first: np.ndarray
    filters: np.ndarray
    outputs: np.ndarray
    reads: np.ndarray
    words: int
    copies: bool  # whether there are groups of asynchronous copies


class Pipeline(NamedTuple):
    """All SMs: warp w of SM s is row s * warps + w, scheduler q row s * schedulers + q, latch l row s * LATCHES + l."""

    warp: FixedRows  # int64[sms * warps, COLUMNS]
    pending: np.ndarray  # int64[sms * warps, words]: registers to be written, bit = number; filter, where words is 1
    filter: np.ndarray  # int64[sms * warps]: the same, bit = number & 63, or its place among those of the kernel
    sharing: FixedRows  # uint8[sms * warps, 64]: registers behind each bit of filter
    row: FixedRows  # int64[sms * schedulers, 4]
    wants: FixedRows  # int64[sms, 10]: warps whose next instruction is of the class, bit = warp
    unit: FixedRows  # int64[sms, UNIT_COLUMNS]
    issued: FixedRows  # int64[sms * LATCHES, 2]: ID_OC latches: instruction, access
    order: FixedRows  # uint8[sms, 10]: schedulers whose ID_OC latch of a class is full, 2 bits each, the oldest lowest
    ready: FixedRows  # int64[sms * LATCHES, 2]: OC_EX latches: instruction, access
    free_at: np.ndarray  # int64[sms * LATCHES]: first cycle the unit behind an OC_EX latch takes an instruction
    collector: FixedRows  # int64[sms * schedulers * collectors, 5]
    turn: np.ndarray  # int64[sms * ports]: unit with which a port of the collector begins
    wheel: np.ndarray  # uint32[sms * ring, buses]: instructions that end in a cycle, without their serial numbers
    results: np.ndarray  # uint16[sms, ring]: how many; below COUNT_SHIFT, schedulers whose integer unit ends one
    occupied: np.ndarray  # int64[sms, ring / 64]: places of the ring in use
    barrier: FixedRows  # int64[sms * MAX_CTAS, 1 + BARRIERS]: warps of a CTA that run; warps at each barrier
    copies: FixedRows  # int64[sms * warps, ENDED_BY + GROUPS], no rows where no instruction needs it
    pool: np.ndarray  # int64[sms * schedulers, 2 * positions]: two-level: active warps, the others; as much scratch
    stats: FixedRows  # int64[sms, UNIT_THREADS + UNITS]: the counters of ``scheduler``
    shares: Shares
    slot: FixedRows  # the arrays of replay.stack
    wait: FixedRows
    account: FixedRows  # of replay.stack_shares
    code: np.ndarray  # int64[instructions]: class, kind, latency, destinations, initiation (``work``)
    register: np.ndarray  # int32: registers of the instructions, those that it writes first
    register_first: np.ndarray  # int64[instructions + 1]
    filters: np.ndarray  # int64[instructions]: its registers, bit as in filter
    outputs: np.ndarray  # int64[instructions]: those that it writes
    reads: np.ndarray  # int64[instructions]: source registers per bank of a warp 0, a byte each
    words: int  # 1: a filter tells all registers of a kernel apart
    warps: int
    schedulers: int  # a power of two
    shift: int  # its logarithm
    every: int  # each bit whose place is a multiple of schedulers: the first scheduler's warps, or its latches
    policy: int
    active_warps: int  # of a scheduler, no more than it has
    fetches: int
    collectors: int  # for each scheduler
    pooled: int  # 1: they serve all schedulers
    ports: int
    banks: int  # of a scheduler, a power of two up to MOST_BANKS
    steps: int
    buses: int
    ring: int


def every(schedulers: int) -> int:
    """The warps of scheduler 0 among 64, as a mask (a signed number)."""
    return int(np.bitwise_or.reduce(np.int64(1) << np.arange(0, 64, schedulers)))


def make_state(spec: Spec, policy: scheduler.Spec, sms: int, warps: int, tables: Tables, streams: int = 1) -> Pipeline:
    """SMs without warps."""
    rows, latches = sms * policy.count, sms * LATCHES
    slowest = max(spec.timing(unit)[0] for unit in CLASSES if unit not in ("lsu", "rt"))
    ring = max(64, 1 << (slowest + 3).bit_length())
    collectors = spec.collectors // policy.count
    unit = aligned_rows(sms, UNIT_COLUMNS)
    unit[:, FETCHED] = -1
    unit[:, NEXT_CYCLE] = FAR
    positions = -(-warps // policy.count)
    row = aligned_rows(rows, 4)
    stats = np.zeros((sms, UNIT_THREADS + UNITS), np.int64)
    row[:, [LAST, WRITTEN_AT]] = -1
    return Pipeline(
        np.zeros((sms * warps, COLUMNS), np.int64), np.zeros((sms * warps, tables.words), np.int64),
        np.zeros(sms * warps, np.int64), np.zeros((sms * warps, 64), np.uint8), row,
        np.zeros((sms, len(CLASSES)), np.int64), unit, np.zeros((latches, 2), np.int64),
        np.zeros((sms, len(CLASSES)), np.uint8), np.zeros((latches, 2), np.int64), np.zeros(latches, np.int64),
        np.zeros((rows * collectors, 5), np.int64),
        np.full(sms * spec.collector_ports, collectors if spec.collector_owner == "scheduler" else 1),
        np.zeros((sms * ring, spec.result_buses), np.uint32), np.zeros((sms, ring), np.uint16),
        np.zeros((sms, ring // 64), np.int64), np.zeros((sms * MAX_CTAS, 1 + BARRIERS), np.int64),
        np.zeros((sms * warps if tables.copies else 0, ENDED_BY + GROUPS), np.int64),
        np.tile(np.arange(2 * positions), (rows, 1)),
        stats, make_shares(stats, streams), *stack.make_arrays(rows, sms * warps),
        stack_shares.make_accounts(rows, streams), tables.code,
        tables.register, tables.register_first, tables.filters, tables.outputs, tables.reads, tables.words, warps,
        policy.count, policy.count.bit_length() - 1, every(policy.count),
        POLICIES.index(policy.policy), min(policy.active_warps, positions),
        spec.fetches, collectors, OWNERS.index(spec.collector_owner), spec.collector_ports,
        spec.register_banks // policy.count, spec.register_steps, spec.result_buses, ring,
    )  # fmt: skip
