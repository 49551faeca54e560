"""The verb: the suite's scenes -> the study's folder of values, figures and the page."""

import argparse
import importlib.metadata
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.crisp.check import check, points
from rayplay.crisp.draw import pictures
from rayplay.crisp.experiment import Experiment
from rayplay.crisp.experiments import EXPERIMENTS
from rayplay.crisp.pages import PICTURES, page
from rayplay.crisp.sources import Drawn
from rayplay.crisp.study import Study
from rayplay.crisp.suite import GPUS, Suite, size_text, suite
from rayplay.crisp.tasks import Task
from rayplay.crisp.values import Case, Value, stored_values
from rayplay.formats.dataset.reader import open_source
from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.guard.errors import UserError
from rayplay.formats.schema.study import CRISP_STUDY
from rayplay.tracer.scenes.resolve import data_folder
from rayplay.zatel.replays.result_cache import engine_identity

LIBRARIES = ("numpy", "numba")
Work = dict[Experiment, Mapping[Case, Task]]


def perform(arguments: argparse.Namespace) -> int:
    """Do the tasks that the store lacks, and write the study."""
    chosen = suite(arguments.quick, pixels(arguments.size), arguments.procedural, arguments.pairs)
    if chosen.is_procedural and not arguments.procedural:
        folder = data_folder() / "scenes" / "textured"
        print(f"note: {folder}: has not the suite's scenes; procedural ones stand for them", file=sys.stderr)
    study, work = _study(arguments), _work(chosen, arguments.only)
    tasks = [task for of_one in work.values() for task in of_one.values()]
    print(f"{len(study.missing_traces(tasks))} traces to make, {len(study.missing(tasks))} tasks to do", flush=True)
    if arguments.estimate:
        return 0
    asked = request(arguments, chosen, arguments.only)
    kept = kept_of(arguments.out, arguments.only, asked["command"]) if arguments.keep else Kept({}, {}, None)
    study.prepare(tasks)
    made = {
        one: list(one.values({case: study.value(task) for case, task in of_one.items()}))
        for one, of_one in work.items()
    } | kept.values  # fmt: skip
    made = {one: made[one] for one in EXPERIMENTS if one in made}
    sources = {source: _title(source) for task in tasks for source in task.sources if isinstance(source, Drawn)}
    drawn = {name: study.path_of(one).with_suffix(".png") for one, name in sources.items() if one.size == chosen.size}
    values = [value for of_one in made.values() for value in of_one]
    only = [one.name for one in EXPERIMENTS if one.name in arguments.only or one in kept.values]
    asked = request(arguments, chosen, only) | {"is_drawn": bool(kept.pictures or drawn), "engines": kept.engines}
    write(arguments.out, list(made), values, asked, kept.pictures or drawn)
    print(f"{arguments.out}/README.md: {len(values)} values of {len(made)} experiments")
    return 0


@dataclass(frozen=True)
class Kept:
    """Part of a study that another of the same suite keeps.

    values    of each experiment.
    engines   engine that made them, by the experiment's name.
    pictures  the figure of the pictures, as its file's bytes.
    """

    values: dict[Experiment, list[Value]]
    engines: Mapping[str, str]
    pictures: bytes | None


def kept_of(folder: Path, but: Sequence[str], command: str) -> Kept:
    """All experiments of a study but some; ``UserError`` for one that another suite's command made."""
    provenance = open_source(folder, CRISP_STUDY).manifest.provenance
    own, given = (re.split(" --(?:only|out) ", words)[0] for words in (str(provenance.get("command", "")), command))
    if own != given:
        raise UserError(f"{folder}: --keep needs the options that made it, `{own}`, found `{given}`")
    values = stored_values(folder)
    names = dict.fromkeys(one.experiment for one in values if one.experiment not in but)
    engines = {name: provenance.get("engines", {}).get(name, provenance["versions"]["engine"]) for name in names}
    picture = folder / PICTURES
    return Kept(
        {one: [value for value in values if value.experiment == one.name] for one in EXPERIMENTS if one.name in names},
        engines,
        picture.read_bytes() if picture.is_file() else None,
    )


