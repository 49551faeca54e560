"""``python -m formats VERB``: look at, verify, compare, cut, join and convert traces and results."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from formats.command import run
from formats.errors import UserError

DESCRIPTION = """\
Look at traces, results and predictions (folders of Parquet files, or NAME.trace.h5), check that they keep their laws,
compare them, cut and join traces, and convert them between Parquet, HDF5 and Accel-Sim's files.
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
STATS_EXAMPLE = """\
prints what a trace costs and does: bytes on disk per warp instruction, block visit, lane address and ray; instruction
mix; active lanes; different sectors and BVH records that were touched.

example:
  python -m formats stats traces/cornell.trace
"""
DIFF_EXAMPLE = """\
prints for each table the first row and column whose values differ. How rows are cut into files does not count, nor
does how a file was made. Exit code 0 when all values are equal, 1 when not.

example:
  python -m formats diff traces/a.trace traces/b.trace.h5
"""
SELECT_EXAMPLE = """\
writes the part of a trace that is in all the given sets (numbers and ranges such as 0,4-7) as a trace of its own, with
launches, CTAs and warps that stay numbered anew. --pixels removes lanes instead: every warp is still launched, as if
the program had been run with filter_shader.

examples:
  python -m formats select traces/bfs.trace --kernels 3,5-8 --out traces/part.trace
  python -m formats select traces/cornell.trace --pixels pixels.txt --out traces/tenth.trace
"""
MERGE_EXAMPLE = """\
writes one trace with the launches of all, each trace in streams of its own. Addresses stay as they are.

example:
  python -m formats merge traces/frame.trace traces/physics.trace --out traces/both.trace
"""
CONVERT_EXAMPLE = """\
writes the same tables to OUT: an HDF5 file when the name ends in .h5 or .hdf5, else a folder of Parquet files.

example:
  python -m formats convert traces/cornell.trace traces/cornell.trace.h5
"""
IMPORT_EXAMPLE = """\
writes one trace of ours from traces captured elsewhere:
- kernelslist.g: what Accel-Sim's tracer writes (.traceg or .traceg.xz files beside it, versions 1 to 6); every
  instruction that a warp executed keeps its lanes and addresses;
- NAME.txt or NAME.txt.xz: Vulkan-Sim's dump of its RT unit, as a trace of rays alone;
- a folder with instructions.csv, visits.csv, accesses.csv, ... (or .parquet): the tables of docs/formats.md, of which
  instructions and visits are enough; columns with one obvious value may be left out.

examples:
  python -m formats import hw/kernelslist.g --out traces/bfs.trace
  python -m formats import mine/ --out traces/mine.trace
"""
EXPORT_EXAMPLE = """\
writes a trace as files that Accel-Sim reads: kernelslist.g and one kernel-N.traceg a launch. Instructions of PTX become
the SASS opcode of their class. Importing them again gives the same instructions, lanes and addresses.

example:
  python -m formats export traces/vectoradd.trace --out accelsim/vectoradd
"""
DOCS_EXAMPLE = """\
prints the page docs/formats.md, which follows from the schema.

example:
  python -m formats docs > docs/formats.md
"""


def main() -> int:
    """Run one of the verbs."""
    arguments = parser().parse_args()
    run_verb: Callable[[argparse.Namespace], int] = arguments.run
    return run_verb(arguments)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        "python -m formats", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    add_reading_verbs(verbs)
    add_writing_verbs(verbs)
    add_verb(verbs, "docs", docs_verb, "print the page about the formats", DOCS_EXAMPLE)
    return top


def add_verb(verbs: Any, name: str, run_verb: Callable[[argparse.Namespace], int], what: str, example: str) -> Any:
    """A parser for one verb, which ``run_verb`` runs."""
    plain = argparse.RawDescriptionHelpFormatter
    verb = verbs.add_parser(name, help=what, description=example, formatter_class=plain)
    verb.set_defaults(run=run_verb)
    return verb


def add_reading_verbs(verbs: Any) -> None:
    """Verbs that print."""
    show = add_verb(verbs, "show", show_verb, "print what is in a file", SHOW_EXAMPLE)
    show.add_argument("path", type=Path, metavar="PATH", help="trace, result or prediction")
    show.add_argument("--rows", type=int, default=5, metavar="N", help="rows of each table (default: 5)")
    check = add_verb(verbs, "check", check_verb, "verify the laws", CHECK_EXAMPLE)
    check.add_argument("path", type=Path, metavar="PATH", help="trace, result or prediction")
    stats = add_verb(verbs, "stats", stats_verb, "print what a trace costs and does", STATS_EXAMPLE)
    stats.add_argument("path", type=Path, metavar="TRACE", help="trace")
    diff = add_verb(verbs, "diff", diff_verb, "name the first difference of two files", DIFF_EXAMPLE)
    diff.add_argument("left", type=Path, metavar="A", help="trace, result or prediction")
    diff.add_argument("right", type=Path, metavar="B", help="another of the same format")


