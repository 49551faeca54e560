"""Study of the example policies and of the page's first one, beside the engine's own, with the noise floor.

    python -m bench.policies [TRACE...] --gpu mobile --set sm.count=2 --out docs/policies

Policies that need more of a trace than it tells are left out (``bench.published`` studies them). Writes
``policies.json`` and ``policies.png``. A speed-up is the cycles of the engine's own policies by those under the
plug-in, of the mean over latencies off by a cycle (with ``--quick`` of one replay each); one within the floor says
nothing. Prints the processor time of each replay's engine beside the usual one's, which is no part of the file.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.command import run
from rayplay.formats.place.names import trace_name
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.input.traversals import TABLE_OF
from rayplay.replay.plugin.load import load as load_plugin
from rayplay.replay.run.driver import simulate
from rayplay.zatel.changes.noise import OFFSETS, noise_floor, perturbed

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples" / "policies").glob("*.py"))
PAGE = ROOT / "docs" / "policies.md"
QUICK_OFFSETS = ((1, 0, 0), (0, 1, 0))


def of_page(folder: Path) -> Path:
    """The policy with which the page begins, as a file."""
    text = PAGE.read_text().partition("```python\n")[2].partition("```")[0]
    path = folder / text.partition("\n")[0].removeprefix("# ")
    path.write_text(text)
    return path


def is_told(plugin: Path, traces: list[Path]) -> bool:
    """Whether the traces tell all that a plug-in needs."""
    needs = [TABLE_OF.get(need, need) for need in load_plugin(plugin).needs if need != "rays"]
    return all(need in open_trace(trace).tables for trace in traces for need in needs)


def replayed(trace: Trace, gpu: Gpu) -> tuple[float, float]:
    """Cycles, and seconds of processor time in the engine."""
    with np.errstate(over="ignore"):  # in plain Python (NUMBA_DISABLE_JIT) numbers wrap as in machine code
        result = simulate(trace, gpu)
    return result.value("gpu_cycles"), result.host["engine_cpu_seconds"]


def study(trace: Trace, gpu: str, values: list[str], plugins: list[Path], quick: bool) -> dict[str, Any]:
    """Speed-up of each plug-in on a trace, and the noise floor."""
    plain = load(gpu, values)
    twins = [plain, *perturbed(plain, QUICK_OFFSETS if quick else OFFSETS)]
    base = [replayed(trace, each) for each in twins]
    floor = noise_floor([{"gpu_cycles": cycles} for cycles, _ in base], len(plugins))["gpu_cycles"]
    found: dict[str, float] = {}
    for plugin in plugins:
        with_it = load(gpu, values, plugin)
        made = [replayed(trace, each) for each in [with_it, *([] if quick else perturbed(with_it, OFFSETS))]]
        usual = base[:1] if quick else base
        found[plugin.stem] = float(np.mean([c for c, _ in usual]) / np.mean([c for c, _ in made]))
        slower = made[0][1] / base[0][1] * base[0][0] / made[0][0]
        print(
            f"{trace.path.stem} {plugin.stem:20} {found[plugin.stem]:.3f}  engine's time per cycle {slower:.2f}",
            flush=True,
        )
    return {"trace": trace.path.name, "floor": floor, "speed_up": found}


def geometric_mean(numbers: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def draw(found: list[dict[str, Any]], path: Path) -> None:
    """A bar for each policy and trace; grey: within the noise floor."""
    from matplotlib.figure import Figure

    names = list(found[0]["speed_up"])
    figure = Figure((7.5, 0.6 + 0.5 * len(names)), layout="constrained")
    axes = figure.subplots()
    height = 0.8 / len(found)
    for number, each in enumerate(found):
        at = np.arange(len(names)) + number * height
        changes = [100 * (each["speed_up"][name] - 1) for name in names]
        axes.barh(at, changes, 0.9 * height, label=each["trace"].removesuffix(".trace"))
        for place, change in zip(at, changes, strict=True):
            axes.annotate(f"{change:+.1f} %", (change, place), (4 if change >= 0 else -4, 0), va="center", fontsize=8,
                          textcoords="offset points", ha="left" if change >= 0 else "right")  # fmt: skip
    floor = 100 * max(each["floor"] for each in found)
    axes.axvspan(-floor, floor, color="0.85", zorder=0, label=f"noise floor, {floor:.1f} %")
    axes.axvline(0, color="0.3", linewidth=0.8)
    axes.set_yticks(np.arange(len(names)) + 0.4 - height / 2, [name.replace("_", " ") for name in names])
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.set_xlabel("speed-up over the engine's own policy, %")
    figure.legend(loc="outside upper right", fontsize=8, frameon=False, ncols=4)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    """Study, print, write."""
    made = argparse.ArgumentParser(prog="python -m bench.policies", description=__doc__.splitlines()[0])
    made.add_argument("traces", nargs="*", type=trace_name, default=[ROOT / "traces" / "sample.trace"])
    made.add_argument("--gpu", default="mobile")
    made.add_argument("--set", action="append", default=[], dest="values", metavar="KEY=VALUE")
    made.add_argument("--plugin", nargs="+", type=Path)
    made.add_argument("--quick", action="store_true", help="fewer perturbed machines, one replay of each policy")
    made.add_argument("--out", type=Path, help="folder to write")
    given = made.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plugins = given.plugin or [each for each in (of_page(Path(folder)), *EXAMPLES) if is_told(each, given.traces)]
        found = [study(open_trace(trace), given.gpu, given.values, plugins, given.quick) for trace in given.traces]
    means = {name: geometric_mean([each["speed_up"][name] for each in found]) for name in found[0]["speed_up"]}
    print("geometric mean: " + ", ".join(f"{name} {mean:.3f}" for name, mean in means.items()))
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        content = {"gpu": given.gpu, "values": given.values, "traces": found, "geometric_mean": means}
        with atomic_file(given.out / "policies.json") as partial:
            partial.write_text(json.dumps(content, indent=2) + "\n")
        draw(found, given.out / "policies.png")


if __name__ == "__main__":
    run("bench.policies", main)
