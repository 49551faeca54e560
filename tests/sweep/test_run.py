"""Runs of small sweeps: kills at every step, two drivers, bad points, any order, interruptions."""

import itertools
import json
import os
import resource
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.dataset.memory import MemorySource
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.executors import processes
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.point import inputs
from rayplay.sweep.point.nursery import Ended, Nursery
from rayplay.sweep.point.perform import perform
from rayplay.sweep.space.file import Limits, given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store
from tests.sweep import conftest
from tests.sweep.conftest import command, counted, environment, is_over, planned, tables, toml, wait_until


def results(store: Path) -> dict[str, bytes]:
    """Bytes of every result by key."""
    return {path.parent.name: path.read_bytes() for path in store.glob("results/*/result.json")}


def order(steps: Path, name: str, words: str) -> None:
    """Leave an order for a step."""
    (steps / name).write_text(words)


def test_a_worker_killed_at_any_step_costs_nothing(tmp_path: Path, steps: Path) -> None:
    """The point that it ran is tried again by the same run; a half result is never read."""
    (tmp_path / "study.toml").write_text(toml(7))
    keys = planned(str(tmp_path / "study.sweep"), points=7).missing()
    killed = dict(zip(("started", "computed", "writing", "written", "synced", "renamed"), keys, strict=False))
    for step, key in killed.items():
        order(steps, f"{step}-{key}", "kill")
    ended = command(tmp_path, "run", "study.toml", "--workers", "2", steps=steps)
    assert ended.returncode == 0, ended.stderr
    assert "7 of 7 points are done" in ended.stdout
    again = {key for step, key in killed.items() if step != "renamed"}
    assert sorted(counted(steps)) == sorted([*keys, *again])
    assert results(tmp_path / "study.sweep").keys() == set(keys)


def test_a_killed_driver_is_followed_by_exactly_what_is_missing(study: Path, steps: Path) -> None:
    order(steps, "released", "kill")  # the driver, once it has noted the first point
    ended = command(study, "run", "study.toml", "--workers", "1", steps=steps)
    assert ended.returncode == -signal.SIGKILL
    wait_until(lambda: is_over(steps))  # what it had forked ends with it
    there = set(results(study / "study.sweep"))
    assert 1 <= len(there) < 4
    known = [each for each in planned(str(study / "study.sweep")).status.values() if each == "done"]
    assert len(known) == len(there)
    before = len(counted(steps))
    ended = command(study, "run", "study.toml", steps=steps)
    assert ended.returncode == 0, ended.stderr
    assert f"ran {4 - len(there)}" in ended.stdout
    assert not set(counted(steps)[before:]) & there
    assert list((study / "study.sweep" / "claims").iterdir()) == []


def test_two_drivers_share_a_store(tmp_path: Path, steps: Path) -> None:
    (tmp_path / "study.toml").write_text(toml(24))
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml", "--workers", "1"]
    both = [
        subprocess.Popen(words, cwd=tmp_path, env=environment(steps), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]  # fmt: skip
    said = [driver.communicate(timeout=300)[0].decode() for driver in both]
    assert [driver.returncode for driver in both] == [0, 0]
    assert all("24 of 24 points are done" in each for each in said)
    assert len(results(tmp_path / "study.sweep")) == 24
    assert len(counted(steps)) == 24
    assert list((tmp_path / "study.sweep" / "claims").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "limits", "reason"),
    [
        ("always crash", "", "died of signal SIGSEGV, 3 times"),
        ("always memory", "memory_mb = 300", "its memory limit was too little"),
        ("always sleep 600", "seconds = 15", "took longer than its limit of 15 s"),
    ],
)
def test_a_bad_point_fails_alone(tmp_path: Path, steps: Path, words: str, limits: str, reason: str) -> None:
    (tmp_path / "study.toml").write_text(toml(12, f"[limits]\n{limits}"))
    bad = planned(str(tmp_path / "study.sweep"), points=12).missing()[3]
    order(steps, f"computed-{bad}", words)
    ended = command(tmp_path, "run", "study.toml", "--workers", "2", steps=steps)
    assert ended.returncode == 1
    assert "11 of 12 points are done, 1 failed" in ended.stdout
    assert reason in ended.stdout
    (steps / f"computed-{bad}").unlink()
    ended = command(tmp_path, "run", "study.toml", steps=steps)  # a known failure does not run again by itself
    assert (ended.returncode, "ran 0" in ended.stdout, reason in ended.stdout) == (1, True, True)
    ended = command(tmp_path, "run", "study.toml", "--retry", steps=steps)
    assert ended.returncode == 0
    assert "ran 1" in ended.stdout


