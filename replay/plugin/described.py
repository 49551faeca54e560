"""A plug-in in the description of a GPU: its parameters as the section ``[policy.NAME]``, and its digest."""

import dataclasses
from functools import cache
from typing import Any

from rayplay.replay.plugin.load import Plugin, load_text
from rayplay.replay.unit import schema
from rayplay.replay.unit.schema import law, value

SECTION = "policy"


@cache
def described(base: type, digest: str, name: str) -> type:
    """A description like ``base``, of a GPU on whose units a loaded plug-in acts: its attribute ``plugin``."""
    from rayplay.replay.plugin.load import LOADED

    plugin = LOADED[name, digest]

    def check(self: Any) -> None:
        law(self.digest == plugin.digest, f"digest must be that of {plugin.path}, {plugin.digest}, not {self.digest}")

    def reduce(self: Any) -> Any:
        return rebuilt, (base, plugin.path, plugin.source, dataclasses.asdict(self))

    fields: list[tuple[str, type, Any]] = [("digest", str, value("SHA-256", "Of the plug-in's file"))]
    for key, each in plugin.parameters.items():
        kind, least = (str, None) if each.choices else (int, each.minimum)
        fields.append((key, kind, value(each.unit, each.doc, least, each.choices)))
    doc = ((plugin.module.__doc__ or "").strip() or plugin.name).splitlines()[0]
    values = dataclasses.make_dataclass(
        plugin.name, fields, frozen=True, namespace={"__doc__": doc, "__post_init__": check}
    )  # fmt: skip
    section = dataclasses.make_dataclass(
        "Policy", [(plugin.name, values)], frozen=True, namespace={"__doc__": "Policies of plug-ins."}
    )  # fmt: skip
    return dataclasses.make_dataclass(
        base.__name__, [(SECTION, section)], bases=(base,), frozen=True, repr=False,
        namespace={"plugin": plugin, "__reduce__": reduce},
    )  # fmt: skip


def class_with(base: type, plugin: Plugin) -> type:
    """``described`` of a plug-in."""
    return described(base, plugin.digest, plugin.name)


def with_defaults(text: schema.Text, plugin: Plugin) -> schema.Text:
    """A description's text, with the plug-in's digest and the defaults of its parameters where it has no values."""
    values = {"digest": plugin.digest} | {name: each.default for name, each in plugin.parameters.items()}
    sources = {f"{SECTION}.{plugin.name}.{key}": f"plug-in {plugin.name}.py" for key in values}
    return schema.on_top(text, schema.Text(text.name, {SECTION: {plugin.name: values}}, {}, sources))


def values_of(gpu: Any) -> dict[str, Any]:
    """The parameters of a described GPU's plug-in, by name."""
    return dataclasses.asdict(getattr(getattr(gpu, SECTION), gpu.plugin.name))


def rebuilt(base: type, path: str, source: str, values: dict[str, Any]) -> Any:
    """A described GPU in another process."""
    plugin = load_text(path, source)
    return schema.build(class_with(base, plugin), schema.Text(f"GPU {values['name']}", values, {}, {}))
