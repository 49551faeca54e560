"""docs/raster.md: its program prints what the page says, and its table names every file of the package."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "raster.md").read_text()


def test_the_program_of_the_page_prints_what_it_says() -> None:
    ((program, expected),) = re.findall(r"```python\n(.*?)```\n\nprints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "docs/raster.md", "exec"), {"__name__": "__main__"})
    assert printed.getvalue() == expected


def test_every_stage_is_in_the_table() -> None:
    stages = {path.name for path in (ROOT / "tracer" / "raster").glob("*.py")} - {"__init__.py", "pipeline.py"}
    assert set(re.findall(r"^\| `(\w+\.py)` \|", PAGE, re.MULTILINE)) == stages
