"""The device of a running program: its modules, memory and kernels, and what each request of the program does."""

import math
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rayplay import ptx
from rayplay.cuda.card import Card
from rayplay.cuda.fatbin import DeviceImage, newest_ptx
from rayplay.cuda.images import create_surface, create_texture
from rayplay.cuda.messages import Ask, Error, Fields, Refused
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Module
from rayplay.tracer.link.functions import called_names, definition
from rayplay.tracer.link.launches import ComputeLaunch, require_sound, three
from rayplay.tracer.link.programs import link_programs
from rayplay.tracer.link.variables import place_variables
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.record.recorder import Counts
from rayplay.tracer.run import Numbering, run_compute_launch
from rayplay.tracer.warp.shape import MOST_COOPERATIVE_WARPS

LARGEST_GRID = (2**31 - 1, 65535, 65535)
LARGEST_BLOCK = (1024, 1024, 64)
LARGEST_CTA = 1024
LAUNCHES = re.compile(r"(__cudaCDP\d?|cuda)(LaunchDevice|GetParameterBuffer)")  # of CUDA's device runtime
MOST_REGISTERS = 255  # PTX has any number; an assembler spills beyond
MOST_BINARIES = 1 << 12
LARGEST_ALIGN = 1 << 16


@dataclass
class Binary:
    """Device code that a program registered together: an image, or several that call each other (``-rdc=true``)."""

    images: list[DeviceImage]
    places: list[str]
    modules: list[Module] = field(default_factory=list)

    def parsed(self) -> list[Module]:
        """Its modules, parsed and verified when first asked for. Raises ``UserError`` for their first problem."""
        if not self.modules:
            made = [ptx.parse(i.text(at), at) for i, at in zip(self.images, self.places, strict=True)]
            for module in made:
                require_sound(module)
            self.modules = made
        return self.modules


@dataclass
class Kernel:
    """A kernel of a binary, the modules beside its own, and the call by which it launches others (or "")."""

    module: Module
    function: Function
    libraries: tuple[Module, ...]
    architecture: int
    launches: str


@dataclass
class Ran:
    """Totals over all launches that ran."""

    kernels: int = 0
    warps: int = 0
    warp_instructions: int = 0
    thread_instructions: int = 0

    def add(self, counts: Counts) -> None:
        """Count another launch."""
        self.kernels += 1
        self.warp_instructions += counts.warp_instructions
        self.thread_instructions += counts.thread_instructions


