"""The strict reader: what a schema of dataclasses accepts, and that each mistake is one line with its place."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.strict import Place, build, one_of, read


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    kind: str = one_of(("cache", "core"))
    size: int = field(metadata={"doc": "Bytes."})
    share: float | tuple[float, ...] = 1.0
    on: bool = True

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("size must be at least 1")


@dataclass(frozen=True, slots=True)
class Machine:
    name: str
    units: tuple[Unit, ...] = ()
    named: dict[str, Unit] = field(default_factory=dict)
    free: Any = None


def machine(tmp_path: Path, text: str) -> Machine:
    path = tmp_path / "m.toml"
    path.write_text(text)
    return read(Machine, path)


def test_a_table_becomes_its_dataclass(tmp_path: Path) -> None:
    text = 'name = "a"\nfree = [1, "b"]\nunits = [{ kind = "core", size = 2, share = [1, 0.5] }]\n'
    found = machine(tmp_path, text + '[named.l1]\nkind = "cache"\nsize = 3\nshare = 2\non = false\n')
    l1 = Unit(kind="cache", size=3, share=2, on=False)
    assert found == Machine("a", (Unit(kind="core", size=2, share=(1, 0.5)),), {"l1": l1}, [1, "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "m.toml: needs the key 'name'"),
        ('name = "a"\nunit = []', "m.toml: unknown name 'unit'; did you mean 'units'?"),
        ('name = "a"\nx = 1', "m.toml: unknown name 'x'; known are name, units, named, free"),
        ("name = 1", "m.toml: name: must be a text, found 1"),
        ('name = "a"\nunits = 3', "m.toml: units: must be a list, found 3"),
        ('name = "a"\nunits = "' + "x" * 99 + '"', f"units: must be a list, found '{'x' * 99}... (101 characters)"),
        ('name = "a"\nunits = [3]', "m.toml: units[0]: must be a table, found 3"),
        ('name = "a"\nunits = [{ kind = "core" }]', "m.toml: units[0]: needs the key 'size' (Bytes.)"),
        ('name = "a"\nunits = [{ kind = "cor", size = 1 }]', "m.toml: units[0].kind: unknown name 'cor'; did you"),
        ('name = "a"\nunits = [{ kind = "core", size = 0 }]', "m.toml: units[0]: size must be at least 1"),
        ('name = "a"\nunits = [{ kind = "core", size = true }]', "units[0].size: must be a whole number, found True"),
        ('name = "a"\nunits = [{ kind = "core", size = 1, share = "x" }]', "units[0].share: must be a number"),
        ('name = "a"\nunits = [{ kind = "core", size = 1, share = [1, "x"] }]', "units[0].share[1]: must be a number"),
        ('name = "a"\nnamed.l1.size = 1', "m.toml: named.l1: needs the key 'kind'"),
        ('name = "a"\nname = "b"', "m.toml: must be TOML"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        machine(tmp_path, text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("cls", "raw", "like"),
    [
        (tuple[int, ...], "3,2", ", such as [3, 2]"),
        (tuple[int, ...], 4, ", such as [4]"),
        (tuple[int, ...], "3;2", ""),
        (tuple[int, ...], True, ""),
        (tuple[str, ...], "draw, compute", ', such as ["draw", "compute"]'),
        (tuple[str, ...], 3, ""),
    ],
)
def test_a_text_that_stands_for_a_list_is_shown_as_one(cls: Any, raw: Any, like: str) -> None:
    with pytest.raises(UserError) as caught:
        build(cls, raw, "--set x")
    assert str(caught.value) == f"--set x: must be a list{like}, found {raw!r}"


class Lines(Place):
    """A place that knows the lines of its file."""

    LINES: ClassVar = {"": 1, "units[0].size": 7}

    def __str__(self) -> str:
        return f"{self.root}:{self.LINES.get(self.path, 0)}"

    def refuse_table(self, error: Exception) -> None:
        raise UserError(f"law: {error}")


def test_a_reader_may_name_places_by_line() -> None:
    unit = {"kind": "core", "size": "x"}
    with pytest.raises(UserError, match=r"^f:7: must be a whole number"):
        build(Machine, {"name": "a", "units": [unit]}, Lines("f"))
    with pytest.raises(UserError, match=r"^f:1: needs the key 'name'"):
        build(Machine, {}, Lines("f"))
    with pytest.raises(UserError, match=r"^law: size must be at least 1"):
        build(Machine, {"name": "a", "units": [unit | {"size": 0}]}, Lines("f"))
