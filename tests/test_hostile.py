"""Every verb refuses every hostile input: exit code 2, one line, 1.5 GB, 30 s, nothing half-written."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.testing.generate import make_trace
from tests.hostile.cases import CASES, Case
from tests.hostile.judge import fault, names
from tests.hostile.verbs import FAST, REPLAY, VERBS
from tests.hostile.warm import Warm


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    made = Warm()
    yield made
    made.close()


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Valid files that verbs take beside the hostile input."""
    folder = tmp_path_factory.mktemp("beside")
    make_trace(folder / "good.trace", 1, (40, 6), 0)
    make_trace(folder / "plain.trace", 1, None, 1)
    write_pixels(folder / "some.pixels", np.indices((6, 40)).sum(axis=0) % 2 == 0)
    for model in ("characterised", "pipeline", "gatsim"):  # engines are compiled here, not in a case's seconds
        for name in ("good", "plain"):
            arguments = [f"{name}.trace", *FAST.split(), "--model", model, "--out", "out.result"]
            subprocess.run([sys.executable, "-m", REPLAY, *arguments], cwd=folder, capture_output=True)
            shutil.rmtree(folder / "out.result", ignore_errors=True)
    return folder


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_verb_refuses_it(tmp_path: Path, warm: Warm, beside: Path, case: Case) -> None:
    folder = tmp_path / "here"
    shutil.copytree(beside, folder)
    case.make(folder)
    before, wrong = names(folder), []
    for verb, (module, arguments) in VERBS[case.kind].items():
        if case.verbs and verb not in case.verbs:
            continue
        wrong.append(fault(case, verb, warm.run(folder, module, arguments.split(), case.given), before, folder))
        for name in sorted(names(folder) - before, reverse=True):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "\n".join(filter(None, wrong)) == ""
