"""LLVM IR as text, 32 lanes wide: lines with fresh names, and access to the records of ``tracer.abi``."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from string import Template

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Instruction, Module
from rayplay.ptx.isa.types import TYPES
from rayplay.tracer.abi.words import ACTIVATION, MACHINE
from rayplay.tracer.meaning.dispatch import unknown

INT = {width: f"<32 x i{width}>" for width in (1, 4, 8, 16, 32, 64, 128, 256)}
FLOAT = {16: "<32 x half>", 32: "<32 x float>", 64: "<32 x double>"}
LANE_IDS = ", ".join(f"i32 {lane}" for lane in range(32))


class Text:
    """Lines of one LLVM function; a value is the name or constant of a 32-lane vector.

    ``helpers`` are the definitions of functions that the lines call, by name; the functions of a program share them.
    """

    def __init__(self, module: Module, helpers: dict[str, str] | None = None) -> None:
        self.module = module
        self.helpers = {} if helpers is None else helpers
        self.lines: list[str] = []
        self.instruction: Instruction | None = None
        self.instruction_id = 0
        self.position = 0  # of the instruction in its block
        self._count = 0

    def put(self, text: str) -> None:
        """Write a line that has no result."""
        self.lines.append(text)

    def op(self, text: str) -> str:
        """Write a line with a result; returns its name."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"{name} = {text}")
        return name

    def label(self) -> str:
        """A fresh label, without the percent sign."""
        self._count += 1
        return f"l{self._count}"

    def splat(self, value: str, kind: str) -> str:
        """A scalar in all lanes."""
        first = self.op(f"insertelement <32 x {kind}> poison, {kind} {value}, i64 0")
        return self.op(f"shufflevector <32 x {kind}> {first}, <32 x {kind}> poison, <32 x i32> zeroinitializer")

    def machine(self, name: str) -> str:
        """The word ``name`` of the machine, an i64."""
        pointer = self.op(f"getelementptr i64, ptr %machine, i64 {MACHINE[name]}")
        return self.op(f"load i64, ptr {pointer}")

    def put_machine(self, name: str, value: str) -> None:
        """Store an i64 in the machine's word ``name``."""
        pointer = self.op(f"getelementptr i64, ptr %machine, i64 {MACHINE[name]}")
        self.put(f"store i64 {value}, ptr {pointer}")

    def helper(self, name: str, define: Callable[[], str]) -> None:
        """Have ``define`` write a function that the lines call, once a program."""
        if name not in self.helpers:
            self.helpers[name] = define()

    def header(self, name: str) -> str:
        """Pointer to the activation's header word ``name``."""
        return self.op(f"getelementptr i64, ptr %activation, i64 {ACTIVATION[name]}")

    def at(self, offset: int) -> str:
        """Pointer into the activation."""
        return self.op(f"getelementptr i8, ptr %activation, i64 {offset}")

    def resize(self, value: str, have: int, want: int, signed: bool = False) -> str:
        """Truncate or extend each lane."""
        if have == want:
            return value
        word = "trunc" if want < have else "sext" if signed else "zext"
        return self.op(f"{word} {INT[have]} {value} to {INT[want]}")

    def unknown(self, name: str | None = None) -> UserError:
        """The error for what the current instruction asks and the executor lacks."""
        assert self.instruction is not None
        return unknown(self.module, self.instruction, name)


def typed(i: Instruction) -> tuple[str, int, str]:
    """The last type of an instruction: its name, its bits, and the LLVM type of 32 lanes."""
    width = TYPES[i.form.type]
    return i.form.type, width, INT[width]


def gather(e: Text, pointers: str, lanes: str, width: int, align: int = 0) -> str:
    """Read ``width`` bits per set lane, 0 elsewhere; pointers are as aligned as wide, or as ``align`` says."""
    return e.op(
        f"call {INT[width]} @llvm.masked.gather.v32i{width}.v32p0("
        f"<32 x ptr> align {align or width // 8} {pointers}, <32 x i1> {lanes}, {INT[width]} zeroinitializer)"
    )


def scatter(e: Text, value: str, pointers: str, lanes: str, width: int, align: int = 0) -> None:
    """Write ``width`` bits per set lane, lanes in order."""
    e.put(
        f"call void @llvm.masked.scatter.v32i{width}.v32p0("
        f"{INT[width]} {value}, <32 x ptr> align {align or width // 8} {pointers}, <32 x i1> {lanes})"
    )


@contextmanager
def lowest_lane(e: Text, lanes: str) -> Iterator[tuple[str, str]]:
    """A loop that runs while lanes are left: those, i32, and the lowest; its body writes the others to %lanes.left."""
    e.put(f"store i32 {e.op(f'bitcast <32 x i1> {lanes} to i32')}, ptr %lanes.left")
    head, body, done = e.label(), e.label(), e.label()
    e.put(f"br label %{head}")
    e.put(f"{head}:")
    left = e.op("load i32, ptr %lanes.left")
    e.put(f"br i1 {e.op(f'icmp eq i32 {left}, 0')}, label %{done}, label %{body}")
    e.put(f"{body}:")
    yield left, e.op(f"call i32 @llvm.cttz.i32(i32 {left}, i1 true)")
    e.put(f"br label %{head}")
    e.put(f"{done}:")


KINDS = {"B": INT[1], "I": INT[32], "F": FLOAT[32], "D": FLOAT[64]}
SPREAD = re.compile(r"^ *(%\S+) = spread (\S+) (\S+)$", re.MULTILINE)


def expanded(text: str, **values: object) -> str:
    """LLVM IR with short names: ``$I`` for 32 lanes of i32 (B, F, D), ``spread`` for a scalar in all lanes, values."""
    spread = (
        r"  \1.1 = insertelement <32 x \2> poison, \2 \3, i64 0\n"
        r"  \1 = shufflevector <32 x \2> \1.1, <32 x \2> poison, <32 x i32> zeroinitializer"
    )
    return SPREAD.sub(spread, Template(text).substitute(KINDS, **values))
