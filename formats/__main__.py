"""``python -m formats VERB``: look at, verify, compare, cut, join and convert traces and results."""

import argparse
from collections.abc import Callable
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import EXIT_USER_ERROR, add_limits, add_verb, run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import any_name, result_name, trace_name

DESCRIPTION = """\
Inspect traces, results and predictions (folders of Parquet files, or NAME.trace.h5), check their laws,
compare them, select from and merge traces, and convert them between Parquet, HDF5 and Accel-Sim's files.
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
    add_comparing_verbs(verbs)
    add_writing_verbs(verbs)
    add_verb(verbs, docs_verb)
    add_limits(*verbs.choices.values())
    return top


def add_reading_verbs(verbs: Any) -> None:
    """Verbs that print."""
    show = add_verb(verbs, show_verb)
    show.add_argument("path", type=any_name, metavar="PATH", help="trace, result or prediction")
    show.add_argument("--rows", type=int, default=5, metavar="N", help="rows of each table (default: 5)")
    check = add_verb(verbs, check_verb)
    check.add_argument("path", type=any_name, metavar="PATH", help="trace, result or prediction")
    verify = add_verb(verbs, verify_verb)
    verify.add_argument("path", type=any_name, metavar="PATH", help="trace, result or prediction")
    stats = add_verb(verbs, stats_verb)
    stats.add_argument("path", type=trace_name, metavar="TRACE", help="trace")


def add_comparing_verbs(verbs: Any) -> None:
    """Verbs that look at two files."""
    diff = add_verb(verbs, diff_verb)
    diff.add_argument("left", type=any_name, metavar="A", help="trace, result or prediction")
    diff.add_argument("right", type=any_name, metavar="B", help="another of the same format")
    compare = add_verb(verbs, compare_verb)
    compare.add_argument("left", type=result_name, metavar="A.result", help="result")
    compare.add_argument("right", type=result_name, metavar="B.result", help="result to measure it by")


def add_writing_verbs(verbs: Any) -> None:
    """Verbs that write a trace."""
    select = add_verb(verbs, select_verb)
    select.add_argument("path", type=trace_name, metavar="TRACE", help="trace to read")
    select.add_argument("--kernels", metavar="SET", help="launches that stay, by kernel_id")
    select.add_argument("--ctas", metavar="SET", help="CTAs that stay in each launch, by cta_id")
    select.add_argument("--warps", metavar="SET", help="warps that stay, by warp_id")
    select.add_argument("--pixels", type=location, metavar="FILE", help='pixels that stay, "x y" per line')
    select.add_argument("--out", type=location, required=True, metavar="NAME.trace", help="trace to write")
    merge = add_verb(verbs, merge_verb)
    merge.add_argument("paths", type=trace_name, nargs="+", metavar="TRACE", help="traces to read, two or more")
    merge.add_argument("--out", type=location, required=True, metavar="NAME.trace", help="trace to write")
    convert = add_verb(verbs, convert_verb)
    convert.add_argument("path", type=trace_name, metavar="PATH", help="trace to read")
    convert.add_argument("out", type=location, metavar="OUT", help="trace to write")
    export = add_verb(verbs, export_verb)
    export.add_argument("path", type=trace_name, metavar="TRACE", help="trace to read, without rays")
    export.add_argument("--out", type=location, required=True, metavar="FOLDER", help="folder to write")
    export.add_argument("--xz", action="store_true", help="compress the kernel files")
    importing = add_verb(verbs, import_verb)
    importing.add_argument(
        "path", type=location, metavar="PATH", help="kernelslist.g, NAME.traceg, dump.txt.xz, ncu.csv or folder"
    )
    importing.add_argument(
        "--out", type=location, required=True, metavar="NAME.trace", help="trace (or NAME.result) to write"
    )
    importing.add_argument(
        "--unknown",
        default="error",
        metavar="error|warn|class=CLASS",
        help="handling of an opcode of a kernel list that the table lacks: stop, warn and take it as other, or "
        "take it as CLASS, an operation class (docs/formats.md) or a name of Accel-Sim's (SP, INT, ALU, SFU, DP, BRA, "
        "TENSOR, LOAD, STORE, BAR, MEMBAR, EXIT) in any case (default: %(default)s)",
    )


def show_verb(arguments: argparse.Namespace) -> int:
    """Print the content of a file.

    The columns with units and meaning, rows, bytes per row on disk, and the first rows of each table.

    example:
      python -m formats show traces/cornell.trace --rows 3
    """
    from rayplay.formats.look import records
    from rayplay.formats.look.show import describe, open_any

    dataset = open_any(arguments.path)
    answer(arguments, describe(dataset, arguments.rows), lambda: records.description(dataset))
    return 0


def check_verb(arguments: argparse.Namespace) -> int:
    """Check the laws of a file.

    Verifies every file's SHA-256 and every law of the tables (docs/formats.md lists them), and prints each problem with
    its table, row and value, 20 per law at most. Exit code 0 when all laws hold, 1 when one is broken, 2 when a file
    cannot be read.

    example:
      python -m formats check traces/cornell.trace
    """
    from rayplay.formats.laws.check import validate
    from rayplay.formats.look import records
    from rayplay.formats.look.show import counted, extent, open_any

    dataset = open_any(arguments.path)
    problems = validate(dataset)
    lines = [f"{arguments.path} breaks laws of docs/formats.md:", *map(str, problems)] if problems else []
    verdict = counted(len(problems), "problem") if problems else "all laws hold"
    lines.append(f"{arguments.path}: {verdict} ({extent(dataset)})")
    answer(arguments, lines, lambda: records.problems(problems))
    return 1 if problems else 0


def verify_verb(arguments: argparse.Namespace) -> int:
    """Verify that every byte is as it was written.

    Reads every byte once: the SHA-256 of each file, the checksum of each page (of each chunk in HDF5), types, limits.
    Prints each damage with file, table, row group and column; exit code 0 when nothing changed since writing, else 2.
    The meaning of the numbers is the business of the verb check.

    example:
      python -m formats verify traces/cornell.trace
    """
    from rayplay.formats.laws.verify import damages
    from rayplay.formats.look import records
    from rayplay.formats.look.show import counted, open_any

    dataset = open_any(arguments.path)
    found = list(damages(dataset))
    tables = counted(len(dataset.tables), "table")
    one_file = arguments.path.stat().st_size if arguments.path.is_file() else None
    stored = sum(dataset.manifest.bytes(table) for table in dataset.tables) if one_file is None else one_file
    verdict = counted(len(found), "damaged place") if found else "every byte is as it was written"
    extent = f"{stored:,} bytes {'in' if one_file is None else 'in all, with'} {tables}"
    lines = [*map(str, found), f"{arguments.path}: {verdict} ({extent})"]
    answer(arguments, lines, lambda: records.damages(found))
    return EXIT_USER_ERROR if found else 0


def stats_verb(arguments: argparse.Namespace) -> int:
    """Print size and activity of a trace.

    Bytes on disk per warp instruction, block visit, lane address and ray; instruction mix; active lanes; different
    sectors and BVH records that were touched.

    example:
      python -m formats stats traces/cornell.trace
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.look import records
    from rayplay.formats.look.statistics import lines, measure

    trace = open_trace(arguments.path)
    found = measure(trace)
    answer(arguments, lines(trace, found), lambda: records.statistics(found))
    return 0


