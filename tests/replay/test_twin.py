"""The engine's model ``pipeline`` against the slow twin: equal in every cycle and counter on random traces and GPUs."""

from pathlib import Path

import pytest

from formats.reader import open_trace
from tests.replay import twin_cases

BLOCK = 50
MEMORY_SEEDS, ARITHMETIC_SEEDS = range(0, 400, BLOCK), range(10_000, 10_100, BLOCK)


def differences(seed: int, folder: Path, with_memory: bool) -> list[str]:
    """What the engine counts otherwise than the twin, kernel by kernel."""
    folder.mkdir()
    case = twin_cases.make(seed, folder, with_memory)
    twin, engine = twin_cases.run_twin(case), twin_cases.run_engine(case)
    assert len(twin) == len(engine)
    return [
        f"seed {seed}, kernel {number}, {name}: twin {value}, engine {theirs[name]}"
        for number, (ours, theirs) in enumerate(zip(twin, engine, strict=True))
        for name, value in ours.items()
        if theirs[name] != value
    ]


@pytest.mark.parametrize("first", MEMORY_SEEDS)
def test_every_cycle_and_counter_of_traces_with_memory(tmp_path: Path, first: int) -> None:
    assert [
        text for seed in range(first, first + BLOCK) for text in differences(seed, tmp_path / f"{seed}", True)
    ] == []


@pytest.mark.parametrize("first", ARITHMETIC_SEEDS)
def test_every_cycle_and_counter_of_arithmetic(tmp_path: Path, first: int) -> None:
    assert [
        text for seed in range(first, first + BLOCK) for text in differences(seed, tmp_path / f"{seed}", False)
    ] == []


def test_the_twin_executes_every_instruction_once(tmp_path: Path) -> None:
    case = twin_cases.make(3, tmp_path)
    text = "".join(path.read_text() for path in sorted(tmp_path.glob("kernel-*.traceg")))
    executed = sum(int(line.split()[2]) for line in text.splitlines() if line.startswith("insts"))
    assert sum(kernel["warp_instructions"] for kernel in twin_cases.run_twin(case)) == executed
    assert open_trace(case.trace).rows("warps") == text.count("warp = ")
