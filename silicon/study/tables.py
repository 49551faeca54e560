"""Measured tables of the package, and the descriptions that stand for their cards."""

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
MEASURED = HERE.parent / "measured"
QUANTITIES = ("published.csv", "h100_suite.csv")
TIMES = "published_times.csv"
OWN_TIMES = ("h100_textbook_512.csv", "h100_textbook_1024.csv", "h100_textbook_2048.csv")
RAYS = "published_rays.csv"
LAUNCH_US = 5.0  # of launches back to back, on the rig of the published times


@dataclass(frozen=True)
class KernelTime:
    """A measured time of a textbook kernel on ``n`` x ``n`` elements, without the launch; ``clock_khz`` of the card."""

    card: str
    kernel: str
    n: int
    microseconds: float
    clock_khz: int
    source: str


@cache
def _cards() -> dict[str, object]:
    return tomllib.loads((HERE / "cards.toml").read_text())


def descriptions() -> dict[str, list[str]]:
    """Names of measured cards by the description that stands for them."""
    return {name: found["names"] for name, found in _cards().items() if isinstance(found, dict)}


def reason_of(card: str, quantity: str, source: str, unit: str = "") -> str:
    """Why a row says little of the model, or what of the model is missing; empty where nothing is known."""
    for entry in _cards()["reason"]:  # type: ignore[attr-defined]  # a list of tables
        exact = entry.get("quantity", "")
        named = (
            exact in quantity if unit == "us" or exact in ("approx", "sin.approx", "div.rn.f32") else exact == quantity
        )
        if (named or not exact) and entry.get("card", card) == card and entry.get("source", "") in source:
            return str(entry["why"])
    return ""


def rows_of(name: str) -> list[dict[str, str]]:
    """Rows of a table of the package; lines that begin with # say how it was made."""
    with (MEASURED / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def kernel_times() -> list[KernelTime]:
    """All measured kernel times, published ones and our own."""
    found = [
        KernelTime(
            row["gpu"], row["kernel"], int(row["n"]), float(row["batch_us"]) - LAUNCH_US,
            1000 * int(row["default_clock_mhz"]), TIMES,
        )
        for row in rows_of(TIMES)
    ]  # fmt: skip
    for name in OWN_TIMES:
        rows, n = rows_of(name), int(name.removesuffix(".csv").rpartition("_")[2])
        empty = next(float(row["warm_us"]) for row in rows if row["launch"] == "-1")
        found += [
            KernelTime(
                row["gpu"], row["kernel"], n, float(row["warm_us"]) - empty, 1000 * int(row["clock_mhz"]), name
            )
            for row in rows if row["launch"] != "-1"
        ]  # fmt: skip
    return found
