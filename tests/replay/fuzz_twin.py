"""``python tests/replay/fuzz_twin.py SEED COUNT``: random traces and GPUs, the engine against the slow twin."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.replay.test_twin import differences


def main() -> None:
    """Ends with status 1 and the seeds that differ."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            found += differences(seed, Path(folder) / f"{seed}", with_memory=True)
    for text in found:
        print(text)
    print(f"{count} traces, {len(found)} differences")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
