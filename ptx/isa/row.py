"""A row of the instruction set: everything that the project knows of an opcode, said once.

The families (``integer``, ``memory``, ...) hold the rows, ``table`` joins them. ``opcode.modifier`` rows (``bar.red``)
come before the bare opcode's. No field of a row has a default but ``typed``: a family states what its rows share.
Source: PTX ISA 9.0 chapter 9; the order of use is in ``docs/sources/ptx-sass.md#opcode-ranking``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from typing import NamedTuple

from rayplay.ptx.ir import Form

ARITHMETIC = {"f64": "fp64", "half": "fp16", "f32": "fp32", "": "int"}
"""Operation classes by the kind of the last type: ``f64``, ``half``, ``f32`` (also ``f32x2``), ``pred``, any other."""
DIVISION = {**ARITHMETIC, "f32": "sfu"}
SPECIAL = {"f64": "fp64", "": "sfu"}
LOGIC = {"pred": "predicate", "": "int"}


class Memory(NamedTuple):
    """How an instruction accesses memory: it reads, it writes, and where it finds the address.

    ``by``: an ``address`` among the operands; an ``image`` (texture, surface); ``rows`` of a matrix at a stride; two
    addresses of a ``copy``, the first of which it writes; ``hidden`` behind descriptors: anywhere.
    """

    reads: bool
    writes: bool
    by: str


NO_MEMORY = Memory(False, False, "")  # also prefetches and fences, which change no value
READS, WRITES, UPDATES = Memory(True, False, "address"), Memory(False, True, "address"), Memory(True, True, "address")
READS_ROWS, WRITES_ROWS = Memory(True, False, "rows"), Memory(False, True, "rows")
READS_IMAGE, WRITES_IMAGE = Memory(True, False, "image"), Memory(False, True, "image")
UPDATES_IMAGE = Memory(True, True, "image")
COPIES, HIDDEN = Memory(True, True, "copy"), Memory(True, True, "hidden")


class Control(Enum):
    """Control flow after an instruction; all but ``NEXT`` end a block (a call only if it runs other code)."""

    NEXT = auto()
    BRANCHES = auto()
    LEAVES = auto()  # lanes end the function
    CALLS = auto()
    MEETS = auto()  # a barrier: the warp waits for others
    PAUSES = auto()
    ASKS = auto()  # whether a phase of an mbarrier is complete; other warps run when it is not


class Yields(Enum):
    """The pointer that a result can hold, for the analysis of aliases."""

    NOTHING = auto()  # there is no result
    NUMBER = auto()  # no address, whatever it is made from
    LOADED = auto()  # what memory holds
    SAME = auto()  # the source's
    CONVERTED = auto()
    SUM = auto()
    DIFFERENCE = auto()
    ADDEND = auto()  # of a product and a sum: the sources after the factors
    SHIFTED = auto()  # an index that is scaled, or a pointer that is aligned
    MIXED = auto()  # any of the sources'


class Allows(Flag):
    """Operands besides registers and constants that fit the type."""

    NOTHING = 0
    SYMBOL = auto()  # the bare address of a variable
    SPECIAL = auto()  # a special register
    SINK = auto()  # ``_`` as the only destination
    WIDER = auto()  # a register wider than the type
    VECTOR = auto()  # a vector register


class Loose(NamedTuple):
    """Modifiers that depend on each other in ways that only their hardware knows.

    ``required`` words must be there; ``allowed`` is a regular expression of the words that may, besides elements;
    ``usual`` are patterns of the forms that PTX ISA lists.
    """

    required: str
    allowed: str
    usual: tuple[str, ...]


class Operand(NamedTuple):
    """A place for an operand. ``type`` is empty where any fits; ``lanes`` > 1 for a vector ``{..}``. Roles:

    d   destination of the instruction's first type        s   source of its last type
    D   destination twice as wide as the type (mul.wide)   S   source twice as wide (mad.wide's addend)
    r   32-bit destination (popc)                          u   32-bit integer source (shift amounts, masks)
    P   predicate destination, or a pair of them           p   predicate source, may be negated
    q   destination with an optional second, predicate one (shfl d|p); q2: both must be there
    X   destination of any type                            x   source of any type
    a   address                                            t   texture or surface; type, lanes: its coordinates
    l   label or branch target list                        m   read and written, of any type
    T   a texel                                            M   a fragment of a matrix
    i   an integer constant                                n   an integer register of 32 or 64 bits
    v w sources of video instructions                      b   a count of threads
    """

    role: str
    type: str = ""
    optional: bool = False
    lanes: int = 1


def operands(roles: str, *types: str) -> list[Operand]:
    """Operands by roles, one letter each, and types."""
    return [Operand(role, type_name) for role, type_name in zip(roles, types, strict=True)]


def a_constant(form: Form) -> list[Operand]:
    """An integer constant alone."""
    return [Operand("i")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One row.

    name             opcode, with the modifiers that choose the row.
    forms            patterns of modifiers (``ptx.isa.patterns``).
    roles            of the operands, in order; ``?`` marks the optional ones.
    operation_class  of traces, or one by kind of type.
    yields, memory, control, reads_carry, allows: effects, as above. ``.cc`` writes the carry flag.
    flops            floating-point operations of a thread, as nvprof's flop_count_* have it: a fused multiply-add is
                     two, a special function one, comparison, minimum, maximum, sign and conversion none.
    timing           class of latencies: ``simple``, or one that ``ptx.timing.pipelines`` lists.
    typed            operands of a form where ``roles`` do not say enough; None for a form that they say all of.
    """

    name: str
    forms: tuple[str, ...] | Loose
    roles: str
    operation_class: str | dict[str, str]
    yields: Yields
    memory: Memory
    control: Control
    reads_carry: bool
    allows: Allows
    flops: int
    timing: str
    typed: Callable[[Form], list[Operand] | None] | None = None

    @property
    def opcode(self) -> str:
        """The first word of the name."""
        return self.name.partition(".")[0]

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns of its forms; of loose modifiers the usual ones."""
        return self.forms.usual if isinstance(self.forms, Loose) else self.forms

    def class_of(self, type_name: str) -> str:
        """The operation class of a form whose last type is ``type_name``."""
        if isinstance(self.operation_class, str):
            return self.operation_class
        kind = type_name if type_name in ("f64", "pred") else "f32" if type_name in ("f32", "f32x2") else ""
        if "16" in type_name and type_name[0] in "fb" and "half" in self.operation_class:
            kind = "half"
        return self.operation_class.get(kind, self.operation_class[""])