def diff_verb(arguments: argparse.Namespace) -> int:
    """Name the first difference of two files.

    For each table the first row and column whose values differ. The division of rows into files and the provenance do
    not count. Exit code 0 when all values are equal, 1 when not.

    example:
      python -m formats diff traces/a.trace traces/b.trace.h5
    """
    from rayplay.formats.look.diff import differences
    from rayplay.formats.look.show import open_any

    found = list(differences(open_any(arguments.left), open_any(arguments.right)))
    lines = found or [f"{arguments.left} and {arguments.right}: all values are equal"]
    answer(arguments, lines, lambda: [{"difference": line} for line in found])
    return 1 if found else 0


def compare_verb(arguments: argparse.Namespace) -> int:
    """Print the metrics of two results side by side.

    Each metric that both results have, and the difference of A from B: in percent, for shares in percentage points.

    example:
      python -m formats compare results/bfs.result results/measured.result
    """
    from rayplay.formats.dataset.result import open_result
    from rayplay.formats.look import records
    from rayplay.formats.look.compare import compare

    pair = open_result(arguments.left), open_result(arguments.right)
    answer(arguments, compare(*pair), lambda: records.comparison(*pair))
    return 0


def select_verb(arguments: argparse.Namespace) -> int:
    """Write a part of a trace.

    The part that is in all the given sets (numbers and ranges such as 0,4-7) becomes a trace of its own, with the
    remaining launches, CTAs and warps renumbered. --pixels removes lanes instead: every warp is still launched, as if
    the program had been run with filter_shader.

    examples:
      python -m formats select traces/bfs.trace --kernels 3,5-8 --out traces/part.trace
      python -m formats select traces/cornell.trace --pixels pixels.txt --out traces/tenth.trace
    """
    from rayplay.formats.dataset.reader import open_trace

    trace = open_trace(arguments.path)
    sets = arguments.kernels, arguments.ctas, arguments.warps
    if (arguments.pixels is not None) == any(text is not None for text in sets):
        raise UserError(
            "give either --pixels or some of --kernels, --ctas and --warps: one removes lanes, the others rows"
        )
    if arguments.pixels is not None:
        from rayplay.formats.edit.filter import filter_trace
        from rayplay.formats.edit.pixels import image_size, read_pixels

        selected = read_pixels(arguments.pixels, image_size(trace))
        filter_trace(arguments.path, selected, arguments.out)
        return say_written(arguments, f"{arguments.out}: {selected.sum()} of {selected.size} pixels")
    from rayplay.formats.edit.select import select

    part = select(trace, arguments.out, *sets)
    kept = ", ".join(f"{part[name].sum():,} of {len(part[name]):,} {name}" for name in ("kernels", "warps"))
    return say_written(arguments, f"{arguments.out}: {kept}")


