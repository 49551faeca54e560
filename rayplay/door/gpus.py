"""``rayplay gpus``: the GPUs that come with the package, what their values mean, and a description of one's own."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from pathlib import Path

from rayplay.door.parser import Parser
from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import FOLDER, Gpu, explain, load, notes, read_description

SET_HELP = "change a value, such as rt.warps=8; repeatable"


def parser(verb: str) -> Parser:
    """The parser of ``gpus``, ``gpus explain`` or ``gpus new``."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    if verb == "gpus":
        made.set_defaults(perform=list_gpus)
        return made
    if verb == "gpus new":
        made.add_argument("out", type=Path, metavar="NAME.toml", help="description to write")
        made.add_argument("--base", default="rtx2060", metavar="GPU", help="GPU to begin with (default: %(default)s)")
    else:
        made.add_argument("gpu", metavar="GPU", help="a name of rayplay gpus, a .toml file, or a gpgpusim.config")
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments", help=SET_HELP)
    made.set_defaults(perform=write_gpu if verb == "gpus new" else explain_gpu)
    return made


def list_gpus(arguments: argparse.Namespace) -> int:
    """A line per GPU that comes with the package."""
    gpus = [(path.stem, load(path.stem)) for path in sorted(FOLDER.glob("*.toml"))]
    lines = [f"{'gpu':<20}{'SMs':>5}{'warps/SM':>10}{'core MHz':>10}{'L2 KiB':>9}{'controllers':>13}{'DRAM GB/s':>11}"]
    for name, gpu in gpus:
        bandwidth = gpu.dram_bytes_per_second / 1e9
        lines.append(
            f"{name:<20}{gpu.sm.count:>5}{gpu.sm.warps:>10}{gpu.sm.clock_khz / 1000:>10,.0f}"
            f"{gpu.l2.bytes >> 10:>9,}{gpu.memory.count:>13}{bandwidth:>11,.0f}"
        )
    answer(arguments, lines, lambda: (overview(name, gpu) for name, gpu in gpus))
    return 0


def overview(name: str, gpu: Gpu) -> Record:
    """The columns of ``rayplay gpus``."""
    counts = {"gpu": name, "sms": gpu.sm.count, "warps_per_sm": gpu.sm.warps, "core_clock_khz": gpu.sm.clock_khz}
    memory = {"l2_bytes": gpu.l2.bytes, "memory_controllers": gpu.memory.count}
    return counts | memory | {"dram_bytes_per_second": gpu.dram_bytes_per_second}


def explain_gpu(arguments: argparse.Namespace) -> int:
    """Every value of a GPU with its unit, meaning and source, then the derived values."""
    lines = list(explain(arguments.gpu, arguments.assignments))  # first of all: an error stands alone
    for line in notes(arguments.gpu):
        print(line, file=sys.stderr)
    answer(arguments, lines, lambda: value_records(load(arguments.gpu, arguments.assignments), ""))
    return 0


def value_records(part: object, path: str) -> Iterator[Record]:
    """A record per value of a description and of the sections inside it."""
    for field in dataclasses.fields(part):  # type: ignore[arg-type]  # a section of a Gpu
        found, key = getattr(part, field.name), path + field.name
        if dataclasses.is_dataclass(found):
            yield from value_records(found, key + ".")
        else:
            shown = list(found) if isinstance(found, tuple) else found
            yield {"key": key, "value": shown, "unit": field.metadata["unit"], "meaning": field.metadata["doc"]}


def write_gpu(arguments: argparse.Namespace) -> int:
    """Write the description of a base GPU with values changed: the base's text, so that its sources stay."""
    out: Path = arguments.out
    if out.suffix != ".toml":
        raise UserError(f"{out}: must end in .toml")
    if out.exists():
        raise UserError(f"{out}: exists already; a description is never replaced")
    base = read_description(arguments.base)
    source = Path(base.name)
    if source.suffix != ".toml":
        raise UserError(f"--base {arguments.base}: must be a .toml description or the name of one")
    text = changed_text(source.read_text(encoding="utf-8"), base.lines, [f"name={out.stem}", *arguments.assignments])
    load(arguments.base, arguments.assignments)  # every law holds, or nothing is written
    with atomic_file(out) as partial:
        partial.write_text(text, encoding="utf-8")
    gpu = load(str(out))
    lines = [f"{out}: {arguments.base} as {gpu.name}; rayplay replay TRACE --gpu {out} replays on it"]
    answer(arguments, lines, lambda: [{"out": str(out)} | overview(gpu.name, gpu)])
    return 0


def changed_text(text: str, lines: dict[str, int], assignments: list[str]) -> str:
    """The TOML ``text`` with ``key=value`` assignments in the lines of their keys; ``lines`` counts from 1."""
    rows = text.splitlines()
    for assignment in assignments:
        key, _, literal = assignment.partition("=")
        key = key.strip()
        if key not in lines:
            continue  # load() names an unknown key
        name = key.rpartition(".")[2]
        rows[lines[key] - 1] = f"{name} = {toml_literal(literal.strip())}  # set when this description was made"
    return "\n".join(rows) + "\n"


def toml_literal(literal: str) -> str:
    """A word as a TOML text, any other literal as it is."""
    from rayplay.replay.unit.schema import parse_literal

    quoted = f'"{literal}"'
    return quoted if parse_literal(literal) == literal else literal
