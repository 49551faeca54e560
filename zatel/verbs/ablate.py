"""``python -m zatel ablate``: traces in, the estimator's errors with and without each of its rules out."""

import argparse
import importlib.metadata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.command import add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.names import trace_name

LIBRARIES = ("numpy", "numba", "scipy")


def add_parser(verbs: Any) -> None:
    """The options of the verb."""
    made = add_verb(verbs, ablate_verb)
    made.add_argument("traces", type=trace_name, nargs="+", metavar="TRACE", help="traces of one launch each")
    made.add_argument("--gpu", nargs="+", default=["mobile", "rtx2060"], metavar="GPU", help="default: both")
    made.add_argument("--fraction", type=float, default=0.1, metavar="F", help="part of the CTAs (default: 0.1)")
    made.add_argument("--seeds", type=int, default=3, metavar="N", help="samples of each (default: 3)")
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="study to write")
    made.add_argument("--store", type=Path, required=True, metavar="FOLDER", help="keep full replays; resume from it")


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
