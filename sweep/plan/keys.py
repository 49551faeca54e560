"""The key of a point: a digest of all that decides its result, and of nothing else.

Content of the trace, every value of the GPU, text of the plug-in, model, method with its options, and the sources that
decide the result. Names of files, threads, workers, limits and the place of the store have no part.
"""

from functools import cache
from typing import Any

from rayplay.formats.guard.digest import PACKAGES, canonical, source_digest, text_digest
from rayplay.replay.layers import RESULTS
from rayplay.sweep.space.file import Sweep
from rayplay.sweep.space.points import Point

FORM = 1  # of a result; a change of the kept values raises it
SOURCES = {
    "replay": RESULTS,
    "estimate": (*RESULTS, "zatel/model", "zatel/sample", "zatel/replays"),
    "predict": (*RESULTS, "zatel/paper", "zatel/replays", "formats/edit"),
    "sample": (*RESULTS, "zatel/model", "zatel/sample", "zatel/paper/downscale.py"),
}


@cache
def engine(method: str) -> str:
    """Digest of the sources that decide a method's results: any edit gives new keys."""
    return source_digest(SOURCES[method], PACKAGES)


def options(point: Point, sweep: Sweep) -> dict[str, Any]:
    """Options of the point's method that change its result; a replay has none, for the trace holds its seed."""
    if point.method == "estimate":
        return {"fraction": sweep.estimate.fraction, "seed": point.seed}
    if point.method == "predict":
        return {"fraction": sweep.predict.fraction, "factor": sweep.predict.factor, "seed": point.seed}
    return {}


def document(trace: str, gpu: str, plugin: str | None, point: Point, sweep: Sweep) -> dict[str, Any]:
    """All that decides the result of a point. trace, gpu, plugin: digests."""
    return {
        "form": FORM, "trace": trace, "gpu": gpu, "plugin": plugin, "model": point.model or "default",
        "method": point.method, "options": options(point, sweep), "keep": sweep.keep, "engine": engine(point.method),
    }  # fmt: skip


def key_of(identity: dict[str, Any]) -> str:
    """The key: SHA-256 of the canonical JSON of ``document``."""
    return text_digest(canonical(identity))
