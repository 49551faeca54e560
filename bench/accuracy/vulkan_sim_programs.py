"""Whole runs of Vulkan-Sim beside ours with its own programs: ``python -m bench.accuracy.vulkan_sim_programs FOLDER``.

FOLDER holds the shaders of RayTracingInVulkan's path tracer as Vulkan-Sim leaves them, such as ``MESA_SHADER_*.ptx`` of
``RayTracingInVulkan-Scene7-448x320-Baseline`` in github.com/ubc-aamodt-group/trace-runner-vulkan-sim, with tables of
records and a ``bindings.toml`` (``docs/programs/shaders.md``). The runs are in ``tests/outside/vulkan_sim_runs.csv``:
paths traced on the released configurations; cycles are means over eight L2 latencies, as in ``outside``.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from outside.vulkan_sim import QUANTITIES, RELEASED, case_name, ray_counts, runs
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.replay.gpu.description import load
from rayplay.replay.run.driver import simulate
from rayplay.tracer.render import Request, render

LATENCIES_CYCLES = range(156, 164)


def main() -> None:
    """A line per run, then mean and worst error of the cycles."""
    made = argparse.ArgumentParser("python -m bench.accuracy.vulkan_sim_programs", description=__doc__)
    made.add_argument("folder", type=Path, help="shaders, tables of records and bindings.toml")
    folder, errors = made.parse_args().folder, []
    with tempfile.TemporaryDirectory() as scratch:
        for run in runs():
            if run["workload"] == "PT" and not run["changed_option"]:
                errors.append(compared(run, traced(run, folder, Path(scratch))))
    print(
        f"cycles of {len(errors)} runs: mean error {np.mean(errors):.1%}, worst {np.max(errors):.1%} (targets 5, 10 %)"
    )


def traced(run: dict[str, str], folder: Path, scratch: Path) -> Trace:
    """The trace of a run's picture, with Vulkan-Sim's traversal order, programs after it, an instance a sphere."""
    out = scratch / f"{run['scene']}-{run['width']}.trace"
    if not out.exists():
        size = int(run["width"]), int(run["height"])
        render(Request(run["scene"].lower(), folder, None, out, *size, samples=1, bounces=int(run["bounces"]),
                       traversal="vulkan-sim", hit_programs="after", spheres="apart"))  # fmt: skip
    return open_trace(out)


def compared(run: dict[str, str], trace: Trace) -> float:
    """Print a run beside the trace's replays; the error of its cycles."""
    gpu = run["config"].lower()
    settings = ([*RELEASED[gpu], f"l2.latency_cycles={cycles}"] for cycles in LATENCIES_CYCLES)
    found = [simulate(trace, load(gpu, each), model="pipeline") for each in settings]
    rays, _, nodes = ray_counts(trace)
    ours = {name: float(np.mean([one.value(name) for one in found])) for name in QUANTITIES}
    shown = [("rays", rays, run["rays"]), ("nodes per ray", nodes, run["nodes_per_ray"])]
    shown += [(QUANTITIES[name][0], value, run[QUANTITIES[name][1]]) for name, value in ours.items()]
    print(f"{case_name(run)} {gpu}: " + ", ".join(f"{n} {v / float(t) - 1:+.1%}" for n, v, t in shown), flush=True)
    return abs(ours["gpu_cycles"] / float(run["cycles"]) - 1)


if __name__ == "__main__":
    main()
