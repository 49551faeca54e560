"""Interface of a machine that runs programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rayplay.ptx.ir import Module
from rayplay.tracer.launch import Prepared
from rayplay.tracer.link.launches import ComputeLaunch


@dataclass(frozen=True)
class Loaded:
    """A program on a device; ``variables`` are the addresses of its ``.global`` variables."""

    module: Module
    variables: Mapping[str, int]
    handle: Any


class Device(Protocol):
    """A machine with memory of its own.

    name   as messages and files call it.
    apart  whether the threads' local memories have different addresses.
    """

    name: str
    apart: bool

    def open(self, prepared: Prepared) -> dict[str, int]:
        """Take memory for the buffers of a launch file: their addresses, and handles, by name."""

    def load(self, module: Module) -> Loaded:
        """Load a program. Raises ``UserError`` when the device refuses it."""

    def take(self, size: int) -> int:
        """Address of that many bytes of memory. Raises ``UserError`` when they are not there."""

    def give_back(self, address: int) -> None:
        """Return what ``take`` gave last."""

    def fill(self, address: int, size: int, byte: int) -> None:
        """Set bytes."""

    def write(self, address: int, values: np.ndarray) -> None:
        """Copy an array to the device."""

    def read(self, address: int, size: int) -> np.ndarray:
        """uint8[size] of the device."""

    def launch(
        self, program: Loaded, launch: ComputeLaunch, params: tuple[bytes, ...], constants: Mapping[str, bytes]
    ) -> None:
        """Run a launch to its end, with other parameters and further constants. Raises ``UserError`` when it fails."""
