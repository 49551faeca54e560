"""Running PTX from Python: a program, buffers, launches, and what memory holds after them.

::

    from rayplay.tracer.api import run_kernel
    x, y = run_kernel("saxpy.ptx", "saxpy", [np.ones(64, np.float32), np.zeros(64, np.float32), 2.0, 64], block=64)

    device = Device("two_kernels.ptx")
    data = device.buffer(np.arange(256, dtype=np.uint32))
    device.launch("first", grid=2, block=128, arguments=[data, 256])
    device.launch("second", grid=2, block=(64, 2), arguments=[data.at(4), b"struct of bytes"], shared_bytes=512)
    data.array

    texels = device.buffer(np.zeros((16, 16), np.float32))
    handle = device.texture(texels, "2d", sampler=Sampler(filter="linear", address="wrap", normalized=True))
    device.launch("third", arguments=[handle, data])
"""  # fmt: skip

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Immediate, Module, Variable
from rayplay.ptx.numbers import TYPE_BYTES, encode
from rayplay.tracer.link.launches import ComputeLaunch, require_sound, three
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.memory.images import Sampler, Texture, bind_reference, image_of, place_surface, place_texture
from rayplay.tracer.record.visits import AnySink
from rayplay.tracer.run import run_compute_launch
from rayplay.tracer.warp.shape import entry_of

Lengths = int | Sequence[int]


@dataclass(frozen=True)
class DeviceBuffer:
    """An array in device memory; ``array`` is what it holds, writable and without a copy."""

    address: int
    array: np.ndarray

    def at(self, offset_bytes: int) -> int:
        """The address of a byte of the buffer, as an argument or to be stored in another buffer."""
        return self.address + offset_bytes


Argument = np.ndarray | DeviceBuffer | int | float | bytes | np.generic


class Device:
    """One program and the memory that its launches share."""

    def __init__(self, program: Path | str | Module, memcheck: bool = True) -> None:
        """``program``: a PTX file, PTX text (with a line break), or a parsed module.

        Without ``memcheck`` accesses near buffers are counted in ``memory.outside``, by place, in place of an error.

        Raises ``UserError`` when the file cannot be read or parsed, or when verification finds a problem.
        """
        if isinstance(program, Module):
            self.module = program
        elif isinstance(program, str) and "\n" in program:
            self.module = ptx.parse(program, "program.ptx")
        else:
            self.module = ptx.parse_file(Path(program))
        require_sound(self.module)
        self.memory = DeviceMemory(memcheck=memcheck)
        self.constants: dict[str, bytes] = {}

    @property
    def printed(self) -> str:
        """Everything that kernels have printed."""
        return "".join(self.memory.printed)

    def buffer(self, values: np.ndarray) -> DeviceBuffer:
        """Copy an array to device memory."""
        address = self.memory.allocate(np.ascontiguousarray(values), name=f"buffer {len(self.memory.allocations)}")
        return DeviceBuffer(address, self.memory.view(address, values.dtype, values.shape))

    def variable(self, name: str, dtype: type | str | np.dtype, shape: "int | tuple[int, ...]" = 1) -> np.ndarray:
        """Contents of a ``.global`` or ``.const`` variable of the module, which has a place after the first launch."""
        address = self.memory.variables.get((self.module.source_name, name))
        if address is None:
            raise UserError(
                f"{self.module.source_name}: {name} is not a .global or .const variable in device memory yet"
            )
        return self.memory.view(address, dtype, shape)

    def texture(
        self,
        texels: DeviceBuffer,
        geometry: str = "2d",
        channels: int = 1,
        sampler: Sampler | None = None,
        read: str = "element",
        srgb: bool = False,
    ) -> int:
        """Handle of a texture that reads a buffer (``tracer.memory.images``): an argument, or a value in a buffer."""
        image = image_of(texels.address, texels.array, geometry, channels)
        return place_texture(self.memory, Texture(image, sampler or Sampler(), read, srgb))

    def surface(self, texels: DeviceBuffer, geometry: str = "2d", channels: int = 1) -> int:
        """The handle of a surface that reads and writes a buffer."""
        return place_surface(self.memory, image_of(texels.address, texels.array, geometry, channels))

    def bind(self, name: str, handle: int) -> None:
        """Let a ``.texref``, ``.samplerref``, ``.surfref`` or ``.tex`` variable of the module stand for a handle."""
        bind_reference(self.memory, self.module, name, handle)

    def launch(
        self,
        kernel: str,
        arguments: Sequence[Argument] = (),
        grid: Lengths = 1,
        block: Lengths = 32,
        shared_bytes: int = 0,
        backend: str = "machine",
        sink: AnySink = None,
    ) -> list[np.ndarray]:
        """Run ``kernel`` and return what its arrays hold afterwards, one per array or buffer of ``arguments``.

        An array is copied to a new buffer whose address is passed; a number is encoded as the type of its parameter;
        ``bytes`` are passed as they are (structures by value). ``sink`` takes a trace (``tracer.run``). Raises
        ``UserError`` for arguments that do not fit, and for whatever goes wrong in the kernel.
        """
        parameters = entry_of(self.module, kernel).parameters
        if len(arguments) != len(parameters):
            raise UserError(f"{kernel}: takes {len(parameters)} arguments, {len(arguments)} are given")
        held = [self.buffer(a) if isinstance(a, np.ndarray) else a for a in arguments]
        encoded = tuple(encode_argument(kernel, p, a) for p, a in zip(parameters, held, strict=True))
        launch = ComputeLaunch(
            self.module, kernel, _three(grid), _three(block), encoded, self.memory, shared_bytes,
            constants=dict(self.constants),
        )  # fmt: skip
        run_compute_launch(launch, sink, backend, progress=False)
        return [each.array.copy() for each in held if isinstance(each, DeviceBuffer)]


