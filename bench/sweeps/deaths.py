"""A sweep on a local dask cluster of two workers, one of which is killed every few seconds.

    python -m bench.sweeps.deaths                # 200 points of 0.6 s, a death every 5 s: a minute on an idle machine
    python -m bench.sweeps.deaths --per 17       # a death for 17 points: as many on a busy machine

At the end: every point has a result, no point is called failed, and executions by points.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.speed.sweep import rendered
from bench.sweeps.kills import family, file_of, tables
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store


def workers(driver: int) -> list[int]:
    """Worker processes of the driver's cluster."""
    found = []
    for pid in family(driver):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"spawn_main" in words:
            found.append(pid)
    return sorted(found)


def main() -> None:
    """Kill, and look at the store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument(
        "--per", type=int, metavar="POINTS", help="kill when so many more points have ended, not by time"
    )
    parser.add_argument("--size", default="192x160", help="of the scene wknd: the length of a point")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder, steps = Path(name), Path(name) / "steps"
        steps.mkdir()
        trace = rendered(name, options.size)
        (folder / "study.toml").write_text(file_of(options.points, trace))
        words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml", "--executor", "dask", "--workers", "2"]
        environment = os.environ | {"RAYPLAY_SWEEP_STEPS": str(steps)}
        begun, kills = time.monotonic(), 0
        driver = subprocess.Popen([*words, "--quiet"], cwd=folder, env=environment)
        due, results = None, folder / "study.sweep" / "results"
        while driver.poll() is None:
            time.sleep(0.1)
            if not (steps / "steps").exists():
                continue
            now = time.monotonic() if options.per is None else len(os.listdir(results)) if results.exists() else 0
            due = now + (options.per or options.every) if due is None else due
            if now >= due:
                due += options.per or options.every
                if found := workers(driver.pid):
                    os.kill(found[kills % len(found)], signal.SIGKILL)
                    kills += 1
        plan = make_plan("study", space(given(tables(options.points, trace))), Store(str(folder / "study.sweep")))
        lines = (steps / "steps").read_text().splitlines()
        started = sum(line.startswith("started") for line in lines)
        hosts = [plan.store.host(key) for key in plan.store.done()]
        seconds = sum(host["cpu_seconds"] for host in hosts) / max(1, len(hosts))
        print(f"exit code {driver.returncode}, {kills} workers killed, {time.monotonic() - begun:.0f} s;"
              f" {seconds:.2f} s of processor time a point")  # fmt: skip
        print(f"points {options.points}: {dict(plan.counts())}; failures kept {len(plan.store.failed())}")
        print(f"executions {started}, {started / options.points:.3f} a point (target 1.2)")


if __name__ == "__main__":
    main()
