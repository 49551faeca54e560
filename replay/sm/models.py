"""The models of an SM, and what the rest of the engine asks of one.

The state that is passed as ``core`` names the model, and the call is resolved while the caller is compiled, so that
the engine holds one model and no branch. A new model is a state, and a line in each function here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rayplay.formats.guard.errors import UserError
from rayplay.replay.input.program import load_program
from rayplay.replay.input.window_arrays import Moved
from rayplay.replay.input.work import LOAD, MODELS, TEXTURE, Program
from rayplay.replay.jit.bits import part
from rayplay.replay.memory import texture
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.characterised import issue as characterised
from rayplay.replay.sm.characterised import warp as sm
from rayplay.replay.sm.pipeline import sm as pipeline
from rayplay.replay.sm.pipeline import state as pipeline_state
from rayplay.replay.sm.pipeline.program import load_pipeline_program
from rayplay.replay.sm.pipeline.state import PLACE, PREDICATE, PREDICATE_END, Pipeline
from rayplay.replay.sm.warps import (
    ACCESS,
    ACCESS_END,
    FIRST_VISIT,
    NUMBER,
    TRACE,
    TRACE_END,
    VISIT,
    VISIT_END,
    Warps,
)  # fmt: skip

Core = Warps | Pipeline
CURSORS = {"block": [VISIT, VISIT_END, FIRST_VISIT], "access_key": [ACCESS, ACCESS_END],
           "trace_visit": [TRACE, TRACE_END]}  # fmt: skip
OPTIONS: Any = part | {"forceinline": True}
Function = Callable[..., Any]


def resolved(of_warps: Any, of_pipeline: Any) -> Function:
    """One name for a function that both models have; compiled code gets the one for the type of its first argument."""

    def call(core: Any, *rest: Any) -> Any:
        return (of_warps if isinstance(core, Warps) else of_pipeline)(core, *rest)

    @overload(call, jit_options=OPTIONS, strict=False)
    def _(core: Any, *rest: Any) -> Function:
        found: Function = (of_warps if core.instance_class is Warps else of_pipeline).py_func
        return found

    return call


# (core, ctas, program, work, sm, now): start the next CTA granted to the SM
launch = resolved(sm.launch, pipeline.launch)
# (core, ctas, sm, now): what a cycle does before the LD/ST unit
before_memory = resolved(characterised.end_stalls, pipeline.before_memory)
# (core, ctas, lsus, caches, rays, program, work, lane_cycles, sm, now) -> next cycle to look again: what it does after
after_memory = resolved(characterised.issue, pipeline.after_memory)
# (core, sm, now) -> the next cycle after ``now`` in which the SM has something to do by itself, or FAR; the second one
# after a cycle in which ``after_memory`` has said when it looks again at what is ready
first_event = resolved(characterised.first_event, pipeline.next_event)
next_event = resolved(scheduler.next_stall_end, pipeline.next_event)
# (core, ctas, sm, now, warp, slot): what a warp's slot stands for has come
release = resolved(sm.release, pipeline.release)
# (core, sm, now, warp, slot): whether its result may be written into the register file in this cycle
can_write_back = resolved(characterised.can_write_back, pipeline.can_write_back)
# (core, sm, now, warp, slot): the last response of an atomic was chosen to be written
atomic_taken = resolved(characterised.atomic_taken, pipeline.atomic_taken)


def choose(name: str | None, characterisation: dict[str, Any] | None) -> str:
    """The model's name: the one given, else by whether there is a characterisation; ``UserError`` for no model."""
    if name is None:
        return "pipeline" if characterisation is None or not len(characterisation["unit"]) else "characterised"
    if name not in MODELS:
        raise UserError(f"model must be one of {', '.join(MODELS)}, not {name}")
    return name


def make(
    name: str, warps: scheduler.Spec, pipe: pipeline_state.Spec, textures: texture.Spec, held: dispatch.Spec,
    tables: dict[str, dict[str, Any]], characterisation: dict[str, Any] | None, place: str, streams: int,
) -> tuple[Program, Core]:  # fmt: skip
    """The SMs of a model, and the program in its terms.

    tables   ``instructions``, ``blocks`` and ``kernels``.
    streams  whose events are told apart (``shares``).
    """
    if name == "pipeline":
        for count, what in ((warps.count, "scheduler.count"), (pipe.register_banks, "pipeline.register_banks")):
            if count & (count - 1) or (what == "scheduler.count" and count > 4):
                raise UserError(f"model pipeline: {what} must be a power of two (1, 2 or 4 schedulers), not {count}")
        program, known = load_pipeline_program(tables, pipe, textures, pipe.register_banks // warps.count, place)
        return program, pipeline_state.make_state(pipe, warps, held.count, held.warps, known, streams)
    kind = TEXTURE if textures.path == "cache" else LOAD
    program = load_program(tables, characterisation, place, kind)
    return program, scheduler.make_state(warps, held.count, held.warps, streams)


def has_latches(core: Core) -> bool:
    """Whether an instruction passes latches of the model before it enters the LSU, which then has one register."""
    return isinstance(core, Pipeline)


def live_warps(core: Core) -> np.ndarray:
    """Rows of ``core.warp`` that hold a warp which has not retired."""
    return characterised.live_warps(core) if isinstance(core, Warps) else pipeline.live_warps(core)


def move_cursors(core: Core, moved: Moved) -> None:
    """The window moved: what its rows did, the cursors into them do."""
    numbers, cursors = core.warp[:, NUMBER], dict(CURSORS)
    if isinstance(core, Pipeline):
        cursors["predicate_key"] = [PREDICATE, PREDICATE_END]
        for table in (core.issued, core.ready, core.collector):
            table[:, PLACE] -= np.where(table[:, PLACE] >= 0, moved.of_rows("access_key", table[:, PLACE]), 0)
    for name, columns in cursors.items():
        core.warp[:, columns] -= moved.of_warps(name, numbers)[:, None]
