"""Whole runs on damaged caches: the same bytes, one line for each damaged object, exit code 0."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rayplay.formats.guard.sealed import KEY, sealed_root
from tests.formats.schema_strategies import tree_bytes

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = ["rayplay.tracer", "launch", str(ROOT / "tracer" / "kernels" / "reduction.toml")]
SAMPLE = str(ROOT / "traces" / "sample.trace")
REPLAY = ["rayplay.replay", SAMPLE, "--gpu", "mobile"]
SCENE = ["rayplay", "scene", "cornell"]
CHANGE = ["rayplay.zatel", "whatif", SAMPLE, "--gpu", "mobile", "--fraction", "0.5", "--change", "rt.warps*2"]


@dataclass(frozen=True)
class Whole:
    """A cache with what the runs below made or found in it, and what they wrote."""

    cache: Path
    files: dict[str, dict[str, bytes]]

    def copy(self, to: Path) -> Path:
        """A cache of a test's own."""
        shutil.copytree(self.cache, to / "cache")
        return to / "cache"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A cache of these runs alone; numba's code comes from the tests' own, which other tests fill meanwhile."""
    at = tmp_path_factory.mktemp("whole")
    files = {}
    if sealed_root().exists():
        shutil.copytree(sealed_root(), at / "cache" / "sealed", ignore=not_of_numba)
    for name, words in (("first.trace", LAUNCH), ("first.result", REPLAY), ("first.json", CHANGE)):
        files[name], _ = runs(words, at / name, at / "cache")
    return Whole(at / "cache", files)


def not_of_numba(folder: str, names: list[str]) -> set[str]:
    """Names that are not copied: facts and programs of others, and files that another process has not finished."""
    is_top = Path(folder) == sealed_root()
    return {each for each in names if each[0] == "." or (is_top and each != KEY and not each.startswith("numba-"))}


def runs(words: list[str], out: Path, cache: Path, **more: str) -> tuple[dict[str, bytes], list[str]]:
    """Files of the output, and the warnings."""
    environment = os.environ | {"RAYPLAY_CACHE": str(cache), **more}
    command = [sys.executable, "-m", *words, "--out", str(out)]
    done = subprocess.run(command, env=environment, cwd=out.parent, capture_output=True, text=True, check=True)
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    files = tree_bytes(out) if out.is_dir() else {"": out.read_bytes()}
    return {name: data for name, data in files.items() if name != "host.json"}, warnings


def flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[bytes, bytes], bytes]] = {
    "flipped": lambda own, other: own[:-9] + bytes([own[-9] ^ 4]) + own[-8:],
    "empty": lambda own, other: b"",
    "cut": lambda own, other: own[: len(own) // 2],
    "another's": lambda own, other: other,
}
"""Bytes of a damaged object, of its own ones and those of a sound one."""


def test_machine_code_of_a_program_that_was_damaged_is_made_again(tmp_path: Path, whole: Whole) -> None:
    """Every object that the run loads is named, whatever has happened to it."""
    cache = whole.copy(tmp_path)
    objects = sorted((cache / "sealed" / "machine-code").iterdir())
    other = next((cache / "sealed").glob("numba-*/*/*")).read_bytes()
    for kind, damage in DAMAGES.items():
        damaged = {}
        for path in objects:
            damaged[path] = damage(path.read_bytes(), other)
            path.write_bytes(damaged[path])
        again, warnings = runs(LAUNCH, tmp_path / f"{kind}.trace", cache)
        assert again == whole.files["first.trace"], kind
        objects = [path for path in objects if path.read_bytes() != damaged[path]]
        assert objects, kind
        assert sorted(warnings) == sorted(f"warning: {path}: is damaged; it is made again" for path in objects), kind
    assert runs(LAUNCH, tmp_path / "last.trace", cache) == (whole.files["first.trace"], [])


def test_a_replay_whose_engine_was_damaged_compiles_it_again(tmp_path: Path, whole: Whole) -> None:
    cache = whole.copy(tmp_path)
    damaged = list((cache / "sealed").glob("numba-replay-*/crossbar.*/*"))
    assert damaged
    for path in damaged:
        flip(path, random.Random(2))
    again, warnings = runs(REPLAY, tmp_path / "again.result", cache)
    assert again == whole.files["first.result"]
    assert {line.split(": ")[1] for line in warnings} <= {str(path) for path in damaged}
    assert len(set(warnings)) == len(warnings) > 0
    assert runs(REPLAY, tmp_path / "third.result", cache) == (whole.files["first.result"], [])


def test_facts_of_a_trace_that_were_damaged_are_found_again(tmp_path: Path, whole: Whole) -> None:
    cache = whole.copy(tmp_path)
    facts = sorted((cache / "sealed" / "zatel").iterdir())
    assert facts
    rng = random.Random(3)
    for path in facts:
        flip(path, rng)
    again, warnings = runs(CHANGE, tmp_path / "again.json", cache)
    assert again == whole.files["first.json"]
    assert warnings
    assert {line.split(": ")[1] for line in warnings} <= {str(path) for path in facts}
    assert runs(CHANGE, tmp_path / "third.json", cache) == (whole.files["first.json"], [])


def test_without_a_cache_nothing_is_kept_anywhere_else(tmp_path: Path) -> None:
    """numba's way was ``__pycache__``, where an edited callee is not seen."""
    (tmp_path / "file").write_text("")
    before = set(ROOT.rglob("*.nbi"))
    _, warnings = runs(SCENE, tmp_path / "a.html", tmp_path / "file", HOME=str(tmp_path / "home"))
    [line] = warnings
    assert line.startswith(
        f"warning: {tmp_path / 'file' / 'sealed'}: compiled code and facts of traces cannot be kept: "
    )
    assert set(ROOT.rglob("*.nbi")) == before
    assert {path.name for path in tmp_path.iterdir()} == {"file", "a.html"}
