"""Traces and GPUs that an estimate refuses by each way in, before a warp is read."""

from pathlib import Path

import pytest

import rayplay
from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.zatel.sample.estimate import estimate_many, read_work
from rayplay.zatel.sample.until import estimate_until, expected
from rayplay.zatel.sample.whole import replay_whole
from tests.replay.launches import Kernel, write_kernels

POLICIES = Path(__file__).resolve().parents[3] / "examples" / "policies"
FIFO = POLICIES / "fifo.py"


def test_plug_ins_of_caches_are_refused_by_every_door(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trace, "batches", None)  # no warp is read
    gpu = load("mobile", plugin=FIFO)
    for door in (
        lambda: rayplay.estimate(trace, gpu), lambda: rayplay.estimate(trace, gpu, target_error=0.05),
        lambda: rayplay.whatif(trace, gpu, ["rt.warps*2"], 0.5), lambda: expected(trace, gpu),
    ):  # fmt: skip
        with pytest.raises(UserError, match=r"GPU .*: its plug-in .* acts on .*, whose contents a sample cannot tell"):
            door()


@pytest.mark.parametrize("value", ["rt.cache=none", "rt.cache=private", "rt.perfect_memory=true"])
def test_rays_past_the_l1_are_refused_by_every_door(trace: Trace, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trace, "batches", None)  # no warp is read
    gpu = load("mobile", [value])
    for door in (
        lambda: rayplay.estimate(trace, gpu), lambda: rayplay.estimate(trace, gpu, target_error=0.05),
        lambda: rayplay.whatif(trace, load("mobile"), [value], 0.5), lambda: expected(trace, gpu),
    ):  # fmt: skip
        with pytest.raises(UserError, match=r"rt\.cache must be l1 and rt\.perfect_memory false"):
            door()


def test_plug_ins_that_need_what_a_sample_lacks_are_refused(trace: Trace) -> None:
    gpu = load("mobile", plugin=POLICIES / "coop.py")
    with pytest.raises(UserError, match=r"its plug-in coop needs distances, culled, rays, which a sample lacks"):
        estimate_many(trace, [gpu], 0.5)


@pytest.mark.parametrize(("gone", "message"), [("warps", "must have warps"), ("kernels", "must be one launch")])
def test_a_trace_without_a_launch_is_refused_by_every_door(
    trace: Trace, gone: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, rows = load("mobile"), Trace.rows
    monkeypatch.setattr(Trace, "rows", lambda self, name: 0 if name == gone else rows(self, name))
    for door in (
        lambda: read_work(trace), lambda: estimate_many(trace, [gpu], 0.5), lambda: estimate_until(trace, gpu, 0.1),
        lambda: expected(trace, gpu),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            door()


def test_the_full_replay_needs_no_rays_but_warps(trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, rows = load("mobile"), Trace.rows
    compute = open_trace(write_kernels(tmp_path / "two.trace", [Kernel((3, 4)), Kernel((5,))]))
    assert replay_whole(compute, gpu).metrics["gpu_cycles"] == rayplay.replay(compute, gpu).value("gpu_cycles")
    monkeypatch.setattr(Trace, "rows", lambda self, name: 0 if name == "warps" else rows(self, name))
    with pytest.raises(UserError, match="must have warps"):
        replay_whole(trace, gpu)
