"""``docs/replay.md`` from the code: options, descriptions, metrics, counters, and what a result's tables mean."""

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from rayplay.replay.arguments import parser
from rayplay.replay.gpu.description import FOLDER, Gpu, find, load
from rayplay.replay.layers import LAYERS
from rayplay.replay.memory.dram.spec import GAPS
from rayplay.replay.results.bottlenecks import UTILISATION
from rayplay.replay.results.definitions import COUNTERS, FAMILIES, METRICS
from rayplay.replay.rt import state as rt_unit_state
from rayplay.replay.rt.metrics import rt_metrics
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import schema as config
from rayplay.replay.unit.streams import NOT_SHARED

HEAD = """\
# Replay

This page is made from the code by `python -m replay --docs`; `make docs` writes it, and a test fails when it differs.

`python -m replay TRACE --gpu NAME --out NAME.result` replays a trace on a GPU description and writes a result, whose
tables are laid out in [formats.md](formats.md). `--picture NAME.png` draws it, now or later:
`python -m replay NAME.result --picture NAME.png`.
"""
LAYERS_TEXT = """\
## Where the code is

The folders and files of `replay/` in the order of the data flow; each imports only itself and those above it.

| name | holds |
|---|---|
"""
STACK_TEXT = """\
## Where the cycles went

The table `stack` divides the issue slots of every SM and launch. {rule}

| reason | what the warp waits for |
|---|---|
"""
UNITS_TEXT = """\
## How much of each unit was used

The table `utilisation`: used / capacity, both in the measure.

| unit | measure | used / capacity |
|---|---|---|
"""
SHARED_TEXT = """\
## Kernels side by side

With `sm.concurrent_kernels` above 1, kernels of different streams share the GPU. Each has rows of its own in the tables
`counters`, `stack`, `utilisation` and `roofline`: what was counted for its warps, for their accesses and for the
requests that these led to, from its launch until its stream's next kernel is launched, or all are over. A line that is
written back counts for the kernel whose access drives it away; writes that still wait for the DRAM when the stream's
next kernel begins count for that one. Kernels and streams sum to the total together with the rows of kernel -1, which
have what belongs to none: slots without a live warp, parts of the cycle stack below a slot, and the counters that
follow (so that in `utilisation` each has 0 of `rt_unit`, and kernel -1 all). Capacities and seconds are those of a
kernel's own cycles, which overlap: they do not sum.

"""
DESCRIPTION_TEXT = """\
## GPU descriptions

`--gpu` takes one of these or a `.toml` file with the same keys, all of which must be given; `--set KEY=VALUE` changes
one. The default is `rtx2060`: the last column says where its values come from, `--explain NAME` prints it for others.
The pages are in [sources](sources/README.md), papers in [papers.md](sources/papers.md).
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, *options(), *stack_section(), *unit_section(), *metric_section(), *counter_section()]
    parts += [*shared_section(), *description_section(), *derived_section(), *gap_section(), *layer_section()]
    return "\n".join(parts)


def options() -> Iterator[str]:
    """The command line, as its parser knows it."""
    yield "## Options\n\n| option | meaning |\n|---|---|"
    for action in parser().options:
        name = ", ".join(action.option_strings) or action.dest
        value = f" {action.metavar}" if action.metavar and action.option_strings else ""
        yield f"| `{name}{value}` | {cell((action.help or '').replace('%(default)s', str(action.default)))} |"
    yield ""


def stack_section() -> Iterator[str]:
    """The reasons of the cycle stack and the rule by which slots are divided."""
    yield STACK_TEXT.format(rule=stack.RULE) + "\n".join(
        f"| `{name}` | {text} |" for name, text in stack.MEANINGS.items()
    )
    yield ""


def unit_section() -> Iterator[str]:
    """The units of the table ``utilisation``."""
    yield UNITS_TEXT + "\n".join(f"| `{unit}` | {measure} | {text} |" for unit, (measure, text) in UTILISATION.items())
    yield ""


def metric_section() -> Iterator[str]:
    """Every metric of ``summary.json``."""
    yield "## Metrics\n\nIn `summary.json`, each with its unit, kind and definition.\n"
    yield "| metric | unit | kind | definition |\n|---|---|---|---|"
    yield from (f"| `{name}` | {m.unit} | {m.kind} | {cell(m.definition)} |" for name, m in METRICS.items())
    none = {name: np.zeros(1, np.int64) for name in rt_unit_state.COUNTERS}
    for name, _, unit, kind, definition in rt_metrics(none, np.zeros(1, np.int64), 1, 1, 0):
        yield f"| `{name}` | {unit} | {kind} | {cell(definition)} |"
    yield ""


def counter_section() -> Iterator[str]:
    """Every counter of the tables ``counters`` and ``timeline``."""
    yield "## Counters\n\nIn the table `counters` per launch and unit, in `timeline` per interval.\n"
    yield "| unit | counter | measure | definition |\n|---|---|---|---|"
    for unit, found in COUNTERS.items():
        yield from (f"| {unit} | `{name}` | {c.measure} | {cell(c.definition)} |" for name, c in found.items())
        families = [(prefix, c) for (of, prefix), c in FAMILIES.items() if of == unit]
        yield from (f"| {unit} | `{prefix}*` | {c.measure} | {cell(c.definition)} |" for prefix, c in families)
    yield ""


def shared_section() -> Iterator[str]:
    """Attribution of counters to kernels that run side by side, and the counters that have none."""
    yield SHARED_TEXT + "\n".join(f"- {unit}: `{'`, `'.join(names)}`" for unit, names in NOT_SHARED.items())
    yield ""


def description_section() -> Iterator[str]:
    """Every option of a GPU description: unit, meaning, its value and source in each shipped description."""
    names = shipped()
    texts = [config.read_text(find(name)) for name in names]
    yield DESCRIPTION_TEXT
    for section, spec in sections():
        yield f"### {section}\n\n{cell((inspect.getdoc(spec) or '').splitlines()[0])}\n"
        yield "| key | unit | meaning | " + " | ".join(names) + " | source |\n|---|---|---|" + "---|" * (len(names) + 1)
        for field in dataclasses.fields(spec):
            key = f"{section}.{field.name}" if section else field.name
            if not dataclasses.is_dataclass(field.type):
                yield description_row(key, field, texts)
        yield ""


def shipped() -> list[str]:
    """The descriptions that come with the package, the default first."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != "rtx2060", name))


