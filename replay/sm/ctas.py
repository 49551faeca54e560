"""CTA dispatcher: which CTA goes to which SM, and what each SM holds.

Peak rate: one CTA per cycle and SM. At the end of each cycle every SM with room gets one CTA, round robin from the SM
after the one that was served last; the CTA's warps are there in the next cycle. A kernel hands out its CTAs in launch
order; when none is left the next resident kernel does. How many CTAs an SM holds follows from its warps, registers,
shared memory and CTA limit, and for a kernel that runs alone is never more than its even share of the grid
(``docs/sources/accel-sim.md#cta-dispatch``). An SM that wants a CTA stops after the cycle in which it asks
(``rounds.py``), so the order does not depend on where the quanta end.

A fragment shader's CTA starts when its depths have been tested (``memory.rop``); the kernel keeps its turn till then.
Kernels belong to classes of work. Of several an SM gets a CTA of the first class in order that has one, and room within
its quota of the SM: warps, CTAs, registers and bytes of shared memory.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.replay.input.work import LANES
from rayplay.replay.jit.bits import FAR, called_from_python, compiled, inlined, lowest_bit, lowest_bits
from rayplay.replay.jit.hooks import NOTHING
from rayplay.replay.jit.rows import FixedRows
from rayplay.replay.memory import rop
from rayplay.replay.unit.schema import law, value

MAX_CTAS = 64
MAX_SMS = 1024
NONE = -1

# Columns of ``cta``.
LIVE = 0  # warps that have not retired
SLOT = 1  # row of its kernel
FIRST = 2  # its first warp slot
COUNT = 3  # its warp slots
CTA_COLUMNS = 4

# Columns of ``unit``, an SM.
ASK = 0  # cycle after which the SM stops to ask for a CTA, FAR: it does not
REACHED = 1  # first cycle it has not simulated
NEXT_EVENT = 2  # next cycle in which it has something to do
HELD = 3  # CTAs it holds
SLOTS_USED = 4  # warp slots in use, as a mask
PLACES_USED = 5  # CTA places in use, as a mask
REGISTERS_USED = 6
SHARED_USED = 7  # bytes of shared memory
START = 8  # cycle in which its next CTA starts, FAR: none is granted
CTA = 9  # that CTA
PLACE = 10  # and its place
LAST_CORE = 11  # of a cluster's first SM: which of its SMs was granted the last CTA
TURN = 12  # likewise: which of its SMs goes first in a cycle
UNIT_COLUMNS = 13

# Columns of ``kernel``.
KERNEL = 0  # its id, NONE: the row is free
NEXT = 1  # next CTA to hand out
END = 2  # end of its CTAs
OPENS = 3  # first cycle in which it hands one out
WARPS = 4  # of a CTA, likewise registers and bytes of shared memory
REGISTERS = 5
SHARED = 6
PLACES = 7  # most CTAs of an SM
STREAM = 8  # place among the streams told apart (``unit.streams``)
CLASS = 9  # of work
GRID = 10  # CTAs
TESTS = 11  # of depth, and the cycles that they take before each of its CTAs
TEST_CYCLES = 12
KERNEL_COLUMNS = 13

# Columns of ``quota`` and ``used``.
QUOTA_WARPS, QUOTA_CTAS, QUOTA_REGISTERS, QUOTA_SHARED = range(4)
QUOTA_COLUMNS = 4

LAST_SM, LAST_KERNEL = range(2)  # columns of turn; a kernel for each class from the latter on


@dataclass(frozen=True)
class Spec:
    """Capacity of an SM, and the launch latency."""

    count: int = value("count", "Streaming multiprocessors of the GPU", 1)
    cluster: int = value("count", "SMs that share a port to the crossbar and take one CTA a cycle together", 1)
    rotates: bool = value("flag", "Whether another SM of a cluster goes first with each of its cycles")
    warps: int = value("warps", "Warps an SM holds", 1)
    ctas: int = value("CTAs", "CTAs an SM holds", 1)
    registers: int = value("count", "32-bit registers of an SM", 1)
    register_unit: int = value("count", "Registers per thread are given out in multiples of this", 1)
    shared_bytes: int = value("bytes", "Shared memory of an SM", 0)
    clock_khz: int = value("kHz", "Core clock", 1)
    kernel_launch_cycles: int = value("cycles", "From the launch of a kernel to its first CTA", 0)
    cta_launch_cycles: int = value("cycles/CTA", "Added to kernel_launch_cycles for each CTA of the grid", 0)
    concurrent_kernels: int = value("kernels", "Kernels of different streams that run at a time; 1: one by one", 1)

    def __post_init__(self) -> None:
        law(self.count <= MAX_SMS, f"count must be at most {MAX_SMS}, not {self.count}")
        law(self.count % self.cluster == 0, f"count ({self.count}) must be a multiple of cluster ({self.cluster})")
        law(self.warps <= 64, f"warps must be at most 64, not {self.warps}")
        law(self.ctas <= MAX_CTAS, f"ctas must be at most {MAX_CTAS}, not {self.ctas}")
        law(self.concurrent_kernels <= 128, f"concurrent_kernels must be at most 128, not {self.concurrent_kernels}")

    def launch_cycles(self, ctas: int) -> int:
        """From the launch of a kernel of ``ctas`` CTAs to its first CTA."""
        return self.kernel_launch_cycles + ctas * self.cta_launch_cycles


class Dispatch(NamedTuple):
    """All SMs and resident kernels; place p of SM s is row s * MAX_CTAS + p of ``cta``."""

    cta: FixedRows  # int64[sms * MAX_CTAS, CTA_COLUMNS]
    unit: FixedRows  # int64[sms, UNIT_COLUMNS]
    live: np.ndarray  # int64[sms, kernels]: CTAs of a resident kernel that an SM holds
    ended: np.ndarray  # int64[sms, kernels]: cycle in which the last of them ended, NONE before the first
    kernel: FixedRows  # int64[kernels, KERNEL_COLUMNS]
    turn: np.ndarray  # int64[1 + classes]: SM served last, kernel of each class
    quota: FixedRows  # int64[sms * classes, QUOTA_COLUMNS]: the most that a class may hold of an SM
    used: FixedRows  # int64[sms * classes, QUOTA_COLUMNS]: what it holds
    warps: FixedRows  # int64[CTAs, 2]: first warp and end of every CTA with work, in launch order
    depth: rop.Depth
    cluster: int
    rotates: bool
    max_warps: int
    registers: int
    shared_bytes: int
    classes: int
    has_quota: bool
    own: Any = NOTHING  # of a plug-in


def make_state(
    spec: Spec, warps: np.ndarray, kernels: int, classes: int = 1, has_quota: bool = False, streams: int = 1
) -> Dispatch:
    """Empty SMs, and room for ``kernels`` resident kernels; ``warps`` bounds the CTAs of all launches.

    has_quota  whether classes are held to quotas, which are whole SMs here.
    """
    unit = np.zeros((spec.count, UNIT_COLUMNS), np.int64)
    unit[:, [ASK, NEXT_EVENT, START]] = FAR
    unit[:, LAST_CORE] = spec.cluster - 1
    unit[:, TURN] = spec.cluster - 1 if spec.rotates else 0
    kernel = np.zeros((kernels, KERNEL_COLUMNS), np.int64)
    kernel[:, KERNEL] = NONE
    return Dispatch(
        np.zeros((spec.count * MAX_CTAS, CTA_COLUMNS), np.int64),
        unit,
        np.zeros((spec.count, kernels), np.int64),
        np.full((spec.count, kernels), NONE, np.int64),
        kernel,
        np.array([spec.count - 1, *[0] * classes]),
        np.tile([spec.warps, spec.ctas, spec.registers, spec.shared_bytes], (spec.count * classes, 1)),
        np.zeros((spec.count * classes, QUOTA_COLUMNS), np.int64),
        warps,
        rop.make_depth(spec.count, streams),
        spec.cluster,
        spec.rotates,
        spec.warps,
        spec.registers,
        spec.shared_bytes,
        classes,
        has_quota,
    )


@dataclass(frozen=True)
class Needs:
    """Resources of an SM that a CTA of a kernel takes."""

    warps: int
    registers: int
    shared_bytes: int


def needs(spec: Spec, threads: int, registers_per_thread: int, shared_bytes: int, name: str) -> Needs:
    """Resources that a CTA of ``threads`` threads takes; ``UserError`` when an SM lacks them."""
    warps = max(-(-threads // LANES), 1)
    registers = -(-registers_per_thread // spec.register_unit) * spec.register_unit * LANES * warps
    for limit, need, what in (
        ("warps", warps, "warps"), ("registers", registers, "registers"),
        ("shared_bytes", shared_bytes, "bytes of shared memory"),
    ):  # fmt: skip
        has = getattr(spec, limit)
        if need > has:
            raise UserError(f"kernel {name} needs {need} {what} a CTA, but an SM has sm.{limit} = {has}")
    return Needs(warps, registers, shared_bytes)


def occupancy(spec: Spec, need: Needs, ctas: int) -> int:
    """CTAs of a kernel of ``ctas`` CTAs that an SM holds at a time when the kernel has it to itself."""
    limits = [spec.ctas, spec.warps // need.warps, max(-(-ctas // spec.count), 1)]
    if need.registers:
        limits.append(spec.registers // need.registers)
    if need.shared_bytes:
        limits.append(spec.shared_bytes // need.shared_bytes)
    return min(limits)


def admit(
    state: Dispatch, kernel_id: int, ctas: tuple[int, int], opens: int, need: Needs, places: int, stream: int,
    work_class: int = 0, tests: int = 0, test_cycles: int = 0,
) -> int:  # fmt: skip
    """Make a kernel resident: it hands out the CTAs of rows ``ctas`` from cycle ``opens`` on. Returns its row.

    tests, test_cycles  of depth for all its CTAs, and the cycles that they take before each.
    """
    row = int(np.flatnonzero(state.kernel[:, KERNEL] == NONE)[0])
    resources = (need.warps, need.registers, need.shared_bytes)
    depth = (ctas[1] - ctas[0], tests, test_cycles)
    state.kernel[row] = (kernel_id, *ctas, opens, *resources, places, stream, work_class, *depth)
    state.unit[:, ASK] = np.minimum(state.unit[:, ASK], opens)
    return row


def over(state: Dispatch, now: int) -> list[int]:
    """Rows of the resident kernels that ended before cycle ``now``."""
    return [row for row in range(len(state.kernel)) if called_from_python(is_over)(state, row, now)]


def dismiss(state: Dispatch, row: int) -> int:
    """Forget a resident kernel that has ended; returns the first cycle after it."""
    end = int(called_from_python(last_end)(state, row)) + 1
    state.kernel[row, [KERNEL, NEXT, END]] = (NONE, 0, 0)
    return end


@inlined
def find_slots(used: int, count: int, warps: int) -> int:
    """First of ``count`` free warp slots in a row, at a multiple of ``count``; -1 without room."""
    wanted = lowest_bits(count)
    for first in range(0, warps - count + 1, count):
        if (used >> first) & wanted == 0:
            return first
    return -1


@inlined
def has_room(state: Dispatch, sm: int, row: int) -> bool:
    """Whether one more CTA of a resident kernel fits into the SM."""
    unit, kernel = state.unit, state.kernel
    return (
        unit[sm, HELD] < kernel[row, PLACES]
        and unit[sm, REGISTERS_USED] + kernel[row, REGISTERS] <= state.registers
        and unit[sm, SHARED_USED] + kernel[row, SHARED] <= state.shared_bytes
        and find_slots(unit[sm, SLOTS_USED], kernel[row, WARPS], state.max_warps) >= 0
        and (not state.has_quota or within_quota(state, sm, row))
    )


@inlined
def within_quota(state: Dispatch, sm: int, row: int) -> bool:
    """Whether one more CTA of a resident kernel leaves its class within its quota of the SM."""
    at, kernel, used, quota = sm * state.classes + state.kernel[row, CLASS], state.kernel, state.used, state.quota
    return (
        used[at, QUOTA_WARPS] + kernel[row, WARPS] <= quota[at, QUOTA_WARPS]
        and used[at, QUOTA_CTAS] < quota[at, QUOTA_CTAS]
        and used[at, QUOTA_REGISTERS] + kernel[row, REGISTERS] <= quota[at, QUOTA_REGISTERS]
        and used[at, QUOTA_SHARED] + kernel[row, SHARED] <= quota[at, QUOTA_SHARED]
    )


@inlined
def hold(state: Dispatch, sm: int, row: int, ctas: int) -> None:
    """Count ``ctas`` CTAs more of a resident kernel among those its class holds in the SM."""
    at, kernel, used = sm * state.classes + state.kernel[row, CLASS], state.kernel, state.used
    used[at, QUOTA_WARPS] += ctas * kernel[row, WARPS]
    used[at, QUOTA_CTAS] += ctas
    used[at, QUOTA_REGISTERS] += ctas * kernel[row, REGISTERS]
    used[at, QUOTA_SHARED] += ctas * kernel[row, SHARED]


@inlined
def tested_at(state: Dispatch, sm: int, row: int) -> int:
    """First cycle in which a CTA of a kernel may start on an SM, since its depths have been tested."""
    if state.kernel[row, TEST_CYCLES] == 0:
        return 0
    return int(max(state.depth.started[sm], state.kernel[row, OPENS]) + state.kernel[row, TEST_CYCLES])


@compiled
def grant(state: Dispatch, sm: int, row: int, cycle: int) -> None:
    """Give the next CTA of a kernel to an SM that has room, in ``cycle``: it starts in the next one."""
    unit, kernel = state.unit, state.kernel
    place = lowest_bit(~unit[sm, PLACES_USED])
    first = find_slots(unit[sm, SLOTS_USED], kernel[row, WARPS], state.max_warps)
    unit[sm, HELD] += 1
    unit[sm, PLACES_USED] |= 1 << place
    unit[sm, SLOTS_USED] |= lowest_bits(kernel[row, WARPS]) << first
    unit[sm, REGISTERS_USED] += kernel[row, REGISTERS]
    unit[sm, SHARED_USED] += kernel[row, SHARED]
    unit[sm, START] = cycle + 1
    unit[sm, CTA] = kernel[row, NEXT]
    unit[sm, PLACE] = place
    unit[sm, NEXT_EVENT] = min(unit[sm, NEXT_EVENT], cycle + 1)
    if kernel[row, TEST_CYCLES]:
        number, grid = kernel[row, NEXT] - kernel[row, END] + kernel[row, GRID], kernel[row, GRID]
        tests = (number + 1) * kernel[row, TESTS] // grid - number * kernel[row, TESTS] // grid
        rop.test(state.depth, sm, cycle + 1, tests, kernel[row, TEST_CYCLES], kernel[row, STREAM])
    kernel[row, NEXT] += 1
    state.live[sm, row] += 1
    hold(state, sm, row, 1)
    at = sm * MAX_CTAS + place
    state.cta[at, LIVE] = 0
    state.cta[at, SLOT] = row
    state.cta[at, FIRST] = first
    state.cta[at, COUNT] = kernel[row, WARPS]
    state.turn[LAST_SM] = sm
    if state.cluster > 1:
        unit[sm - sm % state.cluster, LAST_CORE] = sm % state.cluster


@inlined
def stream_of(state: Dispatch, sm: int, place: int) -> int:
    """Stream of the kernel whose CTA has a place of an SM."""
    return state.kernel[state.cta[sm * MAX_CTAS + place, SLOT], STREAM]


@inlined
def next_start(state: Dispatch, sm: int) -> int:
    """Start cycle of the CTA granted to the SM, FAR without one."""
    return state.unit[sm, START]


@inlined
def is_idle(state: Dispatch, sm: int) -> bool:
    """Whether an SM holds no CTA, and has not been given one that starts in the next cycle."""
    return state.unit[sm, HELD] == 0


@inlined
def is_cluster_idle(state: Dispatch, sm: int) -> bool:
    """Whether that holds for all SMs of an SM's cluster."""
    if state.cluster == 1:
        return is_idle(state, sm)
    held, home = 0, sm - sm % state.cluster
    for other in range(home, home + state.cluster):
        held += state.unit[other, HELD]
    return held == 0


