"""Result of a full replay to compare a prediction with: same trace, GPU and model, all launches."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.result import Result
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu
from rayplay.zatel.replays.metrics import RULES

SELECTION = ("kernel", "kernel_name", "launch_skip", "launch_count")  # what replay notes of a choice of launches


def full_metrics(result: Result, trace: Trace, gpu: Gpu) -> dict[str, float | None]:
    """Metrics of Table I of a full replay; ``UserError`` when one is missing or the replay does not match.

    It must be of the same trace (name and warp-instructions), on the same GPU, with the model of the prediction's
    replays, and of all launches.
    """
    made, place = result.manifest.provenance, result.path
    if made.get("trace", trace.path.name) != trace.path.name:
        raise UserError(f"{place}: must be the replay of {trace.path.name}, but is of {made['trace']}")
    if made.get("gpu", wanted := json.loads(json.dumps(asdict(gpu)))) != wanted:
        name = made["gpu"].get("name") if isinstance(made["gpu"], dict) else made["gpu"]
        raise UserError(f"{place}: must be the replay on the GPU {gpu.name} as given, but is on {name}")
    model = "characterised" if trace.rows("characterisation") else "pipeline"
    if made.get("model", "default") not in ("default", model):
        raise UserError(f"{place}: must be the replay in the model {model} of {trace.path}, but is in {made['model']}")
    summary = result.summary
    missing = sorted(RULES.keys() - summary.keys())
    if missing:
        raise UserError(f"{place}: summary.json must hold {', '.join(missing)}")
    if "warp_instructions" in summary:
        _check_instructions(summary["warp_instructions"]["value"], result, trace)
    return {name: summary[name]["value"] for name in RULES}


def _check_instructions(found: float | None, result: Result, trace: Trace) -> None:
    """Refuse another trace of the same name, or some of its launches: their instruction counts differ."""
    wanted = warp_instructions(trace)
    if found != wanted:
        made = result.manifest.provenance
        chosen = [f"--{name.replace('_', '-')} {_words(made[name])}" for name in SELECTION if made.get(name)]
        only = f" of {' '.join(chosen)}" if chosen else ""
        raise UserError(
            f"{result.path}: must be the replay of all {wanted:,} warp-instructions of {trace.path},"
            f" but is of {found or 0:,.0f}{only}"
        )


def warp_instructions(trace: Trace) -> int:
    """Instructions that all warps of the trace issue."""
    length = trace.read("blocks", ["instruction_count"])["instruction_count"].astype(np.int64)
    return sum(int(length[batch["block_id"]].sum()) for batch in trace.batches("visits", ["block_id"]))


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
