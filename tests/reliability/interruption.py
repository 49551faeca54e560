"""The suites of interruption: killed processes, failing writes, runs that go on, and the same bytes from all."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from rayplay.formats.parquet.shards import HashingFile
from rayplay.formats.testing.generate import make_trace
from tests.reliability.suite import Row, Suite

ROOT = Path(__file__).resolve().parents[2]
MOST_KILLS = 200
HASH_SEEDS, WORKERS = range(5), (1, 2, 4)
RENDER = ("render", "cornell", "--size", "64x32", "--samples", "1")
REPLAY = ("--gpu", "mobile", "--set", "sm.count=2", "--interval", "500")
TIMES = ("host.json",)
Job = Callable[..., None]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder without the host's times; empty for a missing folder."""
    files = folder.iterdir() if folder.is_dir() else ()
    return {file.name: file.read_bytes() for file in files if file.name not in TIMES}


def render(out: Path, *more: str) -> None:
    """Render a small scene with a checkpoint after every four CTAs."""
    from rayplay.tracer.__main__ import main

    with (
        patch("rayplay.tracer.run.CTAS_PER_STEP", 4),
        patch("rayplay.formats.dataset.resume.SECONDS_BETWEEN_CHECKPOINTS", 0.0),
    ):
        main([*RENDER, *more, "--out", str(out)])


def launch(out: Path, *more: str) -> None:
    """Run the launches of a breadth-first search with a checkpoint after every eight CTAs."""
    from rayplay.tracer.__main__ import main

    with (
        patch("rayplay.tracer.run.CTAS_PER_STEP", 8),
        patch("rayplay.formats.dataset.resume.SECONDS_BETWEEN_CHECKPOINTS", 0.0),
    ):
        main(["launch", str(ROOT / "tracer" / "kernels" / "breadth_first_search.toml"), *more, "--out", str(out)])


def replay(out: Path, *more: str) -> None:
    """Replay the sample trace with a checkpoint at every return of the engine."""
    from rayplay.replay.__main__ import main

    sample = str(ROOT / "traces" / "sample.trace")
    with patch("rayplay.replay.run.checkpoint.SECONDS_BETWEEN_CHECKPOINTS", 0.0), patch("sys.argv", ["replay", sample, *REPLAY, *more, "--out", str(out)]):  # fmt: skip # noqa: E501
        main()


def write(out: Path, *more: str) -> None:
    """Write a generated trace over an earlier one."""
    make_trace(out, seed=1, image_size=(160, 24), ctas=8)


JOBS: dict[str, tuple[str, Job]] = {
    "trace writer": ("a.trace", write), "tracer launch": ("a.trace", launch), "tracer render": ("a.trace", render),
    "replay": ("a.result", replay),
}  # fmt: skip


def quietly(job: Job, out: Path, *more: str) -> None:
    """Run a job without its prints."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        job(out, *more)


def killed(job: Job, out: Path, after: float, more: tuple[str, ...]) -> bool:
    """Run a job in a child of this process, and kill it after ``seconds``; False when it ended before."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            quietly(job, out, *more)
            os._exit(0)
        except BaseException:
            os._exit(70)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status == 70:
        raise RuntimeError(f"{out}: a run that was to be gone on with failed")
    return status == -signal.SIGKILL


def kills(subject: str, seed: int, count: int) -> Row:
    """Kill runs at random moments, each resuming the last one, until one completes; then compare."""
    name, job = JOBS[subject]
    chance, count = random.Random(f"{seed} {subject}"), min(count, MOST_KILLS)
    row, outcomes = Row(subject, count), Counter[str]()
    more = () if subject == "trace writer" else ("--resume",)
    with tempfile.TemporaryDirectory() as folder:
        whole, out = Path(folder) / "whole" / name, Path(folder) / "killed" / name
        whole.parent.mkdir()
        out.parent.mkdir()
        quietly(job, whole)
        start = time.monotonic()
        quietly(job, whole)
        seconds = time.monotonic() - start
        wanted = contents(whole)
        for number in range(count):
            before = contents(out)
            was_killed = killed(job, out, chance.uniform(0, 1.2 * seconds), more)
            found = contents(out)
            outcomes["killed" if was_killed else "over before"] += 1
            if found not in (before, wanted):
                row.failures.append(f"kill {number} (seed {seed}): {name} is neither what it was nor complete")
            if found == wanted and chance.random() < 0.5:
                quietly(_remove, out)
        quietly(job, out, *more)
        if contents(out) != wanted:
            row.failures.append(f"seed {seed}: other bytes than those of a run that was not killed")
        if left := [path.name for path in out.parent.iterdir() if path.name.startswith(".")]:
            row.failures.append(f"seed {seed}: left behind: {', '.join(left)}")
    row.outcomes = dict(outcomes)
    row.note = "same bytes, nothing left behind" if not row.failures else ""
    return row


def _remove(out: Path) -> None:
    for file in out.iterdir():
        file.unlink()
    out.rmdir()


