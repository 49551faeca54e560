"""``python -m tests.tracer.native.fuzz_bits SEED COUNT``: random programs on bits of floats on all targets.

Each program runs in the interpreter and in machine code of every level of x86-64 that this processor can run.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.native import cpu
from tests.tracer.harness.execution import Outcome, assert_same_trace, execute
from tests.tracer.harness.random_bits import BYTES, random_kernel

THREADS = 64
BATCH = 20  # programs in a kernel, which costs once what a kernel costs
SPECIAL = (
    0, 0x80000000, 0x3F800000, 0xBF800000, 0xC0000000, 0x40E00000, 0x40200000, 0x7F800000, 0xFF800000, 0x7FC00000,
    0xFFC00000, 0x7F800001, 1, 0x80000001, 0x007FFFFF, 0x7F7FFFFF, 0xFFFFFFFF, 0x7FFFFFFF, 0x7FF00000, 0xFFF00000,
)  # fmt: skip


def levels() -> list[str]:
    """The levels that this processor can run."""
    found = []
    for name in cpu.LEVELS:
        try:
            cpu.level(name)
            found.append(name)
        except UserError:
            continue
    return found


def inputs() -> np.ndarray:
    """Words of special floats and random bits; most halves of doubles are special as well."""
    generator = np.random.default_rng(1)
    words = generator.integers(0, 2**32, (THREADS, BYTES // 4), dtype=np.uint32)
    special = generator.choice(np.array(SPECIAL, np.uint32), words.shape)
    return np.where(generator.random(words.shape) < 0.6, special, words)


WORDS_GIVEN = inputs()


def run(seeds: range, backend: str) -> Outcome:
    """One launch of the programs of these seeds."""
    return execute(random_kernel(seeds), [WORDS_GIVEN, np.zeros(THREADS, np.uint32)], backend, block=(THREADS, 1, 1))


def differences(seeds: range, names: list[str]) -> list[str]:
    """Programs whose machine code at these levels differs from the interpreter."""
    plain, found = run(seeds, "interpreter"), []
    for name in names:
        with level_of_code(name):
            ours = run(seeds, "machine")
        if np.array_equal(ours.buffers[1], plain.buffers[1]):
            assert_same_trace(ours.sink, plain.sink)
        else:
            single = [] if len(seeds) == 1 else [range(seed, seed + 1) for seed in seeds]
            alone = [line for each in single for line in differences(each, [name])]
            found += alone or [f"seeds {', '.join(map(str, seeds))}: {name} differs"]
    return found


@contextmanager
def level_of_code(name: str) -> Iterator[None]:
    """Machine code is made for a level meanwhile."""
    before = os.environ.get(cpu.VARIABLE, "")
    os.environ[cpu.VARIABLE] = name
    try:
        yield
    finally:
        os.environ[cpu.VARIABLE] = before


def main() -> None:
    """Ends with status 1 and what differs."""
    first, count = int(sys.argv[1]), int(sys.argv[2])
    names, differing = levels(), 0
    with tempfile.TemporaryDirectory() as folder:
        for start in range(first, first + count, BATCH):
            os.environ["RAYPLAY_CACHE"] = f"{folder}/{start}"
            found = differences(range(start, min(start + BATCH, first + count)), names)
            differing += len(found)
            print(*found, sep="\n", end="\n" if found else "", flush=True)
    print(f"{count} programs, {len(names)} levels ({', '.join(names)}), {differing} differences")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
