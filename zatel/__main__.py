"""``python -m zatel predict | estimate | ...``: know the whole image from a part of its pixels."""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_limits, add_verb, run
from rayplay.formats.place.location import location
from rayplay.formats.place.names import SHIPPED, prediction_name, result_name, trace_name
from rayplay.zatel.study.points import STUDIES
from rayplay.zatel.verbs import records
from rayplay.zatel.verbs.ablate import add_parser as add_ablate
from rayplay.zatel.verbs.estimate import add_parser as add_estimate
from rayplay.zatel.verbs.paper_arguments import add_options, departures_help, read_options
from rayplay.zatel.verbs.sampled import add_replayed, add_workers, checked_workers
from rayplay.zatel.verbs.scale import add_parser as add_scale
from rayplay.zatel.verbs.whatif import add_parser as add_whatif

KERNEL_SECONDS = 8  # to compile what the estimate and the heatmap need
DESCRIPTION = """\
Zatel: predict the performance of a whole image from a part of its pixels. The image is divided into K groups, K being
the greatest common divisor of SMs and memory partitions; of each group a representative part is replayed on a GPU K
times smaller, all groups at the same time; the seven metrics of the paper's Table I are extrapolated and combined.
"""


def main() -> int:
    """Parse the command line and run its verb."""
    arguments = parser().parse_args()
    warnings.showwarning = lambda message, *_: print(f"zatel: warning: {message}")
    return perform(arguments)


def perform(arguments: argparse.Namespace) -> int:
    """Run the verb that ``arguments`` name."""
    from rayplay.formats.guard.first_use import first_use

    run_verb: Callable[[argparse.Namespace], int] = arguments.run
    with first_use("the functional caches", KERNEL_SECONDS):
        return run_verb(arguments)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        "python -m zatel", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    predict = add_verb(verbs, predict_verb)
    predict.epilog = departures_help()
    add_replayed(predict, "an image launch")
    predict.add_argument("--against", type=result_name, metavar="RESULT", help="result of the full replay, to compare")
    add_workers(predict)
    predict.add_argument("--out", type=location, metavar="PREDICTION", help="default: beside the trace")
    predict.add_argument("--store", type=Path, metavar="FOLDER", help="keep replays in this folder; none is done twice")
    add_options(predict)
    add_estimate(verbs)
    add_whatif(verbs)
    add_scale(verbs)
    add_ablate(verbs)
    filtering = add_verb(verbs, filter_verb)
    filtering.add_argument("trace", type=trace_name, metavar="TRACE", help="trace of an image launch")
    filtering.add_argument(
        "--pixels", type=Path, required=True, metavar="FILE", help='pixels that stay, "x y" per line'
    )
    filtering.add_argument("--out", type=location, required=True, metavar="TRACE", help="trace to write")
    report = add_verb(verbs, report_verb)
    report.add_argument("prediction", type=prediction_name, metavar="PREDICTION", help="folder that predict wrote")
    report.add_argument(
        "--out", type=Path, metavar="FILE.png", help="picture to write (default: none, print the table only)"
    )
    _add_paper(verbs)
    _add_join(verbs)
    add_limits(*verbs.choices.values())
    return top


def _add_paper(verbs: Any) -> None:
    paper = add_verb(verbs, paper_verb)
    paper.add_argument(
        "traces", type=trace_name, nargs="+", metavar="TRACE", help="traces of image launches, one a scene"
    )
    paper.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")
    paper.add_argument(
        "--store", type=Path, required=True, metavar="FOLDER", help="folder that keeps replays; resume from it"
    )
    paper.add_argument("--quick", action="store_true", help="fewer fractions, factors and seeds")
    paper.add_argument(
        "--only", nargs="+", choices=STUDIES, default=STUDIES, metavar="STUDY", help=f"some of {', '.join(STUDIES)}"
    )
    add_workers(paper)
    paper.add_argument("--estimate", action="store_true", help="print the replays to do and their time, and stop")


def _add_join(verbs: Any) -> None:
    join = add_verb(verbs, join_verb)
    join.add_argument("studies", type=location, nargs="+", metavar="STUDY", help="folders that the verb paper wrote")
    join.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")