def test_the_log_of_a_failure_is_kept(tmp_path: Path) -> None:
    policy = tmp_path / "loud.py"
    policy.write_text(
        "from rayplay.policy import hook\n\n\n"
        '@hook("rt.choose_warp")\ndef first(state, own, core):\n    """Choose nothing."""\n    return -1\n\n\n'
        "def arrays(unit, state, parameters):\n"
        '    print("about to fail", flush=True)\n    raise ZeroDivisionError("of the policy")\n'
    )
    (tmp_path / "study.toml").write_text(toml(1, f'plugins = ["{policy}"]'))
    ended = command(tmp_path, "run", "study.toml")
    assert ended.returncode == 1
    assert "0 of 1 points are done, 1 failed" in ended.stdout
    assert "of the policy" in ended.stdout


def test_jobs_far_more_than_workers_each_have_a_result_of_their_own(
    tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes serve all of them, for points are short in processor time, however long they wait."""
    monkeypatch.setenv("RAYPLAY_SWEEP_STEPS", str(steps))
    order(steps, "computed", "sleep 2.5")
    found = run("study", space(given(tables(20))), Store(str(tmp_path / "s")), How(workers=2))
    assert found.plan.counts() == {"done": 20}
    hosts = [json.loads(path.read_text()) for path in tmp_path.glob("s/results/*/host.json")]
    assert len(hosts) == 20
    begun = [line.split()[2] for line in (steps / "steps").read_text().splitlines() if line.startswith("started")]
    assert (len(begun), len(set(begun))) == (20, 2)
    for key, content in results(tmp_path / "s").items():
        known = json.loads(content)
        assert known["described"]["gpu"]["l1"]["latency_cycles"] in range(20, 40)
        assert found.plan.store.get(key).metrics == known["metrics"]  # type: ignore[union-attr]


def test_same_key_same_bytes_over_executors_workers_and_order(tmp_path: Path) -> None:
    made = []
    for number, (how, turned) in enumerate([(How("inline"), False), (How(workers=1), True), (How(workers=4), False)]):
        values = list(range(20, 26))[:: -1 if turned else 1]
        sweep = given(tables() | {"design": {"grid": {"l1.latency_cycles": values}}})
        run("study", space(sweep), Store(str(tmp_path / str(number))), how)
        made.append(results(tmp_path / str(number)))
    assert len(made[0]) == 6
    assert made[0] == made[1] == made[2]


def test_methods_models_and_whole_results(tmp_path: Path) -> None:
    sweep = given(tables(1, methods=["replay", "estimate", "predict"], models=["", "gatsim"], keep="result"))
    found = run("study", space(sweep), Store(str(tmp_path / "s")), How(workers=2))
    metrics = {
        (each.point.method, each.point.model): found.plan.store.get(each.key or "") for each in found.plan.planned
    }
    assert all(entry is not None for entry in metrics.values())
    full, estimate = (metrics[method, ""].metrics for method in ("replay", "estimate"))  # type: ignore[union-attr]
    assert estimate["gpu_cycles"] == estimate["gpu_cycles.low"] == full["gpu_cycles"]  # a small trace: replayed whole
    kept = list(tmp_path.glob("s/results/*/replay.result/summary.json"))
    assert len(kept) == 2
    assert full["gpu_cycles"] in [json.loads(path.read_text())["gpu_cycles"]["value"] for path in kept]


def test_scenes_are_rendered_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Short stacks need traces that record distances; the trace that warms a worker up has none."""
    scene = {"scene": "cornell", "size": "16x8", "record": "distances"}
    design = {"list": [{"rt.stack_entries": 4}]}
    sweep = given({"scenes": [scene], "gpus": ["mobile"], "seeds": [1, 2], "design": design})
    store = Store(str(tmp_path / "s"))
    assert make_plan("study", space(sweep), store).counts() == {"unrendered": 2}
    first = run("study", space(sweep), store, How(workers=2))
    assert first.plan.counts() == {"done": 2}
    assert len(list(tmp_path.glob("s/traces/*.trace"))) == 2
    again = run("study", space(sweep), store, How(workers=2))
    assert again.report.done == []
    assert "Traceback" not in capfd.readouterr().err


def test_a_full_disk_names_the_place_and_harms_nothing(study: Path, steps: Path) -> None:
    bad = planned(str(study / "study.sweep")).missing()[1]
    order(steps, f"written-{bad}", "always full")
    ended = command(study, "run", "study.toml", steps=steps)
    assert ended.returncode == 1
    assert "3 of 4 points are done, 1 failed" in ended.stdout
    assert f"results/{bad}: No space left on device" in ended.stdout
    assert len(results(study / "study.sweep")) == 3
    assert list((study / "study.sweep" / "tmp").iterdir()) == []


def test_a_write_that_stops_halfway_leaves_nothing(study: Path) -> None:
    """The system itself refuses the rest of each result, as a full disk does."""
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml"]
    most = (resource.RLIMIT_FSIZE, (8192, 8192))
    ended = subprocess.run(
        words, cwd=study, capture_output=True, text=True, check=False, preexec_fn=lambda: resource.setrlimit(*most)
    )
    assert ended.returncode == 1, ended.stderr
    assert "0 of 4 points are done, 4 failed" in ended.stdout
    assert "File too large" in ended.stdout
    assert results(study / "study.sweep") == {}
    assert list((study / "study.sweep" / "tmp").iterdir()) == []
    assert command(study, "run", "study.toml", "--retry").returncode == 0
    before = results(study / "study.sweep")
    assert len(before) == 4
    (study / "study.sweep" / "tmp").rmdir()
    (study / "study.sweep" / "tmp").write_text("x")  # nothing can be written any more
    (study / "study.toml").write_text(toml(5))
    ended = command(study, "run", "study.toml")
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "study.sweep/tmp" in ended.stderr
    assert results(study / "study.sweep") == before


def test_two_runs_that_differ_are_a_bug(tmp_path: Path, steps: Path) -> None:
    """Another driver publishes other metrics of the same key while a point runs, which waits to read its order."""
    (tmp_path / "study.toml").write_text(toml(1))
    plan = planned(str(tmp_path / "study.sweep"), points=1)
    (key,) = plan.missing()
    os.mkfifo(steps / f"computed-{key}")
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml"]
    driver = subprocess.Popen(words, cwd=tmp_path, env=environment(steps), stdout=subprocess.PIPE, text=True)
    wait_until(lambda: bool(counted(steps, "computed")) or driver.poll() is not None)
    plan.store.put(key, plan.planned[0].identity, {}, {"gpu_cycles": 1.0}, {})
    order(steps, f"computed-{key}", "sleep 0")
    said = driver.communicate(timeout=300)[0]
    assert driver.returncode == 1
    assert f"BUG: two runs of {key} differ" in said
    ended = command(tmp_path, "status", "study.toml")
    assert (ended.returncode, "BUG: a second run differs" in ended.stdout) == (1, True)


def test_short_points_are_taken_ahead_and_no_more_run_than_there_are_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fake:
        """A nursery whose tasks end when told."""

        is_alive = True

        def __init__(self, _task: dict[str, Any]) -> None:
            self.running: set[str] = set()
            self.ended: list[Ended] = []
            self.control, self.far = socket.socketpair()
            made.append(self)

        def start(self, task: dict[str, Any], _seconds: float | None, _memory: int | None) -> None:
            self.running.add(task["key"])

        def end(self, key: str) -> None:
            self.running.remove(key)
            self.ended.append(Ended(key, "done", "", ""))
            self.far.send(b"x")

        def take(self) -> list[Ended]:
            found, self.ended = self.ended, []
            self.control.recv(16)
            return found

        def close(self) -> None:
            self.control.close()
            self.far.close()

    made: list[Fake] = []
    monkeypatch.setattr(processes, "Nursery", Fake)
    executor = processes.Processes(2, Limits())
    task = {"kind": "point", "method": "replay", "model": "", "plugin": ""}
    for key in "ab":
        executor.start(task | {"key": key})
    assert (executor.slots, made[0].running) == (2, {"a", "b"})
    made[0].end("a")
    assert [ended.key for ended in executor.wait(1.0)] == ["a"]
    assert executor.slots == 4
    for key in "cde":
        executor.start(task | {"key": key})
    assert made[0].running == {"b", "c"}
    made[0].end("b")
    executor.wait(1.0)
    assert made[0].running == {"c", "d"}  # it started before its driver knew of the end
    monkeypatch.setattr(processes, "AHEAD_SECONDS", 0.0)  # as if the point had been long
    made[0].end("c")
    executor.wait(1.0)
    assert (executor.slots, made[0].running) == (2, {"d", "e"})
    executor.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_the_children_and_says_how_to_go_on(
    tmp_path: Path, steps: Path, number: signal.Signals
) -> None:
    (tmp_path / "study.toml").write_text(toml(6))
    slow = planned(str(tmp_path / "study.sweep"), points=6).missing()[2]
    order(steps, f"computed-{slow}", "always sleep 600")
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml", "--workers", "1"]
    driver = subprocess.Popen(words, cwd=tmp_path, env=environment(steps), stderr=subprocess.PIPE, text=True)
    wait_until(lambda: slow in counted(steps, "computed"))
    child = int(next(line.split()[2] for line in (steps / "steps").read_text().splitlines() if slow in line))
    driver.send_signal(number)
    _, said = driver.communicate(timeout=300)
    assert driver.returncode == (130 if number == signal.SIGINT else 143)
    assert "2 of 6 points are done, 4 missing" in said
    assert "continue with: rayplay sweep run study.toml" in said
    wait_until(lambda: not Path(f"/proc/{child}").exists())
    assert list((tmp_path / "study.sweep" / "claims").iterdir()) == []


def test_a_time_limit_ends_a_run_as_ctrl_c_does(study: Path, steps: Path) -> None:
    slow = planned(str(study / "study.sweep")).missing()[0]
    order(steps, f"computed-{slow}", "always sleep 600")
    ended = command(study, "run", "study.toml", "--workers", "1", "--stop-after", "3", steps=steps)
    assert ended.returncode == 130
    assert "continue with: rayplay sweep run study.toml" in ended.stderr


def test_a_point_that_states_too_much_memory_waits_for_the_others(tmp_path: Path) -> None:
    """Two points of 600 MB do not run at once in 1,000 MB; one that never fits is refused before any work."""
    sweep = given(tables(3, limits={"memory_mb": 600}))
    found = run("study", space(sweep), Store(str(tmp_path / "s")), How(workers=3, memory_mb=1000))
    spans = sorted(
        (host["ended"] - host["wall_seconds"], host["ended"])
        for host in (json.loads(path.read_text()) for path in tmp_path.glob("s/results/*/host.json"))
    )  # fmt: skip
    assert found.plan.counts() == {"done": 3}
    assert all(before[1] <= after[0] + 0.01 for before, after in itertools.pairwise(spans))
    with pytest.raises(Exception, match="needs about 600 MB"):
        run("study", space(given(tables(4, limits={"memory_mb": 600}))), Store(str(tmp_path / "t")), How(memory_mb=100))


def test_a_zygote_that_dies_is_replaced(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "s"))
    store.check_writable()
    plan = planned(store.place)
    nursery = Nursery(plan.task(plan.planned[0]))
    os.kill(nursery._process.pid, signal.SIGKILL)
    nursery._process.wait()
    nursery.running.add("x")
    assert [ended.status for ended in nursery.take()] == ["killed"]
    assert not nursery.is_alive
    nursery.close()


