"""A second process does its work, and never harm: not when it fails, nor when it is not wanted any more."""

import os
from pathlib import Path

import pytest

from rayplay.formats.guard import beside as module
from rayplay.formats.guard.beside import beside


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)


def fail() -> None:
    raise ValueError("refused")


def test_works_are_done_by_another_process(tmp_path: Path) -> None:
    with beside([lambda: (tmp_path / "a").write_text(str(os.getpid())), lambda: (tmp_path / "b").touch()]) as wait:
        wait()
        assert (tmp_path / "a").read_text() != str(os.getpid())
        assert (tmp_path / "b").exists()
        wait()


def test_a_work_that_fails_is_left_to_the_caller(capfd: pytest.CaptureFixture[str]) -> None:
    with beside([fail]) as wait:
        wait()
    assert capfd.readouterr() == ("", "")


def test_it_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    fork, forked = os.fork, []
    monkeypatch.setattr(os, "fork", lambda: forked.append(fork()) or forked[-1])

    def wait_for_ever() -> None:
        os.close(writer)
        os.read(reader, 1)

    with pytest.raises(KeyboardInterrupt), beside([wait_for_ever]):
        raise KeyboardInterrupt
    with pytest.raises(ChildProcessError):
        os.waitpid(forked[0], os.WNOHANG)
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("cores", [1, 2])
def test_there_is_none_without_work_or_a_second_core(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    monkeypatch.setattr(module, "cores", lambda: cores)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    with beside([fail] if cores == 1 else []) as wait:
        wait()
