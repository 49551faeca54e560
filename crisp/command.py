"""The verb: the suite's scenes -> the study's folder of values, figures and the page."""

import argparse
import importlib.metadata
import os
import re
import shlex
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
from rayplay.formats.guard.strict import check_choice
from rayplay.formats.schema.study import CRISP_STUDY
from rayplay.tracer.scenes.resolve import data_folder
from rayplay.zatel.replays.result_cache import engine_identity

LIBRARIES = ("numpy", "numba")
SUITE = ("is_procedural", "pictures", "size")  # of the provenance: what decides the values, beside the options
Work = dict[Experiment, Mapping[Case, Task]]


def perform(arguments: argparse.Namespace) -> int:
    """Do the tasks that the store lacks, and write the study."""
    if arguments.pictures or arguments.points is not None:
        raise UserError("--pictures and --points choose what --check compares, so leave them out with --out")
    if arguments.keep and not _is_part(arguments.only):
        raise UserError("--keep keeps the experiments that --only leaves out, so name some with --only")
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
    kept = kept_of(arguments.out, arguments.only, asked) if arguments.keep else Kept({}, {}, None)
    study.prepare(tasks)
    made = {
        one: list(one.values({case: study.value(task) for case, task in of_one.items()}))
        for one, of_one in work.items()
    } | kept.values  # fmt: skip
    made = {one: made[one] for one in EXPERIMENTS if one in made}
    figure = figure_of(study, chosen, [one.name for one in made], kept.pictures)
    values = [value for of_one in made.values() for value in of_one]
    only = [one.name for one in EXPERIMENTS if one.name in arguments.only or one in kept.values]
    asked = request(arguments, chosen, only) | {"is_drawn": bool(figure), "engines": kept.engines}
    write(arguments.out, list(made), values, asked, figure)
    print(f"{arguments.out}/README.md: {len(values)} values of {len(made)} experiments")
    return 0


def figure_of(study: Study, chosen: Suite, only: Sequence[str], kept: bytes | None) -> Mapping[str, Path] | bytes:
    """Pictures of the experiments by title, where the store has all; else the kept figure, and a note that says so."""
    tasks = [task for of_one in _work(chosen, only).values() for task in of_one.values()]
    sources = {source: _title(source) for task in tasks for source in task.sources if isinstance(source, Drawn)}
    drawn = {name: study.path_of(one).with_suffix(".png") for one, name in sources.items() if one.size == chosen.size}
    lacking = [name for name, path in drawn.items() if not path.is_file()]
    if lacking and kept:
        print(f"note: {PICTURES} stays as it was: the store has not {', '.join(lacking)}", file=sys.stderr)
        return kept
    return {name: path for name, path in drawn.items() if name not in lacking}


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


def kept_of(folder: Path, but: Sequence[str], asked: Mapping[str, Any]) -> Kept:
    """All experiments of a study but some; ``UserError`` for one of other options or of another suite.

    asked   provenance of the study that keeps them.
    """
    provenance = open_source(folder, CRISP_STUDY).manifest.provenance
    own, given = (re.split(" --(?:only|out) ", str(one.get("command", "")))[0] for one in (provenance, asked))
    if own != given:
        raise UserError(f"{folder}: --keep needs the options that made it, `{own}`, found `{given}`")
    for name in SUITE:  # where --procedural is not given, the data folder decides it
        if provenance.get(name) != asked[name]:
            raise UserError(f"{folder}: --keep needs its suite, {name} {provenance.get(name)}, found {asked[name]}")
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

    Raises ``UserError`` where no number would be compared.
    """
    if arguments.quick or arguments.size or arguments.pairs or arguments.procedural or arguments.keep:
        raise UserError(
            "--check takes the suite from the study, so leave out --quick, --size, --pairs, --procedural, --keep"
        )
    if arguments.points is not None and arguments.points < 1:
        raise UserError(f"--points must be at least 1, not {arguments.points}")
    is_procedural = bool(open_source(arguments.check, CRISP_STUDY).manifest.provenance.get("is_procedural"))
    chosen = suite(made.quick, pixels(made.size), is_procedural, made.pairs)
    if chosen.is_procedural and not is_procedural:
        raise UserError(f"{data_folder() / 'scenes' / 'textured'}: must have the scenes that {arguments.check} is of")
    every = _work(chosen, made.only)
    for name in arguments.only if _is_part(arguments.only) else []:
        check_choice(name, [one.name for one in every], "--only")
    for name in arguments.pictures:
        check_choice(name, dict.fromkeys(case.graphics for tasks in every.values() for case in tasks), "--pictures")
    work = {one: tasks for one, tasks in every.items() if one.name in arguments.only}
    study, parts = _study(arguments), points(work, arguments.points, arguments.pictures)
    if not parts:
        raise UserError(f"{arguments.check}: --only and --pictures must leave a point of the study, found none")
    print(f"{len(parts)} points, {len(study.missing([t for one in parts for t in one.tasks.values()]))} tasks to do")
    if arguments.estimate:
        return 0
    return int(not check(study, arguments.check, parts, is_whole=len(parts) == len(points(every, None))))


def _is_part(only: Sequence[str]) -> bool:
    return len(set(only)) < len(EXPERIMENTS)


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
        "command": " ".join([*words, f"--out {shlex.quote(arguments.out.name)}"]),
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
