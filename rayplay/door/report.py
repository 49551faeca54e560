"""``rayplay report``: results as one HTML page."""

import argparse
from pathlib import Path

from rayplay.door.parser import Parser
from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_limits
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import is_local, location
from rayplay.formats.place.names import result_name, trace_name

SUFFIX = ".html"


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("results", nargs="*", type=result_name, metavar="RESULT",
                      help="results; the first is the base of the others")  # fmt: skip
    made.add_argument("--trace", type=trace_name, metavar="TRACE",
                      help="trace that the results replay: picture, rays, warps, program")  # fmt: skip
    made.add_argument("--noise", action="append", default=[], type=result_name, metavar="RESULT",
                      help="replay of the base with a trifle changed, for the noise floor; repeatable")  # fmt: skip
    made.add_argument("--prediction", action="append", default=[], type=Path, metavar="PREDICTION",
                      help="folder of predict or file of estimate, shown beside the base; repeatable")  # fmt: skip
    made.add_argument("--study", action="append", default=[], type=Path, metavar="FILE.json",
                      help="what whatif or scale --out wrote of the base; repeatable")  # fmt: skip
    made.add_argument(
        "--animation",
        type=location,
        metavar="FOLDER",
        help="folder of rayplay animate, in place of results: cost of each frame and a film strip",
    )
    made.add_argument("--out", type=location, metavar="NAME.html", help="page to write (default: RESULT.html, here)")
    add_limits(made)
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Read the results, write the page, say where it is."""
    first = arguments.animation or (arguments.results[0] if arguments.results else None)
    if first is None or (arguments.animation and arguments.results):
        raise UserError("rayplay report: needs one of results and --animation FOLDER")
    out = arguments.out or Path(f"{first.name.partition('.')[0]}{SUFFIX}")
    check_target(out)
    said, page = film(arguments) if arguments.animation else report(arguments)
    from rayplay.formats.place.publish import atomic_file

    written = page.encode()
    with atomic_file(out) as partial:
        partial.write_bytes(written)
    record = {"out": str(out), "bytes": len(written), "verdict": said}
    answer(arguments, [said, f"{out}: open it with a browser"], lambda: [record])
    return 0


def film(arguments: argparse.Namespace) -> tuple[str, str]:
    """The sentence and the page of an animation."""
    from rayplay.report.film import film_page, read_film, said

    found = read_film(arguments.animation)
    return said(found), film_page(found)


def report(arguments: argparse.Namespace) -> tuple[str, str]:
    """The sentence and the page of results."""
    from tqdm import tqdm

    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.dataset.result import open_result
    from rayplay.report.forecast import read_forecast
    from rayplay.report.page import page
    from rayplay.report.run import Run
    from rayplay.report.study import read_study

    trace = open_trace(arguments.trace) if arguments.trace is not None else None
    runs = [Run(open_result(path), trace) for path in arguments.results]
    trifles = [Run(open_result(path)) for path in arguments.noise]
    predicted = [read_forecast(path) for path in arguments.prediction]
    studied = [read_study(path) for path in arguments.study]
    with tqdm(desc="report", unit="part", disable=None, leave=False) as progress:
        made = page(runs, trifles, predicted, studied, progress.update)
    return runs[0].verdict, made


def check_target(out: Path) -> None:
    """``UserError`` for a name that is no page's, and for a file that this verb did not write."""
    if out.suffix != SUFFIX:
        raise UserError(f"--out {out}: must end in {SUFFIX}")
    if out.is_dir():
        raise UserError(f"--out {out}: must be a file, but is a folder")
    from rayplay.report.document import BEGIN

    if is_local(out) and out.exists() and not out.read_bytes()[: len(BEGIN)] == BEGIN.encode():
        raise UserError(f"--out {out}: must be new or a page of this verb, so that no other file is lost")
