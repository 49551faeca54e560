"""Runs of the cases: the valid files beside the hostile one, and every verb of a case's kind, one after the other."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.testing.generate import make_trace
from tests.hostile.judge import fault, names
from tests.hostile.reports import TIME, TIMES
from tests.hostile.verbs import FAST, REPLAY, VERBS, Case
from tests.hostile.warm import Warm


def write_beside(folder: Path) -> Path:
    """Write valid files that verbs take beside the hostile input, and compile the engines."""
    make_trace(folder / "good.trace", 1, (40, 6), 0)
    make_trace(folder / "plain.trace", 1, None, 1)
    write_pixels(folder / "some.pixels", np.indices((6, 40)).sum(axis=0) % 2 == 0)
    (folder / "times.csv").write_text(TIMES + TIME)
    for model in ("characterised", "gatsim", "pipeline"):  # engines are compiled here, not in a case's seconds
        for name in ("plain", "good"):
            shutil.rmtree(folder / "good.result", ignore_errors=True)
            arguments = [f"{name}.trace", *FAST.split(), "--model", model, "--out", "good.result"]
            subprocess.run([sys.executable, "-m", REPLAY, *arguments], cwd=folder, capture_output=True)
    assert (folder / "good.result").is_dir()
    return folder


def run_case(
    warm: Warm, beside: Path, folder: Path, case: Case, share: int = 1, turn: int = 0
) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Per verb of a case: its name, its run (``warm``) and its fault, or "". Makes ``folder``.

    share, turn  only every ``share``-th verb, counted from the one whose turn it is.
    """
    shutil.copytree(beside, folder)
    case.make(folder)
    before = names(folder)
    chosen = [verb for verb in VERBS[case.kind] if not case.verbs or verb in case.verbs]
    for verb in chosen[turn % max(min(share, len(chosen)), 1) :: share]:
        module, arguments = VERBS[case.kind][verb]
        run = warm.run(folder, module, arguments.split(), case.given)
        yield verb, run, fault(case, verb, run, before, folder)
        for name in sorted(names(folder) - before, reverse=True):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
