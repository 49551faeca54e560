"""Samples of a kernel time: each from the memory before the launch, and one run of it left behind."""

from types import SimpleNamespace

import numpy as np

from rayplay import ptx
from rayplay.ptx.ir import Module
from rayplay.silicon.devices.device import Loaded
from rayplay.silicon.timing import Bench
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.memory.arena import DeviceMemory

PROGRAM = """.version 7.0
.target sm_70
.address_size 64
.global .u32 ticket;
.visible .entry k() { ret; }
"""


class Memory:
    """A device in whose program a thread takes a ticket, and notes it in the buffer."""

    card = SimpleNamespace(l2_bytes=0)

    def __init__(self) -> None:
        self.bytes, self.used, self.seen = np.zeros(1 << 23, np.uint8), 64, []

    def take(self, size: int) -> int:
        self.used += 64 + size
        return self.used - size

    def write(self, address: int, values: np.ndarray) -> None:
        self.bytes[address : address + values.nbytes] = values.view(np.uint8)

    def read(self, address: int, size: int) -> np.ndarray:
        return self.bytes[address : address + size].copy()

    def fill(self, address: int, size: int, byte: int) -> None:
        self.bytes[address : address + size] = byte

    def load_text(self, text: str, module: Module) -> Loaded:
        return Loaded(module, {}, None)

    def set_constants(self, program: Loaded, constants: object) -> None:
        pass

    def call(self, name: str, *given: int) -> float:
        if name == "cuMemcpyDtoD":
            self.write(given[0], self.read(given[1], given[2]))
        return 1.0

    def start(self, program: Loaded, launch: ComputeLaunch, params: tuple[bytes, ...]) -> None:
        for address in program.variables.values():
            self.seen.append(int(self.bytes[address]))
            self.bytes[address] += 1


def test_variables_are_restored_before_each_sample() -> None:
    device, module = Memory(), ptx.parse(PROGRAM, "k.ptx")
    buffers = {"a": np.zeros(4, np.uint32)}
    bench = Bench(device, SimpleNamespace(buffers=buffers), {"a": device.take(16)}, 3)  # type: ignore[arg-type]
    program = Loaded(module, {"ticket": device.take(4)}, None)
    launch = ComputeLaunch(module, "k", (1, 1, 1), (1, 1, 1), (), DeviceMemory())
    for number in range(2):
        bench.launch(program, launch, (), number)
        assert device.seen == [number] * 9  # three cold ones, and three warm ones after a launch of their own
        device.seen.clear()
