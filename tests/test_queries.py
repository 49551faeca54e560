"""docs/queries.md: every block runs as it stands, and the four libraries give the same answers."""

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.convert import convert

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs/queries.md").read_text()
QUERIES = {
    section.split("\n")[0]: dict(re.findall(r"```python (\w+)\n(.*?)```", section, re.DOTALL))
    for section in PAGE.split("\n## ")[1:]
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with traces/sample.trace and traces/sample.trace.h5, as the page presumes."""
    traces = tmp_path_factory.mktemp("queries") / "traces"
    shutil.copytree(ROOT / "traces/sample.trace", traces / "sample.trace")
    convert(open_trace(traces / "sample.trace"), traces / "sample.trace.h5")
    return traces.parent


def answer(program: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(program, "docs/queries.md", "exec"), names)
    return plain(names["answer"])


def plain(value: Any) -> Any:
    """Without the libraries' number types, floats to 9 digits."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return round(float(value), 9)


def test_there_are_five_questions_in_four_libraries() -> None:
    assert len(QUERIES) == 5
    assert all(set(blocks) == {"pandas", "polars", "duckdb", "h5py"} for blocks in QUERIES.values())


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb"])
@pytest.mark.parametrize("question", QUERIES)
def test_the_answers_are_those_of_h5py(monkeypatch, folder: Path, question: str, library: str) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    monkeypatch.chdir(folder)
    expected = answer(QUERIES[question]["h5py"])
    assert expected
    assert answer(QUERIES[question][library]) == expected
