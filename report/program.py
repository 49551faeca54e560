"""Instructions of the program: how often each executes, and how long warps wait at it."""

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.replay.verdict import PHRASES, percent
from rayplay.report.markup import Child, Markup, tag
from rayplay.report.run import Run
from rayplay.report.tables import table

MOST_ROWS = 2000
WORST, LETTERS = 3, 48  # instructions that the sentence names, and their letters
EXECUTIONS = "Executions are of warps, from the trace. "
STATIC = (
    "Stall cycles are executions x the stall that the characterisation gives the instruction; waits for memory and rays"
    " are no part of it."
)
WAITS = (
    "Warp-cycles are from looks at all warps: the cycles of warps that issue this instruction next, and what they wait"
    " for mostly (ready: they may issue); rays in the RT unit count for the call that traced them. Shares are of these"
    " warp-cycles, not of the issue slots: of a slot in which one warp issues, the waiting ones have no part. "
)
SHARE = "share of warp-cycles in %"
SAID = PHRASES | {"ready": "a slot to issue"}


def program_section(run: Run) -> tuple[Markup, str] | None:
    """The table with the sentence before it, and a note; None without a trace. Rows are by cost, the largest first."""
    if run.trace is None:
        return None
    blocks = run.trace.read("blocks", ["block_id", "first_instruction", "instruction_count", "program"])
    visits = np.zeros(len(blocks["block_id"]), np.int64)
    for part in run.trace.batches("visits", ["block_id"]):
        if part["block_id"].max(initial=0) >= len(visits):
            raise UserError(
                f"{run.trace.path}: visits: block_id must be a block's, and rayplay check names what is not"
            )
        visits += np.bincount(part["block_id"], minlength=len(visits))
    text = run.trace.read("instructions", ["instruction_id", "line", "text"])
    executed = np.repeat(visits, blocks["instruction_count"])
    program = np.repeat(blocks["program"], blocks["instruction_count"])
    stall = np.zeros(len(executed), np.int64)
    if "characterisation" in run.trace.tables and run.trace.rows("characterisation") == len(stall):
        stall = executed * run.trace.read("characterisation", ["stall_cycles"])["stall_cycles"].astype(np.int64)
    waits = stalls(run, len(executed))
    heat = stall if waits is None else waits[1].sum(axis=1)
    order = np.lexsort((-executed, -heat))[:MOST_ROWS]
    heads = ["line", "instruction", "program", "executions", "stall cycles"]
    columns: list[list[object]] = []
    kept = [at for at in order.tolist() if executed[at]]
    for at in kept:
        columns.append([int(text["line"][at]), text["text"][at], program[at], int(executed[at]), int(stall[at])])
    if waits is None:
        return tag("div", table(heads, columns, "Instructions", True, "stall cycles")), EXECUTIONS + STATIC
    heads += ["warp-cycles", SHARE, "mostly"]
    for at, row in zip(kept, columns, strict=True):
        row += waited(waits, at)
    first, ids = worst(waits, heat, text, program, anchor(run)), [f"{anchor(run)}-{at}" for at in kept]
    queue = tag("p", run.queue) if run.queue else None
    return tag(
        "div", first, queue, table(heads, columns, "Instructions", True, SHARE, ids)
    ), EXECUTIONS + WAITS + STATIC


def anchor(run: Run) -> str:
    """Beginning of the anchors of a run's instructions."""
    return f"at-{run.digest[:12]}"


def stalls(run: Run, instructions: int) -> tuple[list[str], np.ndarray] | None:
    """States, and int64[instructions, states] of the table ``stalls``; None without it, or of another program."""
    if "stalls" not in run.result.tables or not run.result.rows("stalls"):
        return None
    found = run.result.read("stalls")
    if int(found["instruction_id"].max()) >= instructions:
        return None
    states = list(dict.fromkeys(found["state"].tolist()))
    cycles = np.zeros((instructions, len(states)), np.int64)
    place = np.array([states.index(state) for state in found["state"]], np.int64)
    np.add.at(cycles, (found["instruction_id"], place), found["warp_cycles"])
    return states, cycles


def waited(waits: tuple[list[str], np.ndarray], at: int) -> list[object]:
    """Warp-cycles at an instruction, their share, and the state that has most of them."""
    states, cycles = waits
    mine, total = int(cycles[at].sum()), max(int(cycles.sum()), 1)
    return [mine, round(100 * mine / total, 2), states[int(np.argmax(cycles[at]))] if mine else ""]


def worst(
    waits: tuple[list[str], np.ndarray], heat: np.ndarray, text: dict[str, np.ndarray], program: np.ndarray,
    start: str,
) -> Markup:  # fmt: skip
    """The instructions at which warps spend most of their time, in words. start: the beginning of their anchors."""
    said: list[Child] = ["Warps spend most of their time at "]
    rows = [at for at in np.argsort(-heat, kind="stable")[:WORST].tolist() if heat[at]]
    for number, at in enumerate(rows):
        _, _, reason = waited(waits, at)
        line = f"line {int(text['line'][at])} of {program[at]}, " if text["line"][at] else f"{program[at]}, "
        code = tag("code", shortened(str(text["text"][at])))
        base = "" if number else " of the warp-cycles"
        said += ["; " if number else "", tag("a", line, code, href=f"#{start}-{at}")]
        said.append(f" ({percent(int(heat[at]) / max(int(heat.sum()), 1))}{base}, mostly {SAID[str(reason)]})")
    return tag("p", *said, ".") if rows else Markup("")


def shortened(text: str) -> str:
    """The beginning of a long instruction."""
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} ..."
