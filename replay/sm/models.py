"""The models of an SM, and what the rest of the engine asks of one.

The state that is passed as ``core`` names the model, and the call is resolved while the caller is compiled, so that
the engine holds one model and no branch. A new model is a state, and a line in each function here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload

from rayplay.formats.guard.errors import UserError
from rayplay.replay.input import work as op
from rayplay.replay.input.program import load_program
from rayplay.replay.input.window_arrays import Moved
from rayplay.replay.jit.bits import FAR, called_from_python, compiled, count_bits, part
from rayplay.replay.memory import instruction_cache, texture
from rayplay.replay.sm import ctas as dispatch
from rayplay.replay.sm import policies, visit, warps
from rayplay.replay.sm.characterised import issue as characterised
from rayplay.replay.sm.characterised import warp as sm
from rayplay.replay.sm.pipeline import fetch
from rayplay.replay.sm.pipeline import sm as pipeline
from rayplay.replay.sm.pipeline import state as pipe
from rayplay.replay.sm.pipeline.program import load_pipeline_program

Core = warps.Warps | pipe.Pipeline
CURSORS = {"block": [warps.VISIT, warps.VISIT_END, warps.FIRST_VISIT], "access_key": [warps.ACCESS, warps.ACCESS_END],
           "trace_visit": [warps.TRACE, warps.TRACE_END]}  # fmt: skip
OPTIONS: Any = part | {"forceinline": True}
Function = Callable[..., Any]


def resolved(of_warps: Any, of_pipeline: Any) -> Function:
    """One name for a function that both models have; compiled code gets the one for the type of its first argument."""

    def call(core: Any, *rest: Any) -> Any:
        return (of_warps if isinstance(core, warps.Warps) else of_pipeline)(core, *rest)

    @overload(call, jit_options=OPTIONS, strict=False)
    def _(core: Any, *rest: Any) -> Function:
        found: Function = called_from_python(of_warps if core.instance_class is warps.Warps else of_pipeline)
        return found

    return call


# (core, sm, now): a CTA comes into the SM
begin_cta = resolved(characterised.begin_cta, pipeline.begin_cta)
# (core, program, work, sm, now, warp): a warp is in its slot, before its first instruction
begin_warp = resolved(sm.begin, fetch.begin)
# (core, ctas, sm, now): what a cycle does before the LD/ST unit
before_memory = resolved(characterised.end_stalls, pipeline.before_memory)
# (core, ctas, lsus, caches, rays, ports, program, work, lane_cycles, sm, now) -> next cycle to look again: what it does
# after that
after_memory = resolved(characterised.issue, pipeline.after_memory)
# (core, sm, now) -> the next cycle after ``now`` in which the SM has something to do by itself, or FAR; the second one
# after a cycle in which ``after_memory`` has said when it checks the ready warps again
first_event = resolved(characterised.first_event, pipeline.next_event)
next_event = resolved(warps.next_stall_end, pipeline.next_event)
# (core, ctas, sm, now, warp, slot): what a warp's slot stands for has come
release = resolved(sm.release, pipeline.release)
# (core, sm, now, warp, slot): whether its result may be written into the register file in this cycle
can_write_back = resolved(characterised.can_write_back, pipeline.can_write_back)
# (core, sm, now, warp, slot): the last response of an atomic was chosen to be written
atomic_taken = resolved(characterised.atomic_taken, pipeline.atomic_taken)
# (core, sm, now, entry): a sector of a line of the instruction cache has come
receive_line = resolved(characterised.receive_line, fetch.receive_line)


@compiled
def launch(core: Core, ctas: dispatch.Dispatch, program: op.Program, work: op.Work, sm: int, now: int) -> None:
    """Start the CTA granted to the SM: its warps with work begin."""
    cta, place = ctas.unit[sm, dispatch.CTA], ctas.unit[sm, dispatch.PLACE]
    ctas.unit[sm, dispatch.START] = FAR
    begin_cta(core, sm, now)
    row, first, running = sm * dispatch.MAX_CTAS + place, ctas.warps[cta, 0], 0
    for number in range(first, ctas.warps[cta, 1]):
        if visit.has_work(work, number):
            index = ctas.cta[row, dispatch.FIRST] + number - first
            here, stream = sm * core.warps + index, dispatch.stream_of(ctas, sm, place)
            visit.begin(core, program, work, here, now, number, place, stream)
            begin_warp(core, program, work, sm, now, index)
            running |= 1 << index
    ctas.cta[row, dispatch.LIVE] = count_bits(np.int64(running))
    core.barrier[row, warps.RUNNING] = running


def choose(name: str | None, characterisation: dict[str, Any] | None) -> str:
    """The model's name: the one given, else by whether there is a characterisation; ``UserError`` for no model."""
    if name is None:
        return "pipeline" if characterisation is None or not len(characterisation["unit"]) else "characterised"
    if name not in op.MODELS:
        raise UserError(f"model must be one of {', '.join(op.MODELS)}, not {name}")
    return name


