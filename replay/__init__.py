"""Trace and GPU description to cycles: ``simulate`` replays a trace, ``python -m replay`` writes the result."""

import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias


def simulate(*arguments: Any, **options: Any) -> Any:
    """``replay.run.driver.simulate``, imported when it is called: it brings numba with it."""
    from rayplay.replay.run.driver import simulate as run

    return run(*arguments, **options)


if TYPE_CHECKING:
    from rayplay.formats.dataset.reader import Trace
    from rayplay.replay.gpu.description import Gpu
    from rayplay.replay.plugin.load import Plugin
    from rayplay.replay.results.metrics import Result

    AnyTrace: TypeAlias = Trace | Path | str
    AnyGpu: TypeAlias = Gpu | Path | str


class ReplayPackage(ModuleType):
    """This package, which can be called: ``rayplay.replay(trace, gpu)``."""

    def __call__(
        self,
        trace: "AnyTrace",
        gpu: "AnyGpu" = "rtx2060",
        *,
        model: str | None = None,
        threads: int = 1,
        interval: int = 10_000,
        out: Path | str | None = None,
        plugin: "Plugin | Path | str | None" = None,
    ) -> "Result":
        """Replay a trace on a GPU.

        model     ``characterised``, ``pipeline`` or ``gatsim``; by default the first where the trace has a
                  characterisation, else the second.
        threads   threads that share the SMs; changes no result.
        interval  cycles of a row of the timeline.
        out       ``NAME.result`` to write, with the bytes that the command writes.
        plugin    a policy in place of the engine's: its file, whose code is run; parameters are ``gpu``'s values.

        Raises ``UserError`` for whatever the user can mend.
        """
        from rayplay.formats.guard.errors import UserError
        from rayplay.formats.place.location import location

        if out is not None and not str(out).endswith(".result"):
            raise UserError(f"out {out}: must end in .result")
        opened, described = opened_trace(trace), described_gpu(gpu, plugin)
        result: Result = simulate(opened, described, threads=threads, model=model, interval=interval)
        if out is not None:
            made = {"command": "replay", "trace": opened.path.name, "gpu": asdict(described)}
            result.write(location(out), made | {"model": model or "default", "interval_cycles": interval})
        return result


def opened_trace(trace: "AnyTrace") -> "Trace":
    """The trace, opened where it is named; a name needs no suffix."""
    from rayplay.formats.dataset.reader import Trace, open_trace
    from rayplay.formats.place.names import trace_name

    return trace if isinstance(trace, Trace) else open_trace(trace_name(str(trace)))


def described_gpu(gpu: "AnyGpu", plugin: "Plugin | Path | str | None" = None) -> "Gpu":
    """The GPU, loaded where it is named, with a plug-in on its units where one is given."""
    from rayplay.replay.gpu.description import Gpu

    described = gpu if isinstance(gpu, Gpu) else Gpu.load(gpu)
    return described if plugin is None else described.with_plugin(plugin)


sys.modules[__name__].__class__ = ReplayPackage
