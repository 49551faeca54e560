"""``python -m formats show | check | convert | import | docs``: look at, verify and convert traces and results."""

import argparse
from pathlib import Path

from formats.command import run

DESCRIPTION = """\
Look at traces, results and predictions (folders of Parquet files, or NAME.trace.h5), check that they keep their laws,
and convert traces between Parquet and HDF5.
"""
SHOW_EXAMPLE = """\
prints the columns with units and meaning, rows, bytes per row on disk, and the first rows of each table.

example:
  python -m formats show traces/cornell.trace --rows 3
"""
CHECK_EXAMPLE = """\
verifies every file's SHA-256 and every law of the tables (docs/formats.md lists them), and prints each problem with
its table, row and value, 20 per law at most. Exit code 0 when all laws hold, 1 when one is broken.

example:
  python -m formats check traces/cornell.trace
"""
CONVERT_EXAMPLE = """\
writes the same tables to OUT: an HDF5 file when the name ends in .h5 or .hdf5, else a folder of Parquet files.

example:
  python -m formats convert traces/cornell.trace traces/cornell.trace.h5
"""
IMPORT_EXAMPLE = """\
reads the traces that Accel-Sim's tracer writes (kernelslist.g and .traceg or .traceg.xz files beside it, versions 1 to
6) and writes one trace of ours: every instruction that a warp executed keeps its lanes and addresses.

example:
  python -m formats import hw/kernelslist.g --out traces/bfs.trace
"""
DOCS_EXAMPLE = """\
prints the page docs/formats.md, which follows from the schema.

example:
  python -m formats docs > docs/formats.md
"""


def main() -> int:
    """Run one of the verbs."""
    arguments = parser().parse_args()
    verbs = {"show": show_verb, "check": check_verb, "convert": convert_verb, "import": import_verb, "docs": docs_verb}
    return verbs[arguments.verb](arguments)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    plain = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser("python -m formats", description=DESCRIPTION, formatter_class=plain)
    verbs = top.add_subparsers(dest="verb", required=True, metavar="show | check | convert | import | docs")
    show = verbs.add_parser("show", help="print what is in a file", description=SHOW_EXAMPLE, formatter_class=plain)
    show.add_argument("path", type=Path, metavar="PATH", help="trace, result or prediction")
    show.add_argument("--rows", type=int, default=5, metavar="N", help="rows of each table (default: 5)")
    check = verbs.add_parser("check", help="verify the laws", description=CHECK_EXAMPLE, formatter_class=plain)
    check.add_argument("path", type=Path, metavar="PATH", help="trace, result or prediction")
    convert = verbs.add_parser(
        "convert", help="Parquet to HDF5 or back", description=CONVERT_EXAMPLE, formatter_class=plain
    )
    convert.add_argument("path", type=Path, metavar="PATH", help="trace to read")
    convert.add_argument("out", type=Path, metavar="OUT", help="trace to write")
    importing = verbs.add_parser(
        "import", help="Accel-Sim's traces to one of ours", description=IMPORT_EXAMPLE, formatter_class=plain
    )
    importing.add_argument("listing", type=Path, metavar="kernelslist.g", help="list of kernels and copies")
    importing.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    importing.add_argument(
        "--unknown",
        default="error",
        metavar="error|warn|class=CLASS",
        help="what to do with an opcode that is not in the table: stop, warn and take it as other, or take it as CLASS "
        "(default: %(default)s)",
    )
    verbs.add_parser("docs", help="print the page about the formats", description=DOCS_EXAMPLE, formatter_class=plain)
    return top


def show_verb(arguments: argparse.Namespace) -> int:
    """Print what is in a file."""
    from formats.show import describe, open_any

    for line in describe(open_any(arguments.path), arguments.rows):
        print(line)
    return 0


def check_verb(arguments: argparse.Namespace) -> int:
    """Print every problem; exit code 1 when there is one."""
    from formats.check import validate
    from formats.show import open_any

    dataset = open_any(arguments.path)
    problems = validate(dataset)
    for problem in problems:
        print(problem)
    rows = sum(dataset.rows(table) for table in dataset.tables)
    verdict = f"{len(problems)} problems" if problems else "all laws hold"
    print(f"{arguments.path}: {verdict} ({rows:,} rows in {len(dataset.tables)} tables)")
    return 1 if problems else 0


def convert_verb(arguments: argparse.Namespace) -> int:
    """Write a trace in the other container."""
    from formats.convert import convert
    from formats.reader import open_trace

    convert(open_trace(arguments.path), arguments.out)
    return 0


def import_verb(arguments: argparse.Namespace) -> int:
    """Write the trace of an Accel-Sim kernel list."""
    from formats.accelsim import import_accelsim

    import_accelsim(arguments.listing, arguments.out, arguments.unknown)
    return 0


def docs_verb(arguments: argparse.Namespace) -> int:
    """Print docs/formats.md."""
    from formats.documentation import page

    print(page(), end="")
    return 0


if __name__ == "__main__":
    run("formats", main)