def make(
    name: str, schedulers: warps.Spec, spec: pipe.Spec, textures: texture.Spec, held: dispatch.Spec,
    instructions: instruction_cache.Spec, tables: dict[str, dict[str, Any]], characterisation: dict[str, Any] | None,
    place: str, streams: int,
) -> tuple[op.Program, Core]:  # fmt: skip
    """The SMs of a model, and the program in its terms.

    tables   ``instructions``, ``blocks`` and ``kernels``.
    streams  whose events are told apart (``unit.streams``).
    """
    if name == "pipeline":
        for count, key in ((schedulers.count, "scheduler.count"), (spec.register_banks, "pipeline.register_banks")):
            if count & (count - 1) or (key == "scheduler.count" and count > 4):
                raise UserError(f"model pipeline: {key} must be a power of two (1, 2 or 4 schedulers), not {count}")
        banks = spec.register_banks // (schedulers.count if spec.sub_cores else 1)
        program, known = load_pipeline_program(tables, spec, textures, banks, place)
        cache = instruction_cache.make_state(instructions, held.count, tables["instructions"], streams)
        return program, pipe.make_state(spec, schedulers, held.count, held.warps, known, cache, streams)
    expect_policy(name, schedulers)
    kind = op.LOAD if textures.path == "l1" else op.TEXTURE
    return load_program(tables, characterisation, place, kind), warps.make_state(
        schedulers, held.count, held.warps, streams
    )


def expect_policy(name: str, schedulers: warps.Spec) -> None:
    """``UserError`` for a policy that only the model ``pipeline`` has."""
    if schedulers.policy not in policies.OF_ALL:
        raise UserError(f"model {name}: scheduler.policy must not be {schedulers.policy}, which is of model pipeline")


def has_latches(core: Core) -> bool:
    """Whether an instruction passes latches of the model before it enters the LSU, which then has one register."""
    return isinstance(core, pipe.Pipeline)


def live_warps(core: Core) -> np.ndarray:
    """Rows of ``core.warp`` that hold a warp which has not retired."""
    return characterised.live_warps(core) if isinstance(core, warps.Warps) else pipeline.live_warps(core)


def move_cursors(core: Core, moved: Moved) -> None:
    """The window moved: what its rows did, the cursors into them do."""
    numbers, cursors = core.warp[:, warps.NUMBER], dict(CURSORS)
    if isinstance(core, pipe.Pipeline):
        cursors["predicate_key"] = [pipe.PREDICATE, pipe.PREDICATE_END]
        for table in (core.issued, core.ready, core.collector):
            table[:, pipe.PLACE] -= np.where(
                table[:, pipe.PLACE] >= 0, moved.of_rows("access_key", table[:, pipe.PLACE]), 0
            )
    for name, columns in cursors.items():
        core.warp[:, columns] -= moved.of_warps(name, numbers)[:, None]
