"""``docs/replay.md`` from the code: options, descriptions, metrics, counters, and what a result's tables mean."""

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rayplay.replay.arguments import parser
from rayplay.replay.gpu import reference_options as reference
from rayplay.replay.gpu.description import FOLDER, LIKE, Gpu, find, load, read_description
from rayplay.replay.layers import LAYERS
from rayplay.replay.memory.dram.spec import GAPS
from rayplay.replay.reorder.spec import KEYS
from rayplay.replay.results.bottlenecks import UTILISATION
from rayplay.replay.results.definitions import COUNTERS, FAMILIES, METRICS
from rayplay.replay.results.stalls import FIRST_DISTANCE_CYCLES
from rayplay.replay.rt import state as rt_unit_state
from rayplay.replay.rt.metrics import rt_metrics
from rayplay.replay.sharing import rules
from rayplay.replay.unit import cycle_stack as stack
from rayplay.replay.unit import schema as config
from rayplay.replay.unit.streams import NOT_SHARED

HEAD = """\
# Replay

This page is made from the code by `python -m replay --docs`; `make docs` writes it, and a test fails when it differs.

`python -m replay TRACE --gpu NAME --out NAME.result` replays a trace on a GPU description and writes a result, whose
tables are laid out in [formats.md](formats.md). `--picture NAME.png` draws it, now or later:
`python -m replay NAME.result --picture NAME.png`. `--timeline NAME.pftrace` writes what happened over time for
[ui.perfetto.dev](https://ui.perfetto.dev): a process per SM with warp slots, RT-unit slots and counters, and one of
the memory; one in 64 sectors that miss the L1 is followed by a flow to its DRAM channel and back. It is made of looks
at the machine, which change no result: every 128 cycles of `--timeline-cycles`, else as often as work has been done,
so that slices end as of the next look, and a stay between two is not drawn. L2 and DRAM counters are ahead of the SMs
by `l2.latency_cycles`.
"""
STALLS_TEXT = f"""\
The table `stalls` says at which instruction warps spend their cycles, and whether they are ready there or wait, by
looks at all warps: every {FIRST_DISTANCE_CYCLES:,} cycles, less often in long replays. Rays count for the call that
traced them. Classes of work together and the model `gatsim` have no such table.
"""
SHARED_TEXT = """\
## Kernels side by side

With `sm.concurrent_kernels` above 1, kernels of different streams share the GPU. Each has rows of its own in the tables
`counters`, `stack`, `utilisation` and `roofline`: events of its warps, of their accesses and of the requests that
these led to, from its launch until its stream's next kernel is launched, or all have ended. A line that is
written back counts for the kernel whose access evicts it; writes that still wait for the DRAM when the stream's
next kernel begins count for that one. Kernels and streams sum to the total together with the rows of kernel -1, which
hold the rest: slots without a live warp, parts of the cycle stack below a slot, and the counters that
follow (so that in `utilisation` each has 0 of `rt_unit`, and kernel -1 all). Capacities and seconds cover a
kernel's own cycles, which overlap: they do not sum.

"""
SHARING_TEXT = """\
## Classes of work together

`rayplay replay [NAME=]TRACE[:STREAM,...] ... --gpu GPU --partition NAME` replays several traces, or streams of one, at
once, and a partition divides the GPU among classes of work. A launch is `graphics` where the trace's table `stages`
names it, `raytracing` where its program traces rays, else `compute`, and a trace has a class of each kind that it
has; with `NAME=` it is one class. A class whose launches have all ended begins
again until every other has ended once (`--each-once`: it does not); repeats of launch k of n launches in all have the
numbers k + n, k + 2n and so on. Launches of one stream in several classes keep their order in their first pass. Each
trace has an address space of its own: its place stands above the 49 low bits of
an address. Each class launches `sm.concurrent_kernels` of its kernels at a time, as its trace alone does. An SM takes
a CTA of the first class in order that has one and fits.

| table | has |
|---|---|
| `classes` | when each class ended once, and its slowdown against its launches alone on the whole GPU |
| `class_metrics` | IPC, occupancy, miss rates and the other metrics of each class's own counters |
| `class_counters` | every counter by class |
| `class_timeline` | the same by interval (`--interval`), and lines in the L2 at its end, by what allocated them |
| `class_grants` | resources of the SMs, slices and ways of the L2 that the partition grants each class, and from when |
| `launches` | class, kind, stage, draw and repeat of each launch, also of a draw's trace alone |
| `texture_lines` | CTAs of each launch by the lines that their texture instructions read, likewise |

The class `""` has what belongs to no stream (see above), so that all sum to the total exactly.
`weighted_speedup` and `fairness` in `summary.json` follow from the slowdowns. Counters by draw, in pandas:

    result = rayplay.open_result("together.result")
    counters = result.to_pandas("counters").merge(result.to_pandas("launches"), on="kernel_id", how="left")
    counters.groupby(["class", "draw", "unit", "counter"], dropna=False)["value"].sum()

IPC of a class over time is `thread_instructions` of `class_timeline` over the interval, its occupancy
`resident_warp_cycles` over interval x `sm.count` x `sm.warps`, and the composition of the L2 `l2_lines` over its lines.

A partition is a `.toml` file with these keys; `--set partition.KEY=VALUE` changes one.

"""
REORDER_TEXT = """\
## Reordered threads

A trace is recorded as if calls of `optixReorder` were not there: warps keep their lanes. With `reorder.window_warps`
above 0 a replay carries them out first, so that one command says what they gain:

    rayplay replay TRACE --gpu rtx2060 --set reorder.window_warps=8 --set reorder.state_bytes=64

The warps of a window are a CTA. Where they call, each old warp stores `reorder.state_bytes` of each thread to global
memory; the warps meet as at a barrier; the sort takes `reorder.sort_cycles`; 32 threads at a time, in the order of
`reorder.key`, continue as one warp, which loads their state. Sorts of the model `pipeline` are chains of integer
instructions, to the nearest whole one; the other models give one instruction all cycles. Warps that have no threads
left end. A call takes effect at the end of its basic block, when the other threads of its warp have called or ended;
threads of a warp run together where they are in the same block of the same depth of calls.

| key | threads are sorted by |
|---|---|
{keys}

Every thread runs the instructions and accesses of the trace. Traces without a call are replayed as they are. A trace of
several launches, with textures or with `predicates` is refused, and so are classes of work. Pixels have no costs of
their own then, for a lane has no pixel. Estimates and predictions refuse such a GPU, since a part of the warps cannot
tell what windows gain; `python -m tools.reorder` writes a trace with its reorders carried out, which
estimates take; predictions need the pixels that it lacks. Decoded rows of the moved trace stay in memory.

"""
DESCRIPTION_TEXT = """\
## GPU descriptions

`--gpu` takes one of these or a `.toml` file with the same keys, all of which must be given; `--set KEY=VALUE` changes
one. The default is `rtx2060`: the last column says where its values come from, `--explain NAME` prints it for others.
The pages are in [sources](sources/README.md), papers in [papers.md](sources/papers.md).
"""


