"""``python -m tests.reliability``: run the suites and write ``docs/reliability.md`` from their outcome."""

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import UserError
from tests.reliability.report import page
from tests.reliability.suites import SUITES

ROOT = Path(__file__).resolve().parents[2]
OUTCOMES = ROOT / "build" / "reliability"
PAGE = ROOT / "docs" / "reliability.md"


def main() -> int:
    """Run the requested suites; exit code 1 when a case failed."""
    made = argparse.ArgumentParser("python -m tests.reliability", description=__doc__)
    made.add_argument("--only", action="append", default=[], metavar="SUITE", help="these suites (default: all)")
    made.add_argument("--subject", action="append", default=[], metavar="NAME", help="these subjects (default: all)")
    made.add_argument("--seed", type=int, default=1, help="decides every case (default: %(default)s)")
    made.add_argument("--count", type=int, default=2000, help="cases of each subject (default: %(default)s)")
    made.add_argument("--docs", action="store_true", help="then write docs/reliability.md from all outcomes in build/")
    made.add_argument("--page", action="store_true", help="run nothing, write the page alone")
    arguments = made.parse_args()
    failed = False
    known = {suite.name for suite in SUITES}
    if unknown := set(arguments.only) - known:
        raise UserError(f"--only must be of {', '.join(sorted(known))}, not {', '.join(sorted(unknown))}")
    for suite in SUITES:
        if not arguments.page and (not arguments.only or suite.name in arguments.only):
            failed |= run_suite(suite, arguments)
    if arguments.docs or arguments.page:
        PAGE.write_text(page(SUITES, OUTCOMES))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return int(failed)


def run_suite(suite, arguments: argparse.Namespace) -> bool:
    """Run the subjects of a suite, keep each outcome in ``build/reliability``; whether a case failed."""
    folder = OUTCOMES / suite.name
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for subject in suite.subjects:
        if arguments.subject and subject not in arguments.subject:
            continue
        start = time.monotonic()
        row = suite.run(subject, arguments.seed, arguments.count)
        counts = ", ".join(f"{count} {name}" for name, count in sorted(row.outcomes.items()))
        print(f"{suite.name}: {subject}: {row.cases} cases: {counts}; {row.note} ({time.monotonic() - start:.0f} s)")
        for failure in row.failures:
            print(f"  {failure}", file=sys.stderr)
        sys.stdout.flush()
        failed |= bool(row.failures)
        text = json.dumps(asdict(row) | {"seed": arguments.seed}, indent=1)
        (folder / f"{subject.replace('/', '-')}.json").write_text(text + "\n")
    return failed


if __name__ == "__main__":
    run("tests.reliability", main)
