"""CTA dispatcher: hands CTAs, in launch order, to the SMs that ask for one.

Peak rate: one CTA per cycle and SM. How many CTAs an SM holds follows from threads, registers, shared memory and the
CTA limit, and is never more than its even share of the launch (``reference/vulkan-sim.md`` 1.1). An SM asks when a
place becomes free; requests are served in order of (cycle, SM), and the CTA starts ``launch_cycles`` later. Since that
is at least a quantum, the order does not depend on where the barriers fall.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formats.errors import UserError
from replay.bits import FAR, compiled, inlined
from replay.config import law, value

REGISTER_UNIT = 256  # a warp's registers are given out in units of 8 per thread
MAX_CTAS = 64
LIVE, ARRIVED = 0, 1  # columns of cta
ASK_HEAD, ASK_TAIL, ASK_FREE_AT, GRANT_HEAD, GRANT_TAIL, LAST_RETIRED = range(6)  # columns of unit


@dataclass(frozen=True)
class Spec:
    """What an SM holds, and how a launch begins."""

    count: int = value("count", "Streaming multiprocessors of the GPU", 1)
    warps: int = value("warps", "Warps an SM holds", 1)
    ctas: int = value("CTAs", "CTAs an SM holds", 1)
    registers: int = value("count", "32-bit registers of an SM", 1)
    shared_bytes: int = value("bytes", "Shared memory of an SM", 0)
    clock_khz: int = value("kHz", "Core clock", 1)
    kernel_launch_cycles: int = value("cycles", "From the launch of a kernel to its first CTA", 0)
    cta_launch_cycles: int = value("cycles", "From a free place for a CTA to its first instruction", 1)

    def __post_init__(self) -> None:
        law(self.warps <= 63, f"warps must be at most 63, not {self.warps}")
        law(self.ctas <= MAX_CTAS, f"ctas must be at most {MAX_CTAS}, not {self.ctas}")


class Dispatch(NamedTuple):
    """``ask`` rows: cycle, place. ``grant`` rows: start cycle, CTA, place. CTAs are numbered among those with work."""

    cta: np.ndarray  # int64[sms * MAX_CTAS, 2]: warps not retired, warps at the barrier
    unit: np.ndarray  # int64[sms, 6]
    ask: np.ndarray  # int64[sms, MAX_CTAS, 2]
    grant: np.ndarray  # int64[sms, MAX_CTAS, 3]
    warps: np.ndarray  # int64[CTAs, 2]: first warp and end of a CTA of this launch
    next_cta: np.ndarray  # int64[1]: the next CTA to hand out
    launch_cycles: int
    warps_per_cta: int


def occupancy(spec: Spec, warps_per_cta: int, registers: int, shared_bytes: int, ctas: int, name: str) -> int:
    """CTAs of a launch that an SM holds at a time; ``UserError`` when not even one fits."""
    warp_registers = -(-registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
    limits = {
        "warps": (spec.warps // warps_per_cta, f"{warps_per_cta} warps a CTA", spec.warps),
        "registers": (
            spec.registers // max(warp_registers * warps_per_cta, 1),
            f"{warp_registers * warps_per_cta} registers a CTA",
            spec.registers,
        ),
        "shared_bytes": (
            spec.shared_bytes // shared_bytes if shared_bytes else spec.ctas,
            f"{shared_bytes} bytes of shared memory a CTA",
            spec.shared_bytes,
        ),
    }
    for limit, (fits, need, has) in limits.items():
        if fits == 0:
            raise UserError(f"kernel {name} needs {need}, but an SM has sm.{limit} = {has}")
    fair_share = max(-(-ctas // spec.count), 1)
    return min(spec.ctas, fair_share, *(fits for fits, _, _ in limits.values()))


def make_state(spec: Spec, warps: np.ndarray, warps_per_cta: int, places: int, now: int) -> Dispatch:
    """A launch at cycle ``now``: every SM asks for ``places`` CTAs, one per cycle; they start from ``now`` on."""
    sms = spec.count
    unit = np.zeros((sms, 6), np.int64)
    ask = np.zeros((sms, MAX_CTAS, 2), np.int64)
    cycles = now - spec.cta_launch_cycles + np.arange(places)
    ask[:, :places, 0] = cycles
    ask[:, :places, 1] = np.arange(places)
    unit[:, ASK_TAIL] = places
    unit[:, ASK_FREE_AT] = cycles[-1] + 1
    return Dispatch(
        np.zeros((sms * MAX_CTAS, 2), np.int64),
        unit,
        ask,
        np.zeros((sms, MAX_CTAS, 3), np.int64),
        warps,
        np.zeros(1, np.int64),
        spec.cta_launch_cycles,
        warps_per_cta,
    )


@compiled
def ask_for_cta(state: Dispatch, sm: int, now: int, place: int) -> None:
    """A place for a CTA became free; an SM asks once per cycle."""
    unit = state.unit
    cycle = max(now, unit[sm, ASK_FREE_AT])
    unit[sm, ASK_FREE_AT] = cycle + 1
    at = unit[sm, ASK_TAIL] & (MAX_CTAS - 1)
    state.ask[sm, at, 0] = cycle
    state.ask[sm, at, 1] = place
    unit[sm, ASK_TAIL] += 1


@compiled
def grant_until(state: Dispatch, until: int, loaded_warps: int) -> bool:
    """Serve the requests made before ``until``, by (cycle, SM); False when a CTA's warps are not loaded yet."""
    unit = state.unit
    ctas = state.warps.shape[0]
    while state.next_cta[0] < ctas:
        best, best_cycle = -1, until
        for sm in range(unit.shape[0]):
            if unit[sm, ASK_HEAD] != unit[sm, ASK_TAIL]:
                cycle = state.ask[sm, unit[sm, ASK_HEAD] & (MAX_CTAS - 1), 0]
                if cycle < best_cycle:
                    best, best_cycle = sm, cycle
        if best < 0:
            return True
        if state.warps[state.next_cta[0], 1] > loaded_warps:
            return False
        at = unit[best, GRANT_TAIL] & (MAX_CTAS - 1)
        state.grant[best, at, 0] = best_cycle + state.launch_cycles
        state.grant[best, at, 1] = state.next_cta[0]
        state.grant[best, at, 2] = state.ask[best, unit[best, ASK_HEAD] & (MAX_CTAS - 1), 1]
        unit[best, GRANT_TAIL] += 1
        unit[best, ASK_HEAD] += 1
        state.next_cta[0] += 1
    return True


@inlined
def next_start(state: Dispatch, sm: int) -> int:
    """Start cycle of the SM's next CTA, FAR without one."""
    unit = state.unit
    if unit[sm, GRANT_HEAD] == unit[sm, GRANT_TAIL]:
        return FAR
    return state.grant[sm, unit[sm, GRANT_HEAD] & (MAX_CTAS - 1), 0]


@compiled
def has_requests(state: Dispatch) -> bool:
    """Whether an SM waits for a CTA that there still is."""
    if state.next_cta[0] == state.warps.shape[0]:
        return False
    waiting = 0
    for sm in range(state.unit.shape[0]):
        waiting += state.unit[sm, ASK_TAIL] - state.unit[sm, ASK_HEAD]
    return waiting > 0


@compiled
def is_finished(state: Dispatch) -> bool:
    """Whether every CTA of the launch has been handed out and has retired."""
    if state.next_cta[0] < state.warps.shape[0]:
        return False
    for sm in range(state.unit.shape[0]):
        if state.unit[sm, GRANT_HEAD] != state.unit[sm, GRANT_TAIL]:
            return False
    live = 0
    for row in range(state.cta.shape[0]):
        live += state.cta[row, LIVE]
    return live == 0
