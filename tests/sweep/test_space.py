"""The sweep file and its points: axes, refusals, keys."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.sweep.plan.gpus import Gpus
from rayplay.sweep.plan.keys import document, key_of
from rayplay.sweep.space.axes import design_count, designs
from rayplay.sweep.space.file import Design, Range, Sampled, given, read_sweep
from rayplay.sweep.space.points import Point, space
from tests.sweep.conftest import planned, tables, toml

POINT = Point(0, "mobile", "", "", "replay", 1, 0)


def test_kinds_of_axes_are_crossed() -> None:
    found = designs(Design(grid={"rt.warps": (1, 2), "l1.ways": (4, 8)}, zip={"a.x": (1, 2), "a.y": (3, 4)}))
    assert len(found) == 8
    assert {"rt.warps": 2, "l1.ways": 4, "a.x": 2, "a.y": 4} in found
    assert {"rt.warps": 2, "l1.ways": 4, "a.x": 2, "a.y": 3} not in found


@drawn(
    st.lists(st.integers(1, 3), max_size=3), st.integers(0, 3), st.integers(0, 3), st.integers(1, 3) | st.none(),
    st.integers(1, 3) | st.none(),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_designs_are_counted_before_they_are_made(
    grid: list[int], zipped: int, listed: int, random: int | None, latin: int | None
) -> None:
    samples = [
        Sampled(each, {key: Range(0.0, 1.0)}) if each else None for key, each in (("r.a", random), ("l.a", latin))
    ]
    axes = Design(
        grid={f"g.a{n}": tuple(range(each)) for n, each in enumerate(grid)},
        zip={"z.a": tuple(range(zipped)), "z.b": tuple(range(zipped))} if zipped else {},
        list=tuple({"t.a": n} for n in range(listed)), random=samples[0], latin=samples[1],
    )  # fmt: skip
    assert design_count(axes) == len(designs(axes))


@pytest.mark.parametrize(
    "design",
    [
        {"grid": {f"a.b{n}": list(range(1000)) for n in range(6)}},
        {"random": {"count": 1 << 62, "ranges": {"a.b": {"low": 0.0, "high": 1.0}}}},
        {"latin": {"count": 1 << 62, "ranges": {"a.b": {"low": 0.0, "high": 1.0}}}},
        {"grid": {f"a.b{n}": list(range(1000)) for n in range(6)}, "zip": {"z.a": []}},
    ],
)
def test_too_many_points_are_refused_before_they_are_made(design: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"a sweep must have at most 1,000,000 points, not [0-9,]{9,}"):
        space(given(tables(design=design)))


def test_a_point_of_a_scene_is_counted_once_for_each_seed() -> None:
    many = given(
        tables(
            scenes=[{"scene": "cornell"}], traces=[], seeds=list(range(40)), design={"grid": {"a.b": list(range(1000))}}
        )
    )
    found = space(many)
    assert len(found.points) - found.twins == 40_000


@pytest.mark.parametrize("size", ["99999999999x9", "8", "8x", "0x8", "8x-1", "8x8x8"])
def test_a_scene_has_a_size(size: str) -> None:
    with pytest.raises(UserError, match=r"scenes\[0\]\.size: must be WIDTHxHEIGHT, each 1 to 65535, found '" + size):
        given(tables(scenes=[{"scene": "cornell", "size": size}]))


def test_what_a_scene_cannot_record_is_refused_by_name() -> None:
    with pytest.raises(UserError, match=r"record: unknown name 'distance'; did you mean 'distances'"):
        given(tables(scenes=[{"scene": "cornell", "record": "distance"}]))


@drawn(count=st.integers(1, 40), seed=st.integers(0, 99), low=st.integers(1, 50), width=st.integers(40, 400))
@settings(max_examples=30, deadline=None)
def test_a_latin_hypercube_has_one_value_in_each_part(count: int, seed: int, low: int, width: int) -> None:
    ranges = {"a.x": Range(float(low), float(low + width)), "b.y": Range(0.0, 1.0)}
    found = designs(Design(latin=Sampled(count, ranges, seed)))
    for key, (start, size) in {"a.x": (low, width), "b.y": (0.0, 1.0)}.items():
        parts = sorted(int((each[key] - start) / size * count - 1e-4) for each in found)
        assert all(abs(part - place) <= 1 for place, part in enumerate(parts))
    assert found == designs(Design(latin=Sampled(count, ranges, seed)))


@drawn(place=st.floats(0, 1, exclude_max=True), scale=st.sampled_from(["linear", "log"]))
def test_whole_ranges_give_whole_numbers_within(place: float, scale: str) -> None:
    from rayplay.sweep.space.axes import value_at

    found = value_at(Range(1, 32, scale), place)  # type: ignore[arg-type]
    assert isinstance(found, int)
    assert 1 <= found <= 32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traces": []}, "must name traces or scenes"),
        ({"method": "replay"}, "unknown name 'method'; did you mean 'methods'"),
        ({"methods": ["reply"]}, "did you mean 'replay'"),
        ({"seeds": [-1]}, "seeds must not be negative"),
        ({"limits": {"seconds": 0}}, "limits.seconds: must be at least 0.001"),
        ({"design": {"zip": {"a.x": [1], "a.y": [1, 2]}}}, "same number of values, found a.x 1, a.y 2"),
        ({"design": {"grid": {"a.x": [1]}, "list": [{"a.x": 2}]}}, "a.x must stand on one axis"),
        ({"design": {"random": {"count": 2, "ranges": {"a.x": {"low": 2, "high": 1}}}}}, "low must be less than high"),
        ({"design": {"grid": {"rt.warps": []}}}, "rt.warps must have a value at least"),
        ({"compare": {"objectives": {"gpu_cycles": "least"}}}, "unknown name 'least'"),
    ],
)
def test_a_mistake_is_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        space(given(tables() | change))


def test_an_illegal_value_names_its_place(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"rt\.warps.*at least 1"):
        planned(str(tmp_path / "s"), design={"grid": {"rt.warps": [0]}})
    with pytest.raises(UserError, match=r"did you mean 'rt\.warps'"):
        planned(str(tmp_path / "s"), design={"grid": {"rt.warp": [1]}})


def test_a_python_file_gives_what_toml_gives(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(toml())
    (tmp_path / "two.py").write_text(f"def sweep():\n    return {tables()!r}\n")
    assert read_sweep(tmp_path / "one.toml") == read_sweep(tmp_path / "two.py")
    (tmp_path / "bad.py").write_text("def sweep():\n    return 1 / 0\n")
    with pytest.raises(UserError, match=r"bad\.py: sweep\(\) raised ZeroDivisionError"):
        read_sweep(tmp_path / "bad.py")


def test_a_design_built_by_sections_is_the_one_built_whole() -> None:
    gpus = Gpus()
    for warps, ways, policy in itertools.product((1, 4), (8, 16), ("lrr", "gto")):
        values = {"rt.warps": warps, "l2.ways": ways, "scheduler.policy": policy}
        whole = load("mobile", [f"{key}={value}" for key, value in values.items()])
        assert gpus.built("mobile", "", values) == whole
        assert gpus.digest(gpus.built("mobile", "", values)) == Gpus().digest(whole)
    nested = {"rt.private.ways": 4}, {"rt.private.sets": 16}  # each alone: the first has no part in the second
    for values in nested:
        assert gpus.built("mobile", "", values) == load("mobile", [f"{key}={value}" for key, value in values.items()])


@pytest.mark.parametrize(
    "values",
    [{"l1.latancy": 3}, {"l1.latency_cycles": -3}, {"none.x": 3}, {"l1.ways": 3}, {"l1.latency_cycles.x": 3}],
)
def test_a_section_says_of_a_bad_value_what_the_whole_description_says(values: dict[str, int]) -> None:
    said = []
    for build in (lambda: Gpus().built("mobile", "", values),
                  lambda: load("mobile", [f"{key}={value}" for key, value in values.items()])):  # fmt: skip
        with pytest.raises(UserError) as error:
            build()
        said.append(str(error.value))
    assert said[0] == said[1]


def key(**change: Any) -> str:
    """Key of a replay of sample on mobile, with a change of the sweep, the point or a digest."""
    parts = {"trace": "t", "gpu": "g", "plugin": None, "point": POINT, "sweep": given(tables())} | change
    return key_of(document(**parts))


def test_what_changes_a_result_changes_the_key() -> None:
    estimate = POINT._replace(method="estimate")
    other = given(tables(estimate={"fraction": 0.2}))
    keys = [
        key(), key(trace="u"), key(gpu="h"), key(plugin="p"), key(point=POINT._replace(model="pipeline")),
        key(point=estimate), key(point=estimate._replace(seed=2)), key(point=estimate, sweep=other),
        key(point=POINT._replace(method="predict")), key(sweep=given(tables(keep="result"))),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)


def test_what_changes_no_result_does_not() -> None:
    limits = given(tables(limits={"seconds": 9, "memory_mb": 99}))
    assert key() == key(point=POINT._replace(seed=2)) == key(sweep=limits)
    assert key() == key(sweep=given(tables(estimate={"fraction": 0.2})))
    assert key() == key(point=POINT._replace(input=3, design=7, gpu="other"))


@drawn(
    st.dictionaries(
        st.sampled_from(["rt.warps", "l1.latency_cycles", "l2.latency_cycles"]), st.integers(1, 32), min_size=1
    )
)
@settings(max_examples=25, deadline=None)
def test_equal_descriptions_and_only_they_have_equal_digests(values: dict[str, int]) -> None:
    gpus = Gpus()
    one, base = gpus.built("mobile", "", values), gpus.built("mobile", "", {})
    assert (gpus.digest(one) == gpus.digest(base)) == (one == base)


def test_equal_points_run_once(tmp_path: Path) -> None:
    own = load("mobile").rt.warps
    plan = planned(str(tmp_path / "s"), seeds=[1, 2], design={"list": [{}, {"rt.warps": own}, {"rt.warps": own + 1}]})
    assert len(plan.planned) == 6
    assert len(plan.missing()) == 2
    assert plan.why(plan.planned[1]) == "equal to point 0"


def test_keys_are_the_same_in_every_process() -> None:
    program = "from tests.sweep.test_space import *; print(key(), Gpus().digest(load('mobile')))"
    found = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                       env={"PYTHONHASHSEED": seed, "PATH": ""}).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert found == {f"{key()} {Gpus().digest(load('mobile'))}\n"}


def test_the_golden_key() -> None:
    identity = {"form": 1, "trace": "t", "gpu": "g", "plugin": None, "model": "default", "method": "replay",
                "options": {}, "keep": "summary", "engine": "e"}  # fmt: skip
    assert document("t", "g", None, POINT, given(tables())) | {"engine": "e"} == identity
    assert key_of(identity) == "cb48dcac6410e3bc05226034bd8793886065f53bd06084c3e51f63a6bd780152"
