"""OptiX's device interface: the undeclared ``_optix_*`` functions that programs call, by name.

``ends_block`` marks calls that run other code (programs found through the shader binding table) or leave the program,
and so split a basic block. Source: ``docs/sources/optix.md#calls, #tiers``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rayplay.ptx.isa.optix_calls import CALLS, COUNTED, ENDS, GROUPS, KINDS, STATES

PREFIX = "_optix_"
TRACE_CLASS = "trace"
RUNTIME_CLASS = "runtime"
MOST_PAYLOAD_REGISTERS = 32
MOST_ATTRIBUTES = 8
HIGHEST_BUILT_TIER = 6
ANY = "*"
"""Results or arguments of a call that is not built and takes any number."""
_RAY = "lf9u5"
_PROGRAM = re.compile(rf"__({'|'.join(KINDS.values())})__")
_LETTERS = {word: letter for letter, word in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One function of the interface. ``outputs`` and ``inputs`` have a letter per register.

    kinds    letters of the kinds of program in which a call may stand.
    state    of ``STATES``.
    returns  False where a lane that makes the call ends its program there.
    """

    outputs: str
    inputs: str
    tier: int
    kinds: str
    state: str = "built"
    ends_block: bool = False
    returns: bool = True
    operation_class: str = RUNTIME_CLASS

    @property
    def is_refused(self) -> bool:
        """Whether no program that makes the call is run."""
        return self.state not in ("built", "none")


def kind_of_program(name: str) -> str:
    """Letter of the kind of program that an entry or callable is by its name, empty for another function."""
    found = _PROGRAM.match(name)
    return _LETTERS[found[1]] if found else ""


def words_of(kinds: str) -> str:
    """Kinds of program as a message has them."""
    return ", ".join(KINDS[letter] for letter in kinds)


def _letters(text: str, count: int = 0) -> str:
    """A letter per register."""
    text = text.replace("R", _RAY).replace("u+", "u" * count)
    return re.sub(r"([ulf])(\d+)", lambda m: m[1] * int(m[2]), text.strip("-"))


def _spelled(name: str) -> Iterator[str]:
    for mark, words in (("#", "01234567"), ("@", "xyz"), ("%", ("16xi32", "64xi32", "ptr"))):
        if mark in name:
            yield from (name.replace(mark, word) for word in words)
            return
    yield name


def _read(text: str, ends_block: bool, counts: range = range(1)) -> Iterator[tuple[str, Intrinsic]]:
    """Names and calls of a table."""
    for line in text.strip().splitlines():
        tier, group, state, outputs, inputs, *names = line.split()
        if state not in STATES:
            raise ValueError(f"no state {state!r}, in: {line}")
        for name in (spelled for each in names for spelled in _spelled(each)):
            traces = name.startswith("trace_") or name == "hitobject_traverse"
            for count in counts:
                yield (
                    f"{PREFIX}{name}{count if len(counts) > 1 else ''}",
                    Intrinsic(
                        _letters(outputs, count), _letters(inputs, count), int(tier), GROUPS.get(group, group), state,
                        ends_block, name not in ("ignore_intersection", "terminate_ray", "throw_exception_"),
                        TRACE_CLASS if traces else RUNTIME_CLASS,
                    ),
                )  # fmt: skip


INTRINSICS: dict[str, Intrinsic] = dict(
    (*_read(CALLS, False), *_read(ENDS, True), *_read(COUNTED, True, range(MOST_ATTRIBUTES + 1)))
)
"""OptiX's device interface."""
