"""The example policies, in a process where nothing is compiled; and the example that reorders rays."""

import os
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.testing.generate import make_trace

FILE = Path(__file__).with_name("plain_examples.py")


@pytest.mark.parametrize("chosen", ["laws_of_every", "answer", "not laws_of_every and not answer"])
def test_examples_in_plain_python(chosen: str) -> None:
    """In parts, so that no one of them is long."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", chosen, str(FILE)],
        env=environment, capture_output=True, text=True, cwd=FILE.parents[3], check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


REORDER = runpy.run_path(str(FILE.parents[3] / "examples" / "reorder_rays.py"))


def lists(table: dict[str, Any], name: str) -> list[tuple[float, ...]]:
    """A ragged column, row by row."""
    offset = table[f"{name}_offset"].tolist()
    return [tuple(table[name][first:end].tolist()) for first, end in pairwise(offset)]


@pytest.mark.parametrize("key", sorted(REORDER["KEYS"]))
def test_reordered_rays_keep_their_records(tmp_path: Path, key: str) -> None:
    """Each trace call has the same rays, each with its origin, records and distances; lanes and programs stay."""
    trace = open_trace(make_trace(tmp_path / "rays.trace", seed=3, image_size=(64, 4), ctas=0, traversals=True))
    REORDER["reorder"](trace, key, tmp_path / "sorted.trace")
    before, after = trace, open_trace(tmp_path / "sorted.trace")
    rays, dealt = before.read("rays"), after.read("rays")
    for name in REORDER["PLACES"]:
        assert np.array_equal(rays[name], dealt[name])
    for name in ("visits", "accesses", "nodes"):
        assert all(np.array_equal(column, after.read(name)[key]) for key, column in before.read(name).items())
    whole = [
        sorted(zip(found["origin_x"].tolist(), lists(found, "node"), lists(one.read("distances"), "distance"),
                   lists(one.read("culled"), "node"), strict=True))
        for one, found in ((before, rays), (after, dealt))
    ]  # fmt: skip
    assert whole[0] == whole[1]
    assert rays["origin_x"].tolist() != dealt["origin_x"].tolist()


def test_reordered_rays_are_in_the_order_of_their_key(tmp_path: Path) -> None:
    trace = open_trace(make_trace(tmp_path / "rays.trace", seed=3, image_size=(64, 4), ctas=0))
    REORDER["reorder"](trace, "direction", tmp_path / "sorted.trace")
    rays = open_trace(tmp_path / "sorted.trace").read("rays")
    first_call = np.array([visit == rays["visit"][np.argmax(rays["warp_id"] == warp)] for warp, visit in
                           zip(rays["warp_id"], rays["visit"], strict=True)])  # fmt: skip
    begun = first_call & (rays["segment"] == 0)
    whole = REORDER["sorting_key"](rays, "direction")
    for kind in (0, 1):
        chosen = whole[begun & (rays["kind"] == kind)]
        assert len(chosen) > 8
        assert (np.diff(chosen) >= 0).all()
