"""Fixtures that every package's tests share."""

import os
import signal
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
TABLE = tomllib.loads((ROOT / "tests" / "questions.toml").read_text())
QUESTIONS: dict[str, list[str]] = TABLE["questions"]

settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
settings.register_profile("ci", derandomize=True, database=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    give_bars_a_lock_of_their_own()
    os.register_at_fork(after_in_child=give_bars_a_lock_of_their_own)
    for question in QUESTIONS:
        config.addinivalue_line("markers", f"{question}: a question that tests answer (tests/questions.toml)")
    config.addinivalue_line("markers", "later: a test of `make test-all` alone")


def give_bars_a_lock_of_their_own() -> None:
    """A lock within this process: tqdm's own is shared with forked children, and one that is killed keeps it."""
    tqdm.set_lock(threading.RLock())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by the question it answers and by its tier."""
    for item in items:
        item.add_marker(question_of(item.path))
        if any(fnmatch(item.nodeid, pattern) for pattern in TABLE["later"]["tests"]):
            item.add_marker("later")


def question_of(path: Path) -> str:
    """The first question of ``questions.toml`` with a pattern that fits the file."""
    name = path.relative_to(ROOT / "tests").as_posix()
    return next(question for question, patterns in QUESTIONS.items() if any(fnmatch(name, p) for p in patterns))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files from what is produced now")


@pytest.fixture(autouse=True)
def own_process_state() -> Iterator[None]:
    """A test changes its process for no other test."""
    with process_as_it_was():
        yield


@contextmanager
def process_as_it_was() -> Iterator[None]:
    """Put back environment, folder, umask, float errors and handlers of signals as they are before the block."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ)
    variables, folder, errors = dict(os.environ), os.getcwd(), np.geterr()
    handlers = {number: signal.getsignal(number) for number in numbers}
    os.umask(mask := os.umask(0o77))
    try:
        yield
    finally:
        for name in os.environ.keys() - variables.keys():
            del os.environ[name]
        os.environ |= variables
        os.chdir(folder)
        os.umask(mask)
        np.seterr(**errors)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)


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
    """Folder of the real scenes and other simulators' traces: ``RAYPLAY_DATA``, or ``../shared``."""
    return Path(os.environ.get("RAYPLAY_DATA", ROOT.parent / "shared"))


@pytest.fixture(scope="session")
def data() -> Path:
    """The data folder; the test is skipped with a message when it is missing."""
    folder = data_folder()
    if not (folder / "scenes").is_dir():
        pytest.skip(f"real scenes and traces are absent: {folder} (set RAYPLAY_DATA)")
    return folder
