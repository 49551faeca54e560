"""Names without a suffix."""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place.names import KNOWN, any_name, present, result_name, trace_name


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("folder", [".", "traces", "results"])
@pytest.mark.parametrize("suffix", KNOWN)
def test_a_name_is_completed(folder: str, suffix: str) -> None:
    path = Path(folder) / f"bunny{suffix}"
    path.mkdir(parents=True)
    assert any_name("bunny") == path
    assert any_name(str(path)) == path
    assert any_name(f"{folder}/bunny") == path


def test_the_nearest_place_and_the_first_kind_come_first() -> None:
    for name in ("traces/bunny.trace", "results/bunny.trace", "results/bunny.result"):
        Path(name).mkdir(parents=True)
    assert trace_name("bunny") == Path("traces/bunny.trace")
    assert any_name("bunny") == Path("traces/bunny.trace")
    assert result_name("bunny") == Path("results/bunny.result")
    Path("bunny.trace").mkdir()
    assert trace_name("bunny") == Path("bunny.trace")


def test_what_is_there_stays_as_it_is() -> None:
    Path("bunny").mkdir()
    Path("bunny.trace").mkdir()
    assert trace_name("bunny") == Path("bunny")
    assert trace_name("absent.trace") == Path("absent.trace")
    assert trace_name("nothing-like-it") == Path("nothing-like-it")


def test_the_sample_comes_with_the_package() -> None:
    assert (trace_name("sample") / "manifest.json").is_file()
    assert "sample" in set(present())


def test_a_mistyped_name_is_answered_with_the_nearest() -> None:
    Path("traces/wknd-path-tracing.trace").mkdir(parents=True)
    with pytest.raises(FormatError, match=r"wknd-path-tracig: no such trace; did you mean 'wknd-path-tracing'\?"):
        trace_name("wknd-path-tracig")