REFERENCE_TEXT = """\
## Options of gpgpusim.config

`--gpu DIR/gpgpusim.config` reads a configuration of Accel-Sim with the `trace.config` beside it. Each option that
Accel-Sim registers is modelled, refused by its name, or changes no cycle of a trace; an option that it does not
register is a warning. What the files do not say is as in `accelsim-rtx2060`.
"""


def page() -> str:
    """The whole page."""
    parts = [
        HEAD,
        *options(),
        *results(),
        *shared(),
        *sharing(),
        REORDER_TEXT.format(keys="\n".join(f"| `{name}` | {meaning} |" for name, meaning in KEYS.items())),
        *descriptions(),
        *derived(),
        *gaps(),
        *reference_options(),
    ]
    where = (
        "The folders and files of `replay/` in the order of the data flow; each imports only itself and those above it."
    )
    parts += ["## Where the code is\n", where + "\n", *table("name | holds", named(LAYERS.items()))]
    return "\n".join(parts)


def table(head: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a table, and an empty one behind it."""
    yield f"| {head} |\n|{'---|' * (head.count(' | ') + 1)}"
    yield from (f"| {' | '.join(cell(str(each)) for each in row)} |" for row in rows)
    yield ""


def named(rows: Iterable[tuple[str, object]]) -> Iterator[tuple[object, ...]]:
    """Rows of a name, as code, and what stands beside it."""
    yield from ((f"`{name}`", *(rest if isinstance(rest, tuple) else (rest,))) for name, rest in rows)


def options() -> Iterator[str]:
    """The command line, as its parser knows it."""
    rows = []
    for action in parser().options:
        name = ", ".join(action.option_strings) or action.dest
        value = f" {action.metavar}" if action.metavar and action.option_strings else ""
        rows.append((f"`{name}{value}`", (action.help or "").replace("%(default)s", str(action.default))))
    yield "## Options\n"
    yield from table("option | meaning", rows)


def results() -> Iterator[str]:
    """The tables of a result: reasons of the cycle stack, units, metrics, counters."""
    yield "## Where the cycles went\n"
    yield f"The table `stack` divides the issue slots of every SM and launch. {stack.RULE}\n"
    yield from table("reason | what the warp waits for", named(stack.MEANINGS.items()))
    yield STALLS_TEXT
    yield "## How much of each unit was used\n\nThe table `utilisation`: used / capacity, both in the measure.\n"
    yield from table("unit | measure | used / capacity", named(UTILISATION.items()))
    yield "## Metrics\n\nIn `summary.json`, each with its unit, kind and definition.\n"
    none = {name: np.zeros(1, np.int64) for name in rt_unit_state.COUNTERS}
    of_rays = ((name, found) for name, _, *found in rt_metrics(none, np.zeros(1, np.int64), 1, 1, 0))
    metrics = [*METRICS.items(), *((name, tuple(found)) for name, found in of_rays)]
    yield from table("metric | unit | kind | definition", named(metrics))
    yield "## Counters\n\nIn the table `counters` per launch and unit, in `timeline` per interval.\n"
    rows = [(unit, f"`{name}`", *counter) for unit, found in COUNTERS.items() for name, counter in [
        *found.items(), *((f"{prefix}*", counter) for (of, prefix), counter in FAMILIES.items() if of == unit)
    ]]  # fmt: skip
    yield from table("unit | counter | measure | definition", rows)


def shared() -> Iterator[str]:
    """Attribution of counters to kernels that run side by side, and the counters that have none."""
    yield SHARED_TEXT + "\n".join(f"- {unit}: `{'`, `'.join(names)}`" for unit, names in NOT_SHARED.items()) + "\n"


def sharing() -> Iterator[str]:
    """Classes of work and the values of every partition."""
    yield SHARING_TEXT
    rows = []
    for name in rules.names():
        text = config.read_text(rules.FOLDER / f"{name}.toml")
        for field in dataclasses.fields(rules.RULES[text.values["rule"]].Spec):
            source = config.cite(text.comments.get(field.name, ""), r"[\1#\2](sources/\1.md#\2)")
            meaning = field.metadata["doc"]
            rows.append(
                (f"`{name}`", f"`{field.name}`", text.values[field.name], field.metadata["unit"], meaning, source)
            )
    yield from table("partition | key | value | unit | meaning | source", rows)


def shipped() -> list[str]:
    """The descriptions that come with the package, the default first."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != "rtx2060", name))


def descriptions() -> Iterator[str]:
    """Every option of a GPU description: unit, meaning, its value in each shipped description, source in the first."""
    names = [name for name in shipped() if LIKE not in config.read_text(find(name)).values]
    texts = [read_description(name) for name in names]
    yield DESCRIPTION_TEXT
    for section, spec in ((field.name, field.type) for field in dataclasses.fields(Gpu)):
        if isinstance(spec, type) and dataclasses.is_dataclass(spec):
            yield f"### {section}\n\n{cell((inspect.getdoc(spec) or '').splitlines()[0])}\n"
            fields = (field for field in dataclasses.fields(spec) if not dataclasses.is_dataclass(field.type))
            rows = [option(section, field, texts) for field in fields]
            yield from table(f"key | unit | meaning | {' | '.join(names)} | source", rows)
    yield from liked()


def liked() -> Iterator[str]:
    """Descriptions like another: the values that any of them gives, of all of them."""
    own = {name: config.read_text(find(name)) for name in shipped()}
    like = {name: text.values.pop(LIKE) for name, text in own.items() if LIKE in text.values}
    gpus = {name: read_description(name) for name in like}
    keys = dict.fromkeys(key for name in like for key in own[name].comments if key not in ("name", LIKE))
    rows = []
    for key in keys:
        section, field = key.split(".")
        found = dict.fromkeys(text.comments[key] for text in gpus.values())
        source = config.cite("; ".join(found), r"[\1#\2](sources/\1.md#\2)")
        rows.append([f"`{key}`", *(text.values[section][field] for text in gpus.values()), source])
    yield "### Descriptions like another\n"
    yield f"{'; '.join(f'`{name}` is like `{base}`' for name, base in like.items())}. They differ in:\n"
    yield from table(f"key | {' | '.join(gpus)} | source", rows)


def option(section: str, field: Any, texts: list[config.Text]) -> list[str]:
    """Cells of an option of a section."""
    key, choices = f"{section}.{field.name}", field.metadata["choices"]
    meaning = field.metadata["doc"] + (f" ({', '.join(choices)})" if choices else "")
    source = config.cite(texts[0].comments.get(key, ""), r"[\1#\2](sources/\1.md#\2)")
    return [f"`{key}`", field.metadata["unit"], meaning, *(text.values[section][field.name] for text in texts), source]


def derived() -> Iterator[str]:
    """The values that follow from a description."""
    gpu, rows = load("rtx2060"), []
    for path, part in [("", gpu), *((f"{f.name}.", getattr(gpu, f.name)) for f in dataclasses.fields(gpu))]:
        for key, member in inspect.getmembers(type(part), lambda member: isinstance(member, property)):
            if not hasattr(getattr(part, key), "_fields"):  # a state is no value
                rows.append((f"`{path + key}`", getattr(part, key), " ".join((member.__doc__ or "").split())))
    yield "### Derived\n"
    yield from table("value | rtx2060 | meaning", rows)


def gaps() -> Iterator[str]:
    """The gaps between DRAM commands."""
    specs = [load(name).dram for name in shipped()]
    yield "### DRAM commands\n\nLeast ticks from one command to another.\n"
    rows = ((gap.name, gap.meaning, *(gap.ticks(spec) for spec in specs)) for gap in GAPS.values())
    yield from table(f"gap | meaning | {' | '.join(shipped())}", rows)


def cell(text: str) -> str:
    """A text inside a table."""
    return text.replace("|", "\\|").replace("``", "`")


def reference_options() -> Iterator[str]:
    """Every option that Accel-Sim registers, and how it is read."""
    yield REFERENCE_TEXT
    yield from table("option | here | registered in", named(reference.rows()))
