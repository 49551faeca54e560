"""Descriptions like another: the other's values and sources where they have none of their own."""

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import explain, load
from rayplay.replay.unit.schema import Text, on_top

KEYS = st.sampled_from("abc")
TABLES = st.recursive(
    st.integers(0, 3),
    lambda inside: st.dictionaries(KEYS, inside, min_size=1, max_size=3),
    max_leaves=8,
)
VALUES = st.dictionaries(KEYS, TABLES, max_size=3)


def leaves(values: dict[str, object], path: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, entry in values.items():
        found |= leaves(entry, f"{path}{key}.") if isinstance(entry, dict) else {path + key: entry}
    return found


@given(VALUES, VALUES)
def test_own_values_win_and_others_stay(base: dict[str, object], own: dict[str, object]) -> None:
    merged = leaves(on_top(Text("own", own, {}, {}), Text("base", base, {}, {})).values)
    for path, entry in leaves(own).items():
        assert merged[path] == entry
    hidden = [path.split(".") for path in leaves(own)]
    for path, entry in leaves(base).items():
        parts = path.split(".")
        if not any(parts[: len(each)] == each or each[: len(parts)] == parts for each in hidden):
            assert merged[path] == entry


A = """name = "a"
like = "mobile"
[rt]
warps = 8 # mine
[rt.private]
ways = 8
"""


def test_a_chain_of_files(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.toml").write_text(
        'name = "a"\nlike = "mobile"\n[rt]\nwarps = 8 # mine\n[rt.private]\nways = 8\n'
    )
    (tmp_path / "b.toml").write_text('like = "below/a.toml"\nname = "b"\n[rt]\nwarps = 2\n')
    expected = load("mobile", ["name=b", "rt.warps=2", "rt.private.ways=8"])
    assert load(str(tmp_path / "b.toml")) == expected
    assert load(str(tmp_path / "b.toml"), ["rt.warps=3"]).rt.warps == 3
    sources = "\n".join(explain(str(tmp_path / "below" / "a.toml")))
    assert "[mine]" in sources
    assert "Zatel Table II: # Streaming Multiprocessors" in sources


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('like = "mobil"\nname = "x"', r"x.toml:1: like: must be .* one of .*mobile"),
        ('name = "x"\nlike = 3', r"x.toml:2: like: must be the name or the .toml file of a GPU, not 3"),
        ('name = "x"\nlike = "x.toml"', r"x.toml:2: like: must not lead back to x.toml"),
        ('name = "x"\nlike = "gone.toml"', r"gone.toml"),
        ('name = "x"\nlike = "gpgpusim.config"', r"x.toml:2: like: must be a .toml description"),
        ('name = "x"\nlike = "mobile"\n[rt]\nwarp = 3', r"x.toml:4: unknown key rt.warp"),
        ('name = "x"\nlike = "mobile"\nrt = 3', r"x.toml:3: rt"),
        ('name = "x"\nlike = "mobile"\n[l1]\nbytes = 1000', r"x.toml:3: l1"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text + "\n")
    (tmp_path / "gpgpusim.config").write_text("-gpgpu_n_clusters 2\n")
    with pytest.raises(UserError, match=message):
        load(str(tmp_path / "x.toml"))


def test_two_files_that_lead_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "a"\nlike = "b.toml"\n')
    (tmp_path / "b.toml").write_text('name = "b"\nlike = "a.toml"\n')
    with pytest.raises(UserError, match=r"b.toml:2: like: must not lead back to b.toml"):
        load(str(tmp_path / "a.toml"))


@pytest.mark.parametrize(
    ("paper", "released", "differences"),
    [
        ("rtx3070", "rtx3070-released", {"sm.warps": (64, 48)}),
        ("orin", "orin-released", {"sm.count": (14, 16), "sm.warps": (64, 48), "l1.bytes": (200704, 196608)}),
    ],
)
def test_the_paper_and_the_code_differ_as_their_page_says(
    paper: str, released: str, differences: dict[str, tuple[int, int]]
) -> None:
    first, second = dataclasses.asdict(load(paper)), dataclasses.asdict(load(released))
    for key, both in differences.items():
        section, field = key.split(".")
        assert (first[section][field], second[section][field]) == both


def test_bandwidths_are_the_papers() -> None:
    assert load("orin").dram_bytes_per_second == 200e9
    assert round(load("rtx3070").dram_bytes_per_second / 1e9) == 448
