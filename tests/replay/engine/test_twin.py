"""The engine's model ``pipeline`` against the slow twin on random GPUs and traces; ``make fuzz`` runs 500."""

import re
from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.errors import UserError
from tests.reference.slow_gpu.gpu import Gpu
from tests.reference.slow_gpu.program import Kernel
from tests.reference.slow_gpu.program import load as load_program
from tests.replay.engine import twin_cases


def test_the_twin_executes_every_instruction_once(tmp_path: Path) -> None:
    case = twin_cases.make(3, tmp_path)
    text = "".join(path.read_text() for path in sorted(tmp_path.glob("kernel-*.traceg")))
    executed = sum(int(line.split()[2]) for line in text.splitlines() if line.startswith("insts"))
    assert sum(kernel["warp_instructions"] for kernel in twin_cases.run_twin(case)) == executed
    assert open_trace(case.trace).rows("warps") == text.count("warp = ")


# 1480: an access that found no line does so when a fence empties the L1
# 1110: an atomic fills a sector that a store wrote in parts; 20022, 20078, 20362: clusters with rare options
@pytest.mark.parametrize("seed", [*range(60), 1110, 1480, 20022, 20078, 20362])
def test_every_cycle_and_counter_is_the_twins(tmp_path: Path, seed: int) -> None:
    assert twin_cases.differences(seed, tmp_path / "case", with_memory=seed % 3 != 2) == []


# 7, 67, 79: an L2 faster than the crossbar takes packets while its queue fills; 78, 105: kernels end between L2 cycles
@pytest.mark.parametrize("seed", [7, 67, 78, 79, 105])
def test_lockstep_with_clocks_of_their_own_is_the_twins(tmp_path: Path, seed: int) -> None:
    assert twin_cases.differences(seed, tmp_path / "case", with_memory=seed % 3 != 2, in_lockstep=True) == []


@pytest.mark.parametrize("seed", range(18))
def test_raster_operations_take_the_cycles_of_the_twin(tmp_path: Path, seed: int) -> None:
    lockstep = seed % 6 == 5
    assert twin_cases.differences(seed, tmp_path / "case", True, lockstep, is_drawn=True) == []


LAZY_L2 = {"l2.write_policy": "back", "l2.write_allocate": "lazy_fetch_on_read", "interconnect.perfect_memory": False}
NO_BACK = {"l1.write_policy": "through", "l1.write_allocate": "none"}
RARE: dict[str, dict[str, Any]] = {
    "parts of a warp": {"lsu.warp_parts": 8},
    "flush": {"l2.flush_idle": True},
    "the youngest warp first": {"scheduler.policy": "gty"},
    "drawn slices": {"memory.partition_hash": "random"},
    "no allocation": {"l1.write_policy": "back", "l1.write_allocate": "none", **LAZY_L2},
    "naive allocation": {"l1.write_policy": "back", "l1.write_allocate": "naive", **LAZY_L2},
    "naive allocation, through": {"l1.write_policy": "through", "l1.write_allocate": "naive"},
}
WHOLE = {"l1.whole_lines": True, "l1.port_bytes": 128, "l1.write_allocate": "none", **LAZY_L2}
KEEPS_LOCAL = {"l1.write_policy": "evict_global", "l1.write_allocate": "none"}
RARE |= {
    "whole lines": WHOLE | {"l1.write_policy": "through"},
    "whole lines, local ones kept": WHOLE | KEEPS_LOCAL,
    "whole lines, naive allocation": WHOLE | {"l1.write_policy": "back", "l1.write_allocate": "naive"},
    "local memory kept": LAZY_L2 | KEEPS_LOCAL,
    "no L1": {"lsu.global_skips_l1": True, "lsu.local_skips_l1": True},
    "an L2 that fetches on writes": {
        **NO_BACK,
        "l2.write_policy": "back",
        "l2.write_allocate": "fetch_on_write",
    },
    "an L2 that fetches naively": {**NO_BACK, "l2.write_policy": "back", "l2.write_allocate": "naive"},
}
"""Options that no released configuration changes."""


# without atomics: they never end for lanes that are left over
@pytest.mark.parametrize(("seed", "parts"), [(0, 3), (4, 7), (5, 12), (7, 5), (8, 31), (9, 10)])
def test_lanes_that_are_left_over_make_no_access(tmp_path: Path, seed: int, parts: int) -> None:
    assert twin_cases.differences(seed, tmp_path / "case", True, extra={"lsu.warp_parts": parts}) == []


def test_atomics_of_lanes_that_are_left_over_are_refused(tmp_path: Path) -> None:
    case = twin_cases.make(1, tmp_path, extra={"lsu.warp_parts": 3})
    with pytest.raises(UserError, match=r"must have no atomics on GPU .*: lsu.warp_parts 3 leaves lanes out"):
        twin_cases.run_engine(case)


@pytest.mark.parametrize("option", RARE)
@pytest.mark.parametrize("seed", range(3))
def test_rare_options_take_the_cycles_of_the_twin(tmp_path: Path, option: str, seed: int) -> None:
    assert twin_cases.differences(seed, tmp_path / "case", True, extra=RARE[option]) == []


def stores_for_ever(case: twin_cases.Case, most_cycles: int) -> set[int]:
    """Sectors that warps of the twin's last kernel, which does not end, have stored without an acknowledgement."""
    gpu, kernels = Gpu(case.twin), load_program(case.trace, case.twin.latencies, case.twin.texture.used)
    try:
        for each in kernels:
            gpu.run(each, most_cycles) if isinstance(each, Kernel) else gpu.copy(*each)
    except TimeoutError:
        return {warp.stores for sm in gpu.sms for warp in sm.warps if warp is not None and warp.stores}
    return set()


FETCHES = {"l1.write_policy": "back", "l1.write_allocate": "fetch_on_write", **LAZY_L2}


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_store_that_has_its_sector_fetched_by_an_l1_is_never_acknowledged(tmp_path: Path, seed: int) -> None:
    """As many sectors of as many warps as in the twin; where all stores fill sectors, everything is the twin's."""
    case = twin_cases.make(seed, tmp_path, extra=FETCHES)
    try:
        found = twin_cases.run_engine(case)
    except UserError as error:
        last = int(re.findall(r"after cycle (\d+)", str(error))[0])
        said = {int(count) for count in re.findall(r"acknowledgements of (\d+) sectors", str(error))}
        assert said == stores_for_ever(case, last + 1000)
    else:
        assert found == twin_cases.run_twin(case)


@pytest.mark.parametrize("seed", range(12))
def test_an_sm_holds_64_warps(tmp_path: Path, seed: int) -> None:
    """The last one's bit is the sign of every mask."""
    shape = ((2, 1024), (3, 512), (70, 32), (9, 256))[seed % 4]
    case = twin_cases.make(seed, tmp_path, with_memory=seed % 3 != 2, shape=shape)
    assert twin_cases.run_engine(case) == twin_cases.run_twin(case)


def test_the_quantum_changes_no_counter(tmp_path: Path) -> None:
    case = twin_cases.make(4, tmp_path)
    assert twin_cases.run_engine(case, quantum=1) == twin_cases.run_engine(case)
