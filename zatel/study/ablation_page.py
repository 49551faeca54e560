"""Page, table and picture of the ablation: ``docs/estimate``."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rayplay.formats.place.publish import atomic_file
from rayplay.zatel.replays.metrics import RULES as METRICS
from rayplay.zatel.sample.rules import Rules
from rayplay.zatel.study.ablation import DERIVED, MADE_FOR, Trial, Verdict, verdicts

PER_CENT = 100.0
HEAD = """# The estimator measured

Written by `{command}`; versions: {versions}. Estimates from {fraction:g} of the CTAs, {seeds} seeds, against full
replays of the same traces: {scenes}.

"""
ABLATION = """
## Ablation

Mean absolute error of the cycles and of all seven metrics with every rule and without one, in per cent. "Gain" is the
mean difference on scenes for which the rule was not made, over scenes and GPUs, with its standard error; a rule earns
its place where the gain exceeds two of these for a metric; "derived" follows from a law of the machine. Why a rule
stays that does not, `docs/estimate.md` says. "Time" is its part of the processor time of functional caches, replay and
extrapolation, of the first seed with the traffic of all warps. Rules: `zatel/sample/rules.py`.

"""


def write_page(folder: Path, found: Sequence[Trial], request: dict[str, str | float]) -> None:
    """Write ``README.md``, ``trials.csv`` and ``ablation.png`` into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    judged = verdicts(found)
    scenes = ", ".join(dict.fromkeys(one.scene for one in found))
    text = HEAD.format(**request, scenes=scenes) + errors_table(found) + ABLATION + rules_table(judged)
    text += "\n![Gain of each rule](ablation.png)\n\nEvery estimate is a row of [trials.csv](trials.csv).\n"
    with atomic_file(folder / "trials.csv") as partial:
        write_trials(partial, found)
    with atomic_file(folder / "ablation.png") as partial:
        draw(partial, judged)
    with atomic_file(folder / "README.md") as partial:
        partial.write_text(text, encoding="utf-8")


def errors_table(found: Sequence[Trial]) -> str:
    """A row per scene and GPU: error, half width and coverage with every rule."""
    lines = [
        "## Errors and coverage",
        "",
        "Mean absolute error and mean half width of the 95 % interval, in per cent.",
        "",
    ]
    lines += ["| scene, GPU | cycles | half width | all metrics | intervals that hold |", "|---|---|---|---|---|"]
    base = [one for one in found if not one.without]
    for case in [*dict.fromkeys((one.scene, one.gpu) for one in base), None]:
        mine = [one for one in base if case in ((one.scene, one.gpu), None)]
        held = [value for one in mine for value in one.holds.values() if value is not None]
        name = "all" if case is None else ", ".join(case)
        half = _mean([one.half["gpu_cycles"] for one in mine])
        cells = _mean_error(mine, ["gpu_cycles"]), half, _mean_error(mine, list(METRICS))
        lines.append(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + f" | {sum(held)} of {len(held)} |")
    return "\n".join(lines) + "\n"


def rules_table(judged: Sequence[Verdict]) -> str:
    """A row per rule."""
    lines = [
        "| rule | cycles with / without | gain | all with / without | largest other gain | time | earns its place |"
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for rule in Rules._fields:
        mine = [one for one in judged if one.rule == rule]
        cycles = next(one for one in mine if one.metric == "gpu_cycles")
        others = [one for one in mine if one.metric not in ("gpu_cycles", "gpu_ipc")]
        best = max(others, key=lambda one: one.gain)
        every = [PER_CENT * float(np.mean([getattr(one, side) for one in mine])) for side in ("with_it", "without_it")]
        earns = any(one.earns_its_place for one in mine)
        made = f" (made for {MADE_FOR[rule]})" if rule in MADE_FOR else ""
        lines.append(
            f"| `{rule}`{made} | {PER_CENT * cycles.with_it:.1f} / {PER_CENT * cycles.without_it:.1f} |"
            f" {_gain(cycles)} | {every[0]:.1f} / {every[1]:.1f} | {best.metric}: {_gain(best)} |"
            f" {PER_CENT * cycles.cpu_share:.0f} % | {'yes' if earns else 'derived' if rule in DERIVED else 'no'} |"
        )
    return "\n".join(lines) + "\n"


def write_trials(path: Path, found: Sequence[Trial]) -> None:
    """A row per estimate: signed relative errors."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["scene", "gpu", "seed", "without", *METRICS])
        for one in found:
            errors = ["" if one.errors[name] is None else f"{one.errors[name]:.5f}" for name in METRICS]
            writer.writerow([one.scene, one.gpu, one.seed, one.without, *errors])


def draw(path: Path, judged: Sequence[Verdict]) -> None:
    """Gain of each rule in the cycles, and the largest in another metric, with two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.0, 3.6), layout="constrained")
    for offset, label, chosen in ((-0.18, "cycles", "gpu_cycles"), (0.18, "largest of the other metrics", None)):
        rows = [_shown(judged, rule, chosen) for rule in Rules._fields]
        gains = [PER_CENT * one.gain for one in rows]
        errors = [2 * PER_CENT * min(one.gain_error, 1.0) for one in rows]
        axes.barh(np.arange(len(rows)) + offset, gains, 0.34, xerr=errors, label=label)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(Rules._fields)), Rules._fields)
    axes.invert_yaxis()
    axes.set_xlabel("error without the rule - error with it, percentage points (two standard errors)")
    axes.legend()
    figure.savefig(path, dpi=120, format="png")
    pyplot.close(figure)


def _shown(judged: Sequence[Verdict], rule: str, metric: str | None) -> Verdict:
    mine = [one for one in judged if one.rule == rule]
    if metric:
        return next(one for one in mine if one.metric == metric)
    return max((one for one in mine if one.metric not in ("gpu_cycles", "gpu_ipc")), key=lambda one: one.gain)


def _gain(one: Verdict) -> str:
    return f"{PER_CENT * one.gain:+.1f} ± {PER_CENT * one.gain_error:.1f}"


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return PER_CENT * float(np.mean(known)) if known else float("nan")


def _mean_error(found: Sequence[Trial], metrics: Sequence[str]) -> float:
    return _mean([abs(error) for one in found for name in metrics if (error := one.errors[name]) is not None])
