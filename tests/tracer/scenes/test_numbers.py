"""Every number of a scene pack is finite: one that is not is refused with file and key."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes import load
from tests.reliability.specimens import PACK
from tests.tracer.scenes.test_gltf import with_parts
from tests.tracer.scenes.test_limits import document, write_pack

METAL = {"model": "metallic", "albedo": [0.5, 0.5, 0.5], "fuzz": 0.1, "ior": 1.5, "emission": [1, 1, 1]}
WHOLE = PACK | {"materials": {"grey": METAL | {"alpha_cutoff": 0.5}}}


def numbers(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """Places of all numbers in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from numbers(each, (*place, key))
    if isinstance(value, int | float):
        yield place


@pytest.mark.parametrize("place", list(numbers(WHOLE)), ids=lambda place: ".".join(map(str, place)))
@pytest.mark.parametrize("bad", [float("nan"), float("-inf"), 1e39])  # the third is a number of JSON
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, place: tuple, bad: float) -> None:
    content = json.loads(json.dumps(WHOLE))
    at = content
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = bad
    path = write_pack(tmp_path)
    path.write_text(json.dumps(content))
    if not np.isfinite(bad):
        column = path.read_text().index(json.dumps(bad)) + 1
        with pytest.raises(UserError, match=rf"quad\.json: must be JSON: .*finite, not -?\w+: line 1 column {column}$"):
            load(path)
        return
    part = "materials.sphere-0" if place[0] == "spheres" and "material" in place else place[0]
    with pytest.raises(UserError, match=rf"quad\.json: {part}.* must be finite") as caught:
        load(path)
    assert part != place[0] or all(str(key) in str(caught.value) for key in place[:2])


@pytest.mark.parametrize("accessor", [0, 1])
def test_a_vertex_or_uv_that_is_not_finite_is_refused(tmp_path: Path, accessor: int) -> None:
    made = document()
    made["accessors"][accessor]["bufferView"] = 3
    values = np.zeros((4, 3 - accessor), "<f4")
    values[2, 1] = np.nan
    data = with_parts(made, [values])
    path = write_pack(tmp_path)
    (tmp_path / "quad.glb").write_bytes(data)
    with pytest.raises(UserError, match=r"mesh quad: .*ertex 2 must be finite and below 1e\+15, found"):
        load(path)