def merge_verb(arguments: argparse.Namespace) -> int:
    """Write several traces as the streams of one.

    The launches of all, each trace in streams of its own. Addresses stay as they are.

    example:
      python -m formats merge traces/frame.trace traces/physics.trace --out traces/both.trace
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.edit.merge import merge

    merge([open_trace(path) for path in arguments.paths], arguments.out)
    return say_written(arguments)


def convert_verb(arguments: argparse.Namespace) -> int:
    """Write a trace in the other container.

    The same tables: an HDF5 file when the name of OUT ends in .h5 or .hdf5, else a folder of Parquet files.

    example:
      python -m formats convert traces/cornell.trace traces/cornell.trace.h5
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.edit.convert import convert

    convert(open_trace(arguments.path), arguments.out)
    return say_written(arguments)


def import_verb(arguments: argparse.Namespace) -> int:
    """Write a trace (or result) of files captured by other tools.

    - kernelslist.g: output of Accel-Sim's tracer (.traceg or .traceg.xz files beside it, versions 1 to 6); every
      instruction that a warp executed keeps its lanes and addresses; CRISP's draws get streams and the table stages;
    - NAME.traceg or NAME.traceg.xz: the undivided text of CRISP's tracer;
    - NAME.txt or NAME.txt.xz: Vulkan-Sim's dump of its RT unit, as a trace of rays alone;
    - FILE.csv: measurements of Nsight Compute (ncu --csv --page raw), as a result to compare with;
    - a folder with instructions.csv, visits.csv, accesses.csv, ... (or .parquet): the tables of docs/formats.md, of
      which instructions and visits are enough; columns with one obvious value may be left out.

    examples:
      python -m formats import hw/kernelslist.g --out traces/bfs.trace
      python -m formats import mine/ --out traces/mine.trace
    """
    if arguments.path.is_dir():
        from rayplay.formats.exchange.frames import import_folder

        import_folder(arguments.path, arguments.out)
    elif arguments.path.suffix == ".csv":
        from rayplay.formats.exchange.nsight import import_nsight

        import_nsight(arguments.path, arguments.out)
    elif arguments.path.name.endswith((".txt", ".txt.xz")):
        from rayplay.formats.exchange.vulkan_sim import import_vulkan_sim

        import_vulkan_sim(arguments.path, arguments.out)
    else:
        from rayplay.formats.exchange.accelsim.importer import import_accelsim

        import_accelsim(arguments.path, arguments.out, arguments.unknown)
    return say_written(arguments)


def export_verb(arguments: argparse.Namespace) -> int:
    """Write a trace as Accel-Sim's files.

    kernelslist.g and one kernel-N.traceg a launch. Instructions of PTX become the SASS opcode of their class. Importing
    them again gives the same lanes and addresses, instruction by instruction; opcodes, registers and the division into
    blocks may differ (DEVIATIONS.md, F2 and F4).

    example:
      python -m formats export traces/vectoradd.trace --out vectoradd
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.exchange.accelsim.export import export_accelsim
    from rayplay.formats.look.show import counted

    trace = open_trace(arguments.path)
    export_accelsim(trace, arguments.out, arguments.xz)
    line = f"{arguments.out}: kernelslist.g and {counted(trace.rows('kernels'), 'kernel')}"
    answer(arguments, [line], lambda: [{"out": str(arguments.out), "kernels": trace.rows("kernels")}])
    return 0


def say_written(arguments: argparse.Namespace, line: str | None = None) -> int:
    """Say what a verb has written to ``arguments.out``; returns its exit code."""
    from rayplay.formats.look import records
    from rayplay.formats.look.show import written

    answer(arguments, [line or written(arguments.out)], lambda: records.written(arguments.out))
    return 0


def docs_verb(arguments: argparse.Namespace) -> int:
    """Print the page docs/formats.md, which follows from the schema.

    example:
      python -m formats docs > docs/formats.md
    """
    from rayplay.formats.page import page

    print(page(), end="")
    return 0


if __name__ == "__main__":
    run("formats", main)
