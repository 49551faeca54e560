"""Laws that every policy must keep, on small drawn traces and GPUs: ``rayplay.testing.check_policy``."""

import copy
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import config

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.guard.digest import bytes_digest
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.checkpoint import Checkpoint, Checkpoints
from rayplay.formats.testing.generate import make_trace
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.plugin.load import Plugin
from rayplay.replay.plugin.load import load as load_plugin
from rayplay.replay.results.metrics import Result
from rayplay.replay.run.driver import simulate

IS_PLAIN: bool = config.DISABLE_JIT  # type: ignore[attr-defined]
MOST_TIMES_SLOWER, SPARE_CYCLES = 8, 20_000
INTERVAL = 500
MOST_CALLS = 300_000  # of a policy in one quantum, at most some hundred cycles
WORK = ("sm.retired_instructions", "sm.retired_warps", "sm.retired_ctas", "rt_unit.warps", "rt_unit.rays",
        "rt_unit.lanes", "rt_unit.records", "rt_unit.intersection_lane_cycles")  # fmt: skip
"""Counters that a policy cannot change: what is done, whenever it is done."""
OF_RECORDS = ("rt_unit.records", "rt_unit.intersection_lane_cycles")
"""Of them those that a policy changes which reads the visits that culling removed."""
VALUES = {
    "sm.count": (1, 2, 3), "sm.warps": (4, 8, 32), "scheduler.count": (1, 2, 4), "rt.warps": (1, 2, 4, 8),
    "rt.cores": (1, 2), "rt.cache": ("l1", "l1", "private", "none"), "rt.mshr_entries": (0, 1, 64),
    "rt.private.sets": (1, 4), "rt.private.ways": (2, 8), "l1.ways": (2, 8), "l1.mshr_entries": (2, 256),
    "l1.allocate": ("on_miss", "streaming"), "l1.latency_cycles": (1, 20), "l2.ways": (4, 16),
    "l2.mshr_entries": (2, 192), "l2.latency_cycles": (20, 160), "dram.queue_entries": (2, 64),
    "sm.kernel_launch_cycles": (0, 100),
}  # fmt: skip
FIXED = ("memory.count=1", "l2.bytes=65536", "l1.bytes=4096", "sm.concurrent_kernels=1")


class Calls:
    """Counts the calls of a policy's functions where they run in plain Python, and gives up on endless ones.

    by_hook     calls of each hook.
    since_look  calls since the engine ended a quantum.
    """

    def __init__(self, plugin: Plugin) -> None:
        self.plugin, self.functions = plugin, dict(plugin.functions)
        self.by_hook, self.since_look = dict.fromkeys(plugin.functions, 0), 0

    def __enter__(self) -> "Calls":
        """Have every function counted."""
        self.plugin.functions.update({name: self.counted(name, each) for name, each in self.functions.items()})
        self.plugin.classes.clear()  # which are bound to the functions
        return self

    def __exit__(self, *error: object) -> None:
        """Put the functions back."""
        self.plugin.functions.update(self.functions)
        self.plugin.classes.clear()

    def counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A hook's function that is counted."""

        def call(*arguments: Any) -> Any:
            self.by_hook[name] += 1
            self.since_look += 1
            if self.since_look > MOST_CALLS:
                raise AssertionError(f"ends: no progress: {MOST_CALLS:,} calls in one quantum, the last of {name}")
            return function(*arguments)

        return call

    def lines(self) -> Iterator[str]:
        """Calls by hook, and a note of each that was never asked."""
        yield "calls: " + ", ".join(f"{name} {calls:,}" for name, calls in self.by_hook.items())
        for name, calls in self.by_hook.items():
            if calls == 0:
                yield f"note: {name} was never asked, so nothing here tests it"


class Noting(Checkpoints):
    """Keeps the checkpoint of one look in memory, or resumes from one."""

    def __init__(self, at: int, resumed: Checkpoint | None = None) -> None:
        self.at, self.resumed, self.looks = at, resumed, 0
        self.kept: Checkpoint | None = None
        self.calls: Calls | None = None

    @property
    def are_due(self) -> bool:
        """Whether this is the look."""
        self.looks += 1
        if self.calls is not None:
            self.calls.since_look = 0
        return self.looks == self.at

    def save(self, facts: Any, arrays: Any) -> None:
        """Keep a copy."""
        self.kept = copy.deepcopy(Checkpoint(dict(facts), dict(arrays)))


@dataclass(frozen=True)
class Case:
    """A drawn trace on a drawn GPU."""

    trace: Path
    values: tuple[str, ...]
    model: str

    def gpu(self, plugin: Plugin | None, settings: tuple[str, ...] = ()) -> Gpu:
        """The GPU, with the plug-in and the ``settings`` or without."""
        return load("mobile", [*FIXED, *self.values, *settings], plugin)

    def __str__(self) -> str:
        return f"{self.trace.name}, model {self.model}, mobile with {' '.join([*FIXED, *self.values])}"


