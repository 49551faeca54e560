"""The warp schedulers against their slow twin: random joins, leaves, waits and ready warps."""

from pathlib import Path

import numpy as np
import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu import description as gpu_description
from rayplay.replay.jit.bits import entry_point
from rayplay.replay.run.driver import simulate
from rayplay.replay.sm import warps as scheduler
from rayplay.replay.sm.policies import OF_ALL, OF_PIPELINE, pick
from rayplay.replay.sm.warps import Warps
from tests.reference.scheduler_slow import SlowScheduler
from tests.replay.launches import Kernel, write_kernels

JOIN, LEAVE, PARK, CHOOSE = range(4)
WARPS = 64
SM = 1
LAST = 3  # the scheduler whose last warp has the sign of the masks for its bit


@entry_point
def drive(state: Warps, sm: int, operation: np.ndarray, argument: np.ndarray, chosen: np.ndarray) -> None:
    """``argument`` is a warp, or for CHOOSE the ready warps of the last scheduler as a mask of warps."""
    for step in range(operation.size):
        if operation[step] == JOIN:
            scheduler.join(state, sm, step, argument[step])
        elif operation[step] == LEAVE:
            scheduler.leave(state, sm, step, argument[step])
        elif operation[step] == PARK:
            scheduler.park(state, sm, step, argument[step])
        else:
            state.mask[sm, scheduler.READY] = 0
            for warp in range(state.warps):
                if (argument[step] >> warp) & 1:
                    scheduler.set_ready(state, sm, warp)
            candidates = scheduler.candidates_of(state, sm, state.lane[LAST])
            if candidates:
                rank = pick(state.policy, candidates, state.mask[sm, scheduler.LAST])
                chosen[step] = state.member[sm, rank]
                state.mask[sm, scheduler.LAST] = 1 << rank


@pytest.mark.parametrize("policy", OF_ALL)
@pytest.mark.parametrize("seed", range(5))
def test_the_warp_that_issues_is_the_slow_twins(policy: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    spec = gpu_description.load("rtx2060", [f"scheduler.policy={policy}", "scheduler.active_warps=3"]).scheduler
    state, twin = scheduler.make_state(spec, 2, WARPS), SlowScheduler(policy, 3)
    mine = [warp for warp in range(WARPS) if warp % spec.count == LAST]
    operation, argument, expected = [], [], []
    for _ in range(3000):
        absent = [warp for warp in mine if warp not in twin.by_age]
        choice = rng.random()
        if absent and (choice < 0.1 or not twin.by_age):
            warp = int(rng.choice(absent))
            twin.join(warp)
            row = (JOIN, warp, -1)
        elif choice < 0.18 and twin.by_age:
            warp = int(rng.choice(twin.by_age))
            twin.leave(warp)
            row = (LEAVE, warp, -1)
        elif choice < 0.3 and twin.by_age:
            warp = int(rng.choice(twin.by_age))
            twin.park(warp)
            row = (PARK, warp, -1)
        else:
            ready = {warp for warp in twin.by_age if rng.random() < 0.5} or {twin.by_age[-1]}
            found = twin.choose(ready)
            mask = int(np.bitwise_or.reduce(np.int64(1) << np.array(sorted(ready))))
            row = (CHOOSE, mask, -1 if found is None else found)
        for column, value in zip((operation, argument, expected), row, strict=True):
            column.append(value)
    chosen = np.full(len(operation), -1, np.int64)
    drive(state, SM, np.array(operation), np.array(argument), chosen)
    assert chosen.tolist() == expected
    assert [warp for warp in scheduler.live_warps(state, SM) if warp % spec.count == LAST] == twin.by_age


@pytest.mark.parametrize("policy", OF_PIPELINE)
@pytest.mark.parametrize("model", ["characterised", "gatsim"])
def test_policies_of_the_pipeline_are_refused_by_other_models(policy: str, model: str, tmp_path: Path) -> None:
    trace = write_kernels(tmp_path / "one.trace", [Kernel((1,))])
    with pytest.raises(UserError, match=f"model {model}: scheduler.policy must not be {policy}"):
        simulate(trace, gpu_description.load("rtx2060", [f"scheduler.policy={policy}"]), model=model)
