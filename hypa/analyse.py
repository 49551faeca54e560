"""The options of ``python -m ptx analyse``; the analysis itself executes launches and so lives in ``tracer``."""

import argparse
from pathlib import Path

DESCRIPTION = """\
Counts what the launches of LAUNCH.toml (docs/kernels.md) execute: instructions by class, floating-point operations,
branches, and how many of them diverge, per warp as nvprof counts and per CTA as HyPA does.

Only the slice is executed that decides where threads go: the instructions that some conditional jump depends on,
through registers (SSA form, guards included), memory, atomics, other lanes and calls. The counts are exactly those of
a full execution. Every jump, every launch and every operation class is a row of NAME.profile.
"""
EXAMPLE = """\
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


def add_analyse(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The verb's options."""
    made = verbs.add_parser(
        "analyse", description=DESCRIPTION, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
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
