"""Which scenes there are: the procedural ones and the packs of the data folder, with their sizes."""

from pathlib import Path
from typing import NamedTuple

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.text import parse_json, read_text
from rayplay.tracer.scenes.resolve import PROCEDURAL, data_folder, load


class Entry(NamedTuple):
    """A scene that can be named on the command line; ``triangles`` are counted once, ``instanced`` as placed."""

    name: str
    triangles: int
    instanced: int
    spheres: int
    note: str


def catalogue() -> list[Entry]:
    """All scenes by name; a pack is listed from its JSON alone, without reading its mesh."""
    packs = sorted((data_folder() / "scenes").glob("*.json"))
    entries = [_pack_entry(path) for path in packs if path.stem not in PROCEDURAL]
    return sorted([*entries, *(_generated_entry(name) for name in PROCEDURAL)])


def _generated_entry(name: str) -> Entry:
    scene = load(name)
    note = (PROCEDURAL[name].__doc__ or "").partition(".")[0].replace("``", "")
    return Entry(name, scene.unique_triangles, scene.instanced_triangles, len(scene.spheres), " ".join(note.split()))


def _pack_entry(path: Path) -> Entry:
    try:
        raw = parse_json(read_text(path), path)
        stats = raw["stats"]
        counts = (int(stats["triangles_unique"]), int(stats["triangles_instanced"]), int(stats["spheres"]))
        return Entry(path.stem, *counts, str(raw["stands_for"]).partition(" (")[0].partition(":")[0])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: must be a scene pack with stats and stands_for: {error!r}") from None
