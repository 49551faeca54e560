"""Speed of the PTX front end, per core: ``python -m bench.speed.ptx [FILE.ptx ...]`` (default: the built-in programs).

Prints one line per figure, ``name: value unit (target X)``; process CPU time, the least of five runs.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from rayplay.ptx.ir import Module  # noqa: E402
from rayplay.ptx.program import link  # noqa: E402
from rayplay.ptx.text.parser import parse  # noqa: E402
from rayplay.ptx.verifier.code import verify  # noqa: E402

RUNS = 5


def least_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of the fastest of several runs."""
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def tables(module: Module) -> object:
    """Graphs, characterisation and tables of a whole module."""
    return link([(module, f) for f in module.functions.values() if not f.is_declaration]).tables()


def main() -> None:
    """Time each stage over all files together."""
    paths = [Path(a) for a in sys.argv[1:]] or sorted((ROOT / "tracer").rglob("*.ptx"))
    texts = [path.read_text() for path in paths]
    modules = [parse(text, path.name) for text, path in zip(texts, paths, strict=True)]
    count = sum(len(f.body) for module in modules for f in module.functions.values())
    print(f"instructions: {count} in {len(paths)} files")
    for name, work, target in (
        ("parse", lambda: [parse(text, "bench") for text in texts], 60),
        ("verify", lambda: [verify(module) for module in modules], 20),
        ("graphs, characterisation and tables", lambda: [tables(module) for module in modules], 40),
    ):
        print(f"{name}: {least_seconds(work) / count * 1e6:.1f} us/instruction (target <= {target})")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "ptx", "--help"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    print(f"python -m ptx --help: {time.perf_counter() - start:.2f} s (target <= 0.5)")


if __name__ == "__main__":
    main()
