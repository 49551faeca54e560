"""Objects of the cache: nothing that was changed, planted or may be written by others is ever loaded."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rayplay.formats.guard import sealed
from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.trust import cache_root, data_root, is_own, own_folder, state_root

OBJECTS = {
    "machine-code/a.o": b"\x7fELF" + bytes(range(256)),
    "numba-x/f-1/ab": b"code",
    "ptx-a.json": b"{}",
    "none": b"",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A sealed folder with ``OBJECTS``."""
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path / "cache"))
    for name, data in OBJECTS.items():
        sealed.keep(name, data)
    yield tmp_path / "cache" / "sealed"
    forget()


def forget() -> None:
    """Open the folder again, as another process does."""
    sealed._opened.cache_clear()
    sealed._without.cache_clear()


def test_an_object_comes_back_as_it_was(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forget()
    assert {name: sealed.load(name) for name in OBJECTS} == OBJECTS
    assert sealed.load("machine-code/b.o") is None
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(files) == len(OBJECTS) + 1  # the key, nothing half-written
    assert capsys.readouterr().err == ""


def test_the_oldest_objects_of_a_folder_go_first(folder: Path) -> None:
    for number in range(4):
        sealed.keep(f"kept/{number}", bytes(100))
        os.utime(folder / "kept" / str(number), ns=(0, 10 - number))
    size = (folder / "kept" / "0").stat().st_size
    sealed.trim("kept", 2 * size)
    assert sorted(path.name for path in (folder / "kept").iterdir()) == ["0", "1"]
    assert sealed.load("ptx-a.json") == OBJECTS["ptx-a.json"]
    sealed.trim("missing", 0)


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_bit_is_loaded(folder: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    """Of an object: missing, with one line. Of the key: all are missing, with one line. Then made again."""
    rng, names = random.Random(seed), [*OBJECTS, sealed.KEY]
    for _ in range(250):
        name = rng.choice(names)
        path = folder / name
        data = bytearray(path.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        if name == sealed.KEY:
            forget()
        lost = {each for each, data in OBJECTS.items() if sealed.load(each) != data}
        assert lost == (set(OBJECTS) if name == sealed.KEY else {name})
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"warning: {path}: is damaged; ")
        for each in lost:
            assert sealed.load(each) is None
            capsys.readouterr()
            sealed.keep(each, OBJECTS[each])
            assert sealed.load(each) == OBJECTS[each]


@pytest.mark.parametrize("size", [0, 1, 15, 16, 47, 48, 100])
def test_a_cut_object_is_missing(folder: Path, size: int) -> None:
    os.truncate(folder / "machine-code/a.o", size)
    assert sealed.load("machine-code/a.o") is None


def test_an_object_under_another_name_or_key_is_missing(folder: Path, tmp_path: Path, monkeypatch) -> None:
    shutil.copy(folder / "machine-code/a.o", folder / "machine-code/b.o")
    assert sealed.load("machine-code/b.o") is None
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path / "other"))
    sealed.keep("machine-code/a.o", b"planted")
    shutil.copy(tmp_path / "other/sealed/machine-code/a.o", folder / "machine-code/a.o")
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path / "cache"))
    assert sealed.load("machine-code/a.o") is None


@pytest.mark.parametrize("damage", ["file", "write-only", "foreign", "foreign-parent", "open", "open-parent", "link"])
def test_a_folder_that_others_may_write_is_no_cache(folder: Path, capsys, damage: str) -> None:
    root = folder.parent
    if damage == "file":
        shutil.rmtree(folder)
        folder.write_text("")
    elif damage == "link":  # to a folder in which others may write
        folder.rename(root / "elsewhere")
        folder.symlink_to(root / "elsewhere")
        (root / "elsewhere").chmod(0o777)
    elif damage.startswith("foreign"):
        if os.geteuid():
            pytest.skip("only root gives folders away")
        os.chown(root if damage.endswith("parent") else folder, 12345, 12345)
    else:
        (root if damage.endswith("parent") else folder).chmod(0o777)
    forget()
    if damage == "write-only":
        folder.chmod(0o722)
    for name, data in OBJECTS.items():
        assert sealed.load(name) is None
        sealed.keep(name, data)
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {folder}: compiled code and facts of traces cannot be kept: ")
    assert line.endswith("; RAYPLAY_CACHE names another folder")


def test_a_disk_that_is_full_costs_the_cache(folder: Path, capsys, monkeypatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    for step in ("fsync", "replace"):
        forget()
        with monkeypatch.context() as patched:
            patched.setattr(f"os.{step}", full)
            sealed.keep("machine-code/a.o", b"new")
            sealed.keep("machine-code/c.o", b"new")
        assert "No space left on device" in capsys.readouterr().err
        assert sealed.load("machine-code/a.o") == OBJECTS["machine-code/a.o"]
        assert sealed.load("machine-code/c.o") is None
        assert not list(folder.rglob(".*"))


@pytest.mark.parametrize("given", ["", "relative", "./here"])
def test_a_folder_of_the_user_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.delenv("RAYPLAY_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    roots = (
        ("CACHE", cache_root, ".cache"),
        ("STATE", state_root, ".local/state"),
        ("DATA", data_root, ".local/share"),
    )
    for variable, found, usual in roots:
        monkeypatch.setenv(f"XDG_{variable}_HOME", given)
        assert found() == tmp_path / usual / "rayplay"
        monkeypatch.setenv(f"XDG_{variable}_HOME", str(tmp_path / "own"))
        assert found() == tmp_path / "own" / "rayplay"
    monkeypatch.setenv("HOME", "nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    with pytest.raises(UserError, match="XDG_CACHE_HOME: must name a folder"):
        cache_root()


@pytest.mark.parametrize("given", ["relative", "./here", " ", "~/cache", "a b"])
def test_a_relative_cache_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAYPLAY_CACHE", given)
    with pytest.raises(UserError, match=f"^RAYPLAY_CACHE: must be the path of a folder from / on, found '{given}'$"):
        sealed.keep("a.o", b"new")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("given", ["file", "file/below", "a" * 300, "with space"])
def test_an_odd_cache_is_used_or_costs_one_line(tmp_path: Path, monkeypatch, capsys, given: str) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RAYPLAY_CACHE", str(tmp_path / given))
    forget()
    for _ in range(2):
        sealed.keep("a.o", b"new")
    assert sealed.load("a.o") == (b"new" if given == "with space" else None)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (given != "with space")
    assert all(": compiled code and facts of traces cannot be kept: " in line for line in lines)


def test_the_folders_that_are_made_are_the_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = own_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in (made, made.parent)} == {0o700}


def test_what_is_a_users_own(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert not is_own(path)
    path.write_text("")
    path.chmod(0o644)
    assert is_own(path)
    (tmp_path / "link").symlink_to(path)
    assert not is_own(tmp_path / "link")
    path.chmod(0o646)
    assert not is_own(path)
    path.chmod(0o644)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        assert not is_own(path)
