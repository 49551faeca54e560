"""Small traces written by hand: one block of chosen instructions, chosen addresses."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.schema.trace import UNITS

FULL = 0xFFFFFFFF


@dataclass(frozen=True)
class Op:
    """One instruction: class, unit, timing, scoreboard, memory space."""

    name: str = "int"
    unit: str = "int"
    stall: int = 1
    initiation: int = 1
    slot: int = -1
    wait: int = 0
    space: str = "none"
    access_bytes: int = 4


def load(slot: int = 0, wait: int = 1, space: str = "global", access_bytes: int = 4) -> Op:
    """A load that waits for the slots of ``wait`` and sets ``slot``."""
    return Op("load", "lsu", 1, 1, slot, wait, space, access_bytes)


Address = Callable[[int, int, int, int], int]  # warp, visit, instruction, lane -> address


def program_tables(ops: list[Op]) -> dict[str, dict[str, Any]]:
    """The static tables of one block."""
    count = len(ops)
    ragged = {}
    for name in ("destination_registers", "source_registers"):
        ragged |= {name: np.zeros(0, np.uint32), f"{name}_offset": np.zeros(count + 1, np.int64)}
    memory = [op.space != "none" for op in ops]
    return {
        "instructions": ragged | {
            "kernel_id": [0] * count, "instruction_id": range(count), "block_id": [0] * count,
            "opcode": ["bar.sync" if op.name == "barrier" else op.name for op in ops],
            "operation_class": [op.name for op in ops], "memory_space": [op.space for op in ops],
            "access_bytes": [op.access_bytes if used else 0 for op, used in zip(ops, memory, strict=True)],
            "line": range(count), "text": [op.name for op in ops],
        },
        "blocks": {
            "kernel_id": [0], "block_id": [0], "first_instruction": [0], "instruction_count": [count],
            "reconvergence_block": [-1], "program": ["micro"],
        },
        "characterisation": {
            "instruction_id": range(count), "unit": [UNITS.index(op.unit) for op in ops],
            "stall_cycles": [op.stall for op in ops], "initiation_cycles": [op.initiation for op in ops],
            "scoreboard_slot": [op.slot for op in ops], "wait_mask": [op.wait for op in ops],
        },
    }  # fmt: skip


def write_micro(
    path: Path, ops: list[Op], visits: list[int], address: Address | None = None, warps_per_cta: int = 1
) -> Path:
    """A trace of one launch: warp w executes the block ``visits[w]`` times; every memory instruction has all lanes."""
    warps = len(visits)
    ctas = -(-warps // warps_per_cta)
    rows: dict[str, list[int]] = {name: [] for name in ("warp_id", "visit", "instruction_id", "address")}
    memory = [index for index, op in enumerate(ops) if op.space != "none"]
    for warp, count in enumerate(visits):
        for visit in range(count):
            for index in memory:
                rows["warp_id"].append(warp)
                rows["visit"].append(visit)
                rows["instruction_id"].append(index)
                assert address is not None
                rows["address"].extend(address(warp, visit, index, lane) for lane in range(32))
    number = np.arange(warps)
    with TraceWriter(path, {"command": "test"}) as writer:
        writer.put("kernels", {
            "kernel_id": [0], "name": ["micro"], "stream": [0], "grid_x": [ctas], "grid_y": [1], "grid_z": [1],
            "block_x": [32 * warps_per_cta], "block_y": [1], "block_z": [1], "registers_per_thread": [16],
            "shared_bytes": [1024], "shared_base": [1 << 40], "local_base": [1 << 41], "local_bytes": [0],
            "source": ["ptx"],
        })  # fmt: skip
        for name, columns in program_tables(ops).items():
            writer.put(name, columns)
        writer.put("warps", {
            "kernel_id": number * 0, "warp_id": number, "cta_id": number // warps_per_cta,
            "warp_in_cta": number % warps_per_cta, "launched_mask": np.full(warps, FULL),
        })  # fmt: skip
        warp = np.repeat(number, visits)
        writer.put("visits", {"warp_id": warp, "block_id": warp * 0, "active_mask": np.full(len(warp), FULL)})
        count = len(rows["warp_id"])
        writer.put("accesses", {
            "warp_id": rows["warp_id"], "visit": rows["visit"], "instruction_id": rows["instruction_id"],
            "lane_mask": np.full(count, FULL), "address": np.array(rows["address"], np.uint64),
            "address_offset": np.arange(count + 1) * 32,
        })  # fmt: skip
    return path


@pytest.fixture
def micro(tmp_path: Path) -> Callable[..., Path]:
    """``micro(ops, visits, address, warps_per_cta)`` writes a trace and returns its path."""
    made = iter(range(1000))
    return lambda *arguments, **options: write_micro(tmp_path / f"micro{next(made)}.trace", *arguments, **options)


@pytest.fixture(scope="session")
def op() -> type[Op]:
    """The constructor of instructions."""
    return Op


@pytest.fixture(scope="session")
def load_op() -> Callable[..., Op]:
    """The constructor of loads."""
    return load


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated trace with an image launch, rays, any-hit code, and a compute launch with barriers."""
    from rayplay.formats.testing.generate import make_trace

    return make_trace(tmp_path_factory.mktemp("generated") / "all.trace", seed=5, image_size=(90, 24), ctas=24)


@pytest.fixture
def run_replay(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """``run_replay(*arguments)`` runs ``python -m replay ARGUMENTS`` in this process and returns its exit code."""
    from rayplay.formats.guard.command import run
    from rayplay.replay import __main__ as command

    def run_replay(*arguments: object) -> int:
        monkeypatch.setattr("sys.argv", ["replay", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            run("replay", command.main)
        return int(caught.value.code or 0)

    return run_replay
