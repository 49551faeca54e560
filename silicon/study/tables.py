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


@dataclass(frozen=True)
class Reason:
    """Why one row is more than 20 % off: the mechanism that the model lacks, or that the measurement has, and how.

    source  part of the row's source, where a card has several rows of ``what``; else empty.
    """

    card: str
    what: str
    mechanism: str
    why: str
    source: str = ""

    def fits(self, card: str, what: str, source: str) -> bool:
        """Whether this is the row."""
        return (self.card, self.what) == (card, what) and self.source in source


@cache
def reasons() -> list[Reason]:
    """The table of named rows (``reasons.toml``)."""
    return [Reason(**row) for row in tomllib.loads((HERE / "reasons.toml").read_text())["row"]]


def reason_of(card: str, what: str, source: str) -> str:
    """Why a row is far off; empty for all others."""
    return next((each.why for each in reasons() if each.fits(card, what, source)), "")


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
