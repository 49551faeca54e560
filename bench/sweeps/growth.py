"""Growth of sweeps: exponents of a replay's cost, and simulated clusters.

    python -m bench.sweeps.growth            # the simulations alone, seconds
    python -m bench.sweeps.growth --measure  # and examples/sweeps/growth.toml, minutes

Costs are processor time, so that a busy machine hardly changes them.
"""

import argparse
import math
import time
from pathlib import Path

from rayplay.sweep.drive.run import How, run
from rayplay.sweep.growth.scheduler import Cluster, simulate
from rayplay.sweep.space.file import read_sweep
from rayplay.sweep.space.points import space
from rayplay.sweep.store.store import Store

FILE = Path(__file__).resolve().parents[2] / "examples" / "sweeps" / "growth.toml"
HOUR = 3600.0


def measured(folder: str) -> None:
    """Run the sweep of growth, and print processor time, peak memory and bytes of each point."""
    found = run("growth", space(read_sweep(FILE)), Store(folder), How())
    plan = found.plan
    rows = {}
    for each in plan.planned:
        host, about = plan.store.host(each.key or ""), plan.about(each.point)
        size = plan.inputs[each.point.input].size
        rows[about["trace"], about["sm.count"]] = host["cpu_seconds"]
        print(f"{about['trace']:40} SMs {about['sm.count']:3} rows {size.million_rows:7.3f} M trace "
              f"{size.megabytes:6.2f} MB cpu {host['cpu_seconds']:7.2f} s peak {host['peak_mb']:5.0f} MB")  # fmt: skip
    names = list(dict.fromkeys(trace for trace, _ in rows))
    for what, few in (("pixels", names[:3]), ("triangles", names[3:])):
        first, last = rows[few[0], 8], rows[few[-1], 8]
        factor = 16 if what == "pixels" else 100
        print(f"cost ~ {what}^{math.log(last / first) / math.log(factor):.2f}")
    print(f"cost ~ SMs^{math.log(rows[names[2], 16] / rows[names[2], 4]) / math.log(4):.2f}")


CASES = {
    "100,000 points of 10 s, 1 node": Cluster(1, 32, 100_000, 10.0),
    "100,000 points of 10 s, 10 nodes": Cluster(10, 32, 100_000, 10.0),
    "100,000 points of 10 s, 100 nodes, each its part": Cluster(100, 32, 100_000, 10.0),
    "100,000 points of 10 s, 100 nodes, one list": Cluster(100, 32, 100_000, 10.0, failed_claims=99),
    "100,000 points of 0.2 s, 10 nodes": Cluster(10, 32, 100_000, 0.2),
    "100,000 points of 10 s, 1,000 nodes": Cluster(1000, 32, 100_000, 10.0),
    "100,000 points of 600 s, 100 nodes, a node dies in 10 days": Cluster(100, 32, 100_000, 600.0, days_to_failure=10),
    "100,000 points of 600 s, 100 nodes, a node dies in 1 day": Cluster(100, 32, 100_000, 600.0, days_to_failure=1),
    "1,000 points of 22 min (4K), 100 nodes of 10": Cluster(100, 10, 1000, 1330.0, spread=0.3),
    "1,000 points of 22 min (4K), 100 nodes of 2": Cluster(100, 2, 1000, 1330.0, spread=0.3),
    "1,000 points of 22 min (4K), 100 nodes of 10, a node dies in 1 day": Cluster(
        100, 10, 1000, 1330.0, spread=0.3, days_to_failure=1
    ),
}  # fmt: skip


def main() -> None:
    """Print the table of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--store", default="build/growth")
    options = parser.parse_args()
    if options.measure:
        measured(options.store)
    print("| simulated | makespan | efficiency | executions | store busy |\n|---|---|---|---|---|")
    begun = time.process_time()
    for name, cluster in CASES.items():
        found = simulate(cluster)
        length = found.makespan_seconds
        shown = f"{length / HOUR:,.1f} h" if length > 2 * HOUR else f"{length / 60:,.1f} min"
        print(
            f"| {name} | {shown} | {100 * found.efficiency:.1f} % | {found.executions:.4f} | {100 * found.busy:.0f} % |"
        )
    print(f"simulated in {time.process_time() - begun:.1f} s of processor time")


if __name__ == "__main__":
    main()
