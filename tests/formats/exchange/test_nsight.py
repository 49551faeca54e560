"""Nsight Compute's CSV as a result, and two results side by side."""

import sys
from pathlib import Path

import pytest

from rayplay.formats.__main__ import main
from rayplay.formats.dataset.result import open_result
from rayplay.formats.exchange.nsight import import_nsight
from rayplay.formats.guard.command import run
from rayplay.formats.guard.errors import FormatError
from rayplay.formats.laws.check import validate

RAW = """\
==PROF== Connected to process 4242
"ID","Kernel Name","Stream","gpc__cycles_elapsed.max","gpu__time_duration.sum","smsp__inst_executed.sum",\
"smsp__thread_inst_executed_pred_on.sum","l1tex__t_sector_hit_rate.pct","l1tex__t_sectors.sum","dram__bytes.sum"
"","","","cycle","usecond","inst","thread","%","sector","Mbyte"
"0","first(float *, int)","7","1,000","2.5","4,000","64,000","75","300","1.5"
"1","second","8","3,000","7.5","1,000","32,000","25","100","0.5"
"""
LONG = """\
"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
"0","first","gpc__cycles_elapsed.max","cycle","1,000"
"0","first","lts__t_sector_hit_rate.pct","%","50"
"1","second","gpc__cycles_elapsed.max","cycle","3,000"
"1","second","lts__t_sector_hit_rate.pct","%","90"
"""


def values(path: Path) -> dict[str, float]:
    return {metric: entry["value"] for metric, entry in open_result(path).summary.items()}


def test_the_raw_page_becomes_metrics_in_base_units(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(RAW)
    import_nsight(tmp_path / "a.csv", tmp_path / "a.result")
    assert values(tmp_path / "a.result") == pytest.approx({
        "gpu_cycles": 4000, "seconds": 1e-5, "warp_instructions": 5000, "thread_instructions": 96000,
        "l1d_miss_rate": 1 - (0.75 * 300 + 0.25 * 100) / 400, "dram_bytes": 2e6, "gpu_ipc": 24, "simt_efficiency": 0.6,
    })  # fmt: skip
    result = open_result(tmp_path / "a.result")
    assert validate(result) == []
    kernels = result.read("kernels")
    assert kernels["name"].tolist() == ["first(float *, int)", "second"]
    assert kernels["end_cycle"].tolist() == [1000, 4000]
    assert kernels["stream"].tolist() == [7, 8]


def test_a_row_per_metric_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(LONG)
    import_nsight(tmp_path / "a.csv", tmp_path / "a.result")
    assert values(tmp_path / "a.result") == pytest.approx({"gpu_cycles": 4000, "l2_miss_rate": 0.2})


WITH_RULES = """\
my program says, "hello"
==WARNING== Found outstanding GPU clock reset
"ID","Process ID","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name",\
"Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","7","first","1","7","(256, 1, 1)","(8, 1, 1)","0","8.6","Speed","Elapsed Cycles","cycle","1,000","","",""
"0","7","first","1","7","(256, 1, 1)","(8, 1, 1)","0","8.6","Speed","","","","Rule","OPT","Text, with commas"
"0","7","first","1","7","(256, 1, 1)","(8, 1, 1)","0","8.6","Speed","Duration","usecond","2,5","","",""
"""
SUMMARY = """\
"Process ID","Kernel Name","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"
"7","first","3","Speed","Elapsed Cycles","cycle","900","1,100","1,000"
"7","second","1","Speed","Elapsed Cycles","cycle","500","500","500"
"""
NVTX = LONG.replace('"ID",', '"ID","thread Domain:Push/Pop_Range:PL_Type:PL_Value",').replace('"0",', '"0","a:b",')


def test_rows_of_rules_labels_and_a_decimal_comma(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(WITH_RULES)
    import_nsight(tmp_path / "a.csv", tmp_path / "a.result")
    assert values(tmp_path / "a.result") == pytest.approx({"gpu_cycles": 1000, "seconds": 2.5e-6})


def test_a_summary_has_a_kernels_average_once_an_invocation(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(SUMMARY)
    import_nsight(tmp_path / "a.csv", tmp_path / "a.result")
    assert values(tmp_path / "a.result") == {"gpu_cycles": 3500}
    assert open_result(tmp_path / "a.result").read("kernels")["name"].tolist() == ["first"] * 3 + ["second"]


def test_columns_of_nvtx_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(NVTX.replace('"1","second"', '"1","a:b","second"'))
    import_nsight(tmp_path / "a.csv", tmp_path / "a.result")
    assert values(tmp_path / "a.result") == pytest.approx({"gpu_cycles": 4000, "l2_miss_rate": 0.2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SUMMARY.replace('"3"', '"few"'), "row 2, Invocations: must be 1 to 100000, found 'few'"),
        (SUMMARY.replace('"3"', '"100000"'), "must have at most 100000 invocations"),
        (SUMMARY.replace('"Average"', '"Mean"'), "must have the column 'Average'"),
        ("a,b\n1,2\n", "must be CSV of Nsight Compute with a column 'Kernel Name'"),
        (LONG.replace('"90"', '"90","x"'), "row 5 must have 5 columns, found 6"),
        (LONG.replace('"1,000"', '"n/a"'), "row 2, gpc__cycles_elapsed.max: must be a number, found 'n/a'"),
        ("\n".join(LONG.splitlines()[:1]), "must hold at least one launch"),
        (LONG.replace("gpc__", "x__").replace("lts__", "y__"), "must hold at least one of the metrics"),
    ],
)
def test_what_is_no_measurement_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(FormatError, match=message):
        import_nsight(tmp_path / "a.csv", tmp_path / "a.result")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_two_results_are_compared_line_by_line(monkeypatch, capsys, tmp_path: Path) -> None:
    for name, text in (("a", RAW), ("b", LONG)):
        (tmp_path / f"{name}.csv").write_text(text.replace('"3,000"', '"4,000"') if name == "b" else text)
        arguments = ["formats", "import", str(tmp_path / f"{name}.csv"), "--out", str(tmp_path / f"{name}.result")]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as end:
            run("formats", main)
        assert end.value.code == 0
    metrics = [len(open_result(tmp_path / f"{name}.result").summary) for name in "ab"]
    assert [line.split(", ")[1] for line in capsys.readouterr().out.splitlines()] == [f"{n} metrics" for n in metrics]
    monkeypatch.setattr(sys, "argv", ["formats", "compare", str(tmp_path / "a.result"), str(tmp_path / "b.result")])
    with pytest.raises(SystemExit):
        run("formats", main)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "A: a.result   B, the base of the differences: b.result"
    assert lines[2].split() == ["gpu_cycles", "4,000", "5,000", "-20.00", "%", "cycles"]
    assert lines[-1] == "only in B: l2_miss_rate"
