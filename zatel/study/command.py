"""The verb ``paper``: traces of scenes -> the study's folder of tables, figures and the comparison with the paper."""

import argparse
import importlib.metadata
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.edit.pixels import image_size
from rayplay.formats.guard.answer import Record, answer
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.study import STUDY
from rayplay.zatel.replays.metrics import RULES, or_nan
from rayplay.zatel.replays.result_cache import Store, engine_identity
from rayplay.zatel.study import summaries
from rayplay.zatel.study.draw import draw_scenes
from rayplay.zatel.study.execute import Row, SceneStudy
from rayplay.zatel.study.figures import draw_all
from rayplay.zatel.study.findings import findings
from rayplay.zatel.study.pages import comparison_page, tables_page
from rayplay.zatel.study.points import QUICK, STUDIES, WHOLE, Extent, points_of

SCENES = "scenes.png"
LIBRARIES = ("numpy", "numba", "scipy")


def paper_verb(arguments: argparse.Namespace) -> int:
    """Print an estimate of the time, replay the runs missing from the store, and write the study."""
    extent = QUICK if arguments.quick else WHOLE
    store, workers = Store(arguments.store), arguments.workers
    studies = open_studies(arguments.traces, extent, arguments.only)
    answer(arguments, [estimate_text(studies, store, workers)], list)
    sys.stdout.flush()
    if arguments.estimate:
        return 0
    rows = []
    for number, study in enumerate(studies, start=1):
        print(f"{number} of {len(studies)}: {study.scene}", file=sys.stderr, flush=True)
        rows += study.rows(store, workers)
    sizes = sorted({"x".join(str(side) for side in image_size(study.trace)) for study in studies})
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    request = {
        "command": command_text(arguments),
        "size": " and ".join(sizes),
        "studies": list(arguments.only),
        "tuning_seeds": extent.tuning_seeds,
        "versions": {"engine": engine_identity()[:16], **versions},
    }
    draw = partial(draw_scenes, studies) if "whole" in arguments.only else None
    write_study(arguments.out, rows, extent.subset, request, draw)
    line = f"{arguments.out}/README.md: {len(rows)} predictions of {len(studies)} scenes"
    answer(arguments, [line], lambda: prediction_records(rows))
    return 0


def open_studies(traces: Sequence[Path], extent: Extent, studies: Collection[str] = STUDIES) -> list[SceneStudy]:
    """Predictions to study of each trace; scenes are named by their files. ``UserError`` for two of one name."""
    scenes = [path.name.removesuffix(".h5").removesuffix(".trace") for path in traces]
    if len(set(scenes)) < len(scenes):
        raise UserError(f"traces must have different names, not {', '.join(scenes)}")
    opened = [open_trace(path) for path in traces]
    for trace in opened:
        image_size(trace)
    pairs = zip(scenes, opened, strict=True)
    return [SceneStudy(scene, trace, points_of(scene, extent, studies)) for scene, trace in pairs]


def estimate_text(studies: Sequence[SceneStudy], store: Store, workers: int) -> str:
    """Number of replays to do, and their approximate time."""
    found = [study.estimate(store) for study in studies]
    replays, seconds = sum(one[0] for one in found), sum(one[1] for one in found)
    cores = f"{workers} core" + ("s" if workers > 1 else "")
    minutes = seconds / 60
    return f"{replays} replays to do, about {minutes:.0f} minutes of processor time, {minutes / workers:.0f} on {cores}"


def command_text(arguments: argparse.Namespace) -> str:
    """The command with names of files, without their folders."""
    traces = " ".join(path.name for path in arguments.traces)
    quick = " --quick" if arguments.quick else ""
    only = "" if tuple(arguments.only) == STUDIES else f" --only {' '.join(arguments.only)}"
    return f"python -m zatel paper {traces}{quick}{only} --out {arguments.out.name}"


def write_study(
    out: Path,
    rows: Sequence[Row],
    subset: Sequence[str],
    request: dict[str, Any],
    draw_scenes: Callable[[Path], None] | None,
) -> None:
    """Write the folder ``out``: tables, figures and pages; nothing appears before it is complete.

    subset       the scenes of Figure 17.
    request      provenance of the rows, for the page and the manifest.
    draw_scenes  draws the pictures of each scene's steps, or ``None``.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with FolderWriter(out, STUDY, request) as writer:
        writer.put("predictions", prediction_columns(rows))
        writer.put("times", time_columns(rows))
        figures = draw_all(rows, subset, writer.folder)
        if draw_scenes:
            draw_scenes(writer.folder / SCENES)
            figures.insert(0, SCENES)
        found = findings(rows)
        (writer.folder / "README.md").write_text(comparison_page(found, rows, figures, request), encoding="utf-8")
        (writer.folder / "tables.md").write_text(tables_page(rows, subset), encoding="utf-8")


def prediction_columns(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """The table ``predictions``: seven rows for each prediction."""
    each = [(number, row, metric) for number, row in enumerate(rows) for metric in RULES]
    texts = {
        "study": [row.point.study for _, row, _ in each], "scene": [row.scene for _, row, _ in each],
        "gpu": [row.point.gpu for _, row, _ in each], "division": [row.point.options.division for _, row, _ in each],
        "block": [summaries.block_of(row) for _, row, _ in each], "metric": [metric for *_, metric in each],
        "distribution": [row.point.options.distribution for _, row, _ in each],
        "extrapolation": [row.point.options.extrapolation for _, row, _ in each],
    }  # fmt: skip
    numbers = {
        "prediction": [number for number, *_ in each], "factor": [row.factor for _, row, _ in each],
        "seed": [row.point.options.seed for _, row, _ in each], "warmth": [row.warmth for _, row, _ in each],
        "asked": [or_nan(row.point.options.fraction) for _, row, _ in each],
        "fraction": [row.fraction for _, row, _ in each],
        "predicted": [or_nan(row.predicted[metric]) for _, row, metric in each],
        "full": [or_nan(row.full[metric]) for _, row, metric in each],
        "error": [summaries.error(row, metric) for _, row, metric in each],
    }  # fmt: skip
    return {name: np.array(values, object) for name, values in texts.items()} | {
        name: np.array(values) for name, values in numbers.items()
    }


def prediction_records(rows: Sequence[Row]) -> Iterator[Record]:
    """The same as records."""
    columns = {name: values.tolist() for name, values in prediction_columns(rows).items()}
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def time_columns(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """The table ``times``."""
    names = ("seconds", "longest_seconds", "full_seconds")
    seconds = np.array([row.seconds for row in rows], np.float64).reshape(-1, len(names))
    return {"prediction": np.arange(len(rows)), **dict(zip(names, seconds.T, strict=True))}
