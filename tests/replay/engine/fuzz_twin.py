"""``python -m tests.replay.engine.fuzz_twin SEED COUNT``: random traces and GPUs, the engine against the slow twin."""

import sys
import tempfile
from pathlib import Path

from tests.replay.engine.twin_cases import differences


def main() -> None:
    """Even seeds access memory, odd ones do not; ends with status 1 and what differs."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found = differences(seed, Path(folder) / f"{seed}", with_memory=seed % 2 == 0)
            differing += bool(found)
            print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"{count} traces, {differing} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
