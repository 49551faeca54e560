"""Material libraries of OBJ files: colours, emission, glass, and maps of colour, alpha and emission.

Ke makes a light, illum 3, 5 and 8 a mirror, illum 4, 6, 7 and 9 or d below a half glass of index Ni;
everything else is matte, of colour Kd.
Source: Wavefront's Advanced Visualizer manual, appendix B, MTL.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import MESH_TEXT_BYTES
from rayplay.tracer.scenes.description import Color, Material, Picture, triple
from rayplay.tracer.scenes.look import GREY, Look
from rayplay.tracer.scenes.obj import Materials
from rayplay.tracer.scenes.pictures import read_texels

MIRRORS, GLASSES = (3, 5, 8), (4, 6, 7, 9)
COLORS = ("Kd", "Ke")
NUMBERS = ("Ni", "Ns", "illum", "d", "Tr")
MAPS = ("map_Kd", "map_Ke", "map_d")
OTHER_MAPS = {
    "map_Ks": "specular maps", "map_Ns": "specular maps", "map_Ka": "ambient maps", "map_bump": "normal maps",
    "map_Bump": "normal maps", "bump": "normal maps", "norm": "normal maps", "disp": "displacement maps",
    "refl": "reflection maps",
}  # fmt: skip
OPTIONS = {"-mm": 2, "-o": 3, "-s": 3, "-t": 3}
"""Arguments of a map's options; every other one has one. Up to three numbers may be fewer."""
HALF = 0.5


@dataclass
class _Entry:
    """A material as it is written."""

    name: str
    colors: dict[str, Color] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    maps: dict[str, str] = field(default_factory=dict)


def read_libraries(obj: Path, names: list[str], look: Look) -> Materials:
    """Add the materials of the libraries that an OBJ file names, then grey, to ``look``.

    A library or picture that is not there is left out and counted; both must lie in the file's own folder. Raises
    ``UserError`` naming the line of a library that is wrong, and for a damaged picture.
    """
    numbers: dict[str, int] = {}
    pictures = _Pictures(obj.parent, look)
    for name in names:
        library = _beside(obj.parent, name)
        if library is None:
            look.unused[f"the library {name[:50]}, which is not there"] += 1
            continue
        for entry in _entries(library, look):
            if entry.name not in numbers:
                numbers[entry.name] = len(look.materials)
                look.materials.append(_material(entry, pictures))
    look.materials.append(GREY)
    is_mapped = any(material.is_textured or material.alpha_texture >= 0 for material in look.materials)
    return Materials(numbers, len(look.materials) - 1, is_mapped)


def library_files(obj: Path) -> list[Path]:
    """The libraries and pictures beside an OBJ file that it is read with."""
    found: list[Path] = []
    with obj.open("rb") as file:
        words = [line.split()[1:] for line in file if line.lstrip().startswith(b"mtllib")]
    for name in dict.fromkeys(b" ".join(each).decode("utf-8", "replace") for each in words):
        library = _beside(obj.parent, name)
        if library is not None:
            maps = [name for entry in _entries(library, Look()) for name in entry.maps.values()]
            found += [library, *(each for name in maps if (each := _beside(obj.parent, name)))]
    return list(dict.fromkeys(found))


