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


@pytest.mark.parametrize("bad", [float("nan"), float("-inf")])
def test_json_without_finite_numbers_is_refused(tmp_path: Path, bad: float) -> None:
    path = write_pack(tmp_path)
    path.write_text(json.dumps(WHOLE | {"sky": {"from": [bad, 0, 0], "to": [0, 0, 0]}}))
    with pytest.raises(UserError, match=r"quad\.json: must be JSON: numbers must be finite, not (NaN|-Infinity)"):
        load(path)


@pytest.mark.parametrize("place", list(numbers(WHOLE)), ids=lambda place: ".".join(map(str, place)))
def test_a_number_that_is_too_large_for_float32_is_refused(tmp_path: Path, place: tuple) -> None:
    content = json.loads(json.dumps(WHOLE))
    at = content
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = 1e39
    path = write_pack(tmp_path)
    path.write_text(json.dumps(content))
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
