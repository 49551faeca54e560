"""Study of five published ideas for RT units: speed-up per scene beside the published one; ``make policies``.

    python -m bench.published --size 128x128 --out docs/policies

Traces each scene with one sample a pixel, replays it as it is, with latencies off by a cycle for the noise floor, and
under each plug-in of ``examples/policies`` that stands for a published idea; reordered rays are traces of their own.
Writes ``published.json``, ``published.png`` and the page ``published.md``. A speed-up is the mean of the cycles as it
is by the cycles with the idea; one within the floor says nothing. Scenes of ``RAYPLAY_DATA`` and generated ones.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.policies import ROOT, geometric_mean, replayed
from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.guard.command import run
from rayplay.formats.place.publish import atomic_file
from rayplay.replay.gpu.description import load
from rayplay.zatel.changes.noise import OFFSETS, noise_floor, perturbed

SCENES = ("cornell", "wknd", "bunny", "ref", "dragon", "bath", "car")
REORDER = ROOT / "examples" / "reorder_rays.py"


@dataclass(frozen=True)
class Idea:
    """A published idea: its plug-in with values, or the sorting key of reordered rays; what its paper says."""

    name: str
    plugin: str = ""
    values: tuple[str, ...] = ()
    key: str = ""
    published: str = "none"


IDEAS = (
    Idea("CoopRT", "coop", published="2.15 (30 SMs, 256x256)"),
    Idea("CoopRT, groups of 4", "coop", ("policy.coop.group=4",), published="1.72"),
    Idea("TTP", "traversal_trend", published="1.48 (128x128)"),
    Idea("treelet prefetching", "treelet_prefetch", published="1.32; 1.00 at 128x128 (TTP's authors)"),
    Idea("treelets, oldest warp inside", "treelet_prefetch", ("policy.treelet_prefetch.scheduler=oldest",),
         published="in the 1.32"),
    Idea("treelets, warp with most lanes", "treelet_prefetch", ("policy.treelet_prefetch.scheduler=most",),
         published="in the 1.32"),
    Idea("ray coherence engine", "coherence_engine", published="none: off by default in Vulkan-Sim"),
    Idea("reordered, two points", key="two_point", published="1.3 to 2.0 (trace kernels on a GPU)"),
    Idea("shuffled", key="random", published="below 1"),
    Idea("SRRIP", "srrip", published="1.04 (2 MB cache of a CPU)"),
    Idea("ray bypass", "ray_bypass", published="none for rays"),
)  # fmt: skip

Means = dict[str, float]
TRENDS: tuple[tuple[str, str, Callable[[Means], float], Callable[[Means], float]], ...] = (
    ("CoopRT speeds up", "2.15", lambda mean: mean["CoopRT"], lambda mean: 1),
    ("less in groups of 4", "1.72 for 2.15", lambda mean: mean["CoopRT"], lambda mean: mean["CoopRT, groups of 4"]),
    ("TTP speeds up", "1.48", lambda mean: mean["TTP"], lambda mean: 1),
    ("treelet prefetching speeds up", "1.32", lambda mean: mean["treelet prefetching"], lambda mean: 1),
    ("rays in order speed up", "1.3 to 2.0", lambda mean: mean["reordered, two points"], lambda mean: 1),
    ("rays in disorder slow down", "below 1", lambda mean: 1, lambda mean: mean["shuffled"]),
    ("CoopRT above TTP", "2.15 and 1.48", lambda mean: mean["CoopRT"], lambda mean: mean["TTP"]),
    ("TTP above treelets", "1.48 and 1.00 (TTP's authors)", lambda mean: mean["TTP"],
     lambda mean: mean["treelet prefetching"]),
)  # fmt: skip
"""Published trend, figures, and two numbers of the geometric means by idea, of which the first is to be larger."""

NOTES = """
## How to read it

- The published figures are of other GPUs, trees and scenes, at other sizes: compare signs and the order of ideas.
  A value within a scene's noise floor says nothing.
- Scenes whose records fit the L1 (cornell, wknd) leave nothing to prefetch and little to share: their rays read few
  records, and the unit has one every cycle.
- CoopRT reads more than the rays do alone: lanes that run ahead read what a nearer hit would have spared, and more
  of it comes from DRAM. Groups of 4 run ahead less.
- TTP prefetches in cycles in which the unit is awake and sends nothing. What it prefetches is read; what it cannot
  know of, the way down after a push, still misses.
- Traces hold the visits that a traversal makes, so that a stack here has no entry that is culled before it is read;
  CoopRT alone is given the culled visits too.
