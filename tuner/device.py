"""GPUs of the analytical model: its device parameters, by name or from a TOML file (Ganestam and Doggett, Table 4)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import meant
from rayplay.formats.guard.strict import Place, read

FOLDER = Path(__file__).parent / "devices"


LEAST, MOST = 1e-6, 1e9
"""Far beyond any device: outside, times and numbers of blocks overflow."""


def _possible(value: float, place: Place) -> None:
    if not LEAST <= value <= MOST:
        raise UserError(f"{place}: must be {LEAST:g} to {MOST:g}, not {value}")


def _value(symbol: str, doc: str) -> Any:
    return field(metadata={"check": _possible, "doc": f"{symbol}: {doc}" if symbol else doc})


def _flag(doc: str) -> Any:
    return field(metadata={"doc": doc})


@dataclass(frozen=True)
class Caches:
    """Parameters of the model that knows caches and dependent instructions (``tuner.modern``), all in cycles."""

    l1_cycles: float = _value("L1", "latency of a load that hits L1")
    l2_cycles: float = _value("L2", "latency of a load that hits L2")
    dram_cycles: float = _value("DRAM", "latency of a load that misses both")
    dependent_cycles: float = _value("a", "between two instructions of a warp, the second of which needs the first")
    alone_cycles: float = _value("", "between two instructions of a warp alone, neither of which needs the other")
    launch_cycles: float = _value("", "of a launch beside its instructions")


@dataclass(frozen=True)
class RayUnit:
    """Parameters of a ray-tracing unit, as the model that knows it takes them."""

    warps: int = _value("", "warps that the unit of a core serves at a time")
    record_cycles: float = _value("", "for a BVH record whose data are near, until a lane asks for its next one")
    request_cycles: float = _value("", "between two requests of the unit")


@dataclass(frozen=True)
class Device:
    """A GPU as the model sees it; the papers' symbols stand before the meaning.

    Raises ``UserError`` when read with a value that no device has.
    """

    name: str
    bandwidth_gbytes_per_s: float = _value("M_d", "bandwidth of the memory, GB/s")
    cores: int = _value("D_c", "cores: SMs of NVIDIA, SIMDs of AMD")
    warp_size: int = _value("D_tw", "threads per warp")
    issue_cycles: float = _value("C_i", "cycles to issue one instruction of a warp")
    max_blocks: int = _value("b_o", "blocks resident per core, at most")
    clock_ghz: float = _value("F", "clock of the cores, GHz")
    latency_cycles: float = _value("c_l", "latency of one memory access")
    coalesced_delay_cycles: float = _value("c_dc", "departure delay of a coalesced access")
    uncoalesced_delay_cycles: float = _value("c_du", "departure delay of each access of an uncoalesced instruction")
    has_cache: bool = _flag("whether a cache serves global loads, so that m^2 of them never leave it")
    caches: Caches | None = None
    rays: RayUnit | None = None

    def milliseconds(self, cycles: Any) -> Any:
        """Time of core cycles."""
        return cycles / (self.clock_ghz * 1e6)


def names() -> list[str]:
    """Devices that come with the package."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read_device(name: str) -> Device:
    """A device by name, or from a .toml file; ``UserError`` names the nearest known name, or the wrong value."""
    if name.endswith(".toml"):
        return read(Device, Path(name))
    if name not in names():
        near = meant(name, names(), "; ")
        raise UserError(f"--device {name}: must be a .toml file or one of {', '.join(names())}{near}")
    return read(Device, FOLDER / f"{name}.toml")


def as_toml(device: Device) -> str:
    """The device as a file that ``read_device`` reads, each value with its meaning."""
    name = json.dumps(device.name, ensure_ascii=False)  # which TOML reads alike
    lines = [f"# {device.name} as the analytical model sees it.", f"name = {name}", *_values(device)]
    for part_name in ("caches", "rays"):
        if part := getattr(device, part_name):
            lines += ["", f"[{part_name}]", *_values(part)]
    return "\n".join(lines) + "\n"


def _values(part: Device | Caches | RayUnit) -> Iterator[str]:
    for entry in fields(part):
        if "doc" in entry.metadata:
            value = getattr(part, entry.name)
            text = str(value).lower() if isinstance(value, bool) else repr(value)
            yield f"{f'{entry.name} = {text}':<48}# {entry.metadata['doc']}"
