"""Fixtures that every package's tests share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is produced now")


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """``golden(path, text)``: the text equals the committed file, or rewrites it under ``--update-golden``."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{path} is missing: run pytest --update-golden and read the difference"
        assert text == path.read_text()

    return check


def data_folder() -> Path:
    """Where the real scenes and the outside world's traces lie: ``RAYPLAY_DATA``, or ``../shared``."""
    return Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The data folder; the test is skipped, saying so, when there is none."""
    folder = data_folder()
    if not (folder / "scenes").is_dir():
        pytest.skip(f"real scenes and traces are absent: {folder} (set RAYPLAY_DATA)")
    return folder
