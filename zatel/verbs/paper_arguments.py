"""Options of the method on the command line."""

import argparse
import re
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.zatel.paper.options import (
    DEPARTURES,
    DISTRIBUTIONS,
    DIVISIONS,
    EXTRAPOLATIONS,
    L2_SIZES,
    VARIANTS,
    Options,
)

# Options of the command line that are fields of ``Options`` as they are.
PLAIN = ("heatmap", "colours", "factor", "l2", "division", "fraction", "distribution", "extrapolation", "seed")
VARIANT_HELP = """\
variants:
  paper     the rules of the paper's text
  released  all rules below, as the released code has them; a list of names, NAME,NAME, takes these alone
"""


def departures_help() -> str:
    """The names that ``--variant`` takes, a line each."""
    return VARIANT_HELP + "\n".join(f"    {name:<16} {what}" for name, what in DEPARTURES.items())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add one argument for each choice of ``Options``."""
    add = parser.add_argument_group("choices of the method (default: the paper's)").add_argument
    add("--heatmap", default="work", metavar="work|PATH", help="heat of a pixel: the trace's work, the .result of a full replay (cycles per pixel), or a picture (PNG, PPM, EXR; grey, or in NVIDIA's colours)")  # fmt: skip # noqa: E501
    add("--colours", type=int, default=5, metavar="N", help="colours of the quantised heatmap (default: 5)")
    add("--factor", type=int, metavar="K", help="number of groups, and divisor of their GPU (default: the greatest common divisor of SMs and memory partitions)")  # fmt: skip # noqa: E501
    add("--l2", default="proportional", metavar="|".join(L2_SIZES), help="of a group's GPU: 1/K of the L2, or all of it, since every group reads the upper levels of the BVH (default: proportional)")  # fmt: skip # noqa: E501
    add("--division", default="fine", metavar="|".join(DIVISIONS), help="of the image into groups (default: fine)")
    add("--block", default="32x2", metavar="WxH", help="pixels of a section block (default: 32x2)")
    add("--fraction", type=float, metavar="F", help="part of each group's pixels to replay, 0 to 1, rounded up to whole blocks (default: equation (1))")  # fmt: skip # noqa: E501
    add("--bounds", type=float, nargs=2, metavar=("LEAST", "MOST"), help="of the fraction that equation (1) gives (default: 0.3 0.6)")  # fmt: skip # noqa: E501
    add("--distribution", default="uniform", metavar="|".join(DISTRIBUTIONS), help="share of each colour: its pixels, or its warmth by equation (2) or (3) (default: uniform)")  # fmt: skip # noqa: E501
    add("--extrapolation", default="linear", metavar="|".join(EXTRAPOLATIONS), help="cycles divided by the fraction, or an exponential through three fractions (default: linear)")  # fmt: skip # noqa: E501
    add("--fractions", type=float, nargs=3, metavar="F", help="of the regression (default: 0.2 0.3 0.4)")
    add("--combine", action="append", default=[], metavar="METRIC=sum|mean|max", help="combine a metric of the groups otherwise than the paper (IPC: sum, others: mean)")  # fmt: skip # noqa: E501
    add("--variant", default="paper", metavar="paper|released|NAME,...", help="rules to follow where the released code departs from the text (default: paper)")  # fmt: skip # noqa: E501
    add("--seed", type=int, default=1, metavar="N", help="seed of clustering and selection (default: 1)")


def read_options(arguments: argparse.Namespace) -> Options:
    """The options that the arguments of ``add_options`` say; ``UserError`` for what breaks a rule."""
    block = re.fullmatch(r"(\d{1,6})x(\d{1,6})", arguments.block)
    if not block:
        raise UserError(f"--block must be WIDTHxHEIGHT, not {arguments.block!r}")
    _check_unused(arguments)
    pairs = [text.partition("=") for text in arguments.combine]
    plain: dict[str, Any] = {name: getattr(arguments, name) for name in PLAIN}
    return Options(
        **plain,
        block=(int(block[1]), int(block[2])),
        bounds=tuple(arguments.bounds or Options.bounds),
        fractions=tuple(arguments.fractions or Options.fractions),
        combination={metric: rule for metric, _, rule in pairs},
        departures=_departures(arguments),
    )


def _departures(arguments: argparse.Namespace) -> frozenset[str]:
    return VARIANTS.get(arguments.variant, frozenset(arguments.variant.split(",")))


def _check_unused(arguments: argparse.Namespace) -> None:
    """``UserError`` for an option that another one leaves without an effect."""
    is_regression = arguments.extrapolation == "regression"
    if arguments.fractions and not is_regression:
        raise UserError("--fractions must be given with --extrapolation regression, which alone uses them")
    if arguments.bounds is None:
        return
    if arguments.fraction is not None or is_regression:
        other = "--extrapolation regression" if is_regression else "--fraction"
        raise UserError(f"--bounds and {other} exclude each other: they are of the fraction that equation (1) gives")
    if "warm-fraction" in _departures(arguments):
        raise UserError("--bounds and --variant warm-fraction exclude each other: that rule has bounds of its own")
