"""Wavefront OBJ files: their faces as one mesh; materials, groups and texture coordinates are not read.

Source: Wavefront's Advanced Visualizer manual, appendix B1 (v, vn, f: numbers count from 1, negative ones from the last
one before the face).
"""

from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import OBJ_BYTES

FEWEST_CORNERS = 3
MOST_NUMBER = 1 << 31
LONGEST_LINE = 1 << 20


def read_obj(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.uint32]]:
    """float64[n, 3] vertices that faces use, their normals or None, and uint32[m, 3] triangles in the order of the
    file; polygons are fans, a vertex with several normals is several vertices.

    Raises ``UserError`` naming the line.
    """
    OBJ_BYTES.check(path.stat().st_size, "its length", file=path)
    vertices, normals, corners = array("d"), array("d"), array("i")
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
                if words and words[0] in (b"v", b"vn"):
                    x, y, z = map(float, words[1:4])
                    (vertices if words[0] == b"v" else normals).extend((x, y, z))
                elif words and words[0] == b"f":
                    _add_face(corners, words[1:], len(vertices) // 3, len(normals) // 3)
            except (ValueError, OverflowError) as error:
                raise UserError(f"{path}:{number}: {error}") from None
    faces = np.frombuffer(corners, np.int32).reshape(-1, 2)
    for name, column, count in (("vertex", 0, len(vertices) // 3), ("normal", 1, len(normals) // 3)):
        if len(faces) and (found := int(faces[:, column].max())) >= count:
            raise UserError(f"{path}: a {name} number must be at most {count}, found {found + 1}")
    return _used(np.frombuffer(vertices).reshape(-1, 3), np.frombuffer(normals).reshape(-1, 3), faces)


def _used(
    vertices: NDArray[np.float64], normals: NDArray[np.float64], faces: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.uint32]]:
    """The pairs of vertex and normal that corners use, in the order of vertices, and the corners' places there."""
    if not (faces[:, 1] >= 0).any():
        used = np.zeros(len(vertices), bool)
        used[faces[:, 0]] = True
        places = np.cumsum(used, dtype=np.uint32) - np.uint32(1)
        return vertices[used], None, places[faces[:, 0]].reshape(-1, 3)
    pairs, corners = np.unique(faces @ np.array([len(normals) + 1, 1]) + 1, return_inverse=True)
    vertex, normal = np.divmod(pairs, len(normals) + 1)
    chosen = np.where((normal > 0)[:, None], normals[normal - 1], 0.0)
    return vertices[vertex], chosen, corners.astype(np.uint32).reshape(-1, 3)


def _add_face(corners: "array[int]", words: list[bytes], vertices: int, normals: int) -> None:
    """Append the triangles of a face as pairs of vertex and normal, -1 for none; points and lines have none."""
    given = []
    for word in words:
        vertex, _, rest = word.partition(b"/")
        normal = rest.partition(b"/")[2]
        given.append((_place(vertex, vertices), _place(normal, normals) if normal else -1))
    if len(given) >= FEWEST_CORNERS:
        for before, after in pairwise(given[1:]):
            corners.extend((*given[0], *before, *after))


def _place(word: bytes, count: int) -> int:
    """A number of a file from 0 on: 1 is the first, -1 the last of the ``count`` before the face."""
    number = int(word)
    if number == 0 or number < -count or number >= MOST_NUMBER:
        raise ValueError(f"a number of a face must be from 1 on, or from -{count} to -1; found {word[:20].decode()}")
    return number - 1 if number > 0 else count + number
