"""HyPA's profile of whole CNNs: ``python -m bench.speed.networks [NETWORK ...] [--full]`` (default: eight networks).

Prints per network ``name: value unit (target X)``: process CPU time of the whole command once machine code is cached,
and the share of thread instructions that was executed. ``--full`` also executes everything, on random weights: the
speed-up, and whether all counts are equal (minutes).
"""

import argparse
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]

from rayplay.hypa.network.file import read_network  # noqa: E402
from rayplay.hypa.network.plan import plan_network  # noqa: E402
from rayplay.hypa.network.profile import profile_network  # noqa: E402
from rayplay.hypa.network.run import NetworkMemory, fill_random  # noqa: E402
from rayplay.hypa.report import launch_columns  # noqa: E402

FOLDER = ROOT / "examples" / "cnn"
NETWORKS = (
    "vgg16", "resnet50", "resnet101", "mobilenet", "mobilenet_v2", "densenet121", "inception_v3", "efficientnet_b0",
)  # fmt: skip
OWN = {"method", "slice_instructions", "executed_instructions", "executed_share"}


def profile(name: str, method: str) -> tuple[dict[str, np.ndarray], float]:
    """Launches, and CPU seconds from the files to them without making the random weights that ``full`` runs on."""
    plan = plan_network(read_network(FOLDER / f"{name}.toml"))
    unwanted = 0.0
    if method == "full":
        start = time.process_time()
        fill_random(NetworkMemory(plan), plan)
        unwanted = time.process_time() - start
    start = time.process_time()
    made = profile_network(plan_network(read_network(FOLDER / f"{name}.toml")), method)
    return launch_columns(made.launches), time.process_time() - start - unwanted


def main() -> None:
    """Profile every network; the first time compiles new code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    for name in options.networks:
        profile(name, "slice")
        columns, seconds = min((profile(name, "slice") for _ in range(2)), key=lambda each: each[1])
        dynamic, executed = (int(columns[f"{kind}_instructions"].sum()) for kind in ("dynamic", "executed"))
        print(f"{name}: {seconds:.2f} s (target <= 30)")
        print(f"{name} thread instructions: {dynamic:,} in {len(columns['kernel'])} launches")
        print(f"{name} executed: {executed / dynamic:.2%}", flush=True)
        if options.full:
            everything, full_seconds = min((profile(name, "full") for _ in range(2)), key=lambda each: each[1])
            equal = all(np.array_equal(columns[key], everything[key]) for key in columns.keys() - OWN)
            print(f"{name} full execution: {full_seconds:.2f} s, counts equal: {'yes' if equal else 'NO'} (target yes)")


if __name__ == "__main__":
    main()
