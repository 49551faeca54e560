"""``rayplay heat``: the cost of each pixel as a picture."""

import argparse
from pathlib import Path

import numpy as np

from rayplay.door.parser import Parser
from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_limits
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.names import any_name

# Cost -> what it counts, and whether a trace or a result knows it.
COSTS = {
    "work": ("thread instructions, and 10 for each BVH record fetched", "trace"),
    "cycles": ("cycles the pixel's thread was active", "result"),
    "rays": ("rays traced", "result"),
    "node_visits": ("BVH records fetched", "result"),
}


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("path", type=any_name, metavar="TRACE|RESULT", help="trace of an image, or the result of one")
    costs = "; ".join(f"{name} ({of}): {what}" for name, (what, of) in COSTS.items())
    made.add_argument("--cost", choices=tuple(COSTS), help=f"{costs} (default: work of a trace, cycles of a result)")
    made.add_argument("--out", type=Path, metavar="NAME.png", help="picture to write (default: NAME-COST.png, here)")
    add_limits(made)
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Read the costs, draw them, print the least, the mean and the largest."""
    from rayplay.zatel.paper.heatmap import normalise
    from rayplay.zatel.paper.pictures import write_heatmap
    from rayplay.zatel.verbs.targets import check_png_target

    cost, found = read_cost(arguments.path, arguments.cost)
    out = arguments.out or Path(f"{arguments.path.name.partition('.')[0]}-{cost}.png")
    check_png_target(out)
    write_heatmap(normalise(found), out)
    record = summary(cost, found, out)
    line = f"{out}: {cost} of {found.shape[1]} x {found.shape[0]} pixels, {COSTS[cost][0]}"
    figures = "  ".join(f"{name} {record[name]:,.6g}" for name in ("least", "mean", "largest"))
    answer(arguments, [line, figures], lambda: [record])
    return 0


def read_cost(path: Path, cost: str | None) -> tuple[str, np.ndarray]:
    """Name of the cost and float64[height, width]; ``UserError`` for a file or a cost that has none of each pixel."""
    from rayplay.formats.dataset.reader import Trace
    from rayplay.formats.look.show import open_any
    from rayplay.zatel.paper.heatmap import pixel_work

    dataset = open_any(path)
    kind = "trace" if isinstance(dataset, Trace) else "result"
    cost = cost or ("work" if kind == "trace" else "cycles")
    if COSTS[cost][1] != kind:
        known = ", ".join(name for name, (_, of) in COSTS.items() if of == kind)
        raise UserError(f"--cost {cost}: a {kind} knows {known}")
    if isinstance(dataset, Trace):
        return cost, pixel_work(dataset)
    if "pixels" not in dataset.tables:
        raise UserError(f"{path}: has no table pixels; it must be a trace or the result of an image")
    pixels = dataset.read("pixels", ["pixel_x", "pixel_y", cost])
    found = np.zeros((int(pixels["pixel_y"].max()) + 1, int(pixels["pixel_x"].max()) + 1))
    found[pixels["pixel_y"], pixels["pixel_x"]] = pixels[cost]
    return cost, found


def summary(cost: str, found: np.ndarray, out: Path) -> Record:
    """Least, mean and largest cost of a pixel, and how many pixels there are."""
    size = {"out": str(out), "cost": cost, "width": found.shape[1], "height": found.shape[0]}
    return size | {"least": float(found.min()), "mean": float(found.mean()), "largest": float(found.max())}
