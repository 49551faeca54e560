"""Budgeted runs beside full ones: whether the front is the same, and the share of the processor time.

    python -m bench.sweeps.budget                            # every study of bench/sweeps/studies, minutes
    python -m bench.sweeps.budget hypercube --store FOLDER   # one, with stores that stay

Each study runs whole. The budgeted run then asks for points one after the other and gets them from the full study's
store, so that both count the same replays with the same times; what it computes itself is measured and counted. The
first comment of each study says whether the budgeted run was developed on it. RAYPLAY_DATA holds the real scenes.
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

    def drive(jobs: Sequence[Job], _what: str) -> Report:
        for job in jobs:
            shutil.copytree(full / "results" / job.key, few / "results" / job.key)
        return Report([job.key for job in jobs], [], {}, [])

    begun = time.process_time()
    race = Race(make_plan(name, found, Store(str(few))), drive)
    race.run()
    judging = time.process_time() - begun
    keep_verdict(name, race.plan.store, race.skipped(), race.judged())
    plan = make_plan(name, found, race.plan.store)
    fronts = []
    for each in (whole, plan):
        compared = compare(each, rows(each))
        fronts.append({str(compared.designs[number].name) for number in compared.front})
    seconds = [
        sum(float(each.store.host(key).get("cpu_seconds", 0.0)) for key in each.store.done()) for each in (plan, whole)
    ]
    points, twins = len(plan.planned) - plan.space.twins, plan.space.twins
    return (
        f"| {name} | {plan.counts()['done'] - twins} of {points} | {len(fronts[0])} of {len(race.names)} |"
        f" {len(fronts[0] ^ fronts[1])} | {seconds[1]:.1f} s | {100 * seconds[0] / seconds[1]:.0f} % |"
        f" {judging:.1f} s | {100 * (seconds[0] + judging) / seconds[1]:.0f} % |"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    known = {path.stem: path for path in [EXAMPLE, *sorted(STUDIES.glob("*.toml"))]}
    print(
        "| study | points that ran | on the front | judged wrongly | full study | of it replayed | judging | in all |"
    )
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.studies or known:
            print(measured(known[name], options.store or Path(folder)), flush=True)


if __name__ == "__main__":
    main()
