"""Every verb refuses every hostile input: exit code 2, one line, 1.5 GB, 30 s, nothing half-written."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.testing.generate import make_trace
from tests.hostile.cases import CASES, Case
from tests.hostile.judge import judged, names
from tests.hostile.verbs import VERBS
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
    write_pixels(folder / "some.pixels", (lambda y, x: (x + y) % 2 == 0)(*__import__("numpy").ogrid[:6, :40]))
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
        run = warm.run(folder, module, arguments.split())
        try:
            found = judged(verb, run, before, folder)
            must = verb not in case.served
            assert not must or found == "refused", f"{verb}: served, and must be refused: {run['out'][:300]}"
            said = run["err"] or run["out"]
            assert found == "served" or re.search(case.says, said), f"{verb}: must say {case.says!r}: {said}"
        except AssertionError as error:
            wrong.append(str(error))
        for name in sorted(names(folder) - before, reverse=True):
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert not wrong, f"{case.name}: {len(wrong)} verbs are wrong\n" + "\n".join(wrong)
