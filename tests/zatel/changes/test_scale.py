"""Scale models: their machines, and that the one of the whole size is the full replay."""

import json
from pathlib import Path

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import load
from rayplay.zatel.changes.scale import divided, full_replays, scale, sized_as
from rayplay.zatel.changes.whatif import relative_change
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.verbs.scale import KEYS, as_json, table_text


def test_machines_are_divided_or_sized_as_another_gpu() -> None:
    gpu, mobile = load("rtx2060"), load("mobile")
    assert [(one.sms, one.controllers) for one in divided(gpu, (1, 2, 3, 4, 5, 6))] == [
        (30, 12), (15, 6), (10, 4), (7, 3), (6, 2), (5, 2),
    ]  # fmt: skip
    assert [one.fraction for one in divided(gpu, (1, 4))] == [1.0, 7 / 30]
    assert sized_as(gpu, mobile)[:] == ("as mobile", 8, 4, 8 / 30)
    assert sized_as(mobile, gpu)[:] == ("as rtx2060", 30, 12, 1.0)


@pytest.mark.parametrize("factor", [0, -1, 5])
def test_a_factor_leaves_something(factor: int) -> None:
    with pytest.raises(UserError, match=f"GPU mobile: --factor must be 1 to 4, but is {factor}"):
        divided(load("mobile"), [factor])


def test_the_whole_size_is_the_full_replay_and_others_have_intervals(tmp_path: Path) -> None:
    path = make_trace(tmp_path / "small.trace", 2, (64, 24), 0)
    gpu = load("mobile", ["sm.kernel_launch_cycles=100", "sm.count=2", "memory.count=2", "l2.bytes=196608"])
    larger = load("mobile", ["sm.count=3", "memory.count=2"])
    found = scale(open_trace(path), gpu, [*divided(gpu, (1, 2)), sized_as(gpu, larger)], workers=2)
    full, floor = full_replays(open_trace(path), gpu, 2)
    whole, half, three = (one.estimate for one in found)
    assert found[0].floor == pytest.approx(floor)
    for name in RULES:
        assert whole.metrics[name] == pytest.approx(full[name], rel=1e-9)
        for other in (half, three):
            bounds = other.intervals[name]
            assert bounds is None or bounds.low < bounds.high
    assert (half.machine.sms, half.warps.sum()) == (1, len(half.warps) // 2)
    assert (three.machine.sms, three.warps.all()) == (3, True)
    assert set(relative_change(whole.metrics, full).values()) == {0.0}
    text = table_text(found, full, floor)
    assert text.count("  noise floor") == 3
    assert "as mobile: 3 SMs, 2 controllers, 100 % of CTAs" in text
    assert as_json(found, full, floor, "sample.trace", "mobile").keys() == KEYS
    json.dumps(as_json(found, full, floor, "sample.trace", "mobile"))
