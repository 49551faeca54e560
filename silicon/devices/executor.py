"""The tracer's executor as a device: a capture is shown by it, without a GPU, to equal an execution."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rayplay.ptx.ir import Module
from rayplay.silicon.devices.device import Loaded
from rayplay.tracer.launch import Prepared, prepare
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.link.link import link_launch
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import run_compute_launch

RECORDS_BYTES = 1 << 31  # of addresses: pages are taken when they are touched
ALIGN_BYTES = 256


class Executor:
    """A ``Device`` whose memory is an arena of its own, with the buffers where they always lie."""

    name = "executor"
    apart = True

    def __init__(self, backend: str = "machine") -> None:
        self.backend = backend
        self.memory = DeviceMemory()
        self._next = 0  # records lie apart, so that a launch's own memory does not move from run to run

    def open(self, prepared: Prepared) -> dict[str, int]:
        """Place the buffers of the launch file once more."""
        again = prepare(prepared.path)
        self.memory = again.memory
        self._next = self.memory.allocate(RECORDS_BYTES, name="records of a capture")
        return again.addresses

    def load(self, module: Module) -> Loaded:
        """Link every entry, which gives the variables their place."""
        for function in module.functions.values():
            if function.is_entry:
                link_launch(((module, function),), self.memory, {})
        own = {v.name for v in module.variables.values() if v.space == "global"}
        known = self.memory.variables.items()
        return Loaded(module, {n: a for (source, n), a in known if source == module.source_name and n in own}, None)

    def take(self, size: int) -> int:
        address = self._next
        self._next += -(-size // ALIGN_BYTES) * ALIGN_BYTES
        self.memory.view(address, np.uint8, size)  # an error where there is not so much
        return address

    def give_back(self, address: int) -> None:
        self._next = address

    def fill(self, address: int, size: int, byte: int) -> None:
        self.memory.view(address, np.uint8, size)[:] = byte

    def write(self, address: int, values: np.ndarray) -> None:
        raw = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        self.memory.view(address, np.uint8, raw.size)[:] = raw

    def read(self, address: int, size: int) -> np.ndarray:
        return self.memory.view(address, np.uint8, size)

    def launch(
        self, program: Loaded, launch: ComputeLaunch, params: tuple[bytes, ...], constants: Mapping[str, bytes]
    ) -> None:
        run = replace(
            launch,
            module=program.module,
            memory=self.memory,
            params=params,
            constants={**launch.constants, **constants},
        )
        held = self.memory.mark()
        try:
            run_compute_launch(run, None, self.backend, progress=False)
        finally:
            self._clear(held)

    def _clear(self, held: dict[str, Any]) -> None:
        """Take back what a launch took for itself, zeroed for the next."""
        known = {first for first, *_ in held["allocations"]}
        for first, size, _ in self.memory.allocations:
            if first not in known:
                self.memory.view(first, np.uint8, size)[:] = 0
        self.memory.go_back(held)
