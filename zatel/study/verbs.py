"""``python -m zatel paper``, ``join`` and ``ablate``: the studies of the paper's method and of the estimator."""

import argparse
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import trace_name
from rayplay.zatel.study.points import STUDIES

LIBRARIES = ("numpy", "numba", "scipy")


def add_parsers(verbs: Any) -> None:
    """The options of the verbs."""
    _add_ablate(verbs)
    _add_paper(verbs)
    _add_join(verbs)


def _add_ablate(verbs: Any) -> None:
    made = add_verb(verbs, ablate_verb)
    made.add_argument("traces", type=trace_name, nargs="+", metavar="TRACE", help="traces of one launch each")
    made.add_argument("--gpu", nargs="+", default=["mobile", "rtx2060"], metavar="GPU", help="default: both")
    made.add_argument("--fraction", type=float, default=0.1, metavar="F", help="part of the CTAs (default: 0.1)")
    made.add_argument("--seeds", type=int, default=3, metavar="N", help="samples of each (default: 3)")
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")
    made.add_argument("--store", type=Path, required=True, metavar="FOLDER", help="keep full replays; resume from it")


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
    paper.add_argument("--workers", type=int, metavar="N", help="processes at a time (default: one per core)")
    paper.add_argument("--estimate", action="store_true", help="print the replays to do and their time, and stop")


def _add_join(verbs: Any) -> None:
    join = add_verb(verbs, join_verb)
    join.add_argument("studies", type=location, nargs="+", metavar="STUDY", help="folders that the verb paper wrote")
    join.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")


def ablate_verb(arguments: argparse.Namespace) -> int:
    """Traces of scenes -> errors, intervals and rules of the estimator.

    examples:
      python -m zatel ablate traces/bunny.trace traces/park.trace --out build/rules --store build/estimate-study
      make estimate-study QUICK=1

    Each sample is estimated with every rule and without each one (zatel/sample/rules.py), and compared with the full
    replay. Scenes are called as their traces. The folder then holds README.md, trials.csv and ablation.png.
    """
    from rayplay.zatel.replays.result_cache import Store, engine_identity
    from rayplay.zatel.study.ablation import trials
    from rayplay.zatel.study.ablation_page import rules_table, verdicts, write_page

    if arguments.seeds < 1:
        raise UserError(f"--seeds must be at least 1, not {arguments.seeds}")
    if arguments.out.exists() and not arguments.out.is_dir():
        raise UserError(f"--out {arguments.out}: must be a folder, but is a file")
    found = trials(arguments.traces, arguments.gpu, arguments.fraction, arguments.seeds, Store(arguments.store))
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    names = " ".join(path.name for path in arguments.traces)
    request: dict[str, str | float] = {
        "command": f"python -m zatel ablate {names} --gpu {' '.join(arguments.gpu)} --fraction {arguments.fraction:g}"
        f" --seeds {arguments.seeds}",
        "versions": f"engine {engine_identity()[:16]}, {versions}",
        "fraction": arguments.fraction,
        "seeds": arguments.seeds,
    }
    write_page(arguments.out, found, request)
    judged = verdicts(found)
    answer(
        arguments, [rules_table(judged), f"{arguments.out}/README.md: {len(found)} estimates"], lambda: _rows(judged)
    )
    return 0


def _rows(judged: Any) -> Iterator[Record]:
    """A record per rule and metric."""
    for one in judged:
        yield one._asdict() | {"earns_its_place": one.earns_its_place}


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
