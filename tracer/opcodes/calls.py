"""``docs/programs/calls.md``: every call of OptiX's device interface, from the table of ``ptx.isa.optix``.

``python -m rayplay.tracer.opcodes.calls`` prints it.
"""

from collections.abc import Iterator
from itertools import groupby

from rayplay.ptx.isa.optix import ANSWER_0, GROUPS, INTRINSICS, KINDS, PREFIX, STATES, Intrinsic

HEAD = """\
# Calls of OptiX's device interface

This page is made from `ptx/isa/optix.py` by `make docs`; a test fails when it differs. Verifier, interpreter and
machine code read the same table.

Of **{all} names** of releases 7.0 to 9.1, **{built} run**, {none} more are accepted and answer 0 (no scene here has
ribbons or `rocaps` curves, and every transform is an instance's), and {refused} are refused before anything runs, with
file, line, name and tier. A call is checked where its program is loaded: the number of its results and arguments, their
types, and the kind of program in which it stands, also in functions that programs call by name.

- **results**, **arguments**: `u` a 32-bit integer, `l` a 64-bit one, `f` an f32; `f9` is nine, `*` any number.
- **in**: kinds of program: {kinds}.
- **state**: `runs`, or why not.

| tier | call | results | arguments | in | state |
|---|---|---|---|---|---|
"""
TAIL = """
What the calls mean here, where OptiX leaves it open:

- A **reorder** is recorded as an instruction of the trace, with the hint of each lane (table `hints`), and moves no
  thread. A replay carries it out where a GPU has a window ([replay](../replay.md#reordered-threads)).
- **Motion and opacity micromaps**: no structure has them. Ray times are passed on, and every time has the same
  geometry. A ray flag outside the eight of OptiX 7.0, such as 0x400 (micromaps of two states) or one of Direct3D and
  Vulkan that skips triangles or procedural primitives, is refused: a constant before anything runs, others where a
  ray has them.
- A **traversable handle** of a trace call is not looked at: every ray goes through the whole scene, also with the
  handle of one mesh, or 0, with which OptiX runs the miss program.
- A **transform list** names the instances around a hit, outermost first; traversal runs on one level of instances whose
  matrices are the products.
- A program has **one hit object** for the trace calls that it makes; it starts as a nop. Its record index, data and
  getters speak of its hit or miss; `hitobject_invoke` runs nothing for a nop.
- A **callable record** gives the callable its data; one program may stand in several records.
- An **exception** ends its lanes, whatever they run, and runs the exception program for them; without one the launch
  ends with an error that names line, lane and code.
"""


def _short(letters: str) -> str:
    """``fffffffff`` as ``f9``."""
    parts = [(letter, len(list(group))) for letter, group in groupby(letters)]
    return "".join(f"{letter}{count if count > 2 else ''}" if count != 2 else 2 * letter for letter, count in parts)


def _kinds(kinds: str) -> str:
    named = {value: name for name, value in GROUPS.items()}
    return "all" if named.get(kinds) == "all" else " ".join(kinds)


def _state(intrinsic: Intrinsic) -> str:
    return STATES[intrinsic.state] or "runs"


def page() -> str:
    """The text of docs/programs/calls.md."""
    states = [intrinsic.state for intrinsic in INTRINSICS.values()]
    built, none = states.count("built"), sum(state in ANSWER_0 for state in states)
    kinds = ", ".join(f"`{letter}` {word.replace('_', ' ')}" for letter, word in KINDS.items())
    head = HEAD.format(all=len(states), built=built, none=none, refused=len(states) - built - none, kinds=kinds)
    return head + "\n".join(_rows()) + "\n" + TAIL


def _rows() -> Iterator[str]:
    ordered = sorted(INTRINSICS.items(), key=lambda pair: pair[1].tier)  # stable: the table's order inside a tier
    for name, i in ordered:
        cells = (f"T{i.tier}", f"`{name.removeprefix(PREFIX)}`", _short(i.outputs), _short(i.inputs), _kinds(i.kinds))
        yield f"| {' | '.join(cell or '—' for cell in cells)} | {_state(i)} |"


if __name__ == "__main__":
    print(page(), end="")
