"""The README's output equals the real output."""

import contextlib
import io
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


PROGRAMS = re.findall(r"```python\n([^`]*)```\n\nprints\n\n```\n([^`]*)```", README)


@pytest.mark.parametrize(("program", "printed"), PROGRAMS, ids=["api", "pandas"])
def test_a_program_prints_what_the_readme_says(monkeypatch: pytest.MonkeyPatch, program: str, printed: str) -> None:
    monkeypatch.chdir(ROOT)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "README.md", "exec"), {})
    assert output.getvalue() == printed


def test_makefile_verbs_that_the_readme_names_exist() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for verb in set(re.findall(r"make ([a-z]+)", README)):
        assert f"make {verb} " in shown, verb
