"""Who waits for whom in a replay that is stuck: a sentence per warp, alike ones together.

Only the watchdog asks, so nothing here is fast: it reads the state of the units as they stand.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from rayplay.replay.engine import rounds
from rayplay.replay.memory import port
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm.ctas import MAX_CTAS
from rayplay.replay.sm.warps import CTA, NUMBER

if TYPE_CHECKING:
    from rayplay.replay.run.driver import Replay

SHOWN = 6  # different waits of one message


class Wait(NamedTuple):
    """What a warp waits for. ``instruction``: the static instruction it is at, -1 at its end."""

    sm: int
    warp: int
    instruction: int
    reason: str


class Scene:
    """The stuck replay and the words for its parts."""

    def __init__(self, replay: "Replay") -> None:
        self.replay, self.core = replay, cast("Any", replay.warps)
        self.now = int(replay.clock[rounds.NOW])

    @cached_property
    def opcodes(self) -> list[str]:
        """Opcode of every static instruction."""
        return [str(opcode) for opcode in self.replay.trace.read("instructions", ["opcode"])["opcode"]]

    @cached_property
    def cta_of(self) -> tuple[np.ndarray, np.ndarray]:
        """CTA and place in it of every warp of the trace."""
        warps = self.replay.trace.read("warps", ["cta_id", "warp_in_cta"])
        return warps["cta_id"], warps["warp_in_cta"]

    def instruction(self, number: int) -> str:
        """A static instruction."""
        return f"instruction {number} ({self.opcodes[number]})" if number >= 0 else "its end"

    def name(self, sm: int, index: int) -> str:
        """A warp slot of an SM: the warp in it."""
        core = self.core
        number = int(core.warp[sm * core.warps + index, NUMBER])
        cta, warp = (int(column[number]) for column in self.cta_of)
        return f"warp {warp} of CTA {cta} on SM {sm}"

    def mates(self, sm: int, index: int, live: list[int]) -> list[int]:
        """The warp slots of a warp's CTA that hold a live warp."""
        core = self.core
        place = core.warp[sm * core.warps + index, CTA]
        first, count = self.replay.dispatch.cta[sm * MAX_CTAS + place, [dispatch.FIRST, dispatch.COUNT]].tolist()
        return [other for other in range(first, first + count) if other in live]

    def at_barrier(self, sm: int, index: int, reached: list[int], live: list[int], counted: int) -> str:
        """A warp at a barrier: who has reached it, and who has not."""
        mates = self.mates(sm, index, live)
        missing = [self.name(sm, other).split(" of ")[0] for other in mates if other not in reached]
        lost = counted - len(mates)
        if lost > 0:
            missing.append(f"{lost} that the CTA counts and the SM does not hold")
        return f"the barrier that {len(reached)} of {counted} warps of the CTA have reached, but not {listed(missing)}"


def describe(replay: "Replay", what: str) -> str:
    """One message: the kernels that do not end, what has been seen, and who waits for whom."""
    names = ", ".join(f"{launch.name} ({launch.kernel_id})" for launch in replay.streams.running.values())
    scene = Scene(replay)
    waits = [*warps_that_wait(scene)]
    alike = Counter((wait.instruction, wait.reason) for wait in waits)
    said: dict[tuple[int, str], str] = {}
    for wait in waits:
        key = (wait.instruction, wait.reason)
        others = f" (and {alike[key] - 1} more)" if alike[key] > 1 else ""
        at = scene.instruction(wait.instruction)
        said.setdefault(key, f"{scene.name(wait.sm, wait.warp)}{others}: at {at} waits for {wait.reason}")
    sentences = [*said.values(), *ctas_that_wait(scene)]
    more = f"; and {len(sentences) - SHOWN} more" if len(sentences) > SHOWN else ""
    flying = int(replay.port.port[:, port.IN_FLIGHT].sum())
    return (
        f"{replay.trace.path}: kernel {names} must end, but {what}: {'; '.join(sentences[:SHOWN])}{more};"
        f" {flying} requests under way"
    )


def warps_that_wait(scene: Scene) -> Iterator[Wait]:
    """Every live warp with what it waits for."""
    from rayplay.replay.sm.warps import Warps
    from rayplay.replay.stuck import characterised as characterised_waits
    from rayplay.replay.stuck import pipeline as pipeline_waits

    model = characterised_waits if isinstance(scene.replay.warps, Warps) else pipeline_waits
    yield from model.waits(scene)


def ctas_that_wait(scene: Scene) -> Iterator[str]:
    """Every kernel whose CTAs find no place, and what the SMs hold."""
    state = scene.replay.dispatch
    for row in range(len(state.kernel)):
        kernel = state.kernel[row]
        left = int(kernel[dispatch.END] - kernel[dispatch.NEXT])
        if kernel[dispatch.KERNEL] == dispatch.NONE or left == 0:
            continue
        unit = state.unit
        held, live = int(unit[:, dispatch.HELD].sum()), int(state.live.sum())
        yield (
            f"{left} CTAs of kernel {int(kernel[dispatch.KERNEL])} wait for a CTA place of an SM: the SMs hold {held}"
            f" CTAs ({live} of resident kernels), at most {int(kernel[dispatch.PLACES])} each, with up to"
            f" {int(unit[:, dispatch.REGISTERS_USED].max())} of {state.registers} registers and"
            f" {int(unit[:, dispatch.SHARED_USED].max())} of {state.shared_bytes} bytes of shared memory in use"
        )


def listed(names: list[str], most: int = 4) -> str:
    """Some names, and how many more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "nobody"
