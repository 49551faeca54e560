"""Speed of the SASS front end, per core: ``python -m bench.speed.sass [LISTING ...]`` (default: the tests' listings).

Prints one line per figure, ``name: value unit (target X)``; process CPU time, the least of five runs. Parsing is
linear: the last two figures are of one section of 2,000 and of 100,000 instructions.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

from bench.speed.ptx import least_seconds, tables  # noqa: E402
from rayplay.ptx.flow.language import parse  # noqa: E402
from rayplay.ptx.sass.verify import verify  # noqa: E402

LINES = (
    "@!P0 IMAD.WIDE.U32 R2, R4.reuse, 0x4, R6", "LDG.E.64 R8, desc[UR4][R2.64+0x10]",
    "FFMA R9, -R8, c[0x0][0x160], |R5|", "ISETP.GE.AND P0, PT, R9, UR6, !P1", "STS [R4.X4+0x200], R9",
)  # fmt: skip


def section(size: int) -> str:
    """Listing of one function of ``size`` instructions."""
    code = "".join(f"        /*{16 * n:05x}*/  {LINES[n % len(LINES)]} ;\n" for n in range(size))
    return f"\t.target\tsm_90\n\t.section\t.text.k\nk:\n{code}"


def main() -> None:
    """Time each stage over all files together, then parsing alone at two sizes."""
    paths = [Path(a) for a in sys.argv[1:]] or sorted((ROOT / "tests/ptx/data/sass").glob("sm_*.sass"))
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
    for size in (2_000, 100_000):
        text = section(size)
        seconds = least_seconds(lambda text=text: parse(text, "bench"))
        print(f"parse {size} instructions: {seconds / size * 1e6:.1f} us/instruction (target <= 60)")


if __name__ == "__main__":
    main()
