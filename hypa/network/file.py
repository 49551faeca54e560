"""Read the description of a neural network and write out its blocks: a list of layers, each knowing what it reads."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import build, check_choice
from rayplay.formats.guard.text import confined, read_toml
from rayplay.hypa.network.layers import INPUT_COUNTS, LARGEST_LENGTH, OPERATIONS, Layer

IMAGE = "in"
"""What the first layer of a network, or of a block, may call its input."""
IMAGE_NUMBER = -1
DEEPEST_BLOCK = 8
MOST_LAYERS = 20_000
NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Placed:
    """A layer of the written-out network.

    name      unique; layers of a block follow its name and a slash.
    sources   numbers of the layers it reads, ``IMAGE_NUMBER`` for the image.
    place     where it stands in the file, for errors.
    """

    operation: str
    settings: Layer
    name: str
    sources: tuple[int, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Network:
    """A written-out network: its PTX file, the image's (height, width, channels), and its layers in order."""

    name: str
    path: Path
    program: Path
    image: tuple[int, int, int]
    layers: tuple[Placed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Layers that occur again; a text "$NAME" in them stands for the argument NAME."""

    layers: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A step that stands for the layers of ``block``, ``repeat`` times one behind the other; ``set``: its arguments."""

    block: str
    name: str = ""
    inputs: tuple[str, ...] = ()
    repeat: int = 1
    set: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFile:
    """A whole file, as it stands."""

    program: str
    image: tuple[int, ...]
    layers: tuple[dict[str, Any], ...]
    block: dict[str, Block] = field(default_factory=dict)


def read_network(path: Path) -> Network:
    """Read a description; ``UserError`` names the file, the table, what must hold and the value found."""
    raw = read_toml(path)
    file: NetworkFile = build(NetworkFile, raw, str(path))
    if len(file.image) != 3 or not all(1 <= length <= LARGEST_LENGTH for length in file.image):
        raise UserError(f"{path}: image: must be height, width and channels, found {list(file.image)}")
    layers = _Writer(file, path).all_layers()
    height, width, channels = file.image
    return Network(path.stem, path, confined(path, file.program, "program"), (height, width, channels), layers)


@dataclass(frozen=True, slots=True)
class _Scope:
    """Scope of steps: the names they may use, what comes before their own, and the blocks they are in."""

    numbers: dict[str, int]
    prefix: str = ""
    within: tuple[str, ...] = ()
    is_single: bool = False  # a step alone in its block, which then goes by the block's name


class _Writer:
    """Writes blocks out: ``layers`` grows by one after the other."""

    def __init__(self, file: NetworkFile, path: Path) -> None:
        self.file = file
        self.path = path
        self.layers: list[Placed] = []
        self.names: set[str] = set()  # of layers and uses, with their prefixes

    def all_layers(self) -> tuple[Placed, ...]:
        self.write(self.file.layers, f"{self.path}: layers", IMAGE_NUMBER, _Scope({IMAGE: IMAGE_NUMBER}))
        return tuple(self.layers)

    def write(self, steps: tuple[dict[str, Any], ...], place: str, source: int, scope: _Scope) -> int:
        """Write out ``steps``, whose input is layer ``source``; the number of the last layer."""
        if not steps:
            raise UserError(f"{place}: must have at least one layer")
        for number, raw in enumerate(steps):
            here = f"{place}[{number}]"
            if ("op" in raw) == ("block" in raw):
                raise UserError(f"{here}: must have either the key 'op' or the key 'block'")
            name, source = (self.use if "block" in raw else self.layer)(raw, here, source, scope)
            if name:
                scope.numbers[name] = source
            if len(self.layers) > MOST_LAYERS:
                raise UserError(f"{here}: a network must have at most {MOST_LAYERS} layers")
        return source

    def layer(self, raw: dict[str, Any], place: str, source: int, scope: _Scope) -> tuple[str, int]:
        """Write a layer: its name (perhaps empty) and its number."""
        operation = build(str, raw["op"], f"{place}.op")
        check_choice(operation, OPERATIONS, f"{place}.op")
        keys = {key: value for key, value in raw.items() if key != "op"}
        settings: Layer = build(OPERATIONS[operation], keys, place)
        sources = self.sources(settings.inputs, INPUT_COUNTS.get(operation, (1, 1)), source, scope, place)
        name = self.new_name(settings.name, operation, scope, place)
        self.layers.append(Placed(operation, settings, name, sources, place))
        return settings.name, len(self.layers) - 1

    def new_name(self, name: str, kind: str, scope: _Scope, place: str) -> str:
        """The full name of a step called ``name``; one without a name is called after its kind, and numbered."""
        if name and (name in scope.numbers or not NAME.fullmatch(name)):
            raise UserError(f"{place}.name: must be letters, digits, '_' and '-', and not used before, found {name!r}")
        if scope.is_single and not name:
            return scope.prefix.rstrip("/")
        full, number = scope.prefix + (name or kind), 1
        while full in self.names:
            number += 1
            full = f"{scope.prefix}{name or kind}_{number}"
        self.names.add(full)
        return full

    def sources(
        self, inputs: tuple[str, ...], count: tuple[int, int], source: int, scope: _Scope, place: str
    ) -> tuple[int, ...]:
        """Numbers of the layers that ``inputs`` names."""
        fewest, most = count
        if not inputs and fewest == 1:
            return (source,)
        if not fewest <= len(inputs) <= most:
            wanted = f"{fewest}" if fewest == most else f"at least {fewest}"
            raise UserError(f"{place}.inputs: must name {wanted} of the layers before, found {list(inputs)}")
        for name in inputs:
            check_choice(name, scope.numbers, f"{place}.inputs")
        return tuple(scope.numbers[name] for name in inputs)

    def use(self, raw: dict[str, Any], place: str, source: int, scope: _Scope) -> tuple[str, int]:
        """Write out a block as often as its use says: the use's name and the number of the last layer."""
        use: Use = build(Use, raw, place)
        check_choice(use.block, self.file.block, f"{place}.block")
        if use.block in scope.within or len(scope.within) == DEEPEST_BLOCK:
            raise UserError(
                f"{place}.block: {use.block!r} must not contain itself, or nest deeper than {DEEPEST_BLOCK}"
            )
        if not 1 <= use.repeat <= MOST_LAYERS:
            raise UserError(f"{place}.repeat: must be from 1 to {MOST_LAYERS}, found {use.repeat}")
        name = self.new_name(use.name, use.block, scope, place)
        block = self.file.block[use.block]
        home = f"{self.path}: block.{use.block}.layers"
        used: set[str] = set()
        steps = tuple(_filled(step, use.set, f"{home}[{number}]", used) for number, step in enumerate(block.layers))
        for key in use.set:
            check_choice(key, used, f"{place}.set")
        (source,) = self.sources(use.inputs, (1, 1), source, scope, place)
        for turn in range(use.repeat):
            prefix = f"{name}.{turn + 1}/" if use.repeat > 1 else f"{name}/"
            inner = _Scope({IMAGE: source}, prefix, (*scope.within, use.block), len(steps) == 1)
            source = self.write(steps, home, source, inner)
        return use.name, source


def _filled(value: Any, arguments: dict[str, Any], place: str, used: set[str]) -> Any:
    """``value`` with every "$NAME" replaced by the argument NAME, whose names ``used`` collects."""
    if isinstance(value, dict):
        return {key: _filled(each, arguments, f"{place}.{key}", used) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, arguments, place, used) for each in value]
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    name = value[1:]
    if name not in arguments:
        raise UserError(f"{place}: the use of the block must set {name!r}; it sets {', '.join(arguments) or 'nothing'}")
    used.add(name)
    return arguments[name]
