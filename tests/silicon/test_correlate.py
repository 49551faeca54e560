"""Measured rows beside simulated ones: errors by hand, rows that are not compared, the split, bad files."""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.silicon.__main__ import parser
from rayplay.silicon.correlate import (
    CALIBRATION,
    CHECK,
    Row,
    choose_card,
    compare_suite,
    compare_times,
    errors_of,
    lines_of,
    read_measured,
    split_of,
)
from rayplay.silicon.simulate import Simulated, simulate_suite
from rayplay.silicon.suite import suite

PATH = Path("measured.csv")


def measured(quantity: str, value: str, unit: str = "cycles") -> dict[str, str]:
    return {"gpu": "A", "quantity": quantity, "value": value, "unit": unit}


def test_errors_by_hand() -> None:
    pairs = ((100.0, 110.0), (50.0, 40.0), (10.0, 10.0))
    errors = errors_of([Row("A", "q", "cycles", h, s, CHECK) for h, s in pairs])
    assert errors is not None
    assert errors.rows == 3
    assert errors.mean == pytest.approx((0.1 + 0.2 + 0.0) / 3)
    assert (errors.worst, errors.median) == pytest.approx((0.2, 0.1))
    assert errors.weighted == pytest.approx(20 / 160)
    assert errors.rpd == pytest.approx((20 / 210 + 20 / 90) / 3)
    assert 0.99 < errors.log_correlation < 1


def test_bandwidth_in_bytes_a_second() -> None:
    """Bytes a cycle of a replay become bytes a second by the SMs' clock, in the unit of the row."""
    rows = [measured("dram_read", "300", "GB/s"), measured("dram_read", "300", "GiB/s")]
    found = compare_suite(PATH, rows, [Simulated("dram_read", "B/clk", 200.0)], 1.5e9)
    assert [row.simulated for row in found] == pytest.approx([300.0, 300e9 / 2**30])


def test_every_row_appears_and_says_why_it_is_not_compared() -> None:
    rows = [measured("l1_hit", "32"), measured("dram", "5", "us"), measured("voltage", "1"), measured("l2_hit", "0")]
    ours = [Simulated("l1_hit", "cycles", 33.0), Simulated("dram", "cycles", 9.0), Simulated("l2_hit", "cycles", 9.0)]
    found = compare_suite(PATH, rows, ours, 1e9)
    assert [row.simulated for row in found] == [33.0, None, None, None]
    assert [bool(row.reason) for row in found] == [False, True, True, True]
    text = "\n".join(lines_of("B", found))
    assert all(row.quantity in text and row.reason in text for row in found)
    assert "1 of 2 rows compared" in text  # of the calibration rows l1_hit and l2_hit
    assert "none of 2 rows compared" in text


def test_the_split_is_by_quantity_and_card() -> None:
    assert split_of("RTX 2080 Ti", "l1_hit") == CALIBRATION
    assert split_of("NVIDIA H100 80GB HBM3", "l1_hit") == CHECK
    assert split_of("RTX 2080 Ti", "matmul") == CHECK


def test_kernel_times_are_compared_in_order_without_the_empty_kernel() -> None:
    row = {"gpu": "A", "file": "f", "warm_us": "3", "launch": "-1", "kernel": "empty", "grid": "1x1x1"}
    rows = [
        row,
        {**row, "launch": "0", "kernel": "x", "warm_us": "13"},
        {**row, "launch": "1", "kernel": "y", "warm_us": "4"},
    ]
    rows.append({**row, "launch": "2", "kernel": "z", "warm_us": "3"})
    (*_, last) = compare_times(PATH, rows, [("x 1x1x1", 11.0), ("y 1x1x1", 2.0), ("z 1x1x1", 2.0)], 0.0)
    assert (last.measured, last.error, last.reason) == (0.0, None, "takes no longer than the empty kernel")
    found = compare_times(PATH, rows[:-1], [("x 1x1x1", 11.0), ("y 1x1x1", 2.0)], 5.0)
    assert [(r.measured, r.simulated) for r in found] == [(10.0, 11.0), (1.0, None)]
    with pytest.raises(
        UserError, match="must have the launches of the trace, 1 from y 1x1x1 on; found 2 from x 1x1x1 on"
    ):
        compare_times(PATH, rows[:-1], [("y 1x1x1", 1.0)], 0.0)


@pytest.mark.parametrize("text", ["nan", "-1", "inf", "few"])
def test_a_shortest_time_is_a_length(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        parser().parse_args(["correlate", "rtx2060", "--measured", "h100_suite", "--least-us", text])
    assert "must be a number of microseconds, 0 or more" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns gpu, quantity, value, unit"),
        ("a,b\n1,2\n", "found: a, b"),
        ("gpu,quantity,value,unit\nA,q,many,cycles\n", "value must be a number, found 'many': q"),
        (
            "# made\n\ngpu,quantity,value,unit\nA,q,1,c\nA,q\n",
            "csv: line 5: must have 4 values, as the first row, not 2",
        ),
        ('gpu,quantity,value,unit\nA,"q"x,1,c\n', "csv: line 2: must be CSV: "),
        ("gpu,quantity,value,unit\nA,q,1,c\nB,q,1,c\n", "choose one card with --card, found none; there are: A, B"),
    ],
)
def test_bad_files_are_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "measured.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=message.replace("[", r"\[")):
        compare_suite(path, choose_card(path, read_measured(path), None), [], 1e9)


def test_committed_measurements_are_read_and_belong_to_the_suite() -> None:
    folder = Path(__file__).resolve().parents[2] / "silicon" / "measured"
    rows = read_measured(folder / "h100_suite.csv")
    assert {row["quantity"] for row in rows} == {micro.quantity for micro in suite()}
    assert all(len(read_measured(path)) == 7 for path in folder.glob("h100_textbook_*.csv"))


def test_a_latency_of_the_description_is_the_latency_of_the_suite() -> None:
    """A step takes as many cycles more as its unit."""
    changes = (["lsu.shared_latency_cycles=20"], ["lsu.shared_latency_cycles=27"])
    found = [simulate_suite([load("rtx2060", change)], ["shared_load"])["rtx2060"][0] for change in changes]
    assert found[1].value - found[0].value == 7


def test_a_quantity_does_not_depend_on_its_company() -> None:
    """Neither addresses nor caches of one micro-benchmark reach another one."""
    gpu, names = load("rtx2060", ["sm.count=2"]), ["l1_hit", "l2_hit", "l2_read"]
    (together,) = simulate_suite([gpu], names).values()
    alone = [simulate_suite([gpu], [name])[gpu.name][0] for name in names]
    assert together == alone