def failing_writes(subject: str, seed: int, count: int) -> Row:
    """Fail every k-th write of a writer; the old content must stay, and nothing else."""
    number, plain = [0, 0], HashingFile._write_some
    row, outcomes = Row(subject, 0), Counter[str]()
    code: int = getattr(errno, subject)

    def failing(self: HashingFile, view: memoryview) -> int:
        number[0] += 1
        if number[0] == number[1]:
            raise OSError(code, os.strerror(code))
        return plain(self, view)

    with tempfile.TemporaryDirectory() as folder, patch("os.fsync", lambda handle: None):
        path = make_trace(Path(folder) / "a.trace", seed=1)
        before = contents(path)
        while True:
            number[:] = [0, number[1] + 1]
            try:
                with patch.object(HashingFile, "_write_some", failing):
                    make_trace(path, seed=2)
                break
            except OSError as error:
                outcomes["refused"] += 1
                row.cases += 1
                if error.errno != code or contents(path) != before or len(list(path.parent.iterdir())) != 1:
                    row.failures.append(f"write {number[1]}: {error}")
    row.outcomes = dict(outcomes)
    return row


def resumes(subject: str, seed: int, count: int) -> Row:
    """The tests of resume points, at fifty points each."""
    points = str(min(count, 50))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *RESUMES[subject]], cwd=ROOT,
        env=os.environ | {"RAYPLAY_RESUME_POINTS": points}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    failures = [] if done.returncode == 0 else done.stdout.splitlines()[-3:]
    return Row(subject, int(points), {"same bytes": int(points)} if not failures else {}, failures)


POINTS = "tests/replay/run/test_resume.py::test_resume_points"
RESUMES = {
    "trace writer": ["tests/formats/dataset/test_resume.py"],
    "replay, characterised": [f"{POINTS}[mobile]"],
    "replay, pipeline": [f"{POINTS}[pipeline]"],
    "replay, kernels together": [f"{POINTS}[kernels together]"],
}

TRACE_AGAIN = """
import sys
from rayplay.formats.dataset import writer
writer.default_workers = lambda: int(sys.argv[1])
from rayplay.tracer.__main__ import main
main(["render", "cornell", "--size", "64x32", "--samples", "1", "--out", sys.argv[2]])
"""
REPLAY_AGAIN = """
import sys
from rayplay.replay.__main__ import main
sys.argv = ["replay", "traces/sample.trace", "--gpu", "mobile", "--threads", sys.argv[1], "--out", sys.argv[2]]
main()
"""
LAUNCH_AGAIN = TRACE_AGAIN.replace(
    '"render", "cornell", "--size", "64x32", "--samples", "1"', '"launch", "tracer/kernels/breadth_first_search.toml"'
)
IMPORT_AGAIN = (
    TRACE_AGAIN.partition("from rayplay.tracer")[0]
    + """
from pathlib import Path
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from tests.formats.exchange.accelsim.test_import import write
folder = Path(sys.argv[2]).parent / "list"
folder.mkdir(exist_ok=True)
import_accelsim(write(folder), Path(sys.argv[2]))
"""
)
AGAIN = {
    "import": (IMPORT_AGAIN, "a.trace"), "tracer launch": (LAUNCH_AGAIN, "a.trace"),
    "tracer render": (TRACE_AGAIN, "a.trace"), "replay": (REPLAY_AGAIN, "a.result"),
}  # fmt: skip


def determinism(subject: str, seed: int, count: int) -> Row:
    """Any number of workers, any hash seed, with machine code from the cache and without: the same bytes.

    Half of ``count`` each with and without, at most all combinations; at least one with the cache and one without.
    """
    script, name = AGAIN[subject]
    chance = random.Random(f"{seed} {subject}")
    cases = [
        case
        for is_cold in (False, True)
        for case in chance.sample([(n, str(h), is_cold) for n in WORKERS for h in HASH_SEEDS], min(15, -(-count // 2)))
    ]
    row = Row(subject, len(cases))
    found: Counter[tuple[tuple[str, bytes], ...]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, (workers, hash_seed, is_cold) in enumerate(cases):
            out = Path(folder) / name
            given = {"PYTHONHASHSEED": hash_seed} | ({"RAYPLAY_CACHE": f"{folder}/cold{number}"} if is_cold else {})
            command = [sys.executable, "-c", script, str(workers), str(out)]
            subprocess.run(command, cwd=ROOT, env=os.environ | given, check=True, capture_output=True)
            shutil.rmtree(f"{folder}/cold{number}", ignore_errors=True)
            found[tuple(sorted(contents(out).items()))] += 1
    row.outcomes = {"same bytes": max(found.values())}
    if len(found) > 1:
        row.failures.append(f"{len(found)} different results")
    row.note = "of 1, 2 and 4 workers x 5 hash seeds x cold and warm code cache"
    return row


SUITES = (
    Suite("kill", "SIGKILL at up to 200 random moments, each run going on where the one before was killed.",
          "Under the final name the old content, or all of the new; in the end the bytes of an undisturbed run, "
          "and nothing left behind.", tuple(JOBS), kills),
    Suite("failing writes", "Every k-th write fails, for every k of a small trace.",
          "One error; what stood there stays, and nothing else is there.", ("ENOSPC", "EIO"), failing_writes),
    Suite("resume", "A run goes on from each of 50 checkpoints.", "The bytes of a run that was not interrupted.",
          tuple(RESUMES), resumes),
    Suite("determinism", "The same command again and again.", "The same bytes, the host's times apart.",
          tuple(AGAIN), determinism),
)  # fmt: skip
