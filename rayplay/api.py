"""Rayplay from Python: trace, open, estimate, what if; ``rayplay.replay`` stands in its package.

Traces are given as an open ``Trace``, a path or a name without suffix, GPUs as a ``Gpu``, a name or a path. Whatever
the user can mend is a ``UserError``. No function needs a main guard: processes that replay do not run the caller's
script.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rayplay.formats.dataset.reader import Dataset, Trace, open_trace
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.names import any_name
from rayplay.replay import described_gpu, opened_trace

if TYPE_CHECKING:
    from rayplay.replay import AnyGpu, AnyTrace
    from rayplay.zatel.changes.whatif import WhatIf
    from rayplay.zatel.sample.estimate import Estimate


def trace(
    subject: Path | str,
    out: Path | str | None = None,
    *,
    workload: str | None = None,
    size: tuple[int, int] | None = None,
    samples: int | None = None,
    bounces: int | None = None,
    seed: int | None = None,
    camera: str | None = None,
    program: Path | str | None = None,
    pixels: Path | str | None = None,
    backend: str | None = None,
    resume: bool = False,
) -> Trace:
    """Trace a scene or the kernels of a launch file; the trace, written and open.

    subject  what ``rayplay trace`` takes: the name of a scene or a kernel, a scene file, or a launch file.
    out      trace to write; ``traces/NAME.trace`` by default.
    size     width and height in pixels.

    The others are options of ``rayplay trace`` with its defaults; a kernel takes ``backend`` and ``resume`` alone.
    Raises ``UserError`` as the command does.
    """
    from rayplay.door.trace import parser

    options = {
        "out": out, "workload": workload, "samples": samples, "bounces": bounces, "seed": seed, "camera": camera,
        "program": program, "pixels": pixels, "backend": backend, "size": size and "x".join(map(str, size)),
    }  # fmt: skip
    words = [str(subject)]
    words += [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]
    arguments = parser("trace", words).parse([*words, *(["--resume"] if resume else [])])
    if arguments.verb == "network":
        raise UserError(f"{subject}: a network has a profile, no trace; rayplay trace {subject} writes it")
    arguments.records = []
    arguments.perform(arguments)
    return open_trace(arguments.records[0]["out"])


def open_any(path: Path | str) -> Dataset:
    """Open a trace, result, prediction or profile: a path, or a name without suffix. ``FormatError`` for none."""
    from rayplay.formats.look.show import open_any as opened

    return opened(any_name(str(path)))


def estimate(
    trace: "AnyTrace", gpu: "AnyGpu", fraction: float = 0.1, *, target_error: float | None = None, seed: int = 1
) -> "Estimate":
    """Estimate the metrics of a replay from a stratified sample of its CTAs, each with a 95 % interval.

    The verb replays small traces whole; this function samples them, unless ``fraction`` is 1.

    fraction      part of the CTAs to replay.
    target_error  in place of the fraction: half the interval of the cycles, as a share of them, such as 0.02.
    """
    from rayplay.zatel.sample.estimate import estimate as once
    from rayplay.zatel.sample.until import estimate_until

    opened, described = opened_trace(trace), described_gpu(gpu)
    if target_error is None:
        return once(opened, described, fraction, seed)
    if not 0.0 < target_error < 1.0:
        raise UserError(f"target_error must be more than 0 and less than 1, not {target_error:g}")
    return estimate_until(opened, described, target_error, seed)[-1]


def whatif(
    trace: "AnyTrace",
    gpu: "AnyGpu",
    changes: Sequence[str] | None = None,
    fraction: float = 0.1,
    *,
    seed: int = 1,
    workers: int | None = None,
    full: bool = False,
) -> "WhatIf":
    """Relative changes of the metrics for changes of a GPU, beside the noise floor, from a sample of the CTAs.

    changes  ``KEY=VALUE``, ``KEY*N`` or ``KEY/N``; a list of twelve by default.
    workers  processes at a time, one per core by default; changes no result.
    full     also replay the whole trace on every design.
    """
    from rayplay.zatel.changes.whatif import CHANGES, what_if

    chosen = list(CHANGES.values()) if changes is None else list(changes)
    count = (os.cpu_count() or 1) if workers is None else workers
    if count < 1:
        raise UserError(f"workers must be at least 1, not {count}")
    return what_if(opened_trace(trace), described_gpu(gpu), chosen, fraction, seed, count, full)
