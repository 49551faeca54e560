"""Every comparison with the outside world: ``make reference``, or ``python -m outside [--only TEXT]``.

Prints one table (case, quantity, theirs, ours, error, tolerance) and exits with 1 when a row misses its tolerance.
"""

import argparse
from collections.abc import Iterator
from itertools import chain

from outside import accelsim as reference_accelsim
from outside import rt_unit as reference_rt_unit
from outside import vulkan_sim as reference_vulkansim
from outside.rows import Row, table
from rayplay.formats.guard.command import run

SOURCES = (reference_accelsim, reference_vulkansim, reference_rt_unit)


def main() -> int:
    """Print each row when it is known, then the rows outside their tolerance."""
    parser = argparse.ArgumentParser(prog="python -m outside", description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only the cases whose name contains TEXT")
    parser.add_argument("--missed", action="store_true", help="print only the rows that miss their tolerance")
    arguments = parser.parse_args()
    rows: list[Row] = []

    def shown() -> Iterator[Row]:
        for row in chain.from_iterable(source.rows(arguments.only) for source in SOURCES):
            rows.append(row)
            if not (arguments.missed and row.passed):
                yield row

    for text in table(shown()):
        print(text, flush=True)
    missed = sum(not row.passed for row in rows)
    print(f"{len(rows)} comparisons, {missed} missed their tolerance")
    return 1 if missed else 0


if __name__ == "__main__":
    run("reference", main)
