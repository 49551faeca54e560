"""Memory, time and answer of every verb on every hostile input: the figures behind "1.5 GB, 30 s, one line".

    python -m bench.hostile [--kind KIND,KIND] [--verb VERB,VERB] [--name TEXT] [--out FILE.csv]

Runs the command lines of ``tests/hostile`` one after the other, each in a process of its own under limits
(``tests/hostile/warm.py``), and writes a line for each run: kind, case, verb, peak MB, seconds of processor time, exit
code, lines on standard error, fault. Loading the packages (about a second) comes before the fork, so that it is in
the memory and not in the seconds. Prints the worst runs; the exit code is 1 when a run has a fault.
"""

import argparse
import csv
import tempfile
from dataclasses import replace
from pathlib import Path

from rayplay.formats.guard.command import run
from rayplay.formats.place.publish import atomic_file
from tests.hostile.cases import CASES
from tests.hostile.run import run_case, write_beside
from tests.hostile.verbs import VERBS, Case
from tests.hostile.warm import Warm

HEAD = ("kind", "case", "verb", "peak_mb", "cpu_seconds", "exit_code", "lines", "fault")
WORST = 5


def measure(cases: list[Case], verbs: list[str] | None = None) -> list[list[str]]:
    """A row for each verb of each case; ``verbs`` leaves out all others."""
    rows, warm = [], Warm()
    with tempfile.TemporaryDirectory() as folder:
        beside = Path(folder) / "beside"
        beside.mkdir()
        write_beside(beside)
        for number, case in enumerate(cases):
            case = case if verbs is None else replace(case, verbs=_among(case, verbs))
            with tempfile.TemporaryDirectory() as own:
                for verb, found, fault in run_case(warm, beside, Path(own) / "here", case):
                    rows.append(_row(case, verb, found, fault))
                    if fault:
                        print(f"{case.name}: {fault}", flush=True)
            print(f"{number + 1} of {len(cases)}: {case.name}", flush=True)
    warm.close()
    return rows


def _among(case: Case, verbs: list[str]) -> frozenset[str]:
    """The verbs of a case that are among these."""
    return frozenset(verbs) & (case.verbs or frozenset(VERBS[case.kind]))


def _row(case: Case, verb: str, found: dict, fault: str) -> list[str]:
    lines = [line for line in found["err"].splitlines() if not line.startswith(("compiling ", "compiled "))]
    size, seconds = found["peak_bytes"] / 1e6, found["cpu_seconds"]
    return [case.kind, case.name, verb, f"{size:.0f}", f"{seconds:.2f}", str(found["code"]), str(len(lines)), fault]


def report(rows: list[list[str]]) -> int:
    """Print how many runs there were and the worst of them; 1 when one has a fault."""
    codes = {code: sum(row[5] == code for row in rows) for code in sorted({row[5] for row in rows})}
    print(f"{len(rows)} runs of {len({row[1] for row in rows})} cases; exit codes {codes}")
    for column, unit in ((3, "MB"), (4, "s")):
        print(f"most {unit}:")
        for row in sorted(rows, key=lambda row: -float(row[column]))[:WORST]:
            print(f"  {row[column]:>7} {unit}  {row[2]}: {row[1]}")
    wrong = [row for row in rows if row[-1]]
    print(f"{len(wrong)} with a fault")
    return bool(wrong)


def _names(text: str) -> list[str]:
    return text.split(",")


def main() -> int:
    """Measure, write the table, print the worst."""
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--kind", type=_names, help="the cases of these kinds of input")
    parser.add_argument("--verb", type=_names, help="these verbs alone")
    parser.add_argument("--name", default="", help="the cases whose name holds this text")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="write the table there")
    arguments = parser.parse_args()
    kinds, verbs = arguments.kind or list(VERBS), arguments.verb
    chosen = [c for c in CASES if c.kind in kinds and arguments.name in c.name]
    rows = measure([c for c in chosen if verbs is None or _among(c, verbs)], verbs)
    if arguments.out is not None:
        with atomic_file(arguments.out) as path, path.open("w", newline="") as file:
            csv.writer(file).writerows([HEAD, *rows])
    return report(rows)


if __name__ == "__main__":
    run("bench.hostile", main)
