"""Wavefront OBJ files: their faces as one mesh, each with the material that its file's libraries describe.

Source: Wavefront's Advanced Visualizer manual, appendix B1 (v, vt, vn, f: numbers count from 1, negative ones from the
last one before the face; usemtl, mtllib). Groups and lines are not read.
"""

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import OBJ_BYTES

FEWEST_CORNERS = 3
MOST_NUMBER = 1 << 31
LONGEST_LINE = 1 << 20


class Materials(NamedTuple):
    """Materials of libraries.

    numbers      of materials by name; ``default`` for a face that names none of them.
    is_mapped    whether any needs texture coordinates.
    """

    numbers: dict[str, int]
    default: int
    is_mapped: bool


class ObjFile(NamedTuple):
    """Vertices that faces use, float64[n, 3]; their normals, float64[n, 3], and texture coordinates, float64[n, 2], top
    to bottom, or None; triangles, uint32[m, 3], in the order of the file; and their materials, uint16[m]."""

    vertices: NDArray[np.float64]
    normals: NDArray[np.float64] | None
    uv: NDArray[np.float64] | None
    triangles: NDArray[np.uint32]
    material: NDArray[np.uint16]


@dataclass
class _Read:
    """Lines read so far. ``uses`` are materials and the corner from which on each holds."""

    vertices: "array[float]" = field(default_factory=lambda: array("d"))
    coordinates: "array[float]" = field(default_factory=lambda: array("d"))
    normals: "array[float]" = field(default_factory=lambda: array("d"))
    corners: "array[int]" = field(default_factory=lambda: array("i"))
    uses: list[tuple[int, str]] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)

    def take(self, words: list[bytes]) -> None:
        """Read a line; ``ValueError`` for a wrong one."""
        keyword = words[0] if words else b""
        if keyword == b"v":
            self.vertices.extend(_three(words))
        elif keyword == b"f":
            self._add_face(words[1:])
        elif keyword == b"vn":
            self.normals.extend(_three(words))
        elif keyword == b"vt":
            u, v = (*map(float, words[1:3]), 0.0)[:2]
            self.coordinates.extend((u, 1.0 - v))
        elif keyword in (b"usemtl", b"mtllib"):
            name = b" ".join(words[1:]).decode("utf-8", "replace")
            if keyword == b"usemtl":
                self.uses.append((len(self.corners), name))
            else:
                self.libraries.append(name)

    def _add_face(self, words: list[bytes]) -> None:
        """Append the triangles of a face: vertex, texture coordinate and normal of each corner, -1 for none."""
        counts = (len(self.vertices) // 3, len(self.coordinates) // 2, len(self.normals) // 3)
        given = []
        for word in words:
            vertex, _, rest = word.partition(b"/")
            coordinate, _, normal = rest.partition(b"/")
            given.append(
                (
                    _place(vertex, counts[0]),
                    _from_0(int(coordinate), counts[1]) if coordinate else -1,
                    _place(normal, counts[2]) if normal else -1,
                )
            )
        if len(given) >= FEWEST_CORNERS:
            for before, after in pairwise(given[1:]):
                self.corners.extend((*given[0], *before, *after))


def read_obj(path: Path, look_at: Callable[[list[str]], Materials]) -> ObjFile:
    """The faces of a file; polygons are fans, a vertex with several normals or texture coordinates is several.

    look_at   describes the materials of the libraries that the file names.

    Raises ``UserError`` naming the line.
    """
    OBJ_BYTES.check(path.stat().st_size, "its length", file=path)
    read = _Read()
    held: list[bytes] = []  # what goes on in the next line
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if len(held) + len(line) > LONGEST_LINE:
                raise UserError(f"{path}:{number}: a line must be of at most {LONGEST_LINE} bytes")
            if line.rstrip().endswith(b"\\"):
                held += line.rstrip()[:-1].split()
                held.append(b"")
                continue
            words, held = [word for word in held if word] + line.split() if held else line.split(), []
            try:
                read.take(words)
            except (ValueError, OverflowError) as error:
                raise UserError(f"{path}:{number}: {error}") from None
    materials = look_at(list(dict.fromkeys(read.libraries)))
    return _made(path, read, materials)


def _made(path: Path, read: _Read, materials: Materials) -> ObjFile:
    corners = np.frombuffer(read.corners, np.int32).reshape(-1, 3)
    vertices, normals = (np.frombuffer(values).reshape(-1, 3) for values in (read.vertices, read.normals))
    uv = np.frombuffer(read.coordinates).reshape(-1, 2)
    if not materials.is_mapped:
        corners = corners * np.array([1, 0, 1], np.int32) - np.array([0, 1, 0], np.int32)
    tables = {"vertex": vertices, "texture coordinate": uv, "normal": normals}
    for column, (name, table) in enumerate(tables.items()):
        numbers = corners[:, column]
        if len(corners) and ((found := int(numbers.max())) >= len(table) or (found := int(numbers.min())) < -1):
            raise UserError(f"{path}: a {name} number must be at most {len(table)}, found {found + 1}")
    uses = [materials.default, *(materials.numbers.get(name, materials.default) for _, name in read.uses)]
    ends = [*(corner // 9 for corner, _ in read.uses), len(corners) // 3]
    material = np.repeat(np.array(uses, np.uint16), np.diff(ends, prepend=0))
    chosen, places = _distinct(corners.astype(np.int64), [len(table) for table in tables.values()])
    has_normals = bool((corners[:, 2] >= 0).any())
    return ObjFile(
        vertices[chosen[:, 0]],
        _rows(normals, chosen[:, 2]) if has_normals else None,
        _rows(uv, chosen[:, 1]) if materials.is_mapped else None,
        places.astype(np.uint32).reshape(-1, 3),
        material,
    )


def _distinct(used: NDArray[np.int64], counts: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows of int64[n, 3] numbers from -1 on, in order, and each row's place there."""
    if len(used) and (used[:, 1:] == -1).all():  # one number a corner: no sorting
        is_used = np.zeros(counts[0], bool)
        is_used[used[:, 0]] = True
        rows = np.flatnonzero(is_used)
        none = np.full_like(rows, -1)
        return np.stack([rows, none, none], axis=1), np.cumsum(is_used)[used[:, 0]] - 1
    step, wide = counts[2] + 1, counts[1] + 1
    pairs, places = np.unique((used[:, 0] * wide + used[:, 1] + 1) * step + used[:, 2] + 1, return_inverse=True)
    rest, normal = np.divmod(pairs, step)
    vertex, coordinate = np.divmod(rest, wide)
    return np.stack([vertex, coordinate - 1, normal - 1], axis=1), places


def _rows(table: NDArray[np.float64], numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Rows of a table by number; zeros for -1."""
    padded = np.vstack([table, np.zeros((1, table.shape[1]))])
    return padded[numbers]


def _three(words: list[bytes]) -> "tuple[float, float, float]":
    x, y, z = map(float, words[1:4])
    return x, y, z


def _place(word: bytes, count: int) -> int:
    """A number of a file from 0 on: 1 is the first, -1 the last of the ``count`` before the face."""
    number = int(word)
    if number == 0 or number < -count or number >= MOST_NUMBER:
        raise ValueError(f"a number of a face must be from 1 on, or from -{count} to -1; found {word[:20].decode()}")
    return _from_0(number, count)


def _from_0(number: int, count: int) -> int:
    return number - 1 if number > 0 else count + number
