"""The findings of the verbs as flat records of equal names, from the content of the files that they write."""

from collections.abc import Iterator
from typing import Any

from rayplay.formats.guard.answer import Record


def predicted(prediction: dict[str, Any]) -> Iterator[Record]:
    """A record per metric of ``prediction.json``; ``full`` and ``error`` stay None without a full replay."""
    for name, metric in prediction["metrics"].items():
        yield {"metric": name} | {key: metric.get(key) for key in ("predicted", "full", "error")}


def estimated(content: dict[str, Any]) -> Iterator[Record]:
    """A record per metric of an estimate, with the bounds of its interval."""
    for name, metric in content["metrics"].items():
        low, high = metric["interval"] or (None, None)
        bounds = {"metric": name, "estimate": metric["estimate"], "low": low, "high": high}
        yield bounds | {"full": metric.get("full"), "error": metric.get("error")}


def forecast(promised: Any, is_read: bool) -> Iterator[Record]:
    """A record per fraction and metric: expected half width of the interval, and the cost in full replays."""
    for one in promised:
        for name, width in one.widths.items():
            cost = one.cost if is_read else one.first
            yield {"fraction": one.fraction, "metric": name, "half_width": width, "cost": cost}


def compared(content: dict[str, Any]) -> Iterator[Record]:
    """A record per change of a design and metric: relative changes with their intervals, and noise floors to exceed."""
    full_floor = content["full_noise_floor"] or {}
    for design in content["designs"]:
        for name, change in design["predicted"].items():
            full = None if design["full"] is None else design["full"][name]
            low, high = design["intervals"][name] or (None, None)
            found = {"change": design["change"], "metric": name, "predicted": change, "low": low, "high": high}
            found["noise_floor"] = content["noise_floor"][name]
            yield found | {"full": full, "full_noise_floor": full_floor.get(name)}


def scaled(content: dict[str, Any]) -> Iterator[Record]:
    """A record per machine and metric: its value, and the noise floor of its relative differences."""
    full = content["full"] or {}
    for model in content["models"]:
        machine = {"machine": model["name"], "sms": model["sms"], "controllers": model["controllers"]}
        for name, found in model["metrics"].items():
            floor = model["noise_floor"].get(name)
            yield machine | {"metric": name, "value": found, "noise_floor": floor, "full": full.get(name)}
