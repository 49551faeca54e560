"""Cost of a policy to a replay: processor time of the engine under each plug-in beside its own policy.

    python -m bench.plugins.slowdown build/published/bunny-64x64.trace ... --gpu mobile --rounds 5

Both replays of a pair take turns in one process; the least of each counts. A row for each plug-in and trace: time under
the plug-in by time without it; then cycles, fetches of the L1 and records that rays read likewise, which say how much
more or less there is to simulate; then the slowdown with records held equal: the ratio of times by the ratio of records
where a policy reads more. The last column divides by the ratio of fetches where that is larger, as with a
prefetcher: a lower bound, for not all time grows with fetches. Fewer cycles count for nothing there. Plug-ins that need
more than a trace tells are left out of it.
"""

import argparse
from pathlib import Path

from bench.policies import EXAMPLES, is_told
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.command import run
from rayplay.formats.place.names import trace_name
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate
from rayplay.replay.testing import totals

WORK = {"cycles": "gpu_cycles", "fetches": "l1d.fills", "records": "rt_unit.records"}
ASKED = 1.3


def measured(trace: Path, gpus: tuple[Gpu, Gpu], rounds: int) -> tuple[list[float], list[dict[str, float]]]:
    """Least seconds of processor time in the engine, and amounts of work, of two GPUs in turn."""
    least, work = [float("inf")] * 2, [{}, {}]
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            result = simulate(open_trace(trace), gpus[which])
            least[which] = min(least[which], result.host["engine_cpu_seconds"])
            counted = totals(result) | {"gpu_cycles": result.value("gpu_cycles")}
            work[which] = {name: float(counted[counter]) for name, counter in WORK.items()}
    return least, work


def main() -> None:
    """Replay in turn, print."""
    made = argparse.ArgumentParser(prog="python -m bench.plugins.slowdown", description=__doc__.splitlines()[0])
    made.add_argument("traces", nargs="+", type=trace_name)
    made.add_argument("--gpu", default="mobile")
    made.add_argument("--set", action="append", default=[], dest="values", metavar="KEY=VALUE")
    made.add_argument("--plugin", nargs="+", type=Path, default=EXAMPLES)
    made.add_argument("--rounds", type=int, default=5, help="replays of each (default: %(default)s)")
    given = made.parse_args()
    print(
        f"| policy | trace | time | {' | '.join(WORK)} | with records held equal | records and fetches held equal |",
        "|---" * (5 + len(WORK)) + "|",
        sep="\n",
    )
    worst = 0.0
    for plugin in given.plugin:
        gpus = load(given.gpu, given.values), load(given.gpu, given.values, plugin)
        for trace in (each for each in given.traces if is_told(plugin, [each])):
            seconds, work = measured(trace, gpus, given.rounds)
            ratios = [work[1][name] / max(work[0][name], 1) for name in WORK]
            slower = seconds[1] / seconds[0] / max(1, ratios[-1])
            bound = seconds[1] / seconds[0] / max(1, *ratios[1:])
            worst = max(worst, slower)
            cells = [
                plugin.stem,
                trace.stem,
                *(f"{each:.2f}" for each in (seconds[1] / seconds[0], *ratios, slower, bound)),
            ]
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"largest slowdown with records held equal: {worst:.2f} (asked: at most {ASKED})")


if __name__ == "__main__":
    run("bench.plugins.slowdown", main)