def predict_verb(arguments: argparse.Namespace) -> int:
    """A trace and a GPU -> predicted metrics, NAME.prediction.

    example:
      python -m zatel predict traces/bunny.trace --gpu mobile --fraction 0.1 --against results/bunny-mobile.result

    NAME.prediction/ then holds prediction.json, overview.png, the heatmap, the quantised heatmap and the selected
    pixels as PNG, tables as Parquet, and the filter file of each group.
    """
    from rayplay.zatel.paper.document import read_prediction
    from rayplay.zatel.paper.write import publish
    from rayplay.zatel.replays.result_cache import Store

    workers, options = checked_workers(arguments), read_options(arguments)
    out, store = arguments.out or _beside(arguments.trace), Store(arguments.store) if arguments.store else None
    text = publish(arguments.trace, arguments.gpu, out, arguments.against, options, workers, store, arguments.plugin)
    answer(arguments, [text], lambda: records.predicted(read_prediction(out)))
    return 0


def _beside(trace: Path) -> Path:
    """``NAME.prediction`` beside ``NAME.trace`` or ``NAME.trace.h5``; here for the sample."""
    name = trace.name.removesuffix(".h5").removesuffix(".trace") + ".prediction"
    return Path(name) if trace.parent == SHIPPED else trace.with_name(name)


def filter_verb(arguments: argparse.Namespace) -> int:
    r"""A trace and a list of pixels -> the trace of these pixels.

    example:
      printf '12 7\n13 7\n' > two.pixels
      python -m zatel filter traces/bunny.trace --pixels two.pixels --out traces/two.trace

    The pixel file has one "x y" per line, 0 0 is the top left, # starts a comment.
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.edit.filter import filter_trace
    from rayplay.formats.edit.pixels import image_size, read_pixels
    from rayplay.formats.look.records import written

    selected = read_pixels(arguments.pixels, image_size(open_trace(arguments.trace)))
    filter_trace(arguments.trace, selected, arguments.out)
    line = f"{arguments.out}: {selected.sum()} of {selected.size} pixels"
    answer(arguments, [line], lambda: written(arguments.out))
    return 0


def report_verb(arguments: argparse.Namespace) -> int:
    """A prediction -> its table, and one overview picture.

    example:
      python -m zatel report results/bunny-mobile.prediction --out bunny.png
    """
    from rayplay.zatel.paper.document import read_prediction
    from rayplay.zatel.paper.report import table_text, write_overview
    from rayplay.zatel.verbs.targets import check_png_target

    if arguments.out:
        check_png_target(arguments.out)
    prediction = read_prediction(arguments.prediction)
    answer(arguments, [table_text(prediction)], lambda: records.predicted(prediction))
    if arguments.out:
        write_overview(arguments.prediction, arguments.out)
        answer(arguments, [f"{arguments.out}: overview"], list)
    return 0


def paper_verb(arguments: argparse.Namespace) -> int:
    """Traces of scenes -> the paper's Figures 10 to 20 and Table III.

    example:
      python -m zatel paper traces/park.trace traces/wknd.trace --quick --out docs/paper/quick --store build/paper
      make paper QUICK=1
      make paper STUDIES=whole PAPER_SCENES='park bunny'

    whole: Figures 10 and 11. fractions: 13 to 16. downscaling: 17 to 19. regression: 20. tuning: Table III. One after
    the other with one --store, or all at once: no replay is done twice. Scenes are called as their traces. The folder
    then holds README.md (the paper's findings beside the results here), tables.md, the figures as PNG, and every
    prediction and time as Parquet.
    """
    from rayplay.zatel.study import command

    arguments.workers = checked_workers(arguments)
    return command.paper_verb(arguments)


def join_verb(arguments: argparse.Namespace) -> int:
    """Studies that paper wrote, of different scenes -> one study.

    example:
      python -m zatel join elsewhere/park-and-bath here/wknd --out docs/paper/whole

    The scenes, or the studies of a scene, must be different; figures, tables and findings are as if
    all had been studied at once. No trace is read and nothing is replayed.
    """
    from rayplay.zatel.study import join

    return join.join_verb(arguments)


if __name__ == "__main__":
    run("zatel", main)