def compare(arguments: argparse.Namespace, made: argparse.Namespace) -> int:
    """Compare numbers of a study with this engine's; returns 1 where one differs.

    made    the options with which the study was made.
    """
    if arguments.quick or arguments.size or arguments.pairs or arguments.procedural:
        raise UserError("--check takes --quick, --size, --pairs and --procedural from the study, so leave them out")
    if arguments.points is not None and arguments.points < 1:
        raise UserError(f"--points must be at least 1, not {arguments.points}")
    chosen = suite(made.quick, pixels(made.size), made.procedural, made.pairs)
    if chosen.is_procedural and not made.procedural:
        raise UserError(f"{data_folder() / 'scenes' / 'textured'}: must have the scenes that {arguments.check} is of")
    only = [name for name in made.only if name in arguments.only]
    study, parts = _study(arguments), points(_work(chosen, only), arguments.points, arguments.pictures)
    print(f"{len(parts)} points, {len(study.missing([t for one in parts for t in one.tasks.values()]))} tasks to do")
    if arguments.estimate:
        return 0
    return int(not check(study, arguments.check, parts))


def _study(arguments: argparse.Namespace) -> Study:
    if arguments.workers is not None and arguments.workers < 1:
        raise UserError(f"--workers must be at least 1, not {arguments.workers}")
    return Study(arguments.store, arguments.workers or os.cpu_count() or 1)


def _work(chosen: Suite, only: Sequence[str]) -> Work:
    """Tasks of the experiments that have some."""
    work = {one: one.tasks(chosen) for one in EXPERIMENTS if one.name in only}
    return {one: tasks for one, tasks in work.items() if tasks}


def _title(source: Drawn) -> str:
    return source.workload.name + ("" if source.lod else ", no levels of detail")


def pixels(text: str | None) -> tuple[int, int] | None:
    """``WxH`` as numbers; ``UserError`` for anything else."""
    if text is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text)
    if not found:
        raise UserError(f"--size must be WIDTHxHEIGHT, not {text!r}")
    return int(found[1]), int(found[2])


def request(arguments: argparse.Namespace, chosen: Suite, experiments: Sequence[str]) -> dict[str, Any]:
    """Provenance, for the page and the manifest."""
    words = ["python -m crisp", *(["--quick"] if arguments.quick else [])]
    words += [f"--size {arguments.size}"] if arguments.size else []
    words += ["--procedural"] if arguments.procedural else []
    words += [f"--pairs {' '.join(arguments.pairs)}"] if arguments.pairs else []
    words += [f"--only {' '.join(experiments)}"] if len(experiments) < len(EXPERIMENTS) else []
    return {
        "command": " ".join([*words, f"--out {arguments.out.name}"]),
        "pictures": list(chosen.workloads), "partners": list(chosen.partners), "size": size_text(chosen.size),
        "gpus": GPUS, "is_procedural": chosen.is_procedural,
        "versions": {"engine": engine_identity()[:16]} | {name: importlib.metadata.version(name) for name in LIBRARIES},
    }  # fmt: skip


def write(
    out: Path,
    experiments: Sequence[Experiment],
    values: Sequence[Value],
    made: dict[str, Any],
    drawn: Mapping[str, Path] | bytes,
) -> None:
    """Write the folder ``out``: values, figures and the page; nothing appears before it is complete.

    drawn   pictures by title, or the figure of them as its file's bytes.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with FolderWriter(out, CRISP_STUDY, made) as writer:
        writer.put("values", columns(values))
        for one in experiments:
            one.draw(values, writer.folder / f"{one.name}.png")
        if isinstance(drawn, bytes):
            (writer.folder / PICTURES).write_bytes(drawn)
        elif drawn:
            pictures(drawn, writer.folder / PICTURES)
        found = {one: list(one.findings(values)) for one in experiments}
        (writer.folder / "README.md").write_text(page(found, values, made), encoding="utf-8")


def columns(values: Sequence[Value]) -> dict[str, np.ndarray]:
    """The table ``values``."""
    texts = {name: [getattr(one.case, name) for one in values] for name in Case._fields}
    texts |= {"experiment": [one.experiment for one in values], "quantity": [one.quantity for one in values]}
    numbers = {"at": [one.at for one in values], "value": [one.value for one in values]}
    return {name: np.array(found, object) for name, found in texts.items()} | {
        name: np.array(found, np.float64) for name, found in numbers.items()
    }
