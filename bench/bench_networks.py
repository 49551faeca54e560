"""HyPA's profile of whole CNNs: ``python bench/bench_networks.py [NETWORK ...] [--full]`` (default: eight networks).

Prints per network ``name: value unit (target X)``: process CPU time of the whole command once machine code is cached,
and the share of thread instructions that was executed. ``--full`` also executes everything, on random weights: the
speed-up, and whether all counts are equal (minutes).
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import ptx  # noqa: E402
from tracer.network_file import read_network  # noqa: E402
from tracer.network_plan import plan_network  # noqa: E402
from tracer.network_profile import branch_efficiency, profile_columns, profile_network  # noqa: E402

FOLDER = ROOT / "examples" / "cnn"
NETWORKS = (
    "vgg16", "resnet50", "resnet101", "mobilenet", "mobilenet_v2", "densenet121", "inception_v3", "efficientnet_b0",
)  # fmt: skip
OWN = ("executed_instructions", "same_as", "duration_ms")


def profile(name: str, method: str) -> tuple[dict[str, np.ndarray], float]:
    """The profile's columns, and CPU seconds from the files to them; ``full``: of its launches alone."""
    start = time.process_time()
    network = read_network(FOLDER / f"{name}.toml")
    plan = plan_network(network)
    columns = profile_columns(plan, profile_network(plan, ptx.parse_file(network.program), method))
    seconds = time.process_time() - start
    return columns, seconds if method == "slice" else float(columns["duration_ms"].sum()) / 1e3


def main() -> None:
    """Profile every network, twice: the first time compiles what is new."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=NETWORKS, metavar="NETWORK")
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    for name in options.networks:
        profile(name, "slice")
        columns, seconds = min((profile(name, "slice") for _ in range(2)), key=lambda each: each[1])
        total = {key: int(values.sum()) for key, values in columns.items() if values.dtype.kind == "u"}
        print(f"{name}: {seconds:.2f} s (target <= 30)")
        print(f"{name} thread instructions: {total['dynamic_instructions']:,} in {len(columns['layer'])} launches")
        print(f"{name} executed: {total['executed_instructions'] / total['dynamic_instructions']:.2%}")
        print(f"{name} eta warp: {branch_efficiency(total['branches'], total['divergent_branches']):.4f} %")
        print(f"{name} eta CTA: {branch_efficiency(total['cta_branches'], total['cta_divergent_branches']):.4f} %")
        print(f"{name} floating-point operations: {total['flops']:,}", flush=True)
        if options.full:
            everything, full_seconds = profile(name, "full")
            equal = all(np.array_equal(columns[key], everything[key]) for key in columns.keys() - set(OWN))
            print(f"{name} full execution: {full_seconds:.2f} s, counts equal: {'yes' if equal else 'NO'} (target yes)")


if __name__ == "__main__":
    main()
