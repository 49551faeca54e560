"""GPUs of a sweep and their digests, a section at a time, so that 100,000 designs take seconds.

To read and check a description takes four milliseconds. The designs of a sweep share most sections, so a file is read
once, each different section is built once, and only the laws between units are checked for every design.
"""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

from rayplay.formats.guard import strict
from rayplay.formats.guard.digest import canonical, text_digest
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu, load, read_description
from rayplay.replay.plugin.described import with_defaults
from rayplay.replay.plugin.load import Plugin
from rayplay.replay.plugin.load import load as load_plugin
from rayplay.replay.unit.schema import LawError, Place, Text, literal, override


class Gpus:
    """Descriptions by name, plug-in and design."""

    def __init__(self) -> None:
        self._plugins: dict[str, Plugin] = {}
        self._bases: dict[tuple[str, str], Gpu] = {}
        self._texts: dict[tuple[str, str], Text] = {}
        self._sections: dict[tuple[str, str, str, tuple[str, ...]], Any] = {}
        self._digests: dict[int, tuple[Any, str]] = {}

    def plugin(self, name: str) -> Plugin | None:
        """The plug-in of a name, loaded once; None without one."""
        if not name:
            return None
        if name not in self._plugins:
            self._plugins[name] = load_plugin(name)
        return self._plugins[name]

    def built(self, name: str, plugin: str, values: Mapping[str, Any]) -> Gpu:
        """The GPU with a design's values; ``UserError`` names the value that breaks a rule."""
        base = self._base(name, plugin)
        by_section: dict[str, list[str]] = {}
        for key, value in values.items():
            by_section.setdefault(key.partition(".")[0], []).append(f"{key}={literal(value)}")
        try:
            changed = {part: self._section(name, plugin, part, tuple(given)) for part, given in by_section.items()}
            return dataclasses.replace(base, **changed)
        except (UserError, LawError, TypeError):  # sections that are legal together alone, or an illegal value
            return load(name, [each for given in by_section.values() for each in given], self.plugin(plugin))

    def digest(self, gpu: Gpu) -> str:
        """Digest of every value but the GPU's name, by the digests of its sections."""
        parts = {}
        for field in dataclasses.fields(gpu):
            if field.name != "name":
                parts[field.name] = self._digest_of(getattr(gpu, field.name))
        return text_digest("".join(f"{name}:{found}\n" for name, found in sorted(parts.items())))

    def _base(self, name: str, plugin: str) -> Gpu:
        if (name, plugin) not in self._bases:
            self._bases[name, plugin] = load(name, (), self.plugin(plugin))
        return self._bases[name, plugin]

    def _section(self, name: str, plugin: str, section: str, given: tuple[str, ...]) -> Any:
        key = (name, plugin, section, given)
        if key not in self._sections:
            self._sections[key] = self._built_section(name, plugin, section, given)
        return self._sections[key]

    def _built_section(self, name: str, plugin: str, section: str, given: tuple[str, ...]) -> Any:
        """A section with values of its own, checked as the whole description is."""
        was = getattr(self._base(name, plugin), section, None)
        if not dataclasses.is_dataclass(was):
            return getattr(load(name, given, self.plugin(plugin)), section)
        text = self._text(name, plugin)
        own = Text(text.name, {section: copy.deepcopy(text.values.get(section, {}))}, text.lines, text.comments)
        changed = override(own, list(given))
        return strict.build(type(was), changed.values[section], Place(text.name, section, text=changed))

    def _text(self, name: str, plugin: str) -> Text:
        if (name, plugin) not in self._texts:
            text, loaded = read_description(name), self.plugin(plugin)
            self._texts[name, plugin] = text if loaded is None else with_defaults(text, loaded)
        return self._texts[name, plugin]

    def _digest_of(self, section: Any) -> str:
        """Digest of a section, which is kept, so that its identity stays its own."""
        held = self._digests.get(id(section))
        if held is None:
            plain: Any = section
            if dataclasses.is_dataclass(section) and not isinstance(section, type):
                plain = dataclasses.asdict(section)
            held = section, text_digest(canonical(plain))
            self._digests[id(section)] = held
        return held[1]
