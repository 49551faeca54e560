"""Speed of the front ends of PTX and SASS, per core.

    python -m bench.speed.ptx [FILE ...]      default: the built-in programs, then the tests' listings

Prints one line per figure, ``name: value unit (target X)``; process CPU time, the least of five runs. Parsing is
linear: two figures are of one section of 2,000 and of 100,000 instructions of SASS.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from bench.speed.clock import seconds  # noqa: E402
from rayplay.ptx.flow.language import parse  # noqa: E402
from rayplay.ptx.ir import Module  # noqa: E402
from rayplay.ptx.program import link  # noqa: E402
from rayplay.ptx.sass import verify as sass  # noqa: E402
from rayplay.ptx.verifier import code as ptx  # noqa: E402

LINES = (
    "@!P0 IMAD.WIDE.U32 R2, R4.reuse, 0x4, R6", "LDG.E.64 R8, desc[UR4][R2.64+0x10]",
    "FFMA R9, -R8, c[0x0][0x160], |R5|", "ISETP.GE.AND P0, PT, R9, UR6, !P1", "STS [R4.X4+0x200], R9",
)  # fmt: skip


def section(size: int) -> str:
    """Listing of one function of ``size`` instructions."""
    code = "".join(f"        /*{16 * n:05x}*/  {LINES[n % len(LINES)]} ;\n" for n in range(size))
    return f"\t.target\tsm_90\n\t.section\t.text.k\nk:\n{code}"


def tables(module: Module) -> object:
    """Graphs, characterisation and tables of a whole module."""
    return link([(module, f) for f in module.functions.values() if not f.is_declaration]).tables()


def verify(module: Module) -> object:
    """Problems of a module of either language."""
    return (sass if module.language == "sass" else ptx).verify(module)


def time_files(paths: list[Path]) -> None:
    """Time each stage over all files together."""
    texts = [path.read_text() for path in paths]
    modules = [parse(text, path.name) for text, path in zip(texts, paths, strict=True)]
    count = sum(len(f.body) for module in modules for f in module.functions.values())
    print(f"instructions: {count} in {len(paths)} files")
    for name, work, target in (
        ("parse", lambda: [parse(text, "bench") for text in texts], 60),
        ("verify", lambda: [verify(module) for module in modules], 20),
        ("graphs, characterisation and tables", lambda: [tables(module) for module in modules], 40),
    ):
        print(f"{name}: {seconds(work) / count * 1e6:.1f} us/instruction (target <= {target})")


def main() -> None:
    """Time the files, then parsing alone at two sizes, then the start of the command."""
    if len(sys.argv) > 1:
        time_files([Path(argument) for argument in sys.argv[1:]])
        return
    time_files(sorted((ROOT / "tracer").rglob("*.ptx")))
    time_files(sorted((ROOT / "tests/ptx/data/sass").glob("sm_*.sass")))
    for size in (2_000, 100_000):
        text = section(size)
        taken = seconds(lambda text=text: parse(text, "bench"))
        print(f"parse {size} instructions: {taken / size * 1e6:.1f} us/instruction (target <= 60)")
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "ptx", "--help"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    print(f"python -m ptx --help: {time.perf_counter() - start:.2f} s (target <= 0.5)")


if __name__ == "__main__":
    main()
