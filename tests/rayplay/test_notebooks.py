"""The example notebooks: each runs from its first cell to its last, and prints what it holds."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples/notebooks").glob("*.ipynb"))


def run(document: dict[str, Any]) -> list[str]:
    """Text that each code cell prints, one after another in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    found = []
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile("".join(cell["source"]), "cell", "exec"), names)
            found.append(output.getvalue())
    return found


def stored(document: dict[str, Any]) -> list[str]:
    """Text that each code cell holds."""
    codes = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in codes] == list(range(1, len(codes) + 1))
    return ["".join(text for output in cell["outputs"] for text in output["text"]) for cell in codes]


def update(path: Path, document: dict[str, Any]) -> None:
    """Write what the cells print into the notebook."""
    printed = iter(enumerate(run(document), 1))
    for cell in document["cells"]:
        if cell["cell_type"] == "code":
            number, text = next(printed)
            output = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
            cell |= {"execution_count": number, "outputs": [output] if text else []}
    path.write_text(json.dumps(document, indent=1) + "\n")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_holds(
    path: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    document = json.loads(path.read_text())
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    if request.config.getoption("--update-golden"):
        update(path, document)
    assert run(document) == stored(document)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3