class Device:
    """The GPU of a program. ``answer`` takes requests in their order; ``failed`` is the first error that a
    kernel ended with, after which no other one runs, as in CUDA."""

    def __init__(self, name: str, card: Card, file: int, writer: Callable[[], TraceWriter], memcheck: bool) -> None:
        """``name``: of the program, in messages; ``file``: in memory, shared with the program. ``writer`` is called
        before the first launch."""
        self.name, self.card, self.writer = name, card, writer
        self.memory = DeviceMemory(memcheck=memcheck, file=file)
        self.binaries: list[Binary] = []
        self.kernels: list[Kernel] = []
        self.numbering, self.ran = Numbering(), Ran()
        self.nominal_ns = self._sent = 0
        self.failed: UserError | None = None
        self._code = Error.NONE
        self._sink: TraceWriter | None = None
        self._stack = ExitStack()
        self._answers: dict[Ask, Callable[[Fields], bytes]] = {
            Ask.BINARY: self._binary, Ask.FUNCTION: self._function, Ask.VARIABLE: self._variable,
            Ask.MEMORY: self._memory, Ask.FREE: self._free, Ask.LAUNCH: self._launch, Ask.TEXTURE: self._texture,
            Ask.SURFACE: self._surface, Ask.CARD: self._card,
        }  # fmt: skip

    @contextmanager
    def tracing(self) -> Iterator["Device"]:
        """While it runs the trace is written; it appears unless the block ends with an error."""
        with self._stack:
            yield self

    def answer(self, ask: Ask, fields: Fields) -> tuple[int, bytes]:
        """Code and bytes of the reply. Raises ``UserError`` for a request of a wrong shape, and device code that
        cannot be read."""
        try:
            return Error.NONE, self._answers[ask](fields)
        except Refused as refused:
            return refused.code, struct.pack("<Q", self.nominal_ns) + self._said()

    def _binary(self, fields: Fields) -> bytes:
        (count,) = fields.read("Q")
        number = len(self.binaries)
        if count < 1 or number + count > MOST_BINARIES:
            raise UserError(f"{self.name}: must register at most {MOST_BINARIES} binaries")
        images, places = [], []
        for part in range(count):
            (size,) = fields.read("Q")
            place = f"{self.name}-{number}{f'.{part}' if count > 1 else ''}.ptx"
            images.append(newest_ptx(fields.take(size), place))
            places.append(place)
        fields.end()
        self.binaries.append(Binary(images, places))
        return struct.pack("<I", number)

    def _named(self, fields: Fields) -> tuple[Binary, str]:
        (number,) = fields.read("I")
        name = fields.rest().decode(errors="replace")
        if number >= len(self.binaries):
            raise UserError(f"{self.name}: must name one of {len(self.binaries)} binaries, found {number}")
        return self.binaries[number], name

    def _function(self, fields: Fields) -> bytes:
        binary, name = self._named(fields)
        modules = binary.parsed()
        owner = next((m for m in modules if name in m.functions and m.functions[name].is_entry), None)
        if owner is None:
            raise Refused(Error.INVALID_FUNCTION)
        function = owner.functions[name]
        architecture = binary.images[modules.index(owner)].architecture
        others = tuple(m for m in modules if m is not owner)
        launches = launching_call(owner, function, others)
        self.kernels.append(Kernel(owner, function, others, architecture, launches))
        sizes = [each.bytes for each in function.parameters]
        figures = self._figures(self.kernels[-1])
        return struct.pack(f"<II8Q{len(sizes)}I", len(self.kernels) - 1, len(sizes), *figures, *sizes)

    def _figures(self, kernel: Kernel) -> tuple[int, ...]:
        """Shared, constant, local bytes, threads of a CTA, registers, architectures, dynamic shared bytes at most."""
        shared = registers = local = 0
        try:
            linked = link_programs(((kernel.module, kernel.function),), kernel.libraries)
            shared, registers = linked.shared_bytes, min(linked.program.registers_per_thread, MOST_REGISTERS)
            local = linked.chain(lambda f: f.layout.local_bytes, 0, 1)
        except UserError:
            pass  # a launch says it
        constant = sum(v.bytes for v in kernel.module.variables.values() if v.space == "const")
        architecture = kernel.architecture  # virtual and real
        most = max(self.card.shared_bytes - shared, 0)
        return shared, constant, local, _most_threads(kernel.function), registers, architecture, architecture, most

    def _variable(self, fields: Fields) -> bytes:
        binary, name = self._named(fields)
        modules = binary.parsed()
        owner = next((m for m in modules if name in m.variables and m.variables[name].linkage != "extern"), None)
        if owner is None or owner.variables[name].space not in ("global", "const"):
            raise Refused(Error.INVALID_SYMBOL)
        key = owner.source_name, name
        if key not in self.memory.variables:
            bodies = [(m, f) for m in modules for f in m.functions.values() if not f.is_declaration]
            place_variables(bodies, self.memory, {})
        if key not in self.memory.variables:  # a module without a function
            raise Refused(Error.INVALID_SYMBOL)
        return struct.pack("<QQ", self.memory.variables[key], owner.variables[name].bytes)

    def _memory(self, fields: Fields) -> bytes:
        size, align = fields.read("QQ")
        fields.end()
        if not 0 < align <= LARGEST_ALIGN or align & (align - 1):
            raise UserError(f"{self.name}: memory must be aligned to a power of two up to {LARGEST_ALIGN}, not {align}")
        try:
            return struct.pack("<Q", self.memory.allocate(size, align, f"buffer {len(self.memory.allocations)}"))
        except UserError:
            raise Refused(Error.NO_MEMORY) from None

    def _free(self, fields: Fields) -> bytes:
        (address,) = fields.read("Q")
        fields.end()
        try:
            self.memory.free(address)
        except UserError:
            raise Refused(Error.INVALID_VALUE) from None
        return b""

    def _texture(self, fields: Fields) -> bytes:
        return struct.pack("<Q", create_texture(self.memory, fields))

    def _surface(self, fields: Fields) -> bytes:
        return struct.pack("<Q", create_surface(self.memory, fields))

    def _card(self, fields: Fields) -> bytes:
        fields.end()
        each = (min(image.architecture for image in binary.images) for binary in self.binaries)
        return self.card.words(max(each, default=75))  # nvcc links libraries of newer architectures into a binary

    def _launch(self, fields: Fields) -> bytes:
        number, *sizes, stream, cooperative, size, shared = fields.read("10IQ")
        given = fields.take(size)
        fields.end()
        if self.failed is not None:
            raise Refused(self._code)
        if number >= len(self.kernels):
            raise UserError(f"{self.name}: must launch one of {len(self.kernels)} kernels, found {number}")
        kernel = self.kernels[number]
        launch = ComputeLaunch(
            kernel.module, kernel.function.name, three(sizes[:3]), three(sizes[3:]), _parameters(kernel, given),
            self.memory, shared, stream, bool(cooperative), libraries=kernel.libraries,
        )  # fmt: skip
        _check_lengths(launch, kernel.function)
        self._run(kernel, launch)
        return struct.pack("<Q", self.nominal_ns) + self._said()

    def _said(self) -> bytes:
        """Text that kernels have printed since the last reply."""
        start, self._sent = self._sent, len(self.memory.printed)
        return "".join(self.memory.printed[start:]).encode(errors="replace")

    def _run(self, kernel: Kernel, launch: ComputeLaunch) -> None:
        """Run a launch and record it. A kernel's error stays, and every launch has it from then on."""
        if self._sink is None:
            self._sink = self._stack.enter_context(self.writer())
        try:
            if kernel.launches:
                place = f"{kernel.module.source_name}: {launch.entry}"
                raise UserError(f"{place}: calls {kernel.launches}: kernels that launch kernels are not supported")
            counts = run_compute_launch(launch, self._sink, numbering=self.numbering)
        except UserError as error:
            self.failed, self._code = error, code_of(str(error))
            raise Refused(self._code) from None
        self.ran.add(counts)
        self.ran.warps = self.numbering.warps
        self.nominal_ns += self.card.nominal_ns(counts.warp_instructions)


