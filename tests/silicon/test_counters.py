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


LAUNCH = '"0","7","app","host",'
RULES = '"Rule Name","Rule Type","Rule Description","Estimated Speedup Type","Estimated Speedup"'
WHERE = '"(32,1,1)","(1,1,1)","0","8.6"'
LAYOUTS = {
    "raw page": (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","gpc__cycles_elapsed.max",'
        '"lts__t_sector_hit_rate.pct"\n"","","","","","","cycle","%"\n{launch}"{name}(int)","1","{cycles:,}","{hits}"\n'
    ),
    "details, with rules": (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Block Size","Grid Size","Device","CC",'
        '"Section Name","Metric Name","Metric Unit","Metric Value",{rules}\n'
        '{launch}"{name}(int)",{where},"Speed","Elapsed Cycles","cycle","{cycles:,}","","","","",""\n'
        '{launch}"{name}(int)",{where},"Speed","","","","Bottleneck","OPT","Text, with commas","global","3.1"\n'
        '{launch}"{name}(int)",{where},"Memory","L2 Hit Rate","%","{hits}","","","","",""\n'
    ),
    "summary per kernel": (
        '"Process ID","Kernel Name","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum",'
        '"Average"\n"7","{name}(int)","1","Speed","Elapsed Cycles","cycle","1","2","{cycles:,}"\n'
        '"7","{name}(int)","1","Memory","L2 Hit Rate","%","1","2","{hits}"\n'
    ),
    "details, with NVTX": (
        '"ID","Process ID","Process Name","Host Name","thread Domain:Push/Pop_Range:PL_Type",'
        '"Id:Domain:Start/Stop_Range","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n'
        '{launch}"a:b","","{name}(int)","Speed","Elapsed Cycles","cycle","{cycles:,}"\n'
        '{launch}"a:b","","{name}(int)","Memory","L2 Hit Rate","%","{hits}"\n'
    ),
}


def test_every_layout_of_nsight_joins_the_same_table(tmp_path: Path) -> None:
    gpu = load("mobile")
    found = simulate(TRACE, gpu)
    name, miss = found.kernels["name"][0], found.summary["l2_miss_rate"]["value"]
    cycles = int(found.kernels["end_cycle"][0] - found.kernels["start_cycle"][0]) - gpu.sm.kernel_launch_cycles
    assert cycles > 1000, "so that a thousands separator is read"
    for layout, text in LAYOUTS.items():
        path = tmp_path / f"{layout}.csv"
        made = text.format(launch=LAUNCH, rules=RULES, where=WHERE, name=name, cycles=cycles, hits=100 * (1 - miss))
        path.write_text(f"==PROF== Connected\n{made}")
        rows = compare_counters(path, TRACE, gpu, None, 0.0)
        assert [row.quantity for row in rows] == [f"0 {name}", "gpu_cycles", "l2_miss_rate"], layout
        assert [row.error for row in rows] == pytest.approx([0, 0, 0], abs=1e-9), layout
