"""Nsight Compute's counters beside a replay of the same launches: a replay's own counters have no error."""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.silicon.counters import compare_counters, is_nsight

TRACE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"


def test_a_replays_own_counters_have_no_error(tmp_path: Path) -> None:
    gpu = load("mobile")
    found = simulate(TRACE, gpu)
    assert len(found.kernels["name"]) == 1
    name, miss = found.kernels["name"][0], found.summary["l2_miss_rate"]["value"]
    cycles = int(found.kernels["end_cycle"][0] - found.kernels["start_cycle"][0]) - gpu.sm.kernel_launch_cycles
    path = tmp_path / "ncu.csv"
    path.write_text(
        'the program says: 1,2\n==PROF== 5\n"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        f'"0","{name}(int)","gpc__cycles_elapsed.max","cycle","{cycles}"\n'
        f'"0","{name}(int)","lts__t_sector_hit_rate.pct","%","{100 * (1 - miss)}"\n'
    )
    assert is_nsight(path)
    rows = compare_counters(path, TRACE, gpu, None, 0.0)
    assert [row.quantity for row in rows] == [f"0 {name}", "gpu_cycles", "l2_miss_rate"]
    assert [row.error for row in rows] == pytest.approx([0, 0, 0], abs=1e-9)
    (first, *_) = compare_counters(path, TRACE, gpu, "mine", 1e9)
    assert (first.card, first.simulated) == ("mine", None)
    assert "where the launch itself counts" in first.reason
    path.write_text(path.read_text().replace(name, "other"))
    with pytest.raises(UserError, match=f"must have the launches of the trace, 1 from {name} on; found 1 from other"):
        compare_counters(path, TRACE, gpu, None, 0.0)
