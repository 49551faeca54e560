"""Energies of events as a table: ``accelwattch-sass`` and its relatives, or any TOML file of the user.

A file says every value, or names another table with ``like`` and says what differs. Where a number comes from stands
in the file. Source of the tables that come with the package: ``docs/sources/accelwattch.md#coefficients``.
"""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rayplay.formats.guard import text as text_file
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.nearest import meant
from rayplay.formats.guard.strict import Place, check_choice
from rayplay.replay.unit import schema

FOLDER = Path(__file__).parent / "tables"
DEFAULT = "accelwattch-sass"
LIKE = "like"
MOST = 1e12  # of a pJ, W or factor: an event of a joule
LEAST_VOLTS, MOST_VOLTS = 0.001, 1000.0
# AccelWattch's counters, and the component that it charges each to; PIPE_A is a duty of 1 in a cycle of an SM.
EVENTS = (
    "TOT_INST", "FP_INT", "IC_H", "IC_M", "DC_RH", "DC_RM", "DC_WH", "DC_WM", "TC_H", "TC_M", "CC_H", "CC_M",
    "SHRD_ACC", "REG_RD", "REG_WR", "NON_REG_OPs", "INT_ACC", "FP_ACC", "DP_ACC", "INT_MUL_ACC", "FP_MUL_ACC",
    "FP_SQRT_ACC", "FP_LG_ACC", "FP_SIN_ACC", "FP_EXP_ACC", "DP_MUL_ACC", "TENSOR_ACC", "TEX_ACC", "MEM_RD", "MEM_WR",
    "MEM_PRE", "L2_RH", "L2_RM", "L2_WH", "L2_WM", "NOC_A", "PIPE_A",
)  # fmt: skip
RT_EVENTS = ("box", "triangle", "record")
# Component -> unit of the hardware, as a reader knows it; the last four have no event of AccelWattch.
UNIT_OF = {
    "IBP": "front end", "ICP": "front end", "SCHEDP": "front end", "PIPEP": "pipeline", "RFP": "register file",
    "INTP": "integer", "INT_MULP": "integer", "FPUP": "single precision", "FP_MULP": "single precision",
    "DPUP": "double precision", "DP_MULP": "double precision", "FP_SQRTP": "special functions",
    "FP_LGP": "special functions", "FP_SINP": "special functions", "FP_EXP": "special functions", "TENSORP": "tensor",
    "TEXP": "texture", "TCP": "texture", "DCP": "L1", "CCP": "constant cache", "SHRDP": "shared memory", "L2CP": "L2",
    "NOCP": "crossbar", "MCP": "memory controllers", "DRAMP": "DRAM",
    "RTP": "RT unit", "STATICP": "leakage", "IDLE_COREP": "idle SMs", "CONSTP": "chip",
}  # fmt: skip
COMPONENTS = tuple(UNIT_OF)
CATEGORIES = (
    "int_fp_dp", "int_fp_tensor", "int_fp_sfu", "int_fp_tex", "int_fp", "int_mix", "int_add", "int_mul", "other",
    "l1", "shared", "l2", "light",
)  # fmt: skip


def _check_number(found: float, place: object) -> None:
    if not 0 <= found <= MOST:
        raise UserError(f"{place}: must be a number from 0 to {MOST:g}, not {found}")


def _check_volts(found: float, place: object) -> None:
    if not LEAST_VOLTS <= found <= MOST_VOLTS:
        raise UserError(f"{place}: must be a number from {LEAST_VOLTS} to {MOST_VOLTS:g}, not {found}")


def _check_names(found: Iterable[str], known: tuple[str, ...], place: Place) -> None:
    """Every key is known, and every known one is there."""
    for key in found:
        if key not in known:
            place.refuse_unknown(key, known)
    if missing := [key for key in known if key not in found]:
        raise UserError(f"{place}: needs the key {missing[0]!r}; {LIKE} = {DEFAULT!r} gives what a file leaves out")


def _check_events(found: dict[str, dict[str, float]], place: Place) -> None:
    _check_names(found, EVENTS, place)
    for event, charged in found.items():
        for component, picojoules in charged.items():
            if component not in COMPONENTS:
                place.key(event).refuse_unknown(component, COMPONENTS)
            _check_number(picojoules, place.key(event).key(component))


