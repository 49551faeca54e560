"""Speed of zatel: filtering a trace, and predicting it beside replaying all of it.

    python -m bench.speed.zatel [TRACE] [--gpu mobile] [--fraction 0.1]

Without TRACE the scene wknd is traced at 256x256. Prints one line per figure; filter rates are process CPU time, the
least of three; predictions are wall time, because they use several processes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from bench.speed.clock import seconds
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.filter import filter_to_many
from rayplay.formats.edit.pixels import image_size
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper.divide import divide
from rayplay.zatel.paper.heatmap import pixel_work
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.predict import predict
from rayplay.zatel.replays.simulate import simulate_all

least = partial(seconds, runs=3, warm=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path)
    parser.add_argument("--gpu", default="mobile")
    parser.add_argument("--fraction", type=float, default=0.1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = arguments.trace or trace_wknd(folder / "wknd.trace")
        bench_filter(path, folder)
        bench_predict(path, folder, arguments.gpu, arguments.fraction)


def trace_wknd(path: Path) -> Path:
    """Path tracing of 487 spheres, one sample."""
    command = [sys.executable, "-m", "tracer", "render", "wknd", "--size", "256x256", "--samples", "1"]
    subprocess.run([*command, "--out", str(path)], check=True, stdout=subprocess.DEVNULL)
    return path


def bench_filter(path: Path, folder: Path) -> None:
    """Visits read per second of CPU while one tenth of the pixels is written, for one group and for six."""
    trace = open_trace(path)
    width, height = image_size(trace)
    tenth = np.random.default_rng(1).random((height, width)) < 0.1
    groups = divide(width, height, 6)
    six = [tenth & (groups == group) for group in range(6)]
    paths = [folder / f"{group}.trace" for group in range(6)]
    visits = trace.rows("visits")
    one = least(lambda: filter_to_many(trace, [tenth], paths[:1]))
    all_six = least(lambda: filter_to_many(trace, six, paths))
    print(f"filter, one selection: {visits / one / 1e6:.2f} M visits/s (target 1 M: 25 M in tens of seconds)")
    print(f"filter, six selections in one pass: {visits / all_six / 1e6:.2f} M visits/s")
    print(f"heatmap: {visits / least(lambda: pixel_work(trace)) / 1e6:.2f} M visits/s")


def bench_predict(path: Path, folder: Path, gpu_name: str, fraction: float) -> None:
    """Wall time of the whole prediction and of the full replay, each the second time."""
    gpu = load_gpu(gpu_name)
    simulate_all([(path, gpu)])
    full = simulate_all([(path, gpu)])[0].seconds
    predict(open_trace(path), gpu, Options(fraction=fraction))
    start = time.perf_counter()
    prediction = predict(open_trace(path), gpu, Options(fraction=fraction))
    wall = time.perf_counter() - start
    longest = max(outcome.seconds for group in prediction.simulated for outcome in group)
    print(f"full replay on {gpu_name}: {full:.2f} s")
    print(f"prediction at {fraction:g} of the pixels: {wall:.2f} s, {full / wall:.1f} times faster")
    print(f"longest group: {longest:.2f} s, {full / longest:.1f} times faster (target 9.2 on mobile: Zatel IV-B)")


if __name__ == "__main__":
    main()
