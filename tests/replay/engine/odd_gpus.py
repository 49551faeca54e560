"""Small GPUs with odd values, and small traces, for laws that hold on all of them.

python -m tests.replay.engine.odd_gpus [SEED] [COUNT]     replays COUNT of them and ends at the first that does not end
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm.policies import OF_ALL
from tests.replay.conftest import Op, write_micro
from tests.replay.conftest import load as load_instruction
from tests.replay.launches import Kernel, write_kernels

MODELS = ("characterised", "pipeline")
BASE = 1 << 20


def random_values(rng: np.random.Generator) -> list[str]:
    """Values of a small and odd GPU, some of them."""
    chosen = {
        "sm.warps": rng.choice([4, 8, 32]), "sm.ctas": rng.choice([1, 2, 16]),
        "sm.kernel_launch_cycles": rng.choice([0, 7, 3000]), "sm.concurrent_kernels": rng.choice([1, 2]),
        "scheduler.count": rng.choice([1, 2, 4]), "scheduler.policy": rng.choice(OF_ALL),
        "lsu.queue_entries": rng.choice([1, 2, 8]), "lsu.shared_latency_cycles": rng.choice([1, 20, 70]),
        "l1.mshr_entries": rng.choice([1, 4, 256]), "l1.mshr_merges": rng.choice([1, 8]),
        "l1.latency_cycles": rng.choice([1, 20, 100]), "interconnect.packets_in_flight": rng.choice([16, 512]),
        "rt.warps": rng.choice([1, 4]), "rt.mshr_entries": rng.choice([1, 64]),
        "dram.latency_cycles": rng.choice([0, 100, 5000]), "dram.queue_entries": rng.choice([1, 4, 64]),
        "dram.rp": rng.choice([1, 20, 300]), "l2.mshr_entries": rng.choice([1, 4, 192]),
        "pipeline.collector_owner": rng.choice(["scheduler", "sm"]),
        "l2.write_allocate": rng.choice(["lazy_fetch_on_read", "lazy_whole_sectors"]),
        "l2.mshr_merges": rng.choice([1, 4]), "l2.latency_cycles": rng.choice([20, 160, 900]),
    }  # fmt: skip
    return [f"{key}={value}" for key, value in chosen.items() if rng.random() < 0.5]


def random_gpus(rng: np.random.Generator) -> Iterator[Gpu]:
    """GPUs whose values fit together."""
    while True:
        sms = int(rng.choice([1, 2, 3]))
        fixed = [f"sm.count={sms}", "memory.count=1", "l2.bytes=65536", "l1.bytes=4096", "l1.ways=8"]
        try:
            yield load("mobile", [*fixed, *random_values(rng)])
        except UserError:
            continue


def small_traces(folder: Path) -> list[Path]:
    """Traces of a few hundred instructions: plain, loads, stores, atomics, barriers, several kernels, rays."""
    spread = lambda warp, visit, index, lane: BASE + 4096 * ((warp + 3 * visit + index) % 7) + 36 * lane  # noqa: E731
    barrier, store, load_op = Op("barrier", "branch"), Op("store", "lsu", space="global"), load_instruction
    programs = [
        [Op(), Op("fp32", "sp", 4), Op("sfu", "sfu", 1, 8)],
        [load_op(), Op(wait=1), load_op(1, 2), store],
        [load_op(space="shared"), barrier, store, Op("atomic", "lsu", 1, 1, 0, 1, "global")],
    ]
    made = [
        write_micro(folder / f"{number}.trace", ops, [4, 1, 0, 3, 2, 4, 1, 1], spread, 2)
        for number, ops in enumerate(programs)
    ]
    kernels = [Kernel((3, 9, 4), 0, 2), Kernel((5,) * 9, 1), Kernel((0, 8), 0, 4, 64, 2000)]
    made.append(write_kernels(folder / "kernels.trace", kernels))
    made.append(make_trace(folder / "rays.trace", seed=3, image_size=(16, 4), ctas=2))
    return made


def replay_all(folder: Path, seed: int, count: int) -> int:
    """Replay ``count`` traces on as many GPUs; raises ``UserError`` when one does not end. Returns instructions."""
    rng, traces = np.random.default_rng(seed), small_traces(folder)
    gpus, done = random_gpus(rng), 0
    for number in range(count):
        trace, model = traces[number % len(traces)], MODELS[number // len(traces) % 2]
        result = simulate(trace, next(gpus), model=model)
        retired = result.counters["counter"] == "retired_instructions"
        assert result.counters["value"][retired].sum() == result.value("warp_instructions")
        done += int(result.value("warp_instructions"))
    return done


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]] + [1, 1000][len(sys.argv) - 1 :]
    with tempfile.TemporaryDirectory() as temporary:
        print(f"{replay_all(Path(temporary), *given):,} warp-instructions, no replay given up")
