"""``rayplay gpu``: the GPUs that come with the package, what their values mean, and descriptions of one's own."""

import argparse
import dataclasses
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.door.parser import Parser
from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import Gpu, explain, find, load, notes, shipped
from rayplay.replay.unit.schema import Text, override, read_text

SET_HELP = "change a value, such as rt.warps=8; repeatable"


def parser(verb: str) -> Parser:
    """The parser of a verb of ``gpu``."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    if verb == "gpu list":
        made.set_defaults(perform=list_gpus)
        return made
    if verb == "gpu fit":
        return fit_parser(made)
    if verb == "gpu new":
        made.add_argument("out", type=Path, metavar="NAME.toml", help="description to write")
        made.add_argument(
            "--base", "--like", default="rtx2060", metavar="GPU", help="GPU to begin with (default: %(default)s)"
        )
    else:
        made.add_argument("gpu", metavar="GPU", help="a name of rayplay gpu list, a .toml file, or a gpgpusim.config")
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments", help=SET_HELP)
    if verb == "gpu show":
        made.add_argument("--plugin", metavar="FILE.py|NAME", help="with the parameters of a policy of your own")
    made.set_defaults(perform={"gpu new": write_gpu, "gpu check": check_gpu}.get(verb, show_gpu))
    return made


def fit_parser(made: Parser) -> Parser:
    """The options of ``gpu fit``."""
    made.add_argument(
        "measured", metavar="MEASURED.csv",
        help="measured latencies: a CSV file with the columns gpu,quantity,value,unit, such as rayplay time suite"
        " writes, or published, the table of the package",
    )  # fmt: skip
    made.add_argument("--like", required=True, metavar="GPU", help="GPU whose values are fitted")
    made.add_argument("--card", metavar="NAME", help="the card whose rows count, where the file has several")
    made.add_argument(
        "--fit", action="append", default=[], metavar="KEY=LOW:HIGH",
        help="a value to fit, and its bounds; repeatable (default: latencies of L1, shared memory and L2)",
    )  # fmt: skip
    made.add_argument("--out", type=Path, metavar="NAME.toml", help="description to write (default: none)")
    made.set_defaults(perform=fit_gpu)
    return made


def list_gpus(arguments: argparse.Namespace) -> int:
    """A line per GPU that comes with the package."""
    gpus = [(name, load(name)) for name in shipped()]
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
    """The columns of ``rayplay gpu list``."""
    counts = {"gpu": name, "sms": gpu.sm.count, "warps_per_sm": gpu.sm.warps, "core_clock_khz": gpu.sm.clock_khz}
    memory = {"l2_bytes": gpu.l2.bytes, "memory_controllers": gpu.memory.count}
    return counts | memory | {"dram_bytes_per_second": gpu.dram_bytes_per_second}


def show_gpu(arguments: argparse.Namespace) -> int:
    """Every value of a GPU with its unit, meaning and source, then the derived values."""
    lines = list(explain(arguments.gpu, arguments.assignments, arguments.plugin))  # first of all: an error stands alone
    for line in notes(arguments.gpu):
        print(line, file=sys.stderr)
    answer(arguments, lines, lambda: value_records(load(arguments.gpu, arguments.assignments, arguments.plugin), ""))
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


def check_gpu(arguments: argparse.Namespace) -> int:
    """Whether a description can be read and every law holds; which of its own values have no source."""
    gpu, own = load(arguments.gpu, arguments.assignments), find(arguments.gpu)
    bare = [] if own.suffix == ".config" else sourceless(own)
    lines = [f"{arguments.gpu}: every law holds", *(f"no source: {key}" for key in bare)]
    answer(arguments, lines, lambda: [overview(gpu.name, gpu) | {"without_source": bare}])
    return 0


def sourceless(path: Path) -> list[str]:
    """Keys of a description's own values that have no comment."""
    comments = read_text(path).comments
    return [key for key, comment in comments.items() if not comment and key not in ("name", "like")]


def fit_gpu(arguments: argparse.Namespace) -> int:
    """Fit values to measured rows; print what moved and what stays, and write the description."""
    from rayplay.silicon import correlate
    from rayplay.silicon.__main__ import measured_file
    from rayplay.silicon.fit import fit

    out: Path | None = arguments.out
    if out is not None:
        check_new(out)
    path = measured_file(arguments.measured)
    rows = correlate.choose_card(path, correlate.read_measured(path), arguments.card)
    found = fit(arguments.like, path, rows, dict(map(bounds, arguments.fit)) or None)
    if out is not None:
        write_description(out, arguments.like, found.assignments())
    records = [{"key": m.key, "before": m.before, "after": m.after} for m in found.moved]
    answer(arguments, found.lines(), lambda: [*records, *correlate.records_of(found.gpu.name, found.rows)])
    return 0


def bounds(given: str) -> tuple[str, tuple[int, int]]:
    """``KEY=LOW:HIGH``; ``UserError`` for another text."""
    key, _, span = given.partition("=")
    low, _, high = span.partition(":")
    if not (key and low.isdecimal() and high.isdecimal() and int(low) <= int(high)):
        raise UserError(f"--fit {given}: must be KEY=LOW:HIGH, such as l1.latency_cycles=10:60")
    return key, (int(low), int(high))


def write_gpu(arguments: argparse.Namespace) -> int:
    """Write a description like a base GPU, with the values that are set."""
    out: Path = arguments.out
    check_new(out)
    changed = write_description(out, arguments.base, arguments.assignments)
    lines = [f"{out}: like {arguments.base}; rayplay replay TRACE --gpu {out} replays on it"]
    answer(arguments, lines, lambda: [{"out": str(out)} | overview(out.stem, changed)])
    return 0


def check_new(out: Path) -> None:
    """``UserError`` for a description that must not be written there."""
    if out.suffix != ".toml":
        raise UserError(f"{out}: must end in .toml")
    if out.exists():
        raise UserError(f"{out}: exists already; a description is never replaced")


def write_description(out: Path, like: str, assignments: list[str]) -> Gpu:
    """Write a GPU like another with ``key=value`` assignments, if every law holds."""
    base = find(like)
    if base.suffix != ".toml":
        raise UserError(f"--base {like}: must be a .toml description or the name of one")
    changed = load(like, assignments)
    from_there = like if base in shipped().values() else os.path.relpath(base, out.parent)
    text = description(out.stem, from_there, override(Text("", {}, {}, {}), assignments).values)
    with atomic_file(out) as partial:
        partial.write_text(text, encoding="utf-8")
    return changed


def description(name: str, like: str, values: dict[str, Any]) -> str:
    """The text of a GPU like another, with its own ``values`` by section."""
    rows = [f"# {name}: what it does not give is as in {like}; rayplay gpu show prints every value.", ""]
    return "\n".join([*rows, *sections({"name": name, "like": like} | values, "")]) + "\n"


def sections(values: dict[str, Any], path: str) -> Iterator[str]:
    """The lines of a section, then of the sections inside it."""
    for key, entry in values.items():
        if not isinstance(entry, dict):
            yield f"{key} = {json.dumps(entry)}"
    for key, entry in values.items():
        if isinstance(entry, dict):
            yield f"\n[{path}{key}]"
            yield from sections(entry, f"{path}{key}.")
