"""Points of a sweep: every input on every GPU, policy, model, method, seed and design."""

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

from rayplay.formats.guard.digest import PACKAGES, file_digest, json_digest, source_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import trace_name
from rayplay.sweep.space.axes import Values, design_count, designs
from rayplay.sweep.space.file import MOST_POINTS, Scene, Sweep

TRACER = ("tracer", "ptx", "formats/schema")  # sources that decide a rendered trace
DIGITS = 16


class Input(NamedTuple):
    """A trace, given or rendered.

    name   for tables: of the trace, or of the scene with its size.
    path   of the trace; of a scene below the store's ``traces``, by the digest of what decides it.
    scene  to render where the trace is missing, with its seed; ``None`` of a given trace.
    """

    name: str
    path: str
    scene: Scene | None
    seed: int


class Point(NamedTuple):
    """One evaluation. ``input`` and ``design`` are numbers in the lists of ``Space``."""

    input: int
    gpu: str
    plugin: str
    model: str
    method: str
    seed: int
    design: int


class Space(NamedTuple):
    """All points of a sweep, in the order of its file; the last ``twins`` are of the base with a latency off."""

    sweep: Sweep
    inputs: list[Input]
    designs: list[Values]
    points: list[Point]
    twins: int


def space(sweep: Sweep) -> Space:
    """The points of a sweep; ``UserError`` for more than a million, or an axis that cannot be."""
    lists = (sweep.gpus, sweep.plugins, sweep.models, sweep.methods)
    seeds = max(len(sweep.seeds), 1)  # a scene is rendered with each, and replayed with its own
    count = design_count(sweep.design) * (len(sweep.traces) + len(sweep.scenes)) * seeds
    for each in lists:
        count *= max(len(each), 1)
    if count > MOST_POINTS:
        raise UserError(f"a sweep must have at most {MOST_POINTS:,} points, not {count:,}")
    inputs, made = list(_inputs(sweep)), designs(sweep.design)
    points = [
        Point(place, gpu, plugin, model, method, seed, number)
        for place, given in enumerate(inputs)
        for gpu, plugin, model, method, seed, number in product(*lists, sweep.seeds, range(len(made)))
        if given.scene is None or seed == given.seed
    ]
    twins = list(_twins(sweep, inputs, made)) if sweep.compare.noise else []
    return Space(sweep, inputs, made, points + twins, len(twins))


def base_of(sweep: Sweep, made: list[Values]) -> int:
    """Number of the design that others are compared with: the first that has the values of ``compare.base``."""
    wanted = sweep.compare.base.items()
    for number, values in enumerate(made):
        if all(values.get(key) == value for key, value in wanted):
            return number
    raise UserError(f"compare.base: a design must have the values {dict(wanted)}, but none has")


def _twins(sweep: Sweep, inputs: list[Input], made: list[Values]) -> Iterator[Point]:
    """Points of the base with a latency, or its start, off by some cycles; their designs are added to ``made``."""
    from rayplay.replay.gpu.description import load
    from rayplay.replay.unit.schema import literal
    from rayplay.zatel.changes.noise import OFFSETS

    base = dict(made[base_of(sweep, made)])
    for gpu in sweep.gpus:
        known = load(gpu, [f"{key}={literal(value)}" for key, value in base.items()])
        for l2, dram, start in OFFSETS:
            off = {
                "l2.latency_cycles": known.l2.latency_cycles + l2,
                "dram.latency_cycles": max(0, known.dram.latency_cycles + dram),
                "sm.kernel_launch_cycles": known.sm.kernel_launch_cycles + start,
            }  # fmt: skip
            made.append(base | off)
            for place, given in enumerate(inputs):
                seed = given.seed if given.scene is not None else sweep.seeds[0]
                yield Point(place, gpu, sweep.plugins[0], sweep.models[0], sweep.methods[0], seed, len(made) - 1)


def _inputs(sweep: Sweep) -> Iterator[Input]:
    for given in sweep.traces:
        path = trace_name(given)
        yield Input(path.name.partition(".")[0], str(path), None, 0)
    for scene in sweep.scenes:
        for seed in sweep.seeds:
            name = f"{_short(scene.scene)}-{scene.workload}-{scene.size}-{scene.samples}"
            name += f"-seed{seed}" if len(sweep.seeds) > 1 else ""
            yield Input(name, f"{name}-{recipe(scene, seed)[:DIGITS]}.trace", scene, seed)


def _short(scene: str) -> str:
    return scene.rpartition("/")[2].partition(".")[0].replace(":", "-")


def recipe(scene: Scene, seed: int) -> str:
    """Digest of all that decides a rendered trace: scene, its file, options, seed, and the tracer's sources."""
    file = location(scene.scene)
    content = file_digest(file) if file.is_file() else None
    options = {name: value for name, value in vars(scene).items() if value is not None}
    values: dict[str, Any] = options | {"seed": seed, "file": content}
    return json_digest([values, _tracer()])


def _tracer() -> str:
    if not _TRACER:
        _TRACER.append(source_digest(TRACER, PACKAGES))
    return _TRACER[0]


_TRACER: list[str] = []
