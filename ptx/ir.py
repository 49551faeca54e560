"""The structure of a PTX module: what the parser builds and everything later reads.

Every node keeps the line and column it came from. Names are resolved: a register, label or variable that shadows
another one in a nested scope has been renamed (``%r1``, ``%r1#2``), so that names are unique in a function.
"""

import builtins
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Position:
    """Place of a node in its file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Register:
    """A virtual or special register; ``component`` is the ``x`` of ``%v.x`` and ``%tid.x``, empty without one."""

    name: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant. ``kind`` is ``int``, ``f32`` or ``f64``; ``bits`` are its bits (int: the value, may be negative)."""

    bits: int
    kind: str = "int"


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable, function or label, plus a byte offset; ``generic`` where ``generic(..)`` asks so."""

    name: str
    offset: int = 0
    generic: bool = False


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``, ``unified`` where ``.unified`` follows it."""

    base: "Register | Symbol | Immediate"
    offset: int = 0
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, ...}``; ``None`` elements are the sink ``_``."""

    elements: tuple["Operand | None", ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """``p|q``: two destinations of one instruction; the first may be a vector (``tex``)."""

    first: "Register | Vector | None"
    second: "Register | None"


@dataclass(frozen=True, slots=True)
class Not:
    """``!p``: a negated source predicate."""

    register: Register


@dataclass(frozen=True, slots=True)
class Texture:
    """``[texture, {x, y}]``, or with a sampler between."""

    name: "Symbol | Register"
    sampler: "Symbol | Register | None"
    coordinates: "Operand"


@dataclass(frozen=True, slots=True)
class Reference:
    """SASS: ``name[table][base + index + offset]``: memory, constant banks, descriptors, tensor memory.

    ``[R2.64+0x8]`` has no name and no table; ``c[0x0][0x160]`` and ``desc[UR4][R2.64]`` have both, ``gdesc[UR4]`` has
    a name alone. ``terms`` are registers, possibly ``Modified`` by ``.64``, ``.U32`` or ``.X4``.
    """

    name: str
    table: "Operand | None"
    terms: tuple["Operand", ...]
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Modified:
    """SASS: an operand with a sign (``-``, ``~`` or none), bars and suffixes: ``-|R2|.H0_H0``, ``R2.reuse``.

    In PTX, the ``-%r1`` of ``vmad``.
    """

    operand: "Operand"
    sign: str = ""
    absolute: bool = False
    suffixes: tuple[str, ...] = ()


Operand = Register | Immediate | Symbol | Address | Vector | Pair | Not | Texture | Reference | Modified


@dataclass(frozen=True, slots=True)
class Guard:
    """``@p`` or ``@!p``."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Call:
    """The operands of a ``call``: results, callee, arguments, and the prototype or target list of an indirect call."""

    results: tuple[Operand, ...]
    target: Symbol | Register
    arguments: tuple[Operand, ...]
    prototype: str | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A full opcode, its modifiers by meaning; a meaning that no modifier has is empty.

    ``key`` names its row in ``ptx.isa.table``. ``memory_space`` and ``access_bytes`` (of a lane) go into traces.
    """

    key: str = ""
    modifiers: tuple[str, ...] = ()
    types: tuple[str, ...] = ()  # type modifiers in order
    elements: tuple[str, ...] = ()  # the same with types narrower than a byte: b1, s4, u4, s2, u2
    lanes: int = 1  # 2, 4 or 8 for .v2, .v4, .v8
    operation_class: str = ""
    memory_space: str = "none"
    access_bytes: int = 0
    spaces: tuple[str, ...] = ()  # state spaces in order
    others: tuple[str, ...] = ()  # modifiers that neither the row's name nor another field has
    rounding: str = ""  # rn, rz, rm, rp, rna, rs, and to whole numbers rni, rzi, rmi, rpi
    compare: str = ""
    operation: str = ""  # of an atomic, a reduction or a second step (setp.lt.and, vadd.add)
    part: str = ""  # of a product: lo, hi, wide
    accuracy: str = ""  # approx, full
    bounds: str = ""  # past the range of a shift or an image: clamp, wrap, trap, zero
    level: str = ""  # of a texture: base, level, grad
    geometry: str = ""  # of a texture or surface: 1d, a2d, cube, ...
    cache: str = ""  # ca, cg, cs, ...
    variant: str = (
        ""  # which of its opcode's kinds: shfl.up, vote.all, prmt.f4e, testp.normal, shf.l, suld.p, txq.width
    )
    shape: str = ""  # of a matrix: m16n8k16, m8n8
    layouts: tuple[str, ...] = ()  # of matrices: row, col
    matrices: int = 0  # 1, 2 or 4 for .x1, .x2, .x4
    shift: int = 0  # 7 or 15 for .shr7, .shr15
    ftz: bool = False
    saturates: bool = False  # .sat
    finite: bool = False  # .satfinite
    relu: bool = False
    absolute: bool = False  # .abs
    keeps_nan: bool = False  # .NaN
    xorsign: bool = False
    carries: bool = False  # .cc
    shift_amount: bool = False  # .shiftamt
    plus_one: bool = False  # .po
    parity: bool = False
    expects_bytes: bool = False  # .expect_tx
    transposed: bool = False  # .trans
    synchronised: bool = False  # .sync
    aligned: bool = False
    hinted: bool = False  # .L2::cache_hint
    counts_bytes: bool = False  # .mbarrier::complete_tx::bytes
    grouped: bool = False  # .bulk_group
    keeps_count: bool = False  # .noinc
    cluster: bool = False  # .shared::cluster

    @property
    def type(self) -> str:
        """The last type modifier, ``""`` without one."""
        return self.types[-1] if self.types else ""

    @property
    def space(self) -> str:
        """The first state space, ``generic`` without one."""
        return self.spaces[0] if self.spaces else "generic"


NO_FORM = Form()
"""Of an instruction without a row: an unknown opcode, or SASS."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``opcode`` is the first word, ``modifiers`` the rest: ``ld`` and ``("global", "f32")``.

    Operands stand as written, destinations first; a ``call`` has ``call`` and no operands. ``address`` is the byte
    address of a SASS instruction in its section and ``encoding`` its 128 bits; both None where they are not known.
    ``form`` says what opcode and modifiers mean (``ptx.isa.form``).
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    position: Position
    text: str
    call: Call | None = None
    address: int | None = None
    encoding: int | None = None
    form: Form = field(default=NO_FORM, compare=False, repr=False)

    @property
    def full_opcode(self) -> str:
        """The opcode as written: ``ld.global.f32``."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def callee(self) -> str:
        """The function that a call names; empty for a call through a register, and for other instructions."""
        return self.call.target.name if self.call is not None and isinstance(self.call.target, Symbol) else ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter. ``initial`` are its first bytes, the rest is 0; ``relocations`` are (offset, symbol).

    ``shape`` are the dimensions as written, 0 for ``[]``. ``masked`` are (offset, mask, symbol): the byte of an address
    that ``0xff00(symbol)`` selects, where those beside it do not make a whole address. ``pointer`` is what ``.ptr``
    says of a parameter: the state space (may be empty) and the alignment (0 when not said). ``attributes`` are texts of
    ``.attribute(...)``, ``properties`` the (name, value) of a sampler.
    """

    name: str
    space: str
    type: str
    bytes: int
    align: int
    position: Position
    linkage: str = ""
    initial: builtins.bytes = b""
    relocations: tuple[tuple[int, Symbol], ...] = ()
    shape: tuple[int, ...] = ()
    masked: tuple[tuple[int, int, Symbol], ...] = ()
    pointer: tuple[str, int] | None = None
    attributes: tuple[str, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Annotation:
    """A ``.loc``, ``.pragma``, ``.file`` or ``.section`` as text; ``index`` is the instruction it stands before."""

    text: str
    position: Position
    index: int = 0


@dataclass(frozen=True, slots=True)
class Function:
    """An ``.entry`` or ``.func``. ``labels`` maps a label to the index in ``body`` of the instruction it stands before.

    ``registers`` maps every register name to its type (``b32``, ``f32``, ``pred``, ``v4.f32``, ...).
    A range ``%r<100>`` is there with the registers that the body names. ``directives`` holds ``maxntid``, ``reqntid``,
    ... as tuples of int; ``branch_targets`` the label lists of ``brx.idx``; ``annotations`` the ``.loc`` and
    ``.pragma`` between instructions; ``pragmas`` and ``attributes`` stand in the head.
    """

    name: str
    is_entry: bool
    linkage: str
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    registers: dict[str, str]
    variables: dict[str, Variable]
    body: tuple[Instruction, ...]
    labels: dict[str, int]
    position: Position
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, "Function"] = field(default_factory=dict)
    is_declaration: bool = False
    language: str = "ptx"  # or "sass"
    annotations: tuple[Annotation, ...] = ()
    pragmas: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Module:
    """One ``.ptx`` file, or one listing of SASS (``version`` is then 0.0 and ``target`` the architecture, if known).

    ``aliases`` maps the names of ``.alias`` to the function each stands for, which ``functions`` has under both names.
    ``registers`` are those declared outside functions (before PTX 3.1 only). ``annotations`` are the ``.file``,
    ``.pragma`` and ``.section`` directives; ``remarks`` what the parser took although PTX does not have it.
    """

    source_name: str
    source_lines: tuple[str, ...]
    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int
    variables: dict[str, Variable]
    functions: dict[str, Function]
    aliases: dict[str, str] = field(default_factory=dict)
    registers: dict[str, str] = field(default_factory=dict)
    annotations: tuple[Annotation, ...] = ()
    remarks: tuple[tuple[Position, str], ...] = ()
    language: str = "ptx"  # or "sass"
