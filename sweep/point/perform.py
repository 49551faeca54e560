"""Run one task in this process: replay a point into the store, or render the trace of a scene."""

import dataclasses
import resource
import shutil
import socket
import time
import uuid
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.sweep.store.steps import reached
from rayplay.sweep.store.store import Outcome, Store

RESULT_NAME = "replay.result"


def perform(task: dict[str, Any]) -> Outcome:
    """Run a task of ``Plan.task`` or ``Plan.renders``; whatever it wrote is published when this returns.

    Raises the errors of the method.
    """
    reached("started", task["key"])
    return rendered(task) if task["kind"] == "render" else evaluated(task)


def rendered(task: dict[str, Any]) -> Outcome:
    """Render a scene, unless another driver has by now."""
    from rayplay.formats.place.location import is_local, location

    out = location(task["out"])
    if not (out / "manifest.json").is_file():
        if is_local(out):
            out.parent.mkdir(parents=True, exist_ok=True)
        render(task["subject"], out, task["options"])
    return Outcome(task["key"], "done")


def render(subject: str, out: Path, options: dict[str, Any]) -> None:
    """Render ``subject`` to the trace ``out`` by the tracer's verb, with its errors; ``UserError`` for its options."""
    from rayplay.tracer.__main__ import parser
    from rayplay.tracer.__main__ import perform as run_verb

    words = ["render", subject, "--out", str(out)]
    words += [word for name, value in sorted(options.items()) for word in (f"--{name}", str(value))]
    try:
        arguments = parser().parse_args(words)
    except SystemExit as error:  # argparse has said which
        raise UserError(
            f"{subject}: rayplay trace must take the scene's options, found {' '.join(words[4:])}"
        ) from error
    arguments.records = []  # nothing is printed
    run_verb(arguments)


def evaluated(task: dict[str, Any]) -> Outcome:
    """Evaluate a point and publish its result."""
    from rayplay.sweep.point.inputs import gpu_of, trace_of
    from rayplay.sweep.point.metrics import METHODS

    begun, begun_cpu, store = time.perf_counter(), time.process_time(), Store(task["store"])
    if (known := store.get(task["key"])) is not None:  # a scheduler gave the task to two workers
        return Outcome(task["key"], "done" if known.identity == task["identity"] else "different")
    trace, trace_digest = trace_of(task["trace"], task["method"])
    gpu, gpu_digest = gpu_of(task)
    check_same(task, trace_digest, gpu, gpu_digest)
    found = METHODS[task["method"]](trace, gpu, task["model"], task["options"])
    reached("computed", task["key"])
    described: dict[str, Any] = {"gpu": dataclasses.asdict(gpu)}
    del described["gpu"]["name"]
    beside = None
    if task["keep"] == "result" and found.result is not None:
        beside, described["result"] = kept(found.result, gpu, task, store)
    host = {
        "wall_seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - begun_cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "host": socket.gethostname(),
        "ended": time.time(),
    }  # fmt: skip
    try:
        return store.put(task["key"], task["identity"], described, found.metrics, host, beside)
    finally:
        if beside is not None:
            shutil.rmtree(beside.parent, ignore_errors=True)


def check_same(task: dict[str, Any], trace: str, gpu: Any, gpu_digest: str) -> None:
    """``UserError`` unless trace, GPU, plug-in and sources are here as they were where the sweep was planned."""
    from rayplay.sweep.plan.keys import engine

    plugin = gpu.plugin.digest if gpu.plugin is not None else None
    here = {"trace": trace, "gpu": gpu_digest, "plugin": plugin, "engine": engine(task["method"])}
    for part, digest in here.items():
        if digest != task["identity"][part]:
            raise UserError(
                f"{task['trace']} on {task['gpu']}: {part} must be as when the sweep was planned,"
                f" digest {task['identity'][part]}, but is {digest}; run the sweep again"
            )


def kept(result: Any, gpu: Any, task: dict[str, Any], store: Store) -> tuple[Path, str]:
    """Write the whole result where the store can take it; its folder, and the digest of its manifest.

    Names have no part in it, for points of equal keys may have different ones.
    """
    import tempfile

    from rayplay.formats.guard.digest import file_digest

    identity = task["identity"]
    parent = store.folder / "tmp" / f"result.{uuid.uuid4().hex}" if store.folder else Path(tempfile.mkdtemp())
    parent.mkdir(parents=True, exist_ok=True)
    out = parent / RESULT_NAME
    named = dataclasses.asdict(gpu) | {"name": f"gpu-{identity['gpu'][:8]}"}
    made = {"command": "sweep", "trace": f"{identity['trace'][:8]}.trace", "gpu": named}
    result.write(out, made | {"model": identity["model"], "interval_cycles": 10_000})
    return out, file_digest(out / "manifest.json")
