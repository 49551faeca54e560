"""Results: round trip; bytes do not depend on the host's times; broken summaries are refused."""

from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.dataset.result import RESULT, ResultWriter, open_result
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.look.show import open_any
from tests.formats.schema_strategies import tree_bytes

METRIC = {"value": 1.5, "unit": "instructions/cycle", "kind": "ratio", "definition": "Instructions per cycle."}
COUNTER: dict[str, list[Any]] = {
    "unit": ["l1d", "dram"], "instance": [0, 3], "stream": [-1, 0], "kernel_id": [-1, 0], "counter": ["hits", "reads"],
    "value": [7, 1 << 40], "measure": ["requests", "requests"],
}  # fmt: skip


def write(path: Path, **host: float) -> None:
    with ResultWriter(path, {"command": "test"}) as writer:
        writer.summary({"gpu_ipc": METRIC})
        writer.put("counters", COUNTER)
        writer.put("timeline", {"start_cycle": [0], "unit": ["sm"], "counter": ["issued"], "value": [3]})
        writer.host(host)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "a.result", wall_s=1.5)
    result = open_result(tmp_path / "a.result")
    assert result.summary == {"gpu_ipc": METRIC}
    assert result.host == {"wall_s": 1.5}
    assert {name: list(values) for name, values in result.read("counters").items()} == COUNTER
    assert result.tables == ("counters", "timeline")
    assert result.rows("pixels") == 0
    assert type(open_any(tmp_path / "a.result")) is type(result)


def test_only_the_host_file_differs(tmp_path: Path) -> None:
    write(tmp_path / "a.result", wall_s=1.5)
    write(tmp_path / "b.result", wall_s=2.5)
    first, second = tree_bytes(tmp_path / "a.result"), tree_bytes(tmp_path / "b.result")
    assert {name for name in first if first[name] != second[name]} == {"host.json"}


def test_a_result_without_summary_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="must have a summary"), ResultWriter(tmp_path / "a.result"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"value": float("nan")}, "value must be a finite number or null"),
        ({"value": float("inf")}, "value must be a finite number or null"),
        ({"value": "7"}, "value must be a finite number or null"),
        ({"value": True}, "value must be a finite number or null"),
        ({"kind": "median"}, "kind must be one of sum, max, mean, ratio"),
        ({"why": 1}, "must have value, unit, kind and definition"),
    ],
)
def test_a_broken_metric_is_refused(tmp_path: Path, change, message) -> None:
    with pytest.raises(FormatError, match=f"metric gpu_ipc: {message}"), ResultWriter(tmp_path / "a.result") as writer:
        writer.summary({"gpu_ipc": METRIC | change})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"gpu_ipc": 3}'])
def test_a_damaged_summary_is_refused(tmp_path: Path, text) -> None:
    write(tmp_path / "a.result")
    (tmp_path / "a.result" / "summary.json").write_text(text)
    with pytest.raises(FormatError, match=r"summary\.json"):
        _ = open_result(tmp_path / "a.result").summary


def test_a_trace_is_no_result(sample: Path) -> None:
    with pytest.raises(FormatError, match="format must be 'rayplay result', not 'rayplay trace'"):
        open_result(sample)


def test_a_table_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"table must be one of .* not hopes"), ResultWriter(tmp_path / "a") as writer:
        writer.put("hopes", {})
    write(tmp_path / "a.result")
    with pytest.raises(FormatError, match=r"table must be one of .* not hopes"):
        open_result(tmp_path / "a.result").read("hopes")
    with pytest.raises(FormatError, match="table counters has no column hope"):
        open_result(tmp_path / "a.result").read("counters", ["hope"])
    assert RESULT.table("counters").name == "counters"
