"""The verb ``join``: studies of different scenes, or different studies of a scene -> one study, as if done at once.

A study keeps every prediction and time as Parquet, so figures, tables and findings can be made again without a trace or
a replay. Scenes can be studied on different machines and their folders joined.
"""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Columns, Dataset, open_source
from rayplay.formats.guard.errors import FormatError, UserError
from rayplay.formats.guard.pictures import open_picture
from rayplay.formats.guard.strict import build
from rayplay.formats.place.publish import atomic_file
from rayplay.formats.schema.study import STUDY
from rayplay.zatel.paper.options import Options
from rayplay.zatel.replays.metrics import RULES
from rayplay.zatel.study.command import SCENES, write_study
from rayplay.zatel.study.execute import Row
from rayplay.zatel.study.points import GPUS, SATURATING, STUDIES, Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """How a study was made, as its manifest records it; ``parts``: the commands of the studies that it joins."""

    command: str
    size: str
    studies: tuple[str, ...]
    tuning_seeds: int
    versions: dict[str, str]
    parts: tuple[str, ...] = ()


def join_verb(arguments: argparse.Namespace) -> int:
    """Read the studies, check that they fit, and write the joined one."""
    opened = [Dataset(open_source(path, STUDY), STUDY) for path in arguments.studies]
    rows = join_rows([(study.path, read_rows(study)) for study in opened])
    pictures = [study.path / SCENES for study in opened if SCENES in study.manifest.files]
    draw = partial(stack_pictures, pictures) if pictures else None
    write_study(arguments.out, rows, SATURATING, join_requests(opened, arguments.out), draw)
    print(f"{arguments.out}/README.md: {len(rows)} predictions of {len({row.scene for row in rows})} scenes")
    return 0


def read_rows(study: Dataset) -> list[Row]:
    """Read the predictions of a study; ``FormatError`` for a missing metric or time, or for illegal options."""
    table, times = study.read("predictions"), study.read("times")
    numbers = np.arange(len(times["prediction"]))
    shape_holds = np.array_equal(times["prediction"], numbers) and np.array_equal(
        table["prediction"], np.repeat(numbers, len(RULES))
    )
    if not shape_holds or list(table["metric"]) != list(RULES) * len(numbers):
        raise FormatError(f"{study.path}: every prediction must have its times and {', '.join(RULES)}, in this order")
    return [_row(study.path, table, times, number) for number in range(len(numbers))]


def _row(path: Path, table: Columns, times: Columns, number: int) -> Row:
    first = number * len(RULES)
    cells = slice(first, first + len(RULES))

    def metrics(column: str) -> dict[str, float | None]:
        return {
            name: None if np.isnan(value) else float(value)
            for name, value in zip(RULES, table[column][cells], strict=True)
        }

    def text(column: str) -> str:
        return str(table[column][first])

    asked, factor = float(table["asked"][first]), int(table["factor"][first])
    if text("study") not in STUDIES or text("gpu") not in GPUS:
        raise FormatError(f"{path}: predictions, row {first}: study and GPU must be of {', '.join(STUDIES)} and {', '.join(GPUS)}, not {text('study')} and {text('gpu')}")  # fmt: skip # noqa: E501
    try:
        width, height = map(int, text("block").split("x"))
        options = Options(
            factor=factor, division=text("division"), block=(width, height), distribution=text("distribution"),
            fraction=None if np.isnan(asked) else asked, extrapolation=text("extrapolation"),
            seed=int(table["seed"][first]),
        )  # fmt: skip
    except (UserError, ValueError) as error:
        raise FormatError(f"{path}: predictions, row {first}: {error}") from None
    return Row(
        text("scene"),
        Point(text("study"), text("gpu"), options),
        float(table["warmth"][first]),
        factor,
        float(table["fraction"][first]),
        metrics("predicted"),
        metrics("full"),
        (
            float(times["seconds"][number]),
            float(times["longest_seconds"][number]),
            float(times["full_seconds"][number]),
        ),
    )


