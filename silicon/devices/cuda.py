"""A CUDA device through the driver's own interface, as the package ``cuda-bindings`` has it (the extra ``capture``)."""

import ctypes
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Module
from rayplay.ptx.text.printer import print_module
from rayplay.silicon.devices.device import Loaded
from rayplay.tracer.launch import Prepared
from rayplay.tracer.link.launches import ComputeLaunch

LOG_BYTES = 8192
OLDER = ((8, 5), (8, 0), (7, 8))  # versions of PTX to try with drivers that do not know a module's
UNSUPPORTED_VERSION = 222  # CUDA_ERROR_UNSUPPORTED_PTX_VERSION


@dataclass(frozen=True)
class Card:
    """A device, as the driver describes it."""

    name: str
    sms: int
    clock_khz: int
    memory_clock_khz: int
    l2_bytes: int
    memory_bytes: int
    capability: str
    driver: str


def driver(instead: str = "") -> Any:
    """The driver's interface; ``UserError``, which names ``instead``, where there is no package or no device."""
    try:
        from cuda.bindings import driver as found
    except ImportError:
        raise UserError(
            f"no CUDA device can be used without the package cuda-bindings (pip install 'rayplay[capture]'){instead}"
        ) from None
    try:
        code = found.cuInit(0)[0]
    except Exception as error:  # the driver's library is not there: the binding has an exception of its own
        raise UserError(f"no CUDA device: {' '.join(str(error).split())}{instead}") from None
    if int(code):
        raise UserError(f"no CUDA device: cuInit ended with {code.name}{instead}")
    return found


