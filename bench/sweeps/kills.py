"""Kill -9 of drivers, zygotes and workers at random moments of a sweep that two drivers share.

    python -m bench.sweeps.kills --kills 100 --points 400 --seed 1

At the end: every point has a result whose digest verifies, the bytes are an undisturbed sweep's, and each kill cost at
most the points that ran in what it killed.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rayplay.sweep.drive.run import How, run
from rayplay.sweep.space.file import given
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"
CHECKED = 24  # points that an undisturbed sweep makes again


def tables(points: int, trace: Path = SAMPLE) -> dict[str, object]:
    """A sweep of a trace."""
    return {
        "traces": [str(trace)],
        "gpus": ["mobile"],
        "design": {"grid": {"l1.latency_cycles": list(range(20, 20 + points))}},
    }


def file_of(points: int, trace: Path = SAMPLE) -> str:
    """The same as TOML."""
    return (
        f'traces = ["{trace}"]\ngpus = ["mobile"]\n[design.grid]\n'
        f'"l1.latency_cycles" = {list(range(20, 20 + points))}\n'
    )


def started(folder: Path, steps: Path) -> subprocess.Popen[bytes]:
    """A driver with one worker."""
    words = [sys.executable, "-m", "rayplay", "sweep", "run", "study.toml", "--workers", "1", "--retry", "--quiet"]
    environment = os.environ | {"RAYPLAY_SWEEP_STEPS": str(steps)}
    return subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, start_new_session=True)


def family(pid: int) -> list[int]:
    """The processes that a process has started, zygotes and workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found += [int(path.parent.name), *family(int(path.parent.name))]
    return found


def main() -> None:
    """Kill, and look at the store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance, killed = random.Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder, steps = Path(name), Path(name) / "steps"
        steps.mkdir()
        (folder / "study.toml").write_text(file_of(options.points))
        drivers = [started(folder, steps) for _ in range(2)]
        while sum(killed.values()) < options.kills:
            place = chance.randrange(2)
            if drivers[place].poll() == 0:
                break  # all points are done
            if drivers[place].returncode is not None:
                drivers[place] = started(folder, steps)
            if len(family(drivers[place].pid)) < 2:  # it has not come to its first worker yet
                time.sleep(0.2)
                continue
            time.sleep(chance.uniform(0.0, 2.0))
            children = family(drivers[place].pid)
            what = chance.choices(("driver", "zygote", "worker"), (1, 1, 4))[0]
            pid = {"driver": drivers[place].pid, "zygote": children[:1], "worker": children[1:2]}[what]
            if pid and drivers[place].poll() is None:
                os.kill(pid if isinstance(pid, int) else pid[0], signal.SIGKILL)
                killed[what] += 1
        for driver in drivers:
            driver.kill()
            driver.wait()
        os.environ["RAYPLAY_SWEEP_STEPS"] = str(steps)
        last = run("study", space(given(tables(options.points))), Store(str(folder / "study.sweep")), How(retry=True))
        store, counts = last.plan.store, last.plan.counts()
        lines = (steps / "steps").read_text().splitlines()
        executions = sum(line.startswith("started") for line in lines)
        few = space(given(tables(CHECKED)))
        undisturbed = run("few", few, Store(str(folder / "undisturbed")), How("inline")).plan
        names = [f"results/{key}/result.json" for key in undisturbed.status]
        same = sum(store.medium.read(each) == undisturbed.store.medium.read(each) for each in names)
        print(f"killed {sum(killed.values())}: {dict(killed)}")
        print(f"points {options.points}: {dict(counts)}; left by the last run: {len(last.report.done)}")
        print(f"executions {executions}, differences {len(store.medium.names('differences'))}")
        print(f"bytes of an undisturbed sweep: {same} of {CHECKED}")
        print(f"claims left {len(store.medium.names('claims'))}")


if __name__ == "__main__":
    main()
