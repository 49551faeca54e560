"""State of the pipelined SM: warps with their instruction buffers, schedulers, latches, collectors, units in flight.

Peak rate: one warp-instruction per cycle and scheduler. An instruction is fetched into its warp's buffer of two,
issues into the ID_OC latch of its class and scheduler, takes a collector unit there, reads its operands from the
scheduler's register banks, goes through the OC_EX latch into its unit, and writes its result back ``latency + 2``
cycles after it entered the unit. Source: ``docs/sources/accel-sim.md#opcode-latencies, #execution-model``.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rayplay.replay.jit.bits import FAR, inlined
from rayplay.replay.jit.hooks import NOTHING
from rayplay.replay.jit.rows import FixedRows, aligned_rows
from rayplay.replay.memory.instruction_cache import InstructionCache
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.policies import POLICIES
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
INT_RANK, MEMORY_RANK = EXECUTE_RANK[INT], EXECUTE_RANK[MEMORY]

# Columns of ``warp`` behind the columns of ``sm.warps``.
BUFFERED = scheduler.WARP_COLUMNS  # instructions in its buffer
FLYING = BUFFERED + 1  # instructions decoded and not complete
STORES = BUFFERED + 2  # stores not acknowledged
WRITES = BUFFERED + 3  # registers to be written
PREDICATE = BUFFERED + 4  # its next predicate
PREDICATE_END = BUFFERED + 5
AGE = BUFFERED + 6  # warps launched before it
ENDED = BUFFERED + 7  # 1: its last instruction has issued
CLASS = BUFFERED + 8  # of the next instruction
LOADS = BUFFERED + 9  # registers that loads will write, as in ``filter``
COLUMNS = BUFFERED + 10

# Columns of ``row``, a scheduler.
LAST = 0  # bit of the warp that issued last; 0: none has
WRITTEN_AT = 1  # cycle in which banks were written last
WRITTEN = 2  # those banks, a byte each
TURN = 3  # two-level: place of the warp that issued last, before it

# Columns of ``unit``, an SM; masks of warps have bit = warp, of collector units bit = scheduler x collectors + unit.
ISSUED_TO = 0  # full ID_OC latches, bit = class x schedulers + scheduler
EXECUTES = 1  # full OC_EX latches, bit = rank of the class x schedulers + scheduler
FETCH = 2  # warps to fetch for
OVER = 3  # warps that have completed and may leave
LAST_FETCHED = 4  # warp fetched last
FETCHED = 5  # warp in the fetch latch, or -1
SERIAL = 6  # instructions issued
ACTIVE_SINCE = 7  # first cycle of this stretch of activity
ACTIVE_BEFORE = 8  # active cycles before it
IN_USE = 9  # collector units in use
COMPLETE = 10  # collector units that have all operands
FENCES = 11  # warps at a fence
CTAS = 12  # CTAs of the SM
LAUNCHED = 13  # warps launched
NEXT_CYCLE = 14  # next cycle in which the stages behind the LD/ST unit may do something
ENTERED = 15  # instructions that entered a collector unit
VALID = 16  # warps with an instruction in the buffer
WAITING = 17  # warps that may not issue until something has come
COLLIDES = 18  # warps hindered by the scoreboard
LIVE = 19  # warps of the SM
ON_MEMORY = 20  # warps hindered by a register of a load, or through with their last instruction
SEEN_FOR_LSU = 21  # what the cycle stack was told last: warps refused by the latch of the LD/ST unit,
SEEN_FOR_UNIT = 22  # by another latch,
SEEN_FETCHING = 23  # with an empty buffer,
SEEN_ON_MEMORY = 24  # and waiting for memory
ENDED_WARPS = 25  # warps through with their last instruction
UNIT_COLUMNS = 32
LATCHES = 64  # of an SM: class or rank x schedulers + scheduler

# Columns of latches (the first two) and of ``collector``.
OPERATION = 0  # serial number << 32 | warp << 26 | instruction
PLACE = 1  # access
LEFT = 2  # reads left per bank, a byte each
LATCH = 3  # OC_EX latch
ORDER = 4  # order in which they entered
INSTRUCTION_BITS, WARP_BITS = 26, 6  # of OPERATION
INSTRUCTION_MASK, WARP_MASK = (1 << INSTRUCTION_BITS) - 1, (1 << WARP_BITS) - 1
SERIAL_SHIFT = INSTRUCTION_BITS + WARP_BITS
COUNT_SHIFT = 4  # of ``results``, above the schedulers whose integer unit ends one in the cycle

# Columns of ``copies``.
FIRST_GROUP = 0  # first group with copies under way
LAST_GROUP = 1  # group that is being filled
AWAITED = 2  # groups up to which the warp waits, 0: it does not
UNDER_WAY = 3  # from here on, per group: copies under way
GROUPS = 64
ENDED_BY = UNDER_WAY + GROUPS  # from here on, per group: the serial number that ended it
# Completion token of an instruction: its number + SLOT_BASE, beyond the slots of ``input.work``; of an asynchronous
# copy also its serial number << SERIAL_SHIFT.
SLOT_BASE = 16
WITHOUT_ACCESS = 1 << 30  # in a token: no lane of the load makes an access

OWNERS = ("scheduler", "sm")
MOST_BANKS = 8  # of a scheduler: reads of each are a byte of a word


@dataclass(frozen=True)
class Spec:
    """The SM of the model ``pipeline``: front end, operand collectors, register banks and units."""

    fetches: int = value("warps/cycle", "Warps fetched for in a cycle, two instructions each", 1)
    collectors: int = value("count", "Collector units of an SM, a multiple of its schedulers", 1)
    collector_owner: str = value(
        "name", "Whom a collector unit serves: one scheduler, or all of the SM (GPGPU-Sim 4.0)", choices=OWNERS
    )
    collector_ports: int = value("count", "Instructions that enter or leave the collector units in one step", 1)
    register_banks: int = value("count", "Register banks of an SM, shared out evenly among its sub-cores", 1)
    sub_cores: bool = value(
        "switch", "Whether each scheduler has latches, banks and units of its own, and not the SM as a whole"
    )
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
    """Static instructions, as the fields of the same names of ``Pipeline`` have them."""

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
    filter: np.ndarray  # int64[sms * warps]: the same, bit = number & 63, or its index among the kernel's
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
    barrier: FixedRows  # int64[sms * MAX_CTAS, 2]: as in ``sm.warps``
    copies: FixedRows  # int64[sms * warps, ENDED_BY + GROUPS], no rows where no instruction needs it
    long_ops: np.ndarray  # int64[sms * warps, words]: two-level: registers last written by a load from memory
    pool: np.ndarray  # int64[sms * schedulers, 2 * positions]: two-level: active warps, the others; as much scratch
    stats: FixedRows  # int64[sms, UNIT_THREADS + UNITS]: the counters of ``scheduler``
    shares: Shares
    slot: FixedRows  # the arrays of replay.stack
    wait: FixedRows
    account: FixedRows  # of replay.stack_shares
    code: np.ndarray  # int64[instructions]: class, kind, latency, destinations, initiation (``work``)
    register: np.ndarray  # int32: registers of the instructions, destinations first
    register_first: np.ndarray  # int64[instructions + 1]
    filters: np.ndarray  # int64[instructions]: its registers, bit as in filter
    outputs: np.ndarray  # int64[instructions]: its destinations
    reads: np.ndarray  # int64[instructions]: source registers per bank of a warp 0, a byte each
    instructions: InstructionCache
    words: int  # 1: a filter tells all registers of a kernel apart
    warps: int
    schedulers: int  # a power of two
    shift: int  # its logarithm
    every: int  # each bit whose place is a multiple of schedulers: the first scheduler's warps, or its latches
    policy: int
    active_warps: int  # of a scheduler, no more than it has
    issues: int
    different_units: bool
    sub_cores: bool
    fetches: int
    collectors: int  # for each scheduler
    pooled: int  # 1: they serve all schedulers
    ports: int
    banks: int  # of a sub-core, a power of two up to MOST_BANKS
    steps: int
    buses: int
    ring: int
    own: Any = NOTHING  # of a plug-in


def every(schedulers: int) -> int:
    """The warps of scheduler 0 among 64, as a mask (a signed number)."""
    return int(np.bitwise_or.reduce(np.int64(1) << np.arange(0, 64, schedulers)))


@inlined
def warps_of(core: Pipeline, scheduler: int) -> int:
    """The warps of a scheduler, or its latches, as a mask; its highest bit may be the sign."""
    return int(np.int64(core.every) << scheduler)


def make_state(
    spec: Spec, policy: scheduler.Spec, sms: int, warps: int, tables: Tables, cache: InstructionCache,
    streams: int = 1,
) -> Pipeline:  # fmt: skip
    """SMs without warps."""
    rows, latches = sms * policy.count, sms * LATCHES
    slowest = max(spec.timing(unit)[0] for unit in CLASSES if unit not in ("lsu", "rt"))
    ring = max(64, 1 << (slowest + 3).bit_length())
    collectors = spec.collectors // policy.count
    unit = aligned_rows(sms, UNIT_COLUMNS)
    unit[:, FETCHED] = -1
    unit[:, NEXT_CYCLE] = FAR
    positions, long_words = -(-warps // policy.count), int(tables.register.max(initial=0)) // 64 + 1
    row = aligned_rows(rows, 4)
    stats = np.zeros((sms, scheduler.UNIT_THREADS + scheduler.UNITS), np.int64)
    row[:, WRITTEN_AT] = -1
    return Pipeline(
        np.zeros((sms * warps, COLUMNS), np.int64), np.zeros((sms * warps, tables.words), np.int64),
        np.zeros(sms * warps, np.int64), np.zeros((sms * warps, 64), np.uint8), row,
        np.zeros((sms, len(CLASSES)), np.int64), unit, np.zeros((latches, 2), np.int64),
        np.zeros((sms, len(CLASSES)), np.uint8), np.zeros((latches, 2), np.int64), np.zeros(latches, np.int64),
        np.zeros((rows * collectors, 5), np.int64),
        np.full(sms * spec.collector_ports, collectors if spec.collector_owner == "scheduler" else 1),
        np.zeros((sms * ring, spec.result_buses), np.uint32), np.zeros((sms, ring), np.uint16),
        np.zeros((sms, ring // 64), np.int64), np.zeros((sms * dispatch.MAX_CTAS, 2), np.int64),
        np.zeros((sms * warps if tables.copies else 0, ENDED_BY + GROUPS), np.int64),
        np.zeros((sms * warps if policy.policy == "two-level" else 0, long_words), np.int64),
        np.tile(np.arange(2 * positions), (rows, 1)),
        stats, make_shares(stats, streams), *stack.make_arrays(rows, sms * warps),
        stack_shares.make_accounts(rows, streams), tables.code,
        tables.register, tables.register_first, tables.filters, tables.outputs, tables.reads, cache, tables.words,
        warps, policy.count, policy.count.bit_length() - 1, every(policy.count),
        tuple(POLICIES).index(policy.policy), min(policy.active_warps, positions), policy.issues,
        policy.different_units, spec.sub_cores,
        spec.fetches, collectors, OWNERS.index(spec.collector_owner), spec.collector_ports,
        spec.register_banks // (policy.count if spec.sub_cores else 1), spec.register_steps, spec.result_buses, ring,
    )  # fmt: skip
