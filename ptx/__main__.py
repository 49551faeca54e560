"""``python -m ptx VERB FILE``: look into a PTX file or a SASS listing."""

import argparse
import functools
import sys
from pathlib import Path

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_limits, run
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import LIST_BYTES
from rayplay.formats.guard.text import read_bounded
from rayplay.hypa.verbs import add_analyse, analyse
from rayplay.ptx.ir import Function, Module

DESCRIPTION = """\
Reads PTX (the text that nvcc -ptx, clang or an OptiX program compiler writes) or a listing of SASS, whichever the file
holds, and shows its structure:

  parse         what the module declares; checks it and names every problem with its line and column
  print         the structure as text again
  cfg           basic blocks, where each can go, and where diverged lanes meet again (--dot for Graphviz)
  characterise  when a warp may issue: unit, stalls, scoreboard slots; --out writes the table as Parquet
  inject        (PTX) the text with Zatel's filter_shader in front of the ray generation program
  analyse       (PTX) what its launches execute: instructions by class, branches, divergence (HyPA's profile, exact)

SASS of sm_70 and later is what 'nvdisasm -c -hex FILE.cubin' or 'cuobjdump -sass FILE' print. With encodings (-hex, or
cuobjdump) characterise reads the compiler's control codes: stall, yield, barriers set (W: result, R: sources read) and
waited for. Without them it takes latencies of the architecture. Branch tables are in nvdisasm's listings only.
"""
EXAMPLE = """\
example: python -m ptx cfg tracer/programs/path-tracing.ptx --entry __raygen__path_tracing
example: nvcc -arch=sm_86 -cubin kernel.cu && nvdisasm -c -hex kernel.cubin > kernel.sass
         python -m ptx characterise kernel.sass
"""
WRITTEN = {"characterise": ".parquet", "inject": ".ptx"}


def main() -> int:
    """Parse the command line and run its verb; 0, or 2 when ``parse`` finds problems."""
    return perform(parser().parse_args())


def perform(options: argparse.Namespace) -> int:
    """Run the verb that ``options`` name."""
    if options.verb in WRITTEN:
        _check_out(options.out, options.file, WRITTEN[options.verb])
    if options.verb == "inject":
        return _inject(options)
    if options.verb == "analyse":
        return analyse(options)
    from rayplay.ptx.flow.language import parse_file

    module = parse_file(options.file)
    functions = [f for f in module.functions.values() if not f.is_declaration]
    if options.entry is not None:
        functions = [f for f in functions if f.name == options.entry]
        if not functions:
            there = ", ".join(f.name for f in module.functions.values() if not f.is_declaration) or "none"
            raise UserError(f"{options.file}: there is no function '{options.entry}'; there are: {there}")
    if options.verb == "parse":
        return _parse(options, module)
    if options.verb == "print":
        text = _text(module)
        answer(options, [text.removesuffix("\n")], lambda: [{"file": str(options.file), "text": text}])
    elif options.verb == "cfg":
        _cfg(options, functions)
    else:
        _characterise(options, module, functions)
    return 0


def _check_out(out: Path | None, file: Path, suffix: str) -> None:
    """``UserError`` unless ``out`` is named as its content, and is another file than the one that is read."""
    if out is not None and out.suffix != suffix:
        raise UserError(f"--out {out}: must end in {suffix}")
    if out is not None and out.resolve() == file.resolve():
        raise UserError(f"--out {out}: must be another file than the one that is read")


def _text(module: Module) -> str:
    if module.language == "sass":
        from rayplay.ptx.sass import printer as sass_printer

        return sass_printer.print_module(module)
    from rayplay.ptx.text import printer

    return printer.print_module(module)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        "python -m ptx", description=DESCRIPTION, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = top.add_subparsers(dest="verb", required=True, metavar="VERB")
    for verb in ("parse", "print", "cfg", "characterise", "inject"):
        made = verbs.add_parser(verb, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
        made.add_argument(
            "file", type=Path, metavar="FILE", help="PTX text" if verb == "inject" else "PTX text or SASS listing"
        )
        made.add_argument("--entry", metavar="NAME", help="only this function")
        if verb == "cfg":
            made.add_argument("--dot", action="store_true", help="print a graph for Graphviz")
        if verb == "characterise":
            made.add_argument("--pipeline", default="rtx2060", metavar="NAME", help="whose latencies (PTX)")
            made.add_argument("--out", type=Path, metavar="FILE.parquet", help="write the table instead of printing it")
        if verb == "inject":
            made.add_argument("--out", type=Path, metavar="FILE.ptx", help="write there instead of printing")
    add_analyse(verbs)
    add_limits(*verbs.choices.values())
    return top


def _cfg(options: argparse.Namespace, functions: list[Function]) -> None:
    from rayplay.ptx.show import cfg_dot, cfg_lines, cfg_records

    for function in functions:
        try:
            lines = cfg_dot(function) if options.dot else cfg_lines(function)
            answer(options, lines, functools.partial(cfg_records, function))
        except UserError as error:
            raise UserError(f"{options.file}: {error}") from None


def _parse(options: argparse.Namespace, module: Module) -> int:
    from rayplay.ptx.show import module_lines, module_records

    if module.language == "sass":
        from rayplay.ptx.sass.verify import verify
    else:
        from rayplay.ptx.verifier.code import verify

    answer(options, module_lines(module), lambda: module_records(module))
    problems = verify(module)
    if len(problems) == 1:
        raise UserError(str(problems[0]))
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        raise UserError(f"{module.source_name}: {len(problems)} problems, named above")
    return 0


def _characterise(options: argparse.Namespace, module: Module, functions: list[Function]) -> None:
    from rayplay.ptx.program import link
    from rayplay.ptx.timing.pipelines import pipeline

    program = link([(module, function) for function in functions])
    if options.out is None:
        from rayplay.ptx.show import characterisation_lines, characterisation_records

        chosen = pipeline(options.pipeline)
        for function, entered in zip(functions, program.entered_by_trace, strict=True):
            lines = characterisation_lines(function, chosen, entered)
            answer(options, lines, functools.partial(characterisation_records, function, chosen, entered))
        return
    columns = program.tables(options.pipeline)["characterisation"]
    import pyarrow.parquet as pq

    from rayplay.formats.parquet.arrow import parquet_options, to_arrow
    from rayplay.formats.place.publish import atomic_file
    from rayplay.formats.schema.trace import CHARACTERISATION

    with atomic_file(options.out) as partial:
        pq.write_table(to_arrow(CHARACTERISATION, columns), partial, **parquet_options(CHARACTERISATION))
    line = f"{options.out}: {len(columns['unit'])} instructions"
    answer(options, [line], lambda: [{"out": str(options.out), "instructions": len(columns["unit"])}])


def _inject(options: argparse.Namespace) -> int:
    from rayplay.ptx.inject import inject_text

    text = read_bounded(options.file, LIST_BYTES).decode(errors="replace")
    text = inject_text(text, str(options.file), options.entry)
    if options.out is None:
        answer(options, [text.removesuffix("\n")], lambda: [{"file": str(options.file), "text": text}])
        return 0
    from rayplay.formats.place.publish import atomic_file

    with atomic_file(options.out) as partial:
        partial.write_text(text)
    return 0


if __name__ == "__main__":
    run("ptx", main)
