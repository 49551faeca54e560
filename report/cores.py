"""SMs beside each other: which one is slowest, what each waits for."""

import numpy as np

from rayplay.replay.unit.cycle_stack import IDLE, ISSUE, REASONS
from rayplay.replay.verdict import PHRASES, percent
from rayplay.report.markup import Markup
from rayplay.report.run import Run
from rayplay.report.tables import table

HEADS = (
    "SM", "with a live warp in %", "issues in %", "waits most for", "of its slots in %", "warp instructions", "warps",
)  # fmt: skip


def busy_shares(run: Run) -> np.ndarray:
    """Share of each SM's issue slots with a live warp: float64[SMs]."""
    slots = run.slots[1]
    found: np.ndarray = 1 - slots[:, IDLE] / np.maximum(slots.sum(axis=1), 1)
    return found


def slowest(run: Run) -> str:
    """The SM that has live warps for longest, and the one that has them for the shortest time."""
    sms, busy = run.slots[0], busy_shares(run)
    most, least = int(np.argmax(busy)), int(np.argmin(busy))
    if busy[most] == busy[least]:
        return f"All SMs have live warps for the same time: {percent(float(busy[most]))} of their slots."
    return (
        f"Slowest SM: {sms[most]}, live warps in {percent(float(busy[most]))} of its slots"
        f" (mean {percent(float(busy.mean()))}; SM {sms[least]} {percent(float(busy[least]))})."
    )


def cores(run: Run) -> Markup:
    """A row an SM."""
    sms, slots = run.slots
    busy, share = busy_shares(run), slots / np.maximum(slots.sum(axis=1, keepdims=True), 1)
    waits = share.copy()
    waits[:, [ISSUE, IDLE]] = -1
    place = np.argmax(waits, axis=1)
    issued, warps = (of_sms(run, counter, sms) for counter in ("warp_instructions", "retired_warps"))
    rows = [
        (int(sm), percents(busy[row]), percents(share[row, ISSUE]), PHRASES[REASONS[place[row]]],
         percents(waits[row, place[row]]), issued[row], warps[row])
        for row, sm in enumerate(sms)
    ]  # fmt: skip
    return table(HEADS, rows, "SMs")


def percents(share: float) -> float:
    """A share in percent, as the table has it."""
    return round(100 * float(share), 2)


def of_sms(run: Run, counter: str, sms: np.ndarray) -> list[int | None]:
    """A counter of the unit ``sm`` for each SM; None where the result has no counters."""
    if "counters" not in run.result.tables:
        return [None] * len(sms)
    found = run.result.read("counters")
    mine = (found["unit"] == "sm") & (found["counter"] == counter)
    sums = np.zeros(int(max(sms.max(), found["instance"][mine].max(initial=0))) + 1, np.int64)
    np.add.at(sums, found["instance"][mine], found["value"][mine])
    return [int(value) for value in sums[sms]]