def _check_static(found: dict[str, Any], place: Place) -> None:
    _check_names(found, CATEGORIES, place)


def _value(doc: str, check: Any = None) -> Any:
    return dataclasses.field(metadata={"doc": doc} | ({"check": check} if check else {}))


def _number(doc: str) -> Any:
    return _value(doc, _check_number)


def _volts(doc: str) -> Any:
    return _value(doc, _check_volts)


def _check_operands(found: str, place: Place) -> None:
    check_choice(found, ("sass", "ptx"), str(place))


@dataclasses.dataclass(frozen=True)
class Lanes:
    """Leakage of the chip by the active lanes of a warp."""

    first_w: float = _number("W with one active lane")
    additional_w: float = _number("W of each further lane")


@dataclasses.dataclass(frozen=True)
class Power:
    """Power without an event."""

    chip_w: float = _number("W of the chip")
    memory_controller_w: float = _number("W of the memory controllers beside their events")
    idle_sm_w: float = _number("W of an SM without a warp")


@dataclasses.dataclass(frozen=True)
class Scale:
    """Factors for another chip or voltage."""

    dynamic: float = _number("factor of the energy of events")
    static: float = _number("factor of leakage")
    idle: float = _number("factor of the power of idle SMs")
    constant: float = _number("factor of the chip's constant power")
    volts: float = _volts("voltage of the chip, V")
    reference_volts: float = _volts("voltage for which the table holds, V")


@dataclasses.dataclass(frozen=True)
class Range:
    """Energy of an event without a measurement: a default in a range."""

    pj: float = _number("pJ of an event")
    low_pj: float = _number("least that it may be, pJ")
    high_pj: float = _number("most that it may be, pJ")
    source: str = schema.value("name", "where the numbers come from, or that they are an assumption")

    def __post_init__(self) -> None:
        if not self.low_pj <= self.pj <= self.high_pj:
            raise ValueError(f"low_pj <= pj <= high_pj must hold, not {self.low_pj}, {self.pj}, {self.high_pj}")


@dataclasses.dataclass(frozen=True)
class Rt:
    """RT units: parameters with a range."""

    box: Range
    triangle: Range
    record: Range
    boxes_per_node: float = _number("boxes that the test of an internal node takes")


@dataclasses.dataclass(frozen=True)
class Table:
    """Energies in pJ an event, powers in W; see ``tables/accelwattch-sass.toml`` for the meaning of each."""

    power: Power
    scale: Scale
    rt: Rt
    name: str = schema.value("name", "name of the table")
    fitted_on: str = schema.value("name", "what the numbers were fitted on, printed beside every energy")
    operands: str = _value("whose rule counts operands from no register", _check_operands)
    pj: dict[str, dict[str, float]] = _value("energy of each event by component", _check_events)  # noqa: RUF009
    static: dict[str, Lanes] = _value("leakage by the units that are used", _check_static)  # noqa: RUF009


def names() -> list[str]:
    """Tables that come with the package."""
    return sorted(file.stem for file in FOLDER.glob("*.toml"))


def read_table(name: str = DEFAULT) -> Table:
    """A table by name or from a .toml file. ``UserError`` with file, line, key and what must hold."""
    made: Table = schema.build(Table, _read(_find(name, f"--energy {name}", Path()), ()))
    return made


def _find(name: str, place: str, folder: Path) -> Path:
    if name.endswith(".toml"):
        return folder / name
    if name not in names():
        near = meant(name, names(), "; ")
        raise UserError(f"{place}: must be a .toml file or one of {', '.join(names())}{near}")
    return FOLDER / f"{name}.toml"


def _read(path: Path, above: tuple[Path, ...]) -> schema.Text:
    text = text_file.read_text(path, "energy table")
    own = schema.Text(str(path), text_file.parse_toml(text, path), *schema.scan(text))
    if LIKE not in own.values:
        return own
    like, place = own.values.pop(LIKE), f"{own.place(LIKE)}: {LIKE}"
    if not isinstance(like, str):
        raise UserError(f"{place}: must be the name or the .toml file of a table, not {like!r}")
    base = _find(like, place, path.parent)
    if base.resolve() in (*above, path.resolve()):
        raise UserError(f"{place}: must not lead back to {path.name}")
    return schema.on_top(own, _read(base, (*above, path.resolve())))