def join_rows(parts: Sequence[tuple[Path, list[Row]]]) -> list[Row]:
    """All rows, scene by scene as they first appear, studies in the paper's order.

    Raises ``UserError`` when two parts have the same study of a scene, a study of other predictions than another part,
    such as a quick one, full replays that differ, so that they are of different traces, GPUs or engines, or when a
    scene's regression lacks the fractions that it is compared with.
    """
    _check_studies(parts)
    _check_full(parts)
    rows = [row for _, part in parts for row in part]
    scenes = list(dict.fromkeys(row.scene for row in rows))
    return sorted(rows, key=lambda row: (scenes.index(row.scene), STUDIES.index(row.point.study)))


def _check_studies(parts: Sequence[tuple[Path, list[Row]]]) -> None:
    owners: dict[tuple[str, str], Path] = {}
    expected: dict[str, set[Any]] = {}
    for path, rows in parts:
        found: dict[tuple[str, str], set[Any]] = {}
        for row in rows:
            found.setdefault((row.point.study, row.scene), set()).add(_prediction(row))
        for (study, scene), predictions in found.items():
            if (study, scene) in owners:
                raise UserError(f"{path}: must have other studies than {owners[study, scene]}, but both have {study} of {scene}")  # fmt: skip # noqa: E501
            if predictions != expected.setdefault(study, predictions):
                raise UserError(f"{path}: must have the predictions of {study} that {parts[0][0]} and the others have, but those of {scene} differ, as a quick study's do")  # fmt: skip # noqa: E501
            owners[study, scene] = path
    for study, scene in owners:
        if study == "regression" and ("fractions", scene) not in owners:
            raise UserError(f"{owners[study, scene]}: regression of {scene} needs its fractions, which no study has")


def _prediction(row: Row) -> tuple[Any, ...]:
    options = row.point.options
    chosen = options.division, options.block, options.distribution, options.extrapolation, options.fraction
    return row.point.gpu, row.factor, options.seed, *chosen


def _check_full(parts: Sequence[tuple[Path, list[Row]]]) -> None:
    full: dict[tuple[str, str], tuple[Path, dict[str, float | None]]] = {}
    for path, rows in parts:
        for row in rows:
            before, expected = full.setdefault((row.scene, row.point.gpu), (path, row.full))
            for metric, value in row.full.items():
                if value != expected[metric]:
                    what = (
                        f"{path}: the full replay of {row.scene} on {row.point.gpu} must have the {metric} that it has"
                    )
                    raise UserError(f"{what} in {before}, {expected[metric]}, but has {value}")


def join_requests(studies: Sequence[Dataset], out: Path) -> dict[str, Any]:
    """Join the studies' requests; sizes and versions that differ are listed one after the other.

    Raises ``UserError`` when a manifest does not record how its study was made.
    """
    made: list[Request] = [
        build(Request, study.manifest.provenance, f"{study.path}/manifest.json: provenance") for study in studies
    ]
    names = {name for one in made for name in one.studies}
    versions = {name: _all_of(one.versions.get(name, "unknown") for one in made) for name in made[0].versions}
    return {
        "command": f"python -m zatel join {' '.join(study.path.name for study in studies)} --out {out.name}",
        "parts": [command for one in made for command in one.parts or (one.command,)],
        "size": _all_of(one.size for one in made),
        "studies": [name for name in STUDIES if name in names],
        "tuning_seeds": max(one.tuning_seeds for one in made),
        "versions": versions,
    }


def _all_of(values: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(values))


def stack_pictures(pictures: Sequence[Path], path: Path) -> None:
    """Draw pictures one below the other; ``UserError`` when their widths differ, which ``draw_scenes`` never does."""
    from matplotlib import image

    parts = []
    for picture in pictures:
        with open_picture(picture, picture, ("PNG",)) as opened:
            parts.append(np.asarray(opened.convert("RGBA")))
    if len(widths := {part.shape[1] for part in parts}) > 1:
        raise UserError(f"{', '.join(map(str, pictures))}: must have one width, not {widths}")
    metadata: Any = {"Software": None}  # the same bytes whatever the version of the library
    with atomic_file(path) as partial_path:
        image.imsave(partial_path, np.concatenate(parts), format="png", metadata=metadata)
