"""Budgeted runs beside full ones: whether the front is the same, and the share of the processor time.

    python -m bench.sweeps.budget                            # every study of bench/sweeps/studies, minutes
    python -m bench.sweeps.budget hypercube --store FOLDER   # one, with stores that stay

Each study runs whole. The budgeted run then asks for points one after the other and gets replays from the full study's
store, so that both count the same replays with the same times; it makes its samples and its decisions itself, and
their processor time is counted. Rendering and the start of the processes, which both have, are not. The first comment
of each study says whether the budgeted run was developed on it. RAYPLAY_DATA holds the real scenes.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rayplay.sweep.drive.driver import Job, Report
from rayplay.sweep.drive.run import How, run
from rayplay.sweep.explore.budget import Race
from rayplay.sweep.plan.plan import make_plan
from rayplay.sweep.plan.verdict import keep_verdict
from rayplay.sweep.point.perform import perform
from rayplay.sweep.point.zygote import warm
from rayplay.sweep.show.compare import compare
from rayplay.sweep.show.table import rows
from rayplay.sweep.space.file import read_sweep
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

STUDIES = Path(__file__).with_name("studies")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sweeps" / "rt-units.toml"


def measured(path: Path, folder: Path) -> str:
    """A row of the table: a study whole, and then from its store by the budget."""
    name, found = path.stem, space(read_sweep(path))
    full, few = folder / name, folder / f"{name}-budget"
    shutil.rmtree(few, ignore_errors=True)
    (few / "results").mkdir(parents=True)
    whole = run(name, found, Store(str(full)), How(workers=1)).plan
    (few / "traces").symlink_to((full / "traces").resolve())

    plan = make_plan(name, found, Store(str(few)))
    warm(plan.task(plan.planned[0]))
    sampling = [0.0]

    def drive(jobs: Sequence[Job], _what: str) -> Report:
        for job in jobs:
            begun = time.process_time()
            if job.task["method"] == "sample":
                perform(job.task)
                sampling[0] += time.process_time() - begun
            else:
                shutil.copytree(full / "results" / job.key, few / "results" / job.key)
        return Report([job.key for job in jobs], [], {}, [])

    begun = time.process_time()
    race = Race(plan, drive)
    race.run()
    judging = time.process_time() - begun - sampling[0]
    keep_verdict(name, race.plan.store, race.skipped(), race.judged())
    plan = make_plan(name, found, race.plan.store)
    fronts = []
    for each in (whole, plan):
        compared = compare(each, rows(each))
        fronts.append({str(compared.designs[number].name) for number in compared.front})
    keys = {each.key for each in plan.planned if each.key}
    few_seconds, seconds = (
        sum(float(each.store.host(key).get("cpu_seconds", 0.0)) for key in keys) for each in (plan, whole)
    )
    points, twins = len(plan.planned) - plan.space.twins, plan.space.twins
    shares = [100 * part / seconds for part in (few_seconds, sampling[0], judging)]
    return (
        f"| {name} | {plan.counts()['done'] - twins} of {points} | {len(fronts[0])} of {len(race.names)} |"
        f" {len(fronts[0] ^ fronts[1])} | {seconds:.1f} s | {shares[0]:.0f} % | {shares[1]:.0f} % |"
        f" {shares[2]:.0f} % | {sum(shares):.0f} % |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    known = {path.stem: path for path in [EXAMPLE, *sorted(STUDIES.glob("*.toml"))]}
    print("| study | replayed | on the front | judged wrongly | full study | replays | samples | judging | in all |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.studies or known:
            print(measured(known[name], options.store or Path(folder)), flush=True)


if __name__ == "__main__":
    main()