@inlined
def end_cta(state: Dispatch, sm: int, now: int, place: int) -> None:
    """The last warp of a CTA has retired: its place is free, and the SM asks for a CTA, or says that it is empty."""
    unit = state.unit
    at = sm * MAX_CTAS + place
    row = state.cta[at, SLOT]
    unit[sm, HELD] -= 1
    unit[sm, PLACES_USED] &= ~(1 << place)
    unit[sm, SLOTS_USED] &= ~(lowest_bits(state.cta[at, COUNT]) << state.cta[at, FIRST])
    unit[sm, REGISTERS_USED] -= state.kernel[row, REGISTERS]
    unit[sm, SHARED_USED] -= state.kernel[row, SHARED]
    state.live[sm, row] -= 1
    hold(state, sm, row, -1)
    state.ended[sm, row] = now
    if state.kernel[row, NEXT] < state.kernel[row, END] or unit[sm, HELD] == 0:
        unit[sm, ASK] = min(unit[sm, ASK], now)


@compiled
def last_end(state: Dispatch, row: int) -> int:
    """Cycle in which the last CTA of a resident kernel ended; one without CTAs ends as it opens."""
    latest = state.kernel[row, OPENS] - 1
    for sm in range(state.ended.shape[0]):
        latest = max(latest, state.ended[sm, row])
    return latest


@compiled
def is_over(state: Dispatch, row: int, now: int) -> bool:
    """Whether a resident kernel has handed out all its CTAs and all of them ended before cycle ``now``."""
    kernel = state.kernel
    if kernel[row, KERNEL] == NONE or kernel[row, NEXT] < kernel[row, END] or kernel[row, OPENS] > now:
        return False
    held = 0
    for sm in range(state.live.shape[0]):
        held += state.live[sm, row]
    return held == 0


@compiled
def any_over(state: Dispatch, now: int) -> bool:
    """Whether any resident kernel ended before cycle ``now``."""
    found = 0
    for row in range(state.kernel.shape[0]):
        found += is_over(state, row, now)
    return found > 0


@compiled
def is_empty(state: Dispatch) -> bool:
    """Whether no kernel is resident."""
    resident = 0
    for row in range(state.kernel.shape[0]):
        resident += state.kernel[row, KERNEL] != NONE
    return resident == 0
