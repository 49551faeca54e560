"""Inputs of a sweep as traces: digest and size of each, or the command that renders it."""

from typing import Any, NamedTuple

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.place.location import location
from rayplay.sweep.plan.costs import Size, size_of
from rayplay.sweep.space.points import Input
from rayplay.sweep.store.store import Store
from rayplay.zatel.replays.result_cache import trace_identity

UNKNOWN = Size(0.5, 4.0, 300_000)  # of a trace that is not rendered yet, for the plan's estimate
SIZE_PER_RAY = 8.0e-6  # million rows of a primary ray, sample and bounces included: path tracing of four scenes


class Known(NamedTuple):
    """An input as far as it is known; it has no ``digest`` until its scene is rendered."""

    input: Input
    path: str
    digest: str | None
    size: Size


def known(given: Input, store: Store) -> Known:
    """Digest and size of an input. ``FormatError`` for a given trace that is missing or damaged."""
    path = given.path if given.scene is None else store.trace_place(given.path)
    if given.scene is not None and not (location(path) / "manifest.json").is_file():
        return Known(given, path, None, _guessed(given))
    trace = open_trace(location(path))
    if not trace.rows("warps"):
        raise FormatError("must have warps, to be replayed", file=path)
    return Known(given, path, trace_identity(trace), size_of(trace))


def _guessed(given: Input) -> Size:
    assert given.scene is not None
    width, _, height = given.scene.size.partition("x")
    if not (width.isdigit() and height.isdigit()):
        return UNKNOWN
    rows = SIZE_PER_RAY * int(width) * int(height) * given.scene.samples
    return Size(rows, 8.0 * rows, int(rows * 0.5e6))


def render_task(given: Input, store: Store) -> dict[str, Any]:
    """The task that renders a scene into its place in the store."""
    scene = given.scene
    assert scene is not None
    options = {name: value for name, value in vars(scene).items() if name != "scene" and value is not None}
    return {
        "kind": "render", "key": f"trace-{given.path.removesuffix('.trace')}", "store": store.place,
        "subject": scene.scene, "out": store.trace_place(given.path), "options": options | {"seed": given.seed},
        "about": {"scene": scene.scene, "seed": given.seed, **options},
    }  # fmt: skip
