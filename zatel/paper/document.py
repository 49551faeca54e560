"""``prediction.json``: its schema, read strictly."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rayplay.formats.guard import text as text_file
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import Place, build
from rayplay.zatel.paper.options import Options
from rayplay.zatel.replays.metrics import RULES


def _not_negative(value: float | None, place: Place) -> None:
    if value is not None and value < 0:
        raise UserError(f"{place}: must not be negative, found {value}")


def _part(value: float, place: Place) -> None:
    if not 0 <= value <= 1:
        raise UserError(f"{place}: must be from 0 to 1, found {value}")


def _checked(check: Any, **more: Any) -> Any:
    return field(metadata={"check": check}, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric of Table I: predicted, and of the full replay where it is known; None where it is not defined."""

    title: str
    predicted: float | None
    full: float | None = _checked(_not_negative, default=None)
    error: float | None = _checked(_not_negative, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A replay of some pixels of a group."""

    group: int = _checked(_not_negative)
    pixels: int = _checked(_not_negative)
    selected: int = _checked(_not_negative)
    fraction: float = _checked(_part)
    simulated: dict[str, float | None]

    def __post_init__(self) -> None:
        if not self.selected <= self.pixels:
            raise ValueError(f"selected must be at most the {self.pixels} pixels of the group, found {self.selected}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole file: the request (``Options``) and the outcome."""

    trace: str
    gpu: str
    heatmap: str
    colours: int
    factor: int | None
    division: str
    block: tuple[int, ...]
    fraction: float | None
    bounds: tuple[float, ...]
    distribution: str
    extrapolation: str
    fractions: tuple[float, ...]
    combination: dict[str, str]
    departures: tuple[str, ...]
    l2: str = "proportional"  # a prediction of an earlier version has none
    seed: int
    scaled_gpu: dict[str, int]
    metrics: dict[str, Metric]
    mean_absolute_error: float | None = _checked(_not_negative)
    groups: tuple[Group, ...]

    def __post_init__(self) -> None:
        if self.metrics.keys() != RULES.keys():
            raise ValueError(f"must hold the metrics {', '.join(RULES)}, found {', '.join(self.metrics)}")
        if not self.groups:
            raise ValueError("groups must be at least one")
        if len(self.block) != 2 or len(self.bounds) != 2:
            raise ValueError(f"block and bounds must be two numbers, found {self.block} and {self.bounds}")
        chosen = {name: getattr(self, name) for name in Options.__dataclass_fields__}
        Options(**{**chosen, "departures": frozenset(self.departures)})
        if self.extrapolation == "linear":
            for name, metric in self.metrics.items():
                if (metric.predicted or 0) < 0:
                    raise ValueError(f"metrics.{name}.predicted must not be negative, found {metric.predicted}")


def read_prediction(folder: Path) -> dict[str, Any]:
    """``prediction.json`` of a prediction folder, as ``Document`` has it; ``UserError`` names what it breaks."""
    path = folder / "prediction.json"
    if not path.is_file():
        raise UserError(f"{path}: no such prediction; make one with python -m zatel predict")
    prediction: dict[str, Any] = text_file.parse_json(text_file.read_text(path), path)
    build(Document, prediction, str(path))
    return prediction
