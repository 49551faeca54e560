"""Choices of the method by name, with the paper's as default, and the departures of the released code."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import check_choice
from rayplay.zatel.replays.metrics import COMBINATIONS, RULES

DIVISIONS = ("fine", "coarse")
DISTRIBUTIONS = ("uniform", "lintmp", "exptmp")
EXTRAPOLATIONS = ("linear", "regression")
L2_SIZES = ("proportional", "whole")
MOST_COLOURS = 256

# The ten rules in which the released code departs from the paper's text (docs/sources/zatel-code.md), by name.
DEPARTURES = {
    "headroom": "heat is the work divided by 1.1 times the longest",
    "group-colours": "colours are clustered anew, from another random start, for every group",
    "warm-fraction": "the fraction is half the mean warmth, between 0.05 and 0.6, in place of equation (1)",
    "released-groups": "fine groups are numbered backwards, coarse ones are tiles of the rounded-up size",
    "corner-colour": "a block has the colour of its top left pixel",
    "image-shares": "uniform: a colour's share is that of the whole image, not of the group",
    "colour-shares": "lintmp, exptmp: shares sum over the colours, not the pixels, and have an offset",
    "extra-block": "each colour is given its share of the blocks, rounded up, and one more",
    "cold-first": "colours are served cold to hot; one without a block is left out, one that runs out takes any",
    "lost-tail": "the last 8 KiB of the pixel list are not read, but count in the fraction",
}
VARIANTS = {"paper": frozenset[str](), "released": frozenset(DEPARTURES)}


@dataclass(frozen=True)
class Options:
    """How to predict. ``UserError`` from the constructor names what breaks a rule, as on the command line.

    heatmap        ``work``: of the trace; or a path: the ``.result`` of a full replay (cycles per pixel) or a picture.
    colours        of the quantised heatmap.
    factor         K; the greatest common divisor of SMs and memory partitions when ``None`` (Zatel III-C).
    l2             one of ``L2_SIZES``: the scaled GPU has 1/K of the L2 (Zatel III-C), or all of it.
    division       of the image plane into K groups: one of ``DIVISIONS`` (Zatel III-D).
    block          width and height of a section block in pixels; also of a chunk in the fine division (Zatel III-E).
    fraction       part of each group's pixels; equation (1) when ``None``.
    bounds         least and most fraction that equation (1) gives.
    distribution   one of ``DISTRIBUTIONS``: the share of each colour, equations (2) and (3).
    extrapolation  one of ``EXTRAPOLATIONS`` (Zatel III-G).
    fractions      the three fractions that the regression simulates.
    combination    metric -> one of ``COMBINATIONS``, for metrics that shall not be combined as Zatel III-H says.
    departures     names of ``DEPARTURES``: rules of the released code to follow instead of the paper's.
    seed           of clustering and selection.
    """

    heatmap: str = "work"
    colours: int = 5
    factor: int | None = None
    l2: str = "proportional"
    division: str = "fine"
    block: tuple[int, int] = (32, 2)
    fraction: float | None = None
    bounds: tuple[float, float] = (0.3, 0.6)
    distribution: str = "uniform"
    extrapolation: str = "linear"
    fractions: tuple[float, ...] = (0.2, 0.3, 0.4)
    combination: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    departures: frozenset[str] = frozenset()
    seed: int = 1

    def __post_init__(self) -> None:
        check_choice(self.l2, L2_SIZES, "--l2")
        check_choice(self.division, DIVISIONS, "--division")
        check_choice(self.distribution, DISTRIBUTIONS, "--distribution")
        check_choice(self.extrapolation, EXTRAPOLATIONS, "--extrapolation")
        for name in self.departures:
            check_choice(name, ("paper", "released", *DEPARTURES), "--variant")
        if not 1 <= self.colours <= MOST_COLOURS:
            raise UserError(f"--colours must be 1 to {MOST_COLOURS}, not {self.colours}")
        _check_least("--factor", 1 if self.factor is None else self.factor, 1)
        _check_least("--block: width", self.block[0], 1)
        _check_least("--block: height", self.block[1], 1)
        _check_fractions(self)
        if self.seed < 0:
            raise UserError(f"--seed must not be negative, but is {self.seed}")
        for metric, rule in self.combination.items():
            check_choice(metric, RULES, "--combine")
            check_choice(rule, COMBINATIONS, f"--combine {metric}=")


def _check_least(what: str, found: int, least: int) -> None:
    if found < least:
        raise UserError(f"{what} must be at least {least}, not {found}")


def _check_fractions(options: Options) -> None:
    if options.fraction is not None and not 0.0 < options.fraction <= 1.0:
        raise UserError(f"--fraction must be greater than 0 and at most 1, not {options.fraction:g}")
    least, most = options.bounds
    if not 0.0 < least <= most <= 1.0:
        raise UserError(f"--bounds must be 0 < least <= most <= 1, not {least:g} {most:g}")
    three = options.fractions
    if len(three) != 3 or not 0.0 < three[0] < three[1] < three[2] <= 1.0:
        raise UserError(f"--fractions must be three, rising, in (0, 1], not {' '.join(f'{f:g}' for f in three)}")
    if options.extrapolation == "regression" and options.fraction is not None:
        raise UserError("--fraction and --extrapolation regression exclude each other; --fractions gives the three")