def launching_call(module: Module, function: Function, libraries: tuple[Module, ...]) -> str:
    """The call by which a kernel, or a function that it calls by name, launches kernels; "" for one that does not."""
    functions, known = [(module, function)], {id(function)}
    for owner, each in functions:
        for name in called_names(each):
            if LAUNCHES.match(name):
                return name
            found, callee = definition(owner, name, (module, *libraries))
            if callee is not None and id(callee) not in known:
                known.add(id(callee))
                functions.append((found, callee))
    return ""


def code_of(message: str) -> Error:
    """The code that CUDA has for a kernel's error."""
    if "assertion `" in message:
        return Error.ASSERT
    return Error.ILLEGAL_ADDRESS if "which is not allocated" in message else Error.LAUNCH_FAILURE


def _parameters(kernel: Kernel, given: bytes) -> tuple[bytes, ...]:
    """The bytes of each parameter."""
    ends = np.cumsum([each.bytes for each in kernel.function.parameters], dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(given):
        raise UserError(f"{kernel.function.name}: parameters must have {ends[-1:] or 0} bytes, found {len(given)}")
    return tuple(given[start:end] for start, end in zip([0, *ends], ends, strict=False))


def _most_threads(function: Function) -> int:
    directives: dict[str, Any] = function.directives
    return min(math.prod(directives.get("maxntid") or directives.get("reqntid") or (LARGEST_CTA,)), LARGEST_CTA)


def _check_lengths(launch: ComputeLaunch, function: Function) -> None:
    """``Refused``, as CUDA refuses it, for a grid or a block that no launch may have."""
    fits = all(1 <= n <= most for n, most in zip(launch.grid, LARGEST_GRID, strict=True))
    fits = fits and all(1 <= n <= most for n, most in zip(launch.block, LARGEST_BLOCK, strict=True))
    threads = math.prod(launch.block)
    if not fits or threads > LARGEST_CTA:
        raise Refused(Error.INVALID_CONFIGURATION)
    if threads > _most_threads(function):
        raise Refused(Error.INVALID_VALUE)
    if launch.cooperative and math.prod(launch.grid) * -(-threads // 32) > MOST_COOPERATIVE_WARPS:
        raise Refused(Error.COOPERATIVE_TOO_LARGE)