def encode_argument(
    kernel: str, parameter: Variable, argument: DeviceBuffer | int | float | bytes | np.generic
) -> bytes:
    """The bytes of an argument as its ``.param`` wants them. Raises ``UserError`` for another size."""
    kind = parameter.type.rpartition(".")[2]
    if isinstance(argument, bytes):
        made = argument
    elif isinstance(argument, DeviceBuffer | int) and parameter.bytes == TYPE_BYTES[kind]:
        value = argument.address if isinstance(argument, DeviceBuffer) else argument
        made = encode(Immediate(value), kind)
        lost = kind[0] != "f" and not -(1 << (8 * parameter.bytes - 1)) <= value < 1 << 8 * parameter.bytes
        if lost:
            raise UserError(f"{kernel}: {value} does not fit {parameter.name} (.{parameter.type})")
    elif isinstance(argument, float) and parameter.bytes in (2, 4, 8):
        made = struct.pack({2: "<e", 4: "<f", 8: "<d"}[parameter.bytes], argument)
    else:
        made = argument.tobytes() if isinstance(argument, np.generic) else b""
    if len(made) != parameter.bytes:
        raise UserError(
            f"{kernel}: {parameter.name} (.{parameter.type}) takes {parameter.bytes} bytes, "
            f"{argument!r} is none of that size"
        )
    return made


def run_kernel(
    program: Path | str | Module,
    kernel: str,
    arguments: Sequence[Argument],
    grid: Lengths = 1,
    block: Lengths = 32,
    shared_bytes: int = 0,
    backend: str = "machine",
) -> list[np.ndarray]:
    """One launch on a device of its own: the contents of the arrays of ``arguments`` after it (``Device.launch``)."""
    return Device(program).launch(kernel, arguments, grid, block, shared_bytes, backend)


def _three(lengths: Lengths) -> tuple[int, int, int]:
    given = (lengths,) if isinstance(lengths, int) else tuple(lengths)
    if not 1 <= len(given) <= 3 or any(length < 1 for length in given):
        raise UserError(f"grid and block must be one to three positive lengths, not {lengths}")
    return three(given)