def add_writing_verbs(verbs: Any) -> None:
    """Verbs that write a trace."""
    select = add_verb(verbs, "select", select_verb, "a part of a trace", SELECT_EXAMPLE)
    select.add_argument("path", type=Path, metavar="TRACE", help="trace to read")
    select.add_argument("--kernels", metavar="SET", help="launches that stay, by kernel_id")
    select.add_argument("--ctas", metavar="SET", help="CTAs that stay in each launch, by cta_id")
    select.add_argument("--warps", metavar="SET", help="warps that stay, by warp_id")
    select.add_argument("--pixels", type=Path, metavar="FILE", help='pixels that stay, "x y" per line')
    select.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    merge = add_verb(verbs, "merge", merge_verb, "traces as the streams of one", MERGE_EXAMPLE)
    merge.add_argument("paths", type=Path, nargs="+", metavar="TRACE", help="traces to read, two or more")
    merge.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    convert = add_verb(verbs, "convert", convert_verb, "Parquet to HDF5 or back", CONVERT_EXAMPLE)
    convert.add_argument("path", type=Path, metavar="PATH", help="trace to read")
    convert.add_argument("out", type=Path, metavar="OUT", help="trace to write")
    export = add_verb(verbs, "export", export_verb, "a trace to Accel-Sim's files", EXPORT_EXAMPLE)
    export.add_argument("path", type=Path, metavar="TRACE", help="trace to read, without rays")
    export.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write")
    export.add_argument("--xz", action="store_true", help="compress the kernel files")
    importing = add_verb(verbs, "import", import_verb, "traces captured elsewhere to one of ours", IMPORT_EXAMPLE)
    importing.add_argument("path", type=Path, metavar="PATH", help="kernelslist.g, dump.txt.xz or a folder of tables")
    importing.add_argument("--out", type=Path, required=True, metavar="NAME.trace", help="trace to write")
    importing.add_argument(
        "--unknown",
        default="error",
        metavar="error|warn|class=CLASS",
        help="what to do with an opcode of a kernel list that is not in the table: stop, warn and take it as other, or "
        "take it as CLASS (default: %(default)s)",
    )


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


def stats_verb(arguments: argparse.Namespace) -> int:
    """Print the statistics of a trace."""
    from formats.reader import open_trace
    from formats.statistics import lines

    for line in lines(open_trace(arguments.path)):
        print(line)
    return 0


def diff_verb(arguments: argparse.Namespace) -> int:
    """Print the first difference of each table; exit code 1 when there is one."""
    from formats.diff import differences
    from formats.show import open_any

    found = list(differences(open_any(arguments.left), open_any(arguments.right)))
    for line in found:
        print(line)
    if not found:
        print(f"{arguments.left} and {arguments.right}: all values are equal")
    return 1 if found else 0


def select_verb(arguments: argparse.Namespace) -> int:
    """Write a part of a trace."""
    from formats.reader import open_trace

    trace = open_trace(arguments.path)
    sets = arguments.kernels, arguments.ctas, arguments.warps
    if (arguments.pixels is not None) == any(text is not None for text in sets):
        raise UserError(
            "give either --pixels or some of --kernels, --ctas and --warps: one removes lanes, the others rows"
        )
    if arguments.pixels is not None:
        from formats.filter import filter_trace
        from formats.pixels import image_size, read_pixels

        selected = read_pixels(arguments.pixels, image_size(trace))
        filter_trace(arguments.path, selected, arguments.out)
        print(f"{arguments.out}: {selected.sum()} of {selected.size} pixels")
        return 0
    from formats.select import select

    part = select(trace, arguments.out, *sets)
    kept = ", ".join(f"{part[name].sum():,} of {len(part[name]):,} {name}" for name in ("kernels", "warps"))
    print(f"{arguments.out}: {kept}")
    return 0


def merge_verb(arguments: argparse.Namespace) -> int:
    """Write one trace with the launches of several."""
    from formats.merge import merge
    from formats.reader import open_trace

    merge([open_trace(path) for path in arguments.paths], arguments.out)
    return 0


def convert_verb(arguments: argparse.Namespace) -> int:
    """Write a trace in the other container."""
    from formats.convert import convert
    from formats.reader import open_trace

    convert(open_trace(arguments.path), arguments.out)
    return 0


def import_verb(arguments: argparse.Namespace) -> int:
    """Write the trace of an Accel-Sim kernel list, a Vulkan-Sim dump or a folder of tables."""
    if arguments.path.is_dir():
        from formats.frames import from_frames, read_folder

        from_frames(arguments.out, **read_folder(arguments.path))
    elif arguments.path.name.endswith((".txt", ".txt.xz")):
        from formats.vulkan_sim import import_vulkan_sim

        import_vulkan_sim(arguments.path, arguments.out)
    else:
        from formats.accelsim import import_accelsim

        import_accelsim(arguments.path, arguments.out, arguments.unknown)
    return 0


def export_verb(arguments: argparse.Namespace) -> int:
    """Write a trace as Accel-Sim's files."""
    from formats.accelsim_export import export_accelsim
    from formats.reader import open_trace

    export_accelsim(open_trace(arguments.path), arguments.out, arguments.xz)
    return 0


def docs_verb(arguments: argparse.Namespace) -> int:
    """Print docs/formats.md."""
    from formats.documentation import page

    print(page(), end="")
    return 0


if __name__ == "__main__":
    run("formats", main)
