"""The random traces on the slow twin; ``fuzz_twin.py`` compares the engine's model ``pipeline`` with it."""

from pathlib import Path

from formats.reader import open_trace
from tests.replay import twin_cases


def test_the_twin_executes_every_instruction_once(tmp_path: Path) -> None:
    case = twin_cases.make(3, tmp_path)
    text = "".join(path.read_text() for path in sorted(tmp_path.glob("kernel-*.traceg")))
    executed = sum(int(line.split()[2]) for line in text.splitlines() if line.startswith("insts"))
    assert sum(kernel["warp_instructions"] for kernel in twin_cases.run_twin(case)) == executed
    assert open_trace(case.trace).rows("warps") == text.count("warp = ")
