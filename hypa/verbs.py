"""The verbs ``analyse`` and ``network``: their options, and what they run. ``ptx`` and ``tracer`` have them as well."""

import argparse
from pathlib import Path

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.errors import UserError

ANALYSE = """\
Counts what the launches of LAUNCH.toml (docs/kernels.md) execute: instructions by class, floating-point operations,
branches, and how many of them diverge, per warp as nvprof counts and per CTA as HyPA does.

Only the slice is executed that decides where threads go: the instructions that some conditional jump depends on,
through registers (SSA form, guards included), memory, atomics, other lanes and calls. The counts are exactly those of
a full execution. Every jump, every launch and every operation class is a row of NAME.profile.
"""
ANALYSE_EXAMPLE = """\
examples:
  python -m ptx analyse tracer/kernels/reduction.ptx --launch tracer/kernels/reduction.toml
  python -m ptx analyse FILE.ptx --launch LAUNCH.toml --kernel bfs --out results/bfs.profile
  python -m ptx analyse FILE.ptx --launch LAUNCH.toml --static      what an analysis without execution says
  python -m ptx analyse FILE.ptx --launch LAUNCH.toml --check       compares with executing everything

the table's columns: threads launched; thread instructions executed; the static estimate (each instruction once per
thread); what part of the executed and of the kernel's own instructions is in the slice; executions of conditional
jumps by warps, and how many part their lanes; branch efficiency (HyPA's equation 4) per warp and per CTA; time.
python -m formats show NAME.profile   explains every column of the files
"""
NETWORK = """Profile the inference of a neural network launch by launch, as HyPA does: instructions, floating-point
operations, branches, divergent branches and branch efficiency, without executing more than decides where threads go.
The description (examples/cnn/README.md) lists layers; the PTX file it names has the kernels. Printed beside the figures
are those that the paper's Table II has for the network."""
NETWORK_EXAMPLE = "example: python -m tracer network examples/cnn/vgg16.toml"
METHODS = ("slice", "full")


def add_analyse(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    made = verbs.add_parser(
        "analyse",
        help="profile the launches of a launch file",
        description=ANALYSE,
        epilog=ANALYSE_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("file", type=Path, metavar="FILE.ptx", help="PTX text; stands for the program of the launch file")
    made.add_argument(
        "--launch", type=Path, required=True, metavar="LAUNCH.toml", help="kernels, grids, blocks and buffers"
    )
    made.add_argument("--kernel", metavar="NAME", help="only the launches of this kernel")
    how = made.add_mutually_exclusive_group()
    how.add_argument("--static", action="store_true", help="execute nothing: every instruction once per thread")
    how.add_argument("--full", action="store_true", help="execute everything")
    how.add_argument("--check", action="store_true", help="execute the slice, then everything, and compare")
    made.add_argument(
        "--out", type=Path, metavar="NAME.profile", help="tables to write (default: results/LAUNCH.profile)"
    )


def analyse(options: argparse.Namespace) -> int:
    """Run ``analyse``: answer with its table; 0."""
    from rayplay.formats.look.records import rows
    from rayplay.formats.look.show import open_any
    from rayplay.hypa.report import analyse_file

    method = "static" if options.static else "full" if options.full else "slice"
    out = options.out or Path("results") / f"{options.launch.stem}.profile"
    text = analyse_file(options.file, options.launch, method, options.kernel, options.check, out)
    answer(options, [text], lambda: rows(open_any(out), "launches"))
    return 0


def add_network(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    made = verbs.add_parser(
        "network",
        help="profile the inference of a CNN, launch by launch",
        description=NETWORK,
        epilog=NETWORK_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("network", type=Path, nargs="+", metavar="NETWORK.toml", help="layers with their shapes; of several "
        "networks only the sums are printed")  # fmt: skip
    add("--images", type=_images, default=1, metavar="N", help="images inferred at once (default: %(default)s)")
    add("--method", choices=METHODS, default="slice", help="execute the instructions that decide where threads go, or "
        "all, on random weights; the counts are the same (default: %(default)s)")  # fmt: skip
    add("--out", type=Path, default=Path("results"), metavar="FOLDER", help="where NETWORK.profile is written "
        "(default: %(default)s)")  # fmt: skip


def _images(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 65535, not {text!r}")
    return int(text)


def network(options: argparse.Namespace) -> int:
    """Run ``network``: answer with launches and sums; 0."""
    from rayplay.formats.look.records import rows
    from rayplay.formats.look.show import open_any
    from rayplay.hypa.network.file import read_network
    from rayplay.hypa.network.plan import plan_network
    from rayplay.hypa.network.profile import profile_network
    from rayplay.hypa.network.show import comparison_lines, launch_lines, write_network

    plans = [plan_network(read_network(path), options.images) for path in options.network]
    if len({plan.network.name for plan in plans}) < len(plans):
        raise UserError("the networks must have different names: each has its own NAME.profile")
    profiles, written = [], [options.out / f"{plan.network.name}.profile" for plan in plans]
    for plan, out in zip(plans, written, strict=True):
        profiles.append(profile_network(plan, options.method))
        write_network(profiles[-1], out)
        if len(plans) == 1:
            answer(options, [*launch_lines(profiles[-1]), ""], list)
    answer(
        options, comparison_lines(profiles), lambda: (row for out in written for row in rows(open_any(out), "launches"))
    )
    return 0
