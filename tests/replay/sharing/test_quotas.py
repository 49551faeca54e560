"""No class ever holds more of an SM than its quota, nor more lines of an L2 set than its ways."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.replay.engine.machine import Machine
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.input.program import read_characterisation
from rayplay.replay.launch.classes import join, parse
from rayplay.replay.launch.shared import Shared
from rayplay.replay.memory.cache import state as cache_state
from rayplay.replay.run.driver import Replay
from rayplay.replay.run.progress import Standing
from rayplay.replay.sharing.plan import Plan
from rayplay.replay.sharing.rules import names, read_partition
from rayplay.replay.sm import ctas as dispatch
from tests.replay.conftest import write_micro
from tests.replay.launches import Kernel, write_kernels
from tests.replay.sharing.test_together import together

SM = ("sm.count=6", "sm.warps=16", "sm.ctas=8", "sm.registers=16384", "sm.shared_bytes=9000")
DYNAMIC = {"slicer": ["partition.sample_cycles=60"], "tap": ["partition.period_cycles=40"]}
DYNAMIC["ucp"] = DYNAMIC["tap"]
KERNELS = st.builds(
    Kernel, st.lists(st.integers(1, 12), min_size=1, max_size=40).map(tuple), st.integers(0, 2),
    st.sampled_from([1, 2, 3]), st.sampled_from([16, 40, 90]), st.sampled_from([0, 700, 2900]),
)  # fmt: skip


class Watched(Machine):
    """A machine that knows the most that each class may hold: its quota, or what it held when that shrank."""

    def adopt(self, plan: Plan) -> None:
        super().adopt(plan)
        self.most = np.maximum(self.dispatch.quota, self.dispatch.used)

    def check(self, standing: Standing) -> None:
        """Held resources of all classes, and what the SMs themselves say."""
        used, sm = self.dispatch.used, self.gpu.sm
        assert (used >= 0).all()
        assert (used <= self.most).all()
        self.most = np.maximum(self.dispatch.quota, used)
        held = used.reshape(sm.count, -1, dispatch.QUOTA_COLUMNS).sum(axis=1)
        assert (held <= [sm.warps, sm.ctas, sm.registers, sm.shared_bytes]).all()
        of_sms = self.dispatch.unit[:, [dispatch.HELD, dispatch.REGISTERS_USED, dispatch.SHARED_USED]]
        assert (held[:, 1:] == of_sms).all()
        assert (held[:, 0] == np.bitwise_count(self.dispatch.unit[:, dispatch.SLOTS_USED])).all()


def watched(texts: list[str], gpu: Gpu, partition: str, values: list[str]) -> Watched:
    """The machine of classes that share a GPU."""
    shared = Shared(join([parse(text) for text in texts]), read_partition(partition, values))
    return Watched(shared.joined.trace, gpu, read_characterisation(shared.joined.trace, None), sharing=shared)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(KERNELS, min_size=1, max_size=3), min_size=2, max_size=3), st.sampled_from(names()),
    st.lists(st.integers(1, 5), min_size=3, max_size=3), st.integers(1, 60), st.sampled_from([1, 4]),
)  # fmt: skip
def test_a_quota_is_never_exceeded(
    tmp_path: Path, classes: list[list[Kernel]], partition: str, shares: list[int], interval: int, window: int
) -> None:
    texts = [f"c{number}={write_kernels(tmp_path / f'{number}.trace', own)}" for number, own in enumerate(classes)]
    values = list(DYNAMIC.get(partition, []))
    if partition in ("fine", "mps", "mig", "tap", "ucp"):
        values.append(f"partition.shares={shares[: len(texts)]}")
    gpu = load("mobile", [*SM, "sm.kernel_launch_cycles=5", f"sm.concurrent_kernels={window}"])
    try:
        machine = watched(texts, gpu, partition, values)
    except UserError:  # what never fits; ``test_partitions`` has the messages
        return
    Replay(machine, interval=interval).run(machine.check)
    assert min(machine.streams.passes) >= 1


def lines_by_set(machine: Machine) -> np.ndarray:
    """Lines of every class in every set of the L2: int64[sets of all slices, classes]."""
    tags = machine.memory.l2.tags
    sets, owners = tags.sets * len(tags.stats), tags.owners
    used = (tags.line[:, cache_state.STATUS] & cache_state.IN_USE) != 0
    found = np.zeros((sets, owners.classes), np.int64)
    rows = np.flatnonzero(used)
    np.add.at(found, (rows >> tags.way_shift, owners.class_of[owners.owner[rows] >> 1]), 1)
    return found


def streams(folder: Path, op: Any, load_op: Callable[..., Any]) -> list[str]:
    """A class that streams and writes, and one that reads the same again and again."""
    store = op("store", "lsu", 1, 1, -1, 0, "global")
    base = {0: 0, 1: 1 << 22}
    stream = write_micro(
        folder / "stream.trace", [load_op(wait=0), store, op()], [24] * 32,
        lambda warp, visit, index, lane: base[index] + 128 * (warp * 24 + visit) + 4 * lane,
    )  # fmt: skip
    again = write_micro(
        folder / "again.trace", [load_op(), op()], [40] * 16,
        lambda warp, visit, index, lane: 128 * (warp * 40 + visit) + 4 * lane,
    )  # fmt: skip
    return [f"stream={stream}", f"again={again}"]


@pytest.mark.parametrize("ways", [(1, 15), (12, 4)])
@pytest.mark.parametrize("partition", ["tap", "ucp"])
def test_ways_hold_in_every_set(
    tmp_path: Path, op: Any, load_op: Callable[..., Any], partition: str, ways: tuple[int, int]
) -> None:
    """With fixed ways, at every interval; a class of one way that writes ends."""
    small = load("mobile", ["sm.count=4", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=0"])
    machine = watched(streams(tmp_path, op, load_op), small, partition, [f"partition.ways={list(ways)}"])
    most = []

    def look(standing: Standing) -> None:
        held = lines_by_set(machine)
        assert (held <= ways).all()
        most.append(held.max(axis=0))

    Replay(machine, interval=200).run(look)
    assert (np.max(most, axis=0) == ways).all()  # they did fill up


@pytest.mark.parametrize("partition", ["tap", "ucp"])
def test_ways_that_shrink_hold_from_then_on(
    tmp_path: Path, op: Any, load_op: Callable[..., Any], partition: str
) -> None:
    """A class never gets a line beyond its ways, and under UCP another takes back what it has above them."""
    small = load("mobile", ["sm.count=4", "memory.count=2", "l2.bytes=65536", "sm.kernel_launch_cycles=0"])
    machine = watched(streams(tmp_path, op, load_op), small, partition, ["partition.period_cycles=300"])
    before, above = lines_by_set(machine), []

    def look(standing: Standing) -> None:
        nonlocal before
        held, ways = lines_by_set(machine), machine.memory.l2.tags.owners.ways
        if len(above) and (ways == above[-1][0]).all():
            assert (held <= np.maximum(ways, before)).all()
        before = held
        above.append((ways.copy(), int(np.maximum(held - ways, 0).sum())))

    Replay(machine, interval=200).run(look)
    chosen = {tuple(ways.tolist()) for ways, _ in above}
    assert (16, 16) in chosen
    assert len(chosen) > 1
    assert above[-1][1] <= max(excess for ways, excess in above if ways.sum() == 16)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("partition.ways=[1]", r"ways must be at least 1 of l2.ways \(16\) for each of 2 classes, not \[1\]"),
        ("partition.ways=[0,4]", r"ways must be at least 1 of l2.ways \(16\) for each of 2 classes, not \[0, 4\]"),
        ("partition.ways=[9,9]", r"ways must be at least 1 of l2.ways \(16\) for each of 2 classes, not \[9, 9\]"),
        ("partition.min_ways=9", r"min_ways must leave l2.ways \(16\) for all"),
    ],
)
def test_ways_that_give_a_class_nothing_are_one_line(tmp_path: Path, values: str, message: str) -> None:
    texts = [str(write_kernels(tmp_path / f"{name}.trace", [Kernel((4,))])) for name in "ab"]
    with pytest.raises(UserError, match=f"^partition tap: {message}$"):
        together(texts, load("mobile", ["sm.count=2"]), "tap", values)
