"""Compile the ray-tracing programs of this folder: every ``NAME.cu`` to ``NAME.ptx``.

    python tracer/programs/compile.py            # all of them, into this folder
    python tracer/programs/compile.py --check    # exit 1 when a committed .ptx is not what its source gives

Sources and PTX are both kept in the repository, so only who edits a source needs ``nvcc`` (13.0 made these).
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
COMMAND = ("nvcc", "-ptx", "-arch=sm_75", "-O3", "-std=c++17")


def compile_program(source: Path, target: Path) -> None:
    """Write the PTX of ``source`` to ``target``; ``CalledProcessError`` when the compiler refuses it."""
    subprocess.run([*COMMAND, source.name, "-o", str(target)], cwd=source.parent, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    check = parser.parse_args().check
    stale = []
    with tempfile.TemporaryDirectory() as scratch:
        for source in sorted(FOLDER.glob("*.cu")):
            committed = source.with_suffix(".ptx")
            target = Path(scratch) / committed.name if check else committed
            compile_program(source, target)
            if check and (not committed.exists() or committed.read_text() != target.read_text()):
                stale.append(committed.name)
    if stale:
        print(f"not what their sources give: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