class Cuda:
    """A ``Device``: the first CUDA device, in its primary context.

    instead  what a line that refuses says last: what to do where there is no device.
    """

    apart = False

    def __init__(self, instead: str = "") -> None:
        self.api = driver(instead)
        self.index = self.call("cuDeviceGet", 0)
        self.call("cuCtxSetCurrent", self.call("cuDevicePrimaryCtxRetain", self.index))
        self.name = _text(self.call("cuDeviceGetName", 256, self.index))
        self._buffers: list[int] = []

    def call(self, name: str, *arguments: object) -> Any:
        """Results of a function of the driver, without its error code; ``UserError`` names code and function."""
        code, *results = getattr(self.api, name)(*arguments)
        if int(code):
            raise UserError(f"{getattr(self, 'name', 'CUDA')}: {name} ended with {code.name}")
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def attribute(self, name: str) -> int:
        """An attribute of the device, such as ``MULTIPROCESSOR_COUNT``."""
        key = getattr(self.api.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self.call("cuDeviceGetAttribute", key, self.index))

    @property
    def card(self) -> Card:
        """The device."""
        major, minor = (self.attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
        version = int(self.call("cuDriverGetVersion"))
        return Card(
            self.name, self.attribute("MULTIPROCESSOR_COUNT"), self.attribute("CLOCK_RATE"),
            self.attribute("MEMORY_CLOCK_RATE"), self.attribute("L2_CACHE_SIZE"),
            int(self.call("cuDeviceTotalMem", self.index)), f"{major}.{minor}",
            f"{_smi('driver_version') or 'unknown'}, CUDA {version // 1000}.{version % 1000 // 10}",
        )  # fmt: skip

    def open(self, prepared: Prepared) -> dict[str, int]:
        if names := prepared.plan.handle_names():
            raise UserError(
                f"{prepared.path}: textures, samplers and surfaces cannot be bound to a CUDA device yet: {names[0]}; "
                "--device executor can"
            )
        return {name: self.take(values.nbytes) for name, values in prepared.buffers.items()}

    def load(self, module: Module) -> Loaded:
        return self.load_text(print_module(module), module)

    def load_text(self, text: str, module: Module) -> Loaded:
        """Load PTX text of a module; a driver that does not know its version gets an older one."""
        code, handle, log = self._load(text)
        for major, minor in OLDER:
            if int(code) == UNSUPPORTED_VERSION and (major, minor) < module.version:
                text = re.sub(r"\.version\s+\d+\.\d+", f".version {major}.{minor}", text, count=1)
                code, handle, log = self._load(text)
        if int(code):
            raise UserError(f"{self.name}: {module.source_name}: {code.name}: {' '.join(log.split())}")
        own = [v.name for v in module.variables.values() if v.space == "global" and v.linkage != "extern"]
        addresses = {name: int(self.call("cuModuleGetGlobal", handle, name.encode())[0]) for name in own}
        return Loaded(module, addresses, handle)

    def _load(self, text: str) -> tuple[Any, Any, str]:
        option = self.api.CUjit_option
        log = bytearray(LOG_BYTES)
        keys = [option.CU_JIT_ERROR_LOG_BUFFER, option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        code, handle = self.api.cuModuleLoadDataEx(text.encode() + b"\0", len(keys), keys, [log, LOG_BYTES])
        return code, handle, log.split(b"\0")[0].decode(errors="replace")

    def take(self, size: int) -> int:
        return int(self.call("cuMemAlloc", max(size, 1)))

    def give_back(self, address: int) -> None:
        self.call("cuMemFree", address)

    def fill(self, address: int, size: int, byte: int) -> None:
        if size:
            self.call("cuMemsetD8", address, byte, size)

    def write(self, address: int, values: np.ndarray) -> None:
        raw = np.ascontiguousarray(values)
        if raw.nbytes:
            self.call("cuMemcpyHtoD", address, raw.ctypes.data, raw.nbytes)

    def read(self, address: int, size: int) -> np.ndarray:
        raw = np.empty(size, np.uint8)
        if size:
            self.call("cuMemcpyDtoH", raw.ctypes.data, address, size)
        return raw

    def launch(
        self, program: Loaded, launch: ComputeLaunch, params: tuple[bytes, ...], constants: Mapping[str, bytes]
    ) -> None:
        self.set_constants(program, {**launch.constants, **constants})
        self.start(program, launch, params)
        self.call("cuCtxSynchronize")

    def set_constants(self, program: Loaded, constants: Mapping[str, bytes]) -> None:
        """Write ``.const`` variables."""
        for name, data in constants.items():
            address, size = self.call("cuModuleGetGlobal", program.handle, name.encode())
            self.write(int(address), np.frombuffer(data[: int(size)], np.uint8))

    def start(self, program: Loaded, launch: ComputeLaunch, params: tuple[bytes, ...]) -> None:
        """Begin a launch on the default stream."""
        function = self.call("cuModuleGetFunction", program.handle, launch.entry.encode())
        if launch.dynamic_shared_bytes > 48 << 10:
            key = self.api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.call("cuFuncSetAttribute", function, key, launch.dynamic_shared_bytes)
        held = [ctypes.create_string_buffer(each, len(each)) for each in params]
        pointers = np.array([ctypes.addressof(each) for each in held] or [0], np.uint64)
        shape = (*launch.grid, *launch.block, launch.dynamic_shared_bytes, 0, pointers.ctypes.data)
        if launch.cooperative:
            self.call("cuLaunchCooperativeKernel", function, *shape)
        else:
            self.call("cuLaunchKernel", function, *shape, 0)


def _smi(query: str) -> str:
    """A value of ``nvidia-smi``, empty without one."""
    try:
        made = subprocess.run(
            ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits", "--id=0"],
            capture_output=True, text=True, timeout=20, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return made.stdout.strip() if made.returncode == 0 else ""


def clocks() -> dict[str, str]:
    """Clocks of the card in MHz as ``nvidia-smi`` reports them, and whether they are locked; empty without it."""
    return {
        name: _smi(name) for name in ("clocks.sm", "clocks.mem", "clocks.applications.graphics", "persistence_mode")
    }


def _text(raw: object) -> str:
    return (raw.decode() if isinstance(raw, bytes) else str(raw)).split("\0")[0].strip()