def _entries(library: Path, look: Look) -> Iterator[_Entry]:
    MESH_TEXT_BYTES.check(library.stat().st_size, "its length", file=library)
    entry: _Entry | None = None
    for number, line in enumerate(library.read_text("utf-8", "replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if words[:1] == ["newmtl"]:
            if entry is not None:
                yield entry
            entry = _Entry(" ".join(words[1:]))
        elif words and entry is not None:
            try:
                _take(entry, words, look)
            except ValueError as error:
                raise UserError(f"{library}:{number}: {error}") from None
    if entry is not None:
        yield entry


def _take(entry: _Entry, words: list[str], look: Look) -> None:
    keyword = words[0]
    if keyword in COLORS:
        values = [float(word) for word in words[1:4]]
        entry.colors[keyword] = triple(values * 3 if len(values) == 1 else values)  # one number is a grey
    elif keyword in NUMBERS:
        entry.numbers[keyword] = float(words[1] if len(words) > 1 else "nothing")
    elif keyword in MAPS:
        entry.maps[keyword] = _file_name(words[1:])
    elif keyword in OTHER_MAPS:
        look.unused[OTHER_MAPS[keyword]] += 1


def _file_name(words: list[str]) -> str:
    """The name behind a map's options."""
    left = list(words)
    while len(left) > 1 and left[0].startswith("-"):
        most = OPTIONS.get(left.pop(0), 1)
        taken = 0
        while len(left) > 1 and taken < most and (most == 1 or _is_number(left[0])):
            left.pop(0)
            taken += 1
    return " ".join(left)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _beside(folder: Path, name: str) -> Path | None:
    """A file of the folder or below it; None where it is not there."""
    if not name or "\0" in name or len(name) > 1000:
        return None
    file = (folder / name.replace("\\", "/")).resolve()
    return file if file.is_relative_to(folder.resolve()) and file.is_file() else None


class _Pictures:
    """Pictures of maps, each kept once."""

    def __init__(self, folder: Path, look: Look) -> None:
        self.folder, self.look = folder, look
        self.numbers: dict[tuple[str, str], int] = {}

    def texels(self, name: str) -> NDArray[np.uint8] | None:
        """uint8[height, width, 4] of a map; None where its file is not there."""
        file = _beside(self.folder, name) if name else None
        if file is None:
            self.look.unused["pictures that are not there"] += bool(name)
            return None
        return read_texels(file, str(file))

    def number(self, colour: str, alpha: str = "") -> int:
        """Number of the picture with a map's colours and another map's alpha; -1 where neither is there."""
        if (colour, alpha) not in self.numbers:
            made, cut = self.texels(colour), self.texels(alpha)
            if made is None and cut is not None:
                made = np.full_like(cut, 255)
            if made is not None and cut is not None:
                made = _with_alpha(made, cut)
            self.numbers[colour, alpha] = -1 if made is None else self.look.picture(Picture(colour or alpha, made))
        return self.numbers[colour, alpha]


def _with_alpha(colour: NDArray[np.uint8], alpha: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture with another's alpha, or with its grey where that is opaque; the smaller is magnified."""
    mask = alpha[:, :, 3] if alpha[:, :, 3].min() < 255 else alpha[:, :, 0]
    height, width = np.maximum(colour.shape[:2], mask.shape)
    rows, columns = np.arange(height)[:, None], np.arange(width)
    made = colour[rows * len(colour) // height, columns * colour.shape[1] // width].copy()
    made[:, :, 3] = mask[rows * len(mask) // height, columns * mask.shape[1] // width]
    return made


def _material(entry: _Entry, pictures: _Pictures) -> Material:
    look, illum = pictures.look, entry.numbers.get("illum", 2)
    emission = entry.colors.get("Ke", (0.0, 0.0, 0.0))
    shines_by_map = any(emission) and "map_Ke" in entry.maps
    opacity = 1.0 if "map_d" in entry.maps else entry.numbers.get("d", 1.0 - entry.numbers.get("Tr", 0.0))
    is_glass = illum in GLASSES or opacity < HALF
    model = "dielectric" if is_glass else "metallic" if illum in MIRRORS else "lambertian"
    if any(emission) and not shines_by_map:
        model = "diffuse_light"
    is_plain = model in ("dielectric", "diffuse_light")
    base = -1 if is_plain else pictures.number(entry.maps.get("map_Kd", ""), entry.maps.get("map_d", ""))
    alpha = look.pictures[base].texels[:, :, 3] if base >= 0 else np.full((1, 1), 255, np.uint8)
    look.unused["transparency of less than a half"] += not is_plain and opacity < 1
    return Material(
        entry.name,
        model,
        albedo=entry.colors.get("Kd", (1.0, 1.0, 1.0) if base >= 0 else GREY.albedo),
        ior=entry.numbers.get("Ni", 1.5),
        emission=emission,
        alpha_texture=look.cut_out(entry.name, alpha) if alpha.min() < 255 * HALF else -1,
        base_color=base,
        emissive=pictures.number(entry.maps["map_Ke"]) if shines_by_map else -1,
    )
