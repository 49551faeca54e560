"""GATSim's model beside the others: cycles and speed of every trace given, one core.

    PYTHONPATH=. python -m bench.speed.gatsim [TRACE ...] [--gpu NAME]

Without traces: the sample trace, and two of ``bench.speed.replay``. The paper reports 82 to 93 million thread
instructions per second on an Intel Core i7-4771, functional execution apart. Figures are process CPU time of the
engine, the least of three runs, machine code cached.
"""

import argparse
import tempfile
from pathlib import Path

from bench.speed.replay import make_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate

SAMPLE = Path(__file__).resolve().parents[2] / "traces" / "sample.trace"
ROWS = (("characterised", "perfect"), ("pipeline", "perfect"), ("gatsim", "perfect"), ("gatsim", "behavioural"))


def compare(trace: Path, gpu: Gpu) -> None:
    """One line per model: cycles, their ratio to the first model's, speed."""
    first = 0.0
    for model, caches in ROWS:
        described = gpu.with_values([f"gatsim.caches={caches}"])
        runs = [simulate(trace, described, model=model) for _ in range(3)]
        cycles, instructions = runs[0].value("gpu_cycles"), runs[0].value("warp_instructions")
        seconds = min(run.host["engine_cpu_seconds"] for run in runs)
        threads = runs[0].value("thread_instructions")
        first = first or cycles
        name = model if model != "gatsim" else f"{model}, {caches} caches"
        print(
            f"{trace.stem:14} {name:28} {cycles:12,.0f} cycles {cycles / first:6.2f} x"
            f" {instructions / seconds / 1e6:8.1f} M warp-instr/s {threads / seconds / 1e6:8.0f} M thread-instr/s"
        )


def main() -> None:
    """Compare the models on the traces of the command line, or on named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="*", type=Path)
    parser.add_argument("--gpu", default="rtx2060")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        traces = arguments.traces
        if not traces:
            traces = [SAMPLE, Path(folder) / "steady.trace", Path(folder) / "starved.trace"]
            make_trace(traces[1], 30)
            make_trace(traces[2], 8, "starved")
        for trace in traces:
            compare(trace, load(arguments.gpu))


if __name__ == "__main__":
    main()