def check_policy(
    plugin: Plugin | Path | str | None, cases: int = 6, seed: int = 0, settings: tuple[str, ...] = (),
    models: tuple[str, ...] = ("characterised",), progress: Callable[[str], None] = print,
) -> int:  # fmt: skip
    """Check the laws of every policy on ``cases`` drawn traces and GPUs; returns laws held.

    plugin    its file, or loaded; None: the engine's own policy that ``settings`` name.
    settings  ``KEY=VALUE`` of the description, such as parameters of the policy.
    models    of the SM, in turn.
    progress  called with a line for each case.

    With ``NUMBA_DISABLE_JIT=1`` engine and policy run in plain Python: slower, without compiling, and a debugger
    stops at breakpoints in the policy. Then one thread runs.

    Raises ``AssertionError`` with the case and the law: a replay ends, in at most 8 times the cycles of the engine's
    own policy (no warp starves); the work done is the same; the result has the same bytes for every quantum, for two
    threads, and when it is resumed from a checkpoint.
    """
    loaded = plugin if isinstance(plugin, Plugin | None) else load_plugin(plugin)
    done = 0
    sums: dict[str, int] = {}
    calls = Calls(loaded) if IS_PLAIN and loaded is not None else None
    with tempfile.TemporaryDirectory() as folder, calls or nullcontext():
        for case in drawn(Path(folder), cases, seed, models, loaded is not None and bool(loaded.needs)):
            held = list(laws(case, loaded, settings, calls, sums))
            progress(f"{case.trace.stem}: {len(held)} laws hold: {', '.join(held)}")
            done += len(held)
    if sums:
        progress("counters: " + ", ".join(f"{name} {number:,}" for name, number in sums.items()))
    for line in calls.lines() if calls else ():
        progress(line)
    return done


def drawn(folder: Path, cases: int, seed: int, models: tuple[str, ...], traversals: bool) -> Iterator[Case]:
    """Traces with rays on small and odd GPUs that fit together; ``traversals``: which tell how the rays walk."""
    rng = np.random.default_rng(seed)
    number = 0
    while number < cases:
        size = (int(rng.choice([8, 16, 40])), int(rng.choice([2, 4])))
        values = tuple(f"{key}={rng.choice(few)}" for key, few in VALUES.items() if rng.random() < 0.6)
        trace = folder / f"{number}.trace"
        case = Case(trace, values, models[number % len(models)])
        try:
            case.gpu(None)
        except UserError:
            continue
        make_trace(trace, int(rng.integers(1 << 30)), size, ctas=int(rng.choice([0, 2])), traversals=traversals)
        number += 1
        yield case


def laws(
    case: Case, plugin: Plugin | None, settings: tuple[str, ...], calls: Calls | None, sums: dict[str, int]
) -> Iterator[str]:  # fmt: skip
    """Hold each law on a case; yields its name once it holds. Adds the policy's counters to ``sums``."""
    trace, gpu = open_trace(case.trace), case.gpu(plugin, settings)
    usual = replay(case, trace, case.gpu(None))
    noting = Noting(1 << 60)
    noting.calls = calls
    result = replay(case, trace, gpu, notes=noting)
    cycles, most = result.value("gpu_cycles"), MOST_TIMES_SLOWER * usual.value("gpu_cycles") + SPARE_CYCLES
    assert cycles <= most, (
        f"{case}:\n  no starvation: {cycles:,.0f} cycles, {usual.value('gpu_cycles'):,.0f} without it"
    )
    yield "ends"
    done, wanted = totals(result), totals(usual)
    for name in (each for each in done if each.startswith("policy.")):
        sums[name] = sums.get(name, 0) + done[name]
    reads_culled = plugin is not None and "culled" in plugin.needs
    for name in WORK if not reads_culled else [name for name in WORK if name not in OF_RECORDS]:
        assert done[name] == wanted[name], f"{case}:\n  conservation: {name} is {done[name]}, {wanted[name]} without it"
    yield "conservation"
    kept = digest(result)
    for quantum in {1, min(7, gpu.longest_quantum)} - {gpu.longest_quantum}:
        assert digest(replay(case, trace, gpu, quantum=quantum)) == kept, f"{case}:\n  same bytes for quantum {quantum}"
    yield "same bytes for every quantum"
    if not IS_PLAIN and (os.cpu_count() or 1) > 1:
        assert digest(replay(case, trace, gpu, threads=2)) == kept, f"{case}:\n  same bytes for 2 threads"
        yield "same bytes for two threads"
    middle = Noting(max(noting.looks // 2, 1))
    assert digest(replay(case, trace, gpu, notes=middle)) == kept, (
        f"{case}:\n  same bytes while checkpoints are written"
    )
    if middle.kept is not None:
        resumed = replay(case, trace, gpu, notes=Noting(1 << 60, middle.kept))
        assert digest(resumed) == kept, f"{case}:\n  same bytes when resumed"
        yield "same bytes when resumed"


def replay(
    case: Case, trace: Trace, gpu: Gpu, quantum: int | None = None, threads: int = 1, notes: Noting | None = None
) -> Result:
    """Replay a case; a replay that gives up breaks the law that each ends."""
    try:
        with np.errstate(over="ignore"):  # numbers wrap, in plain Python as in machine code
            return simulate(
                trace, gpu, quantum, threads, model=case.model, interval=INTERVAL, notes=notes or Noting(1 << 60)
            )
    except UserError as error:
        if "cannot be compiled" in str(error):
            raise
        raise AssertionError(f"{case}:\n  ends: {error}") from error


def totals(result: Result) -> dict[str, int]:
    """Every counter, ``UNIT.NAME``, summed over kernels and instances."""
    found: dict[str, int] = {}
    for added in result.ledger.kernels:
        for unit, counters in result.ledger.by_name(added).items():
            for name, values in counters.items():
                found[f"{unit}.{name}"] = found.get(f"{unit}.{name}", 0) + int(values.sum())
    return found


def digest(result: Result) -> str:
    """Digest of all that a result has but the host's times."""
    tables = [result.kernels, result.counters, result.timeline, result.pixels or {}]
    tables += [part for name in sorted(result.by_class) for part in result.by_class[name]]
    text = json.dumps([result.summary, [{name: array.tolist() for name, array in t.items()} for t in tables]])
    return bytes_digest(text.encode())