- CoopRT is ahead of both prefetchers, as published. Between TTP and treelets the order is not decided: they differ by
  0.2 to 7.8 %, in six scenes less than the scene's noise floor; in wknd, which leaves nothing to prefetch, by 2.0 %
  with a floor of 1.7 %. The reason is [below](#ttp-and-treelets-why-the-order-is-another).
- Rays keep their order of visits: traversal ordered by treelets is not built.
- The two classics for caches were published for other machines: SRRIP for the last level of a CPU, bypassing for the
  loads of programs.
- Reordered rays are sorted at no cost, before every trace call; programs and their memory accesses stay in the
  order of pixels.

## TTP and treelets: why the order is another

| 64x64, speed-up TTP / treelets | `mobile` | DRAM at a quarter of its clock | at an eighth |
|---|---|---|---|
| bunny | 1.103 / 1.140 | 1.040 / 0.928 | 1.038 / 0.885 |
| bunny, `--traversal vulkan-sim` | 1.127 / 1.155 | 1.090 / 1.022 | 1.039 / 0.913 |
| ref | 1.101 / 1.174 | 1.086 / 1.076 | 1.065 / 0.927 |
| ref, `--traversal vulkan-sim` | 1.152 / 1.243 | 1.117 / 1.128 | 1.079 / 0.994 |

At an eighth of the DRAM's clock the published order holds in all four traces (at a quarter in three), and treelets
are near or below the 1.00 that TTP's authors measure: the cost of reads in vain decides. All that TTP prefetches is
read (99 to 100 %), it takes away 8 to 18 % of the units' misses in the L1, and DRAM reads stay as they are. Of the
chunks that treelets prefetch 26 to 33 % are read; 2 to 6 % of the misses go, and DRAM reads grow by 16 to 45 %: their
gain must lie in misses that wait less, in the L2 or for data on its way, and `mobile` has DRAM to spare for it. The
order of traversal (deeper stacks under Vulkan-Sim's) and 16 warps in the unit raise or lower both ideas and do not
turn them. One replay each, `python -m bench.prefetch bunny ref --also rt.warps=16 --also dram.clock_khz=875000 --also
dram.clock_khz=437500`.
"""


def traced(scene: str, size: str, folder: Path) -> Path:
    """The trace of a scene, rendered unless it is there."""
    path = folder / f"{scene}-{size}.trace"
    if not path.exists():
        given = [scene, "--size", size, "--samples", "1", "--record", "culled", "--quiet", "--out", str(path)]
        subprocess.run([sys.executable, "-m", "rayplay", "trace", *given], check=True, stdout=subprocess.DEVNULL)
    return path


def reordered(path: Path, key: str) -> Path:
    """The trace with its rays sorted."""
    out = path.with_name(f"{path.stem}-{key}.trace")
    if not out.exists():
        subprocess.run([sys.executable, str(REORDER), str(path), "--key", key, "--out", str(out)], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
    return out


def study(path: Path, gpu: str, values: list[str], ideas: list[Idea], quick: bool) -> dict[str, Any]:
    """Speed-up of each idea on a trace, the engine's time beside the usual one's, and the noise floor."""
    plain = load(gpu, values)
    twins = [plain, *perturbed(plain, OFFSETS[:2] if quick else OFFSETS)]
    base = [replayed(open_trace(path), each) for each in twins]
    floor = noise_floor([{"gpu_cycles": cycles} for cycles, _ in base], len(ideas))["gpu_cycles"]
    usual, seconds = np.mean([cycles for cycles, _ in base]), np.mean([time for _, time in base])
    found: dict[str, float] = {}
    for idea in ideas:
        plugin = ROOT / "examples" / "policies" / f"{idea.plugin}.py" if idea.plugin else None
        trace = open_trace(reordered(path, idea.key) if idea.key else path)
        cycles, time = replayed(trace, load(gpu, [*values, *idea.values], plugin))
        found[idea.name] = float(usual / cycles)
        print(f"{path.stem} {idea.name:32} {found[idea.name]:.3f}  engine's time {time / seconds:.2f}", flush=True)
    return {"trace": path.stem, "floor": floor, "cycles": float(usual), "speed_up": found}


def page(content: dict[str, Any]) -> str:
    """The page of the study."""
    traces, ideas = content["traces"], [each for each in IDEAS if each.name in content["geometric_mean"]]
    names = [each["trace"].partition("-")[0] for each in traces]
    lines = [
        "# Five published ideas and two classics, replayed", "",
        f"Path tracing, {content['size']}, one sample a pixel, on `{content['gpu']}`"
        f"{' with ' + ' '.join(content['values']) if content['values'] else ''}; cycles as it is by cycles with the"
        " idea (above 1: faster). Written by `make policies` (`python -m bench.published`).", "",
        "![Speed-up per scene and idea](published.png)", "",
        "| idea | published | geometric mean | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|",
    ]  # fmt: skip
    for idea in ideas:
        row = [f"{each['speed_up'][idea.name]:.3f}" for each in traces]
        mean = content["geometric_mean"][idea.name]
        lines.append(f"| {idea.name} | {idea.published} | **{mean:.3f}** | " + " | ".join(row) + " |")
    floors = [f"{100 * each['floor']:.1f} %" for each in traces]
    lines.append("| noise floor | | | " + " | ".join(floors) + " |")
    lines.append("| cycles as it is | | | " + " | ".join(f"{each['cycles']:,.0f}" for each in traces) + " |")
    return "\n".join([*lines, "", *trends(content["geometric_mean"])]) + "\n" + NOTES


def trends(means: Means) -> list[str]:
    """Which published trends hold in the geometric mean, as a table."""
    lines = ["| published trend | published | here, geometric means | holds |", "|---|---|---|---|"]
    for name, published, larger, smaller in TRENDS:
        try:
            high, low = larger(means), smaller(means)
        except KeyError:  # of an idea that was left out
            continue
        lines.append(f"| {name} | {published} | {high:.3f} to {low:.3f} | {'yes' if high > low else '**no**'} |")
    return lines


def draw(content: dict[str, Any], path: Path) -> None:
    """A dot for each scene, a bar for the geometric mean; grey: within the noise floor of all scenes."""
    from matplotlib.figure import Figure

    names = list(content["geometric_mean"])
    figure = Figure((7.5, 0.9 + 0.42 * len(names)), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(names))
    means = [content["geometric_mean"][name] for name in names]
    axes.barh(at, [mean - 1 for mean in means], 0.6, left=1, color="0.75", label="geometric mean")
    for each in content["traces"]:
        axes.plot([each["speed_up"][name] for name in names], at, "o", markersize=4, linestyle="none",
                  label=each["trace"].partition("-")[0])  # fmt: skip
    floor = max(each["floor"] for each in content["traces"])
    axes.axvspan(1 - floor, 1 + floor, color="0.9", zorder=0, label=f"noise floor, {100 * floor:.1f} %")
    axes.axvline(1, color="0.3", linewidth=0.8)
    axes.set_yticks(at, names)
    axes.invert_yaxis()
    axes.set_xlabel("speed-up")
    figure.legend(loc="outside upper center", fontsize=8, frameon=False, ncols=5)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    """Trace, replay, write."""
    made = argparse.ArgumentParser(prog="python -m bench.published", description=__doc__.splitlines()[0])
    made.add_argument("--scene", nargs="+", default=SCENES, metavar="SCENE")
    made.add_argument("--size", default="128x128", metavar="WxH")
    made.add_argument("--gpu", default="mobile")
    made.add_argument("--set", action="append", default=[], dest="values", metavar="KEY=VALUE")
    made.add_argument("--idea", nargs="+", default=[idea.name for idea in IDEAS], choices=[idea.name for idea in IDEAS])
    made.add_argument("--quick", action="store_true", help="fewer perturbed machines")
    made.add_argument("--traces", type=Path, default=ROOT / "build" / "published", help="folder of the traces")
    made.add_argument("--out", type=Path, help="folder to write")
    given = made.parse_args()
    given.traces.mkdir(parents=True, exist_ok=True)
    ideas = [idea for idea in IDEAS if idea.name in given.idea]
    found = [study(traced(scene, given.size, given.traces), given.gpu, given.values, ideas, given.quick)
             for scene in given.scene]  # fmt: skip
    means = {idea.name: geometric_mean([each["speed_up"][idea.name] for each in found]) for idea in ideas}
    content = {"gpu": given.gpu, "values": given.values, "size": given.size, "traces": found, "geometric_mean": means}
    print("\n" + page(content))
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        with atomic_file(given.out / "published.json") as partial:
            partial.write_text(json.dumps(content, indent=2) + "\n")
        with atomic_file(given.out / "published.md") as partial:
            partial.write_text(page(content))
        draw(content, given.out / "published.png")


if __name__ == "__main__":
    run("bench.published", main)
