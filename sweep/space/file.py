"""The sweep file: a TOML file, or a Python file whose function ``sweep`` returns the same tables."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError, reason_of
from rayplay.formats.guard.strict import build, check_choice, one_of
from rayplay.formats.guard.text import read_toml
from rayplay.tracer.__main__ import RECORDS

METHODS = ("replay", "estimate", "predict")
SENSES = ("min", "max")
MODELS = ("characterised", "pipeline", "gatsim")
MOST_POINTS = 1_000_000
MOST_PIXELS = 65535  # of a picture's side


def _at_least(least: float) -> dict[str, Any]:
    def check(value: float | None, place: Any) -> None:
        if value is not None and value < least:
            raise UserError(f"{place}: must be at least {least:g}, found {value:g}")

    return {"check": check}


def _known(names: tuple[str, ...]) -> dict[str, Any]:
    def check(value: str | None, place: Any) -> None:
        if value is not None:
            check_choice(value, names, str(place))

    return {"check": check}


def _is_size(value: str, place: Any) -> None:
    width, _, height = value.partition("x")
    if not all(side.isdecimal() and 0 < int(side) <= MOST_PIXELS for side in (width, height)):
        raise UserError(f"{place}: must be WIDTHxHEIGHT, each 1 to {MOST_PIXELS}, found {value!r}")


def _all_of(known: tuple[str, ...]) -> dict[str, Any]:
    def check(values: Any, place: Any) -> None:
        if not values:
            raise UserError(f"{place}: must have an entry at least; known are {', '.join(known)}")
        for value in values.values() if isinstance(values, dict) else values:
            check_choice(value, known, str(place))

    return {"check": check}


@dataclass(frozen=True)
class Scene:
    """A scene to render, unless its trace is there: options of ``rayplay trace``."""

    scene: str = field(metadata={"doc": "a name of rayplay scenes, or a scene file"})
    workload: str = "path-tracing"
    size: str = field(default="64x64", metadata={"check": _is_size})
    samples: int = field(default=1, metadata=_at_least(1))
    bounces: int | None = None
    camera: str | None = None
    record: str | None = field(default=None, metadata=_known(RECORDS))


@dataclass(frozen=True)
class Range:
    """Values that a sample draws from: ``choices``, or ``low`` to ``high``, whole where both are."""

    low: float | None = None
    high: float | None = None
    scale: str = one_of(("linear", "log"), default="linear")
    choices: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        bounded = self.low is not None and self.high is not None
        if bool(self.choices) == bounded or (self.low is None) != (self.high is None):
            raise UserError("must have choices, or low and high")
        if bounded and not self.low < self.high:  # type: ignore[operator]
            raise UserError(f"low must be less than high, found {self.low:g} and {self.high:g}")
        if bounded and self.scale == "log" and self.low <= 0:  # type: ignore[operator]
            raise UserError(f"low must be more than 0 on a log scale, found {self.low:g}")


@dataclass(frozen=True)
class Sampled:
    """A sample of designs: ``count`` of them, drawn with ``seed`` from a range for each key."""

    count: int = field(metadata=_at_least(1))
    ranges: dict[str, Range]
    seed: int = field(default=1, metadata=_at_least(0))


@dataclass(frozen=True)
class Design:
    """Axes of ``--set`` values; the kinds are crossed, so that a grid and a list give their product."""

    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    zip: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    list: tuple[dict[str, Any], ...] = ()
    random: Sampled | None = None
    latin: Sampled | None = None


@dataclass(frozen=True)
class Compare:
    """The comparison wanted: objectives of the Pareto front, and the base of every change.

    objectives  metric, key of a GPU, or ``cost`` -> ``min`` or ``max``.
    cost        key of a GPU -> weight: the cost of a design is the sum of value x weight.
    base        values of the base design; the first design without.
    noise       whether the base is also replayed with latencies off by a cycle, for the noise floor.
    """

    objectives: dict[str, str] = field(default_factory=lambda: {"gpu_cycles": "min"}, metadata=_all_of(SENSES))
    cost: dict[str, float] = field(default_factory=dict)
    base: dict[str, Any] = field(default_factory=dict)
    noise: bool = False


@dataclass(frozen=True)
class Limits:
    """Limits of a point: a point beyond is reported as failed. ``memory_mb`` is also its stated need."""

    seconds: float | None = field(default=None, metadata=_at_least(0.001))
    memory_mb: int | None = field(default=None, metadata=_at_least(1))


@dataclass(frozen=True)
class Estimate:
    """Options of ``rayplay estimate``."""

    fraction: float = 0.1


@dataclass(frozen=True)
class Predict:
    """Options of ``rayplay predict``; equation (1) chooses the fraction without one."""

    fraction: float | None = None
    factor: int | None = None


@dataclass(frozen=True)
class Sweep:
    """A whole sweep file. Lists are crossed with each other and with the designs.

    seeds  of rendering, and of the sample of an estimate or a prediction.
    keep   ``summary``: every metric; ``result``: also the whole result of each replay.
    """

    traces: tuple[str, ...] = ()
    scenes: tuple[Scene, ...] = ()
    gpus: tuple[str, ...] = ("rtx2060",)
    plugins: tuple[str, ...] = ("",)
    models: tuple[str, ...] = ("",)
    methods: tuple[str, ...] = field(default=("replay",), metadata=_all_of(METHODS))
    seeds: tuple[int, ...] = (1,)
    design: Design = Design()
    compare: Compare = Compare()
    limits: Limits = Limits()
    estimate: Estimate = Estimate()
    predict: Predict = Predict()
    keep: str = one_of(("summary", "result"), default="summary")

    def __post_init__(self) -> None:
        if not self.traces and not self.scenes:
            raise UserError("must name traces or scenes")
        for name in ("gpus", "plugins", "models", "seeds"):
            if not getattr(self, name):
                raise UserError(f"{name} must have an entry at least")
        for model in self.models:
            if model:
                check_choice(model, MODELS, "models")
        if min(self.seeds) < 0:
            raise UserError(f"seeds must not be negative, found {min(self.seeds)}")
        if not 0 < self.estimate.fraction <= 1:
            raise UserError(f"estimate.fraction must be more than 0 and at most 1, found {self.estimate.fraction:g}")


def read_sweep(path: Path) -> Sweep:
    """The sweep that a file describes; ``UserError`` with file and place for whatever breaks a rule.

    The code of a Python file is run: only the user's own words name one.
    """
    raw = returned(path) if path.suffix == ".py" else read_toml(path)
    return given(raw, str(path))


def given(raw: Mapping[str, Any], place: str = "sweep") -> Sweep:
    """The sweep of tables as a file has them."""
    made: Sweep = build(Sweep, dict(raw), place)
    return made


def returned(path: Path) -> dict[str, Any]:
    """Tables that the function ``sweep`` of a Python file returns."""
    spec = importlib.util.spec_from_file_location("rayplay_sweep_file", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UserError(f"{path}: must be a Python file, and is none")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = module.sweep()
    except Exception as error:
        raise UserError(f"{path}: sweep() raised {type(error).__name__}: {reason_of(error)}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: sweep() must return a dict, found {type(found).__name__}")
    return found
