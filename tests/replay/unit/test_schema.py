"""GPU descriptions: strict, explained, scaled."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import FOLDER, explain, load

GPUS = ("rtx2060", "mobile")


@pytest.mark.parametrize(
    ("name", "sms", "controllers", "registers", "bandwidth"),
    [("rtx2060", 30, 12, 65536, 336_000_000_000), ("mobile", 8, 4, 32768, 56_000_000_000)],
)
def test_table_two(name: str, sms: int, controllers: int, registers: int, bandwidth: int) -> None:
    """The values of Zatel's Table II, and the bandwidth of docs/sources/vulkan-sim.md#dram."""
    gpu = load(name)
    assert (gpu.sm.count, gpu.memory.count, gpu.sm.registers) == (sms, controllers, registers)
    assert (gpu.sm.warps, gpu.rt.warps, gpu.rt.mshr_entries) == (32, 4, 64)
    assert (gpu.l1.bytes, gpu.l1.sets, gpu.l1.latency_cycles) == (65536, 1, 20)
    assert (gpu.l2.bytes, gpu.l2.ways, gpu.l2.latency_cycles) == (3 << 20, 16, 160)
    assert gpu.scheduler.policy == "gto"
    assert gpu.dram_bytes_per_second == bandwidth


@pytest.mark.parametrize("name", GPUS)
def test_every_value_has_a_source(name: str) -> None:
    assert not [line for line in explain(name) if "no source given" in line]


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("l1.byte=3", "unknown key l1.byte; did you mean 'l1.bytes'?"),
        ("l1.bytes=0", "l1.bytes must be at least 128, not 0"),
        ("l1.bytes=true", "l1.bytes: must be a whole number, found True"),
        ("l1.bytes=1000", "l1: bytes (1000) must be a multiple of line_bytes x ways (65536)"),
        ("scheduler.policy=oldst", "scheduler.policy: unknown name 'oldst'; did you mean 'oldest'?"),
        ("l2.bytes=4096", "l2.bytes (4096) must be a multiple of slices x line_bytes x ways"),
        ("l2.bytes=6291456", "--set l2.bytes: l2: set_hash ipoly needs 16, 32 or 64 sets, not 128"),
        ("memory.count=16", "--set memory.count: l2: set_hash ipoly needs 16, 32 or 64 sets, not 48 (l2.bytes / "),
        ("sm.warps=65", "--set sm.warps: sm: warps must be at most 64, not 65"),
        (
            "dram.latency_cycles=4611686018427387904",
            "dram.latency_cycles must be at most 1,000,000, not 4,611,686,018,",
        ),
        ("l1.dirty_percent=101", "l1.dirty_percent must be at most 100, not 101"),
        ("l2.bytes=2199023255552", "l2.bytes must be at most 1,099,511,627,776, not 2,199,023,255,552"),
        ("l1.shared_options=[1099511627777]", "l1.shared_options must be at most 1,099,511,627,776, not"),
        ("scheduler.policy=x", "unknown name 'x'; known are gto, lrr, oldest, two-level, rrr, limited, gtlrr, gty"),
        ("nosuch.key=1", "--set nosuch: unknown key nosuch; known are sm, scheduler, "),
        ("l2s.bytes=1", "--set l2s: unknown key l2s; did you mean 'l2'?"),
        ("memory.address_map=dramid@8;RRB", "memory.address_map must name 64 bits, not 3"),
        ("memory.partition_hash=xor", "memory.address_map partition_hash xor needs a power of two of channels"),
        ("sm.cluster=7", "count (30) must be a multiple of cluster (7)"),
        ("dram.burst_length=3", "burst_length must be a multiple of data_ratio"),
        ("pipeline.register_banks=64", "pipeline.register_banks must be at most 32, for each scheduler 8, not 64"),
        ("sm.count=1025", "sm: count must be at most 1024, not 1025"),
        ("dram.write_queue_entries=32", "dram: write_high must be at least 1 where writes have a queue"),
        ("lsu.local_block_bytes=100", "local_block_bytes must be a multiple of 32, not 100"),
        (
            "l2.write_policy=through",
            "write_allocate lazy_fetch_on_read with write_policy through would answer a write twice",
        ),
        ("l1", "must be key=value"),
    ],
)
def test_wrong_values_are_one_clear_line(assignment: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        load("rtx2060", [assignment])
    assert message in str(caught.value)


def test_a_file_is_checked_with_its_line(tmp_path: Path) -> None:
    text = (FOLDER / "mobile.toml").read_text()
    wrong = tmp_path / "my.toml"
    wrong.write_text(text.replace("policy =", "polcy ="))
    line = next(number for number, found in enumerate(wrong.read_text().splitlines(), 1) if "polcy" in found)
    with pytest.raises(
        UserError, match=rf"my\.toml:{line}: unknown key scheduler.polcy; did you mean 'scheduler.policy'"
    ):
        load(str(wrong))
    wrong.write_text(text.replace("[l2]", "[l2x]"))
    with pytest.raises(UserError, match="l2x"):
        load(str(wrong))
    with pytest.raises(UserError, match="no such GPU description"):
        load(str(tmp_path / "absent.toml"))
    with pytest.raises(UserError, match="mobile, orin, orin-released, rtx2060"):
        load("rtx4090")


def test_scaling_divides_sms_controllers_and_l2() -> None:
    gpu = load("rtx2060")
    scaled = gpu.scaled(6)
    assert (scaled.sm.count, scaled.memory.count, scaled.l2.bytes) == (5, 2, gpu.l2.bytes // 6)
    assert scaled.l2_sets_per_slice == gpu.l2_sets_per_slice
    assert dataclasses.replace(scaled, name=gpu.name, sm=gpu.sm, memory=gpu.memory, l2=gpu.l2) == gpu
    assert gpu.scaled(1) == gpu
    with pytest.raises(UserError, match=r"scaling factor 4 must divide sm\.count"):
        gpu.scaled(4)


def test_explain_on_the_command_line_shows_what_was_set() -> None:
    command = [sys.executable, "-m", "replay", "--explain", "mobile", "--set", "sm.warps=16"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    line = next(found for found in shown.splitlines() if found.strip().startswith("sm.warps "))
    assert "= 16" in line
    assert "set on the command line" in line


def test_wrong_arguments_end_with_code_two_and_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "replay", str(tmp_path / "absent.trace")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "absent.trace" in done.stderr
