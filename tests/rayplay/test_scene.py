"""``rayplay scene``: a page of the tree that ``rayplay trace`` builds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., tuple[int, str, str]]
Records = Callable[..., list[dict[str, Any]]]


def test_the_page_and_the_record_of_a_scene(records: Records, tmp_path: Path) -> None:
    (found,) = records("scene", "cornell")
    assert found["triangles"] == 36
    assert found["records_per_ray"] is None
    page = (tmp_path / found["out"]).read_text()
    assert f'data-value="{found["cost"]!r}"' in page


@pytest.mark.parametrize("options", [(), ("--traversal", "vulkan-sim"), ("--spheres", "apart")])
def test_a_trace_fits_the_tree_of_its_options(call: Call, records: Records, options: tuple[str, ...]) -> None:
    assert call("trace", "wknd", "--size", "16x8", "--samples", "1", "--out", "a.trace", *options)[0] == 0
    (found,) = records("scene", "wknd", "--trace", "a.trace", *options)
    assert found["records_per_ray"] > 1
    if options:
        code, out, error = call("scene", "wknd", "--trace", "a.trace", "--out", "b.html")
        assert (code, out) == (2, "")
        assert "must trace this scene with this tree" in error


def test_no_other_file_is_lost(call: Call, tmp_path: Path) -> None:
    (tmp_path / "cornell-bvh.html").write_text("mine")
    code, _, error = call("scene", "cornell")
    assert (code, error.count("\n"), (tmp_path / "cornell-bvh.html").read_text()) == (2, 1, "mine")
