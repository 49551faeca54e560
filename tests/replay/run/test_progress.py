"""The heartbeat says where a replay stands, and nothing else does."""

import io
from pathlib import Path

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.replay.run.progress import Heartbeat, Standing, line


def test_a_line_has_cycle_rates_and_end() -> None:
    assert line(Standing(50_000, 4_000, 10_000), 2.0) == (
        "cycle 50,000: 4,000 of 10,000 warp-instructions (40.0%), 2,000 warp-instructions/s, 25,000 cycles/s, 3 s left"
    )
    assert line(Standing(7, 0, 10), 1.0).endswith("no end in sight")


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_heartbeat_without_time_between_is_refused(seconds: float) -> None:
    with pytest.raises(UserError, match=f"^--heartbeat {seconds:g}: must be more than 0 seconds$"):
        Heartbeat(seconds)


def test_lines_come_as_often_as_asked() -> None:
    now, stream = [0.0], io.StringIO()
    with Heartbeat(10.0, stream, lambda: now[0]) as heartbeat:
        for second in range(35):
            now[0] = float(second)
            heartbeat(Standing(second, second, 100))
    assert [text.split(":")[0] for text in stream.getvalue().splitlines()] == ["cycle 10", "cycle 20", "cycle 30"]


def test_rates_leave_out_what_an_interrupted_run_did() -> None:
    now, stream = [0.0], io.StringIO()
    with Heartbeat(10.0, stream, lambda: now[0]) as heartbeat:
        for second, instructions in ((20.0, 9_000), (30.0, 9_100)):  # resumed at 9,000 once the trace was read over
            now[0] = second
            heartbeat(Standing(10 * instructions, instructions, 10_000))
    assert stream.getvalue().splitlines() == [
        "cycle 90,000: 9,000 of 10,000 warp-instructions (90.0%), no end in sight",
        "cycle 91,000: 9,100 of 10,000 warp-instructions (91.0%), 10 warp-instructions/s, 100 cycles/s, 90 s left",
    ]


def test_the_bar_begins_where_the_replay_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    now, stream = [0.0], io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with Heartbeat(None, stream, lambda: now[0]) as heartbeat:
        for second, instructions in ((20.0, 9_000), (30.0, 9_100)):
            now[0] = second
            heartbeat(Standing(10 * instructions, instructions, 10_000))
        bar = heartbeat.bar
        assert bar is not None
        assert (bar.initial, bar.n, bar.total) == (9_000, 9_100, 10_000)
        assert bar.postfix == "cycle 91,000, 100 cycles/s"


def test_a_replay_tells_every_standing(generated: Path) -> None:
    told: list[Standing] = []
    result = simulate(open_trace(generated), load("mobile", ["sm.count=2"]), progress=told.append)
    assert told == sorted(told)
    assert told[-1].instructions == told[-1].total == result.value("warp_instructions")
