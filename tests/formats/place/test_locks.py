"""Left-overs of killed processes are found and removed by the next run; files held by a living one stay."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.place.locks import Claim, left_over, remove_left_overs
from rayplay.formats.place.publish import atomic_file, make_partial_folder, publish_folder
from rayplay.formats.testing.generate import make_trace
from tests.formats.schema_strategies import tree_bytes

HOLD = """
import sys, time
from pathlib import Path
from rayplay.formats.testing.generate import make_tables
from rayplay.formats.dataset.writer import TraceWriter

with TraceWriter(Path(sys.argv[1])) as writer:
    for name, columns in make_tables(1).items():
        writer.put(name, columns)
    print("writing", flush=True)
    time.sleep(600)
"""


def killed_writer(path: Path) -> None:
    """A process that writes ``path`` and is killed in the middle of it."""
    process = writing(path)
    process.kill()
    process.wait()
    process.stdout.close()


def writing(path: Path) -> subprocess.Popen[str]:
    """A process in the middle of writing ``path``."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_next_run_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "mine.trace", seed=3)
    before = tree_bytes(path)
    killed_writer(path)
    assert len(names(tmp_path)) == 2
    assert tree_bytes(path) == before
    make_trace(path, seed=3)
    assert names(tmp_path) == ["mine.trace"]
    assert tree_bytes(path) == before


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    process = writing(tmp_path / "mine.trace")
    try:
        make_trace(tmp_path / "mine.trace")
        assert len(names(tmp_path)) == 2
        process.send_signal(signal.SIGSTOP)
        remove_left_overs(tmp_path / "mine.trace")
        assert len(names(tmp_path)) == 2
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    remove_left_overs(tmp_path / "mine.trace")
    assert names(tmp_path) == ["mine.trace"]


def test_files_of_other_names_are_not_touched(tmp_path: Path) -> None:
    others = [
        ".b.trace.abcdefgh.partial",
        ".a.trace.abc.partial",
        "a.trace.abcdefgh.partial",
        ".a.trace.x.abcdefgh.partial",
    ]
    for name in (*others, ".a.trace.abcdefgh.partial", ".a.trace.abcdefgh.checkpoint"):
        (tmp_path / name).write_text("x")
    remove_left_overs(tmp_path / "a.trace")
    assert names(tmp_path) == sorted(others)


def test_left_over_files_go_too(tmp_path: Path) -> None:
    (tmp_path / ".a.pixels.abcdefgh.partial").write_text("half")
    write_pixels(tmp_path / "a.pixels", np.ones((2, 2), bool))
    assert names(tmp_path) == ["a.pixels"]


def test_a_folder_moved_aside_by_a_killed_process_gets_back(tmp_path: Path) -> None:
    """File systems that cannot exchange two names: killed between the two renames."""
    before = tree_bytes(make_trace(tmp_path / "a.trace", seed=1))
    os.rename(tmp_path / "a.trace", tmp_path / ".a.trace.abcdefgh.old")
    (tmp_path / ".a.trace.abcdefgh.partial").mkdir()
    remove_left_overs(tmp_path / "a.trace")
    assert names(tmp_path) == ["a.trace"]
    assert tree_bytes(tmp_path / "a.trace") == before
    make_trace(tmp_path / ".a.trace.abcdefgh.old", seed=2)
    remove_left_overs(tmp_path / "a.trace")
    assert tree_bytes(tmp_path / "a.trace") == before
    assert names(tmp_path) == ["a.trace"]


def test_a_claim_is_of_one_process_and_of_what_is_there(tmp_path: Path) -> None:
    first = make_partial_folder(tmp_path / "a.trace")
    assert Claim.take(first.path) is None
    assert left_over(tmp_path / "a.trace") == []
    publish_folder(first.path, tmp_path / "a.trace")
    first.release()
    assert Claim.take(first.path) is None
    with atomic_file(tmp_path / "b.txt") as partial:
        assert Claim.take(partial) is None


def test_a_left_over_is_made_again_when_somebody_takes_it_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, taken = Claim.take, []

    def late(path: Path, must_lock: bool = True) -> Claim | None:
        if not taken:
            taken.append(path)
            path.rmdir()  # another process swept it
        return take(path, must_lock)

    monkeypatch.setattr("rayplay.formats.place.publish.Claim.take", late)
    with make_partial_folder(tmp_path / "a.trace") as claim:
        assert claim.path.is_dir()
        assert claim.path != taken[0]


def test_four_processes_write_one_name(tmp_path: Path) -> None:
    """The last writer wins; nothing is torn and nothing is left."""
    command = (
        "import sys; from rayplay.formats.testing.generate import make_trace; make_trace(sys.argv[1], int(sys.argv[2]))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", command, str(tmp_path / "a.trace"), str(seed)]) for seed in range(4)
    ]
    deadline = time.monotonic() + 300
    assert [process.wait(deadline - time.monotonic()) for process in processes] == [0] * 4
    assert names(tmp_path) == ["a.trace"]
    wanted = [tree_bytes(make_trace(tmp_path / f"{seed}.trace", seed)) for seed in range(4)]
    assert tree_bytes(tmp_path / "a.trace") in wanted
