"""The result that a prediction is compared with must be of the same trace, GPU and model, and of all of it."""

from pathlib import Path
from typing import Any

import pytest

from rayplay.formats.dataset.reader import Trace
from rayplay.formats.dataset.result import Result, ResultWriter, open_result
from rayplay.formats.guard.errors import UserError
from rayplay.formats.testing.generate import make_trace
from rayplay.replay import simulate
from rayplay.replay.gpu.description import load
from rayplay.zatel.__main__ import parser
from rayplay.zatel.replays.full_result import full_metrics, warp_instructions
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.verbs.estimate import estimate_verb


def written(path: Path, instructions: float, provenance: dict[str, Any]) -> Result:
    """Result with the given number of warp-instructions."""
    values = {**dict.fromkeys(RULES, 1.0), "warp_instructions": instructions}
    with ResultWriter(path, provenance) as writer:
        writer.summary({n: {"value": v, "unit": "1", "kind": "mean", "definition": "-"} for n, v in values.items()})
        writer.host({})
    return open_result(path)


def test_the_replay_of_the_trace_is_taken(trace: Trace, tmp_path: Path) -> None:
    gpu = load("mobile")
    replayed = simulate(trace.path, gpu)
    replayed.write(tmp_path / "full.result", {"trace": trace.path.name, "model": "default"})
    assert full_metrics(open_result(tmp_path / "full.result"), trace, gpu)["gpu_cycles"]


def test_another_trace_of_the_same_name_is_refused(trace: Trace, tmp_path: Path) -> None:
    wanted = warp_instructions(trace)
    result = written(tmp_path / "other.result", wanted + 1, {"trace": trace.path.name, "model": "default"})
    with pytest.raises(UserError) as caught:
        full_metrics(result, trace, load("mobile"))
    assert str(caught.value) == (
        f"{result.path}: must be the replay of all {wanted:,} warp-instructions of {trace.path},"
        f" but is of {wanted + 1:,}"
    )


def test_some_of_the_launches_are_refused_by_their_options(trace: Trace, tmp_path: Path) -> None:
    result = written(tmp_path / "some.result", 5, {"kernel": [1, 2], "launch_count": 3})
    with pytest.raises(UserError, match=r"but is of 5 of --kernel 1 2 --launch-count 3$"):
        full_metrics(result, trace, load("mobile"))


def test_another_model_is_refused(trace: Trace, tmp_path: Path) -> None:
    model, other = ("characterised", "pipeline") if trace.rows("characterisation") else ("pipeline", "characterised")
    gpu, count = load("mobile"), warp_instructions(trace)
    assert full_metrics(written(tmp_path / "same.result", count, {"model": model}), trace, gpu)
    with pytest.raises(UserError, match=f"must be the replay in the model {model} of .*, but is in {other}$"):
        full_metrics(written(tmp_path / "other.result", count, {"model": other}), trace, gpu)


def test_estimate_refuses_the_result_of_another_gpu(tmp_path: Path) -> None:
    trace = make_trace(tmp_path / "small.trace", 1, (32, 4), 0)
    result = written(tmp_path / "other.result", 1, {"gpu": {"name": "rtx2060"}}).path
    options = parser().parse_args(["estimate", str(trace), "--gpu", "mobile", "--against", str(result)])
    with pytest.raises(UserError, match="must be the replay on the GPU mobile as given, but is on rtx2060"):
        estimate_verb(options)