def sections() -> Iterator[tuple[str, Any]]:
    """Name and dataclass of every section of a description."""
    yield from ((field.name, field.type) for field in dataclasses.fields(Gpu) if dataclasses.is_dataclass(field.type))


def description_row(key: str, field: Any, texts: list[config.Text]) -> str:
    """One option: what it is, its value in every description, its source in the first."""
    section, _, name = key.rpartition(".")
    values = [str(text.values[section][name]) for text in texts]
    choices = field.metadata["choices"]
    meaning = field.metadata["doc"] + (f" ({', '.join(choices)})" if choices else "")
    source = config.cite(texts[0].comments.get(key, ""), r"[\1#\2](sources/\1.md#\2)")
    cells = (f"`{key}`", field.metadata["unit"], cell(meaning), *values, cell(source))
    return f"| {' | '.join(cells)} |"


def derived_section() -> Iterator[str]:
    """The values that follow from a description."""
    gpu = load("rtx2060")
    yield "### Derived\n\n| value | rtx2060 | meaning |\n|---|---|---|"
    for path, part in [("", gpu), *((f"{f.name}.", getattr(gpu, f.name)) for f in dataclasses.fields(gpu))]:
        for key, member in inspect.getmembers(type(part), lambda member: isinstance(member, property)):
            if hasattr(getattr(part, key), "_fields"):
                continue  # a state is no value
            meaning = " ".join((member.__doc__ or "").split())
            yield f"| `{path + key}` | {getattr(part, key)} | {cell(meaning)} |"
    yield ""


def gap_section() -> Iterator[str]:
    """The gaps between DRAM commands."""
    names, specs = zip(*((name, load(name).dram) for name in shipped()), strict=True)
    yield f"### DRAM commands\n\nLeast ticks from one command to another.\n\n| gap | meaning | {' | '.join(names)} |"
    yield "|---|---|" + "---|" * len(names)
    for gap in GAPS.values():
        yield f"| {gap.name} | {gap.meaning} | {' | '.join(str(gap.ticks(spec)) for spec in specs)} |"
    yield ""


def layer_section() -> Iterator[str]:
    """The folders of the package."""
    yield LAYERS_TEXT + "\n".join(f"| `{name}` | {text} |" for name, text in LAYERS.items())
    yield ""


def cell(text: str) -> str:
    """A text inside a table."""
    return text.replace("|", "\\|").replace("``", "`")
