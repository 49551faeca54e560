"""A replay that is stuck, in words: the names of its warps and instructions, and what a warp waits for.

Only the watchdog asks, so nothing here is fast: it reads the state of the units as they stand.
"""

from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from rayplay.replay.engine.machine import Machine
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps


class Wait(NamedTuple):
    """Wait of a warp. ``instruction``: its static instruction, -1 at its end."""

    sm: int
    warp: int
    instruction: int
    reason: str


class Scene:
    """The stuck machine and the words for its parts."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.core = machine, cast("Any", machine.core)
        self.now = machine.now

    @cached_property
    def opcodes(self) -> list[str]:
        """Opcode of every static instruction."""
        return [str(opcode) for opcode in self.machine.trace.read("instructions", ["opcode"])["opcode"]]

    @cached_property
    def cta_of(self) -> tuple[np.ndarray, np.ndarray]:
        """CTA and place in it of every warp of the trace."""
        warps = self.machine.trace.read("warps", ["cta_id", "warp_in_cta"])
        return warps["cta_id"], warps["warp_in_cta"]

    def instruction(self, number: int) -> str:
        """A static instruction."""
        return f"instruction {number} ({self.opcodes[number]})" if number >= 0 else "its end"

    def name(self, sm: int, index: int) -> str:
        """A warp slot of an SM: the warp in it."""
        core = self.core
        number = int(core.warp[sm * core.warps + index, warps.NUMBER])
        cta, warp = (int(column[number]) for column in self.cta_of)
        return f"warp {warp} of CTA {cta} on SM {sm}"

    def mates(self, sm: int, index: int, live: list[int]) -> list[int]:
        """The warp slots of a warp's CTA that hold a live warp."""
        core = self.core
        place = core.warp[sm * core.warps + index, warps.CTA]
        row = self.machine.dispatch.cta[sm * dispatch.MAX_CTAS + place]
        first, count = int(row[dispatch.FIRST]), int(row[dispatch.COUNT])
        return [other for other in range(first, first + count) if other in live]

    def barrier(self, sm: int, index: int) -> tuple[int, int]:
        """Warps of a warp's CTA that its barrier waits for, and warps that have arrived, as masks."""
        row = sm * dispatch.MAX_CTAS + int(self.core.warp[sm * self.core.warps + index, warps.CTA])
        return int(self.core.barrier[row, warps.RUNNING]), int(self.core.barrier[row, warps.ARRIVED])

    def is_at_barrier(self, sm: int, index: int) -> bool:
        """Whether a warp waits at its CTA's barrier."""
        return bool(self.barrier(sm, index)[1] >> index & 1)

    def at_barrier(self, sm: int, index: int, live: list[int]) -> str:
        """A warp at a barrier: who has reached it, and who has not."""
        running, arrived = self.barrier(sm, index)
        mates = self.mates(sm, index, live)
        missing = [self.name(sm, other).split(" of ")[0] for other in mates if not arrived >> other & 1]
        counted, reached = running.bit_count(), arrived.bit_count()
        if counted > len(mates):
            missing.append(f"{counted - len(mates)} that the CTA counts and the SM does not hold")
        return f"the barrier that {reached} of {counted} warps of the CTA have reached, but not {listed(missing)}"


def listed(names: list[str], most: int = 4) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "nobody"
