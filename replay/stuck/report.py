"""Who waits for whom in a replay that is stuck: every warp and CTA with what it waits for, alike ones together."""

from collections import Counter
from collections.abc import Iterator

from rayplay.replay.engine.machine import Machine
from rayplay.replay.memory import port
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm.warps import Warps
from rayplay.replay.stuck import characterised, pipeline
from rayplay.replay.stuck.scene import Scene

SHOWN = 6  # different waits of one message


def describe(machine: Machine, what: str) -> str:
    """One message: the kernels that do not end, what has been seen, and who waits for whom."""
    names = ", ".join(f"{launch.name} ({launch.kernel_id})" for launch in machine.streams.running.values())
    scene = Scene(machine)
    waits = [*(characterised if isinstance(machine.core, Warps) else pipeline).waits(scene)]
    alike = Counter((wait.instruction, wait.reason) for wait in waits)
    said: dict[tuple[int, str], str] = {}
    for wait in waits:
        key = (wait.instruction, wait.reason)
        others = f" (and {alike[key] - 1} more)" if alike[key] > 1 else ""
        at = scene.instruction(wait.instruction)
        said.setdefault(key, f"{scene.name(wait.sm, wait.warp)}{others}: at {at} waits for {wait.reason}")
    sentences = [*said.values(), *ctas_that_wait(scene)]
    more = f"; and {len(sentences) - SHOWN} more" if len(sentences) > SHOWN else ""
    flying = int(machine.port.port[:, port.IN_FLIGHT].sum())
    return (
        f"{machine.trace.path}: kernel {names} must end, but {what}: {'; '.join(sentences[:SHOWN])}{more};"
        f" {flying} requests under way"
    )


def ctas_that_wait(scene: Scene) -> Iterator[str]:
    """Every kernel whose CTAs find no place, and what the SMs hold."""
    state = scene.machine.dispatch
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
