"""``python -m crisp``: CRISP's figures, from the scenes to the page."""

import argparse
import contextlib
import io
from pathlib import Path

from rayplay.crisp import command
from rayplay.crisp.check import words_of
from rayplay.crisp.experiments import EXPERIMENTS
from rayplay.formats.guard.command import add_limits, run
from rayplay.formats.guard.errors import UserError

DESCRIPTION = """Repeat the evaluation of CRISP: draw the suite's pictures, replay them alone and beside compute kernels
under each partition, and write figures, tables and a verdict on each finding. What is done is kept in the store."""
EXAMPLES = """examples:
  python -m crisp --quick --out docs/crisp/quick --store build/crisp
  python -m crisp --only composition slicer --out build/some --store build/crisp
  python -m crisp --only slicer ways --pairs MT+HOLO --out build/pairs --store build/crisp
  python -m crisp --only traffic --keep --out docs/crisp/whole --store build/crisp
  python -m crisp --check docs/crisp/whole --points 5 --store build/crisp
  make crisp QUICK=1"""


def main() -> int:
    """Parse the command line, and make the study or compare one."""
    arguments = parser().parse_args()
    if arguments.check is None:
        return command.perform(arguments)
    return command.compare(arguments, made_with(arguments.check))


def made_with(folder: Path) -> argparse.Namespace:
    """Options that made a study; ``UserError`` where this version does not have them."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return parser().parse_args([*words_of(folder), "--out", ".", "--store", "."])
    except SystemExit:
        found = said.getvalue().rstrip().rpartition("error: ")[2]
        raise UserError(f"{folder}: the command that made it must be one of this version, but {found}") from None


def parser() -> argparse.ArgumentParser:
    """The command line."""
    style = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser("python -m crisp", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=style)
    names = [experiment.name for experiment in EXPERIMENTS]
    end = made.add_mutually_exclusive_group(required=True)
    end.add_argument("--out", type=Path, metavar="FOLDER", help="study to write")
    end.add_argument("--check", type=Path, metavar="FOLDER",
                     help="study to compare: make its numbers again, exit with 1 where one differs")  # fmt: skip
    made.add_argument("--keep", action="store_true",
                      help="keep what --out has and --only leaves out, with the name of its engine")  # fmt: skip
    made.add_argument("--pictures", nargs="+", default=[], metavar="PICTURE", help="of --check: these alone")
    made.add_argument("--points", type=int, metavar="N",
                      help="of --check: some, spread evenly (one: an experiment of a picture and partner)")  # fmt: skip
    made.add_argument("--store", type=Path, required=True, metavar="FOLDER", help="keeps traces and what was replayed")
    made.add_argument("--quick", action="store_true", help="small pictures, and few pairs")
    made.add_argument("--size", metavar="WxH", help="pixels of a picture (default: 2560x1440)")
    made.add_argument("--pairs", nargs="+", default=[], metavar="PICTURE+PARTNER",
                      help="some pairs, with a part of the partner's launches (default: all, with all)")  # fmt: skip
    made.add_argument("--procedural", action="store_true", help="leave the data folder's scenes alone")
    made.add_argument("--only", nargs="+", choices=names, default=names, metavar="EXPERIMENT",
                      help=f"some of {', '.join(names)}")  # fmt: skip
    made.add_argument("--workers", type=int, metavar="N", help="processes at a time (default: one per core)")
    made.add_argument("--estimate", action="store_true", help="say how much is still to do, and stop")
    add_limits(made)
    return made


if __name__ == "__main__":
    run("crisp", main)
