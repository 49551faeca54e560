"""The page of a study: verdicts on the paper's findings, figures that were asked, a table and the pictures."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from rayplay.formats.guard.code_cache import source_digest
from rayplay.replay.layers import RESULTS
from rayplay.tuner.study.plan import Animation, Distances, Plan, distances

PUBLISHED = {  # docs/sources/tuner.md#controllers
    "feedback": "1.1, 0.7, 0.2 % and 1.7, 0.2, 1.3 %",
    "feed-forward": "6.3, 4.8, 2.1 % and 11.1, 12.8, 19.9 %",
    "none": "10.5 and 13.2 %",
    "previous": "-",
    "oracle": "-",
}
Found = dict[tuple[str, str], Distances]


def page(plan: Plan, parts: Sequence[Animation]) -> Iterator[str]:
    """Lines of the page."""
    found = {
        (each.stem, one): distances(each.rows, one, each.target_ms)
        for each in parts
        for one in dict.fromkeys(row["controller"] for row in each.rows)
    }
    orbits, turns = ([each for each in parts if each.path == path] for path in ("orbit", "turn"))
    frames = f"{plan.first} frames" if plan.first == plan.frames else f"The first {plan.first} of {plan.frames} frames"
    yield from (
        "# The tuner, end to end",
        "",
        f"Made by `{_command(plan)}`; engine {source_digest(RESULTS)[:16]}, numpy {np.__version__}.",
        "",
        f"{frames} of {plan.size[0]}x{plan.size[1]} pixels; the target is the time of the scene's own view "
        f"with {plan.rays} rays, traced {'by the ray-tracing unit' if plan.tracing == 'rt-unit' else 'in software'}. "
        f"The GPUs are simulated{_part(plan)}. "
        "Every controller knows the time of the target's frame. Frames of this size are executed as a whole before "
        f"they are predicted, with as many rays as the target has, and {4 * plan.rays} rays at most are chosen.",
        *(["", _others(plan)] * (plan.others is not None)),
        "",
        "| the paper | here | figures |",
        "|---|---|---|",
    )
    for text, pairs in _findings(orbits, turns):
        if not pairs:
            continue
        holds = all(less < more for less, more in pairs)
        shown = ", ".join(f"{100 * less:.1f} < {100 * more:.1f} %" for less, more in pairs)
        yield f"| {text} | {'holds' if holds else '**does not hold**'} | {shown} |"
    yield from ("", "| figure | asked, at most | here |", "|---|---|---|")
    for text, most, values in _asked(found, orbits, turns):
        if not values:
            continue
        shown = ", ".join(f"{100 * value:.1f}" for value in values)
        verdict = "" if all(value <= most for value in values) else "**missed:** "
        yield f"| {text} | {100 * most:g} % | {verdict}{shown} |"
    yield from _tables(found, parts)


def _asked(
    found: Found, orbits: Sequence[Animation], turns: Sequence[Animation]
) -> Iterator[tuple[str, float, list[float]]]:
    """Sentence, bound, and values of the animations."""
    own = {one: [found[each.stem, one] for each in orbits] for one in ("feedback", "feed-forward")}
    yield "feedback, distance from the target, mean", 0.02, [each.mean for each in own["feedback"]]
    yield "feedback, worst frame after the fifth", 0.10, [each.settled for each in own["feedback"]]
    yield "feed-forward, distance from the target, mean", 0.10, [each.mean for each in own["feed-forward"]]
    yield (
        "feed-forward, longest frame above the target in a turn",
        0.5,
        [found[each.stem, "feed-forward"].above for each in turns],
    )
    yield "error of our model, equal rays, mean", 0.08, [next(iter(each.model_errors.values())) for each in orbits]


def _tables(found: Found, parts: Sequence[Animation]) -> Iterator[str]:
    yield from ("", "Distances in per cent; published ones are of other GPUs and scenes.", "")
    yield (
        "| animation | controller | frames | from the target, mean | worst after the fifth frame | longest above it "
        "| prediction | published |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for (stem, one), each in found.items():
        numbers = " | ".join(f"{100 * value:.1f}" for value in (each.mean, each.settled, each.above, each.prediction))
        yield f"| {stem} | {one} | {each.frames} | {numbers} | {PUBLISHED[one]} |"
    yield from ("", "With equal rays, distance of the prediction from the time, mean, in per cent:", "")
    models = list(parts[0].model_errors)
    yield f"| animation | {' | '.join(models)} |"
    yield "|---" * (1 + len(models)) + "|"
    for part in parts:
        yield f"| {part.stem} | {' | '.join(f'{100 * part.model_errors[model]:.1f}' for model in models)} |"
    yield from ("", *(f"![{part.stem}]({part.stem}.png)\n" for part in parts))


def _part(plan: Plan) -> str:
    if plan.part == 1:
        return ""
    return (
        f", as parts: their SMs and memory partitions divided by {plan.part} or, where less than two SMs or a "
        "partition would be left, by as much as may be, which a small frame keeps as busy as a large one the whole"
    )


def _others(plan: Plan) -> str:
    return (
        f"Controllers besides feedback render the first {plan.others} frames of an orbit; the findings compare these "
        "frames, and the error of our model is of them."
    )


def _command(plan: Plan) -> str:
    scenes = " ".join(Path(scene).name for scene in plan.scenes)
    gpus = " ".join(f"--gpu {gpu}" for gpu in plan.gpus)
    size = f"{plan.size[0]}x{plan.size[1]}"
    rest = f" --first {plan.first}" * (plan.first != plan.frames) + f" --tracing {plan.tracing}" * (
        plan.tracing != "software"
    )
    rest += " --no-oracle" * (not plan.oracle) + f" --part {plan.part}" * (plan.part > 1)
    rest += f" --others {plan.others}" * (plan.others is not None) + " --no-turn" * (not plan.turn)
    return f"python -m tuner study {scenes} {gpus} --frames {plan.frames} --size {size} --rays {plan.rays}{rest}"


def _findings(
    orbits: Sequence[Animation], turns: Sequence[Animation]
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Sentence -> pairs of which the first is less where it holds, both of the frames that both controllers had."""
    for text, animations, field, less, more in (
        ("Feedback brings the prediction nearer to the time", orbits, "prediction", "feedback", "feed-forward"),
        ("Without tuning frames leave the target", orbits, "mean", "feedback", "none"),
        ("After a turn the last frame's time misleads, the model does not", turns, "above", "feed-forward", "previous"),
    ):
        pairs = (_compared(each, (less, more)) for each in animations)
        yield text, [(getattr(one, field), getattr(other, field)) for one, other in pairs]


def _compared(animation: Animation, controllers: tuple[str, str]) -> tuple[Distances, Distances]:
    one, other = (distances(animation.rows, name, animation.target_ms) for name in controllers)
    first = min(one.frames, other.frames)
    one, other = (distances(animation.rows, name, animation.target_ms, first) for name in controllers)
    return one, other
