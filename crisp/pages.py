"""The page of a study: how it was made, verdicts on the findings, and a figure and a table for each experiment."""

from collections.abc import Mapping, Sequence
from typing import Any

from rayplay.crisp.experiment import Experiment
from rayplay.crisp.values import Finding, Value
from rayplay.zatel.study.pages import table

VERDICTS = {True: "holds", False: "**does not hold**", None: "not to be said"}
PICTURES = "pictures.png"
PROCEDURAL = "The scenes are procedural, without textures; experiments that need them are left out."


def page(made: Mapping[Experiment, Sequence[Finding]], values: Sequence[Value], request: dict[str, Any]) -> str:
    """README.md of a study."""
    findings = [finding for found in made.values() for finding in found]
    pairs = dict.fromkeys(f"{one.case.graphics} + {one.case.partner}" for one in values if one.case.partner)
    held = sum(finding.holds is True for finding in findings)
    head = [
        "# CRISP's evaluation, on this simulator",
        "",
        f"Pictures {', '.join(request['pictures'])} of {request['size']} pixels.",
        *([f"Pairs {', '.join(pairs)}."] if pairs else []),
        *([PROCEDURAL] if request["is_procedural"] else []),
        "",
        f"`{request['command']}`",
        "",
        "GPUs: " + ", ".join(f"{name} is `{file}`" for name, file in request["gpus"].items()) + ". "
        + ", ".join(f"{name} {version}" for name, version in request["versions"].items()),
        *[f"\nOf another engine, {engine}: {', '.join(names)}" for engine, names in _engines(request).items()],
        "",
        *([f"![pictures]({PICTURES})", ""] if request["is_drawn"] else []),
        f"## What the paper finds, here: the direction of {held} of {len(findings)} holds",
        "",
        *table(["where", "the paper", "direction", "there", "here", "limits"],
               [[one.figure, one.paper, VERDICTS[one.holds], one.theirs, one.here, one.limits] for one in findings]),
        "",
        "Every number: `values-*.parquet`. Published numbers: `crisp/published.csv`, with the source of each.",
        "",
    ]  # fmt: skip
    parts = [line for experiment in made for line in _part(experiment, values)]
    return "\n".join([*head, *parts])


def _engines(request: dict[str, Any]) -> dict[str, list[str]]:
    """Experiments that another engine made, by engine."""
    found: dict[str, list[str]] = {}
    for name, engine in request.get("engines", {}).items():
        if engine != request["versions"]["engine"]:
            found.setdefault(engine, []).append(name)
    return found


def _part(experiment: Experiment, values: Sequence[Value]) -> list[str]:
    head, lines = experiment.table(values)
    picture = f"![{experiment.name}]({experiment.name}.png)"
    return [f"## {experiment.title}", "", picture, "", *table(head, lines), ""]
