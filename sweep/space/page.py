"""The keys of a sweep file as a table of docs/sweep.md: ``python -m rayplay.sweep.space.page`` writes it there."""

import dataclasses
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.sweep.space.file import Sweep

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sweep.md"
BEGIN, END = "<!-- keys: written by python -m rayplay.sweep.space.page -->\n", "<!-- end of keys -->\n"
MEANING = {
    "traces": "traces: paths, URLs, or names without suffix",
    "scenes": "scenes to render where their trace is missing; a table each",
    "scenes.scene": "a name of `rayplay scenes`, or a scene file",
    "scenes.workload": "as of `rayplay trace`",
    "scenes.size": "width x height in pixels",
    "scenes.samples": "of each pixel",
    "scenes.bounces": "as of `rayplay trace`",
    "scenes.camera": "as of `rayplay trace`",
    "scenes.record": "as of `rayplay trace`: `distances` for `rt.stack_entries` and policies that ask for them",
    "gpus": "names of `rayplay gpu list`, or description files",
    "plugins": 'policies ([policies.md](policies.md)); `""` is the engine\'s own',
    "models": 'as of `replay --model`; `""` is its default',
    "methods": "`replay` (every metric), `estimate` (a sample, with intervals), `predict` (Zatel)",
    "seeds": "of rendering, and of the samples of `estimate` and `predict`; a replay of a given trace has none",
    "design.grid": "axes of `--set` values, every combination",
    "design.zip": "axes whose nth values go together",
    "design.list": "designs, a table of values each",
    "design.random.count": "designs to draw",
    "design.random.ranges.low": "least value; whole numbers where both ends are",
    "design.random.ranges.high": "largest value",
    "design.random.ranges.scale": "`linear` or `log`",
    "design.random.ranges.choices": "values to choose from, in place of a range",
    "design.random.seed": "of the draw",
    "design.latin": "the same as `random`, as a Latin hypercube: each of `count` parts of every axis has one design",
    "compare.objectives": "metric, key of the GPU or `cost`, with `min` or `max`: the Pareto front",
    "compare.cost": "weights of keys of the GPU: the cost of a design is the sum of value x weight",
    "compare.base": "values of the design that others are compared with; the first without",
    "compare.noise": "also replay the base with latencies off by a cycle, five points a trace: the noise floor",
    "limits.seconds": "of a point; then it has failed",
    "limits.memory_mb": "of a point; also its stated need, beside what others need",
    "estimate.fraction": "part of the CTAs",
    "predict.fraction": "part of the pixels; equation (1) without",
    "predict.factor": "K; the largest without",
    "keep": "`summary`: every metric; `result`: also the whole result of each replay, which `rayplay report` opens",
}


def table() -> str:
    """The table in Markdown."""
    lines = ["| key | default | means |", "|---|---|---|"]
    for name, default in keys(Sweep, ""):
        lines.append(f"| `{name}` | {default} | {MEANING[name]} |")
    return "\n".join(lines) + "\n"


def keys(cls: Any, before: str) -> Iterator[tuple[str, str]]:
    """Dotted name and default of each key, depth first; ``latin`` stands for its own, which are ``random``'s."""
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        name, inner = before + field.name, _table_in(hints[field.name])
        if inner is None or field.name == "latin":
            yield name, _default(field)
            continue
        if before == "" and field.name == "scenes":
            yield name, _default(field)
        yield from keys(inner, f"{name}.")


def _table_in(hint: Any) -> Any:
    """The dataclass in a type, if any."""
    if dataclasses.is_dataclass(hint):
        return hint
    inner = [_table_in(each) for each in typing.get_args(hint) if each not in (types.NoneType, ...)]
    return next((each for each in inner if each is not None), None)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        made = field.default_factory() if field.default_factory is not dataclasses.MISSING else None
        return "required" if made is None else f"`{made}`" if made else "none"
    if field.default in (None, (), ""):
        return "none"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def main() -> None:
    """Write the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
