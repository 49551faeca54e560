"""Digests of sources: an edit anywhere below a package makes its compiled code new."""

from pathlib import Path

import pytest

from rayplay.formats.guard.code_cache import source_digest


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    for name in ("engine/unit/deep.py", "engine/top.py", "other/picture.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one = 1\n")
    return tmp_path


@pytest.mark.parametrize("name", ["engine/unit/deep.py", "engine/top.py"])
def test_an_edit_in_any_sub_folder_changes_the_digest(packages: Path, name: str) -> None:
    before = source_digest(["engine"], packages)
    (packages / name).write_text("one = 2\n")
    assert source_digest(["engine"], packages) != before


def test_a_file_moved_to_another_folder_changes_the_digest(packages: Path) -> None:
    before = source_digest(["engine"], packages)
    (packages / "engine/unit/deep.py").rename(packages / "engine/deep.py")
    assert source_digest(["engine"], packages) != before


def test_an_edit_in_another_package_leaves_the_digest(packages: Path) -> None:
    before = source_digest(["engine"], packages)
    (packages / "other/picture.py").write_text("one = 2\n")
    assert source_digest(["engine"], packages) == before