def test_why_a_point_runs_again(study: Path) -> None:
    assert command(study, "run", "study.toml").returncode == 0
    (study / "study.toml").write_text(toml(4).replace('"mobile"', '"mobile.toml"'))
    from rayplay.replay.gpu.description import FOLDER

    text = (FOLDER / "mobile.toml").read_text()
    (study / "mobile.toml").write_text(text)
    assert "4 done" in command(study, "plan", "study.toml").stdout  # another name, the same GPU
    assert command(study, "run", "study.toml").returncode == 0
    changed = text.replace("launch_cycles = 5000", "launch_cycles = 6000")
    assert changed != text
    (study / "mobile.toml").write_text(changed)
    assert "4: the GPU has other values" in command(study, "plan", "study.toml").stdout


def test_a_trace_that_is_held_in_memory_gives_the_metrics_of_its_file(tmp_path: Path) -> None:
    """Points of a process share one decoding; another content takes its place."""
    plan = planned(str(tmp_path / "s"), points=3)
    for each in plan.planned:
        perform(plan.task(each))
    (held,) = inputs._HELD
    assert held == plan.planned[0].identity["trace"]
    assert isinstance(inputs._HELD[held].source, MemorySource)
    for number, each in enumerate(plan.planned):
        entry = plan.store.get(each.key or "")
        found = simulate(conftest.SAMPLE, load("mobile", [f"l1.latency_cycles={20 + number}"]))
        assert entry is not None
        assert entry.metrics == {name: metric["value"] for name, metric in found.summary.items()}
    trace = inputs._HELD[held]
    assert inputs.held("another", lambda: trace) is trace
    assert list(inputs._HELD) == ["another"]
    inputs._HELD.clear()
