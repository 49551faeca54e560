"""PTX of OptiX programs: how long files take to parse, verify and build, and how much memory.

    python -m bench.reading.optix_files FILE.ptx ... [--library FILE.ptx ...] [--entries N] [--entry NAME]

Prints a line per file, and one per ray generation entry (or, without any, per other program): what the entry reaches is
linked and translated to machine code, all else is not. ``--entries`` takes the N shortest, ``--entry`` one by its name.
Each file is measured in a process of its own. Seconds are processor time.

Production files are in the wheel of ``bpy`` 4.5 (``pip download bpy``): ``kernel_optix*.ptx.zst`` under
``addons_core/cycles/lib``, 0.2 to 28 MB each when unpacked with ``zstd -d``.
"""

import argparse
import multiprocessing
import resource
import time
from pathlib import Path

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.isa.optix import kind_of_program
from rayplay.tracer.abi.words import RECORD_ALL
from rayplay.tracer.link.link import link_launch
from rayplay.tracer.lower.compile import translate_program
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.native.cpu import chosen


def main() -> None:
    """Measure the files that the command line names."""
    top = argparse.ArgumentParser("python -m bench.reading.optix_files", description=__doc__)
    top.add_argument("files", nargs="+", type=Path, metavar="FILE.ptx")
    top.add_argument("--library", action="append", default=[], type=Path, metavar="FILE.ptx", help="linked with each")
    top.add_argument("--entries", type=int, default=1, metavar="N", help="how many entries to build (default: 1)")
    top.add_argument("--entry", default="", metavar="NAME", help="build this one instead")
    options = top.parse_args()
    for file in options.files:
        process = multiprocessing.get_context("spawn").Process(
            target=measure, args=(file, options.library, options.entries, options.entry)
        )
        process.start()
        process.join()


def measure(file: Path, libraries: list[Path], count: int, name: str) -> None:
    """Parse, verify and build one file."""
    start = time.process_time()
    try:
        module = ptx.parse_file(file)
    except UserError as error:
        print(f"{file.name}: not parsed: {error}", flush=True)
        return
    parsed = time.process_time()
    problems = ptx.verify(module)
    verified = time.process_time()
    count_all = sum(len(f.body) for f in module.functions.values())
    size = f"{file.stat().st_size / 1e6:.1f} MB, {count_all:,} instructions"
    taken = f"parsed in {parsed - start:.1f} s, verified in {verified - parsed:.1f} s"
    print(f"{file.name}: {size}, {taken}: {len(problems)} problems, {memory():.0f} MB", flush=True)
    for problem in problems[:2]:
        print(f"  {problem}")
    others = tuple(ptx.parse_file(each) for each in libraries)
    for entry in [module.functions[name]] if name else entries_of(module)[:count]:
        build(module, entry, others)


def entries_of(module: Module) -> list[Function]:
    """Ray generation entries, shortest first; without any all other programs."""
    programs = [f for f in module.functions.values() if kind_of_program(f.name) and not f.is_declaration]
    raygen = [f for f in programs if kind_of_program(f.name) == "R"]
    return sorted(raygen or programs, key=lambda f: len(f.body))


def build(module: Module, entry: Function, libraries: tuple[Module, ...]) -> None:
    """Link one entry and what it reaches, and translate it to machine code."""
    start = time.process_time()
    try:
        linked = link_launch(((module, entry),), DeviceMemory(), {}, (), libraries)
        linked_at = time.process_time()
        size = sum(map(len, translate_program(linked.functions, linked.symbols, RECORD_ALL, chosen())))
    except UserError as error:
        print(f"  {entry.name}: refused: {error}", flush=True)
        return
    reached = sum(len(f.function.body) for f in linked.functions)
    outside = sorted({function.name for function in linked.externals})
    print(
        f"  {entry.name}: reaches {len(linked.functions)} functions, {reached:,} instructions; linked in "
        f"{linked_at - start:.1f} s, translated in {time.process_time() - linked_at:.1f} s to {size / 1e6:.0f} MB; "
        f"{memory():.0f} MB of memory"
        + (f"; without a body: {', '.join(outside)[:100]}" if outside else ""), flush=True,
    )  # fmt: skip


def memory() -> float:
    """Most MB that the process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
