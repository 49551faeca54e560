"""Compile the ray-tracing programs of ``tracer/programs``, to ``.ptx`` and ``vulkan-sim/NAME.ptx``, and the tuner's.

    python -m tools.compile_programs            # all of them, into that folder
    python -m tools.compile_programs --check    # exit 1 when a committed .ptx is not what its source gives

``--program-variant vulkan-sim`` runs the latter: they make about as many instructions as the PTX that Vulkan-Sim gets
from SPIR-V by way of NIR (``docs/sources/vulkan-sim.md#instruction-latencies``), and read and write word by word.
Sources and PTX are both kept in the repository, so only who edits a source needs ``nvcc`` (13.0 made these).
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tracer" / "programs"
TUNER = FOLDER.parents[1] / "tuner" / "programs"
COMMAND = ("nvcc", "-ptx", "-arch=sm_75", "-std=c++17")
FOLDER_DIGEST = re.compile("_INTERNAL_[0-9a-f]{8}_")  # nvcc puts it into names of functions
OPTIMISED, VULKAN_SIM = ("-O3",), ("-Xcicc", "-O1", "-DRAYPLAY_WORD_BY_WORD")


def compile_program(source: Path, options: tuple[str, ...], target: Path) -> None:
    """Write the PTX of ``source`` to ``target``; ``CalledProcessError`` when the compiler refuses it."""
    subprocess.run([*COMMAND, *options, source.name, "-o", str(target)], cwd=source.parent, check=True)
    target.write_text(FOLDER_DIGEST.sub("_INTERNAL_00000000_", target.read_text()))


def programs() -> list[tuple[Path, tuple[str, ...], Path]]:
    """Each source, how it is compiled, and the PTX that is committed."""
    found = [(source, OPTIMISED, source.with_suffix(".ptx")) for source in sorted(FOLDER.glob("*.cu"))]
    variant = [(source, VULKAN_SIM, FOLDER / "vulkan-sim" / target.name) for source, _, target in found]
    apart = (FOLDER / "graphics" / "surface.cu", FOLDER / "primitives" / "primitives.cu")
    tuned = [(source, OPTIMISED, source.with_suffix(".ptx")) for source in sorted(TUNER.glob("*.cu"))]
    return [*found, *variant, *tuned, *((source, OPTIMISED, source.with_suffix(".ptx")) for source in apart)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    check = parser.parse_args().check
    stale = []
    with tempfile.TemporaryDirectory() as scratch:
        for source, options, committed in programs():
            target = Path(scratch) / committed.name if check else committed
            compile_program(source, options, target)
            if check and (not committed.exists() or committed.read_text() != target.read_text()):
                stale.append(str(committed.relative_to(FOLDER)))
    if stale:
        print(f"not what their sources give: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
