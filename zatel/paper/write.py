"""Write a prediction: a trace, a GPU and perhaps a full result become ``NAME.prediction``."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from rayplay.formats.dataset.reader import Trace, open_trace
from rayplay.formats.dataset.result import Result, open_result
from rayplay.formats.dataset.writer import FolderWriter
from rayplay.formats.edit.pixels import write_pixels
from rayplay.formats.schema.prediction import PREDICTION
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper.downscale import parts
from rayplay.zatel.paper.options import Options
from rayplay.zatel.paper.pictures import step_colours, write_picture, write_png
from rayplay.zatel.paper.predict import Prediction, predict
from rayplay.zatel.paper.report import table_text, write_overview
from rayplay.zatel.replays.full_result import full_metrics
from rayplay.zatel.replays.metrics import RULES, mean_absolute_error, or_nan, relative_error
from rayplay.zatel.replays.result_cache import Store

HARDLY = 0.1  # least share to be replayed of the pixels that a group's fraction counts; below it metrics say little


def publish(
    trace_path: Path,
    gpu_name: str,
    out: Path,
    against: Path | None = None,
    options: Options | None = None,
    workers: int | None = None,
    store: Store | None = None,
    plugin: str | None = None,
) -> str:
    """Predict and write the folder ``out``; returns the table of metrics and a line of times.

    gpu_name  ``rtx2060``, ``mobile`` or a TOML file. against  result of the full replay to compare with.
    options, workers, store  as in ``predict``. plugin  acts on the units of the groups' GPUs.

    Nothing appears under ``out`` before it is complete; everything but ``host.json`` is the same from run to run.
    Raises ``UserError`` for inputs that cannot be read or do not fit.
    """
    trace, gpu, options = open_trace(trace_path), load_gpu(gpu_name, plugin=plugin), options or Options()
    result = None if against is None else open_result(against)
    full = None if result is None else full_metrics(result, trace, gpu)
    request = {"trace": trace.path.name, "gpu": gpu.name, **asked(options)}
    provenance = {"command": "zatel predict", **request, "gpu": asdict(gpu), "input": trace.manifest.provenance}
    with FolderWriter(out, PREDICTION, provenance) as writer:
        prediction = predict(trace, gpu, options, workers, store, writer.folder)
        summary = summarise(prediction, full, {**request, "scaled_gpu": parts(prediction.plan.scaled_gpu)})
        host = host_times(prediction, result)
        write_files(writer, trace, prediction, summary)
        writer.texts["host.json"] = json.dumps(host, indent=1) + "\n"
    for line in warnings_of(summary):
        print(f"zatel: warning: {line}", file=sys.stderr)
    return f"{table_text(summary)}\n\n{describe(summary, host)}"


def asked(options: Options) -> dict[str, Any]:
    """The options as JSON; a heatmap by its file's name, without the folder."""
    heatmap = Path(options.heatmap).name
    return {**vars(options), "heatmap": heatmap, "departures": sorted(options.departures),
            "combination": dict(options.combination)}  # fmt: skip


def host_times(prediction: Prediction, result: Result | None) -> dict[str, Any]:
    """Wall times of this machine in seconds, and the speed-up over the full replay.

    ``speedup`` counts the whole prediction, filter and heatmap included; ``speedup_parallel`` with the
    longest group alone, the paper's measure, for a machine with a core per group.
    """
    groups = [outcome.seconds for group in prediction.simulated for outcome in group]
    host: dict[str, Any] = {"seconds": prediction.seconds, "group_seconds": groups}
    full = None if result is None else result.host.get("replay_wall_seconds")
    if full:
        host["full_replay_seconds"] = full
        host["speedup"] = full / sum(prediction.seconds.values())
        host["speedup_parallel"] = full / max(groups)
    return host


def describe(summary: dict[str, Any], host: dict[str, Any]) -> str:
    """K, the fraction of each group, and the times, in a few lines."""
    scaled = " and ".join(
        f"{count} {name[: -1 if count == 1 else None]}" for name, count in summary["scaled_gpu"].items()
    )
    fractions = " ".join(f"{100 * group['fraction']:.1f}" for group in summary["groups"])
    replayed = " ".join(f"{100 * group['selected'] / group['pixels']:.1f}" for group in summary["groups"])
    counted = "" if replayed == fractions else f", where the extrapolation counts {fractions} %"
    lines = [
        f"K = {summary['groups'][-1]['group'] + 1} groups, each on {scaled}",
        f"pixels replayed of each group: {replayed} %{counted}",
        "wall time: " + ", ".join(f"{step} {seconds:.1f} s" for step, seconds in host["seconds"].items()),
    ]
    if "speedup" in host:
        lines.append(
            f"full replay {host['full_replay_seconds']:.1f} s: {host['speedup']:.1f} times faster here, "
            f"{host['speedup_parallel']:.1f} times with a core per group"
        )
    return "\n".join(lines)


def warnings_of(summary: dict[str, Any]) -> list[str]:
    """A line when groups replayed nothing, or hardly any of the pixels that they count as replayed."""
    groups = summary["groups"]
    thin = [group for group in groups if group["selected"] < HARDLY * group["fraction"] * group["pixels"]]
    if not thin:
        return []
    none = sum(not group["selected"] for group in thin)
    rule = ": the rule lost-tail drops the last 8 KiB of each list" if "lost-tail" in summary["departures"] else ""
    return [
        f"{len(thin)} of {len(groups)} selections replay less than {HARDLY:.0%} of the pixels they count,"
        f" {none} of them no pixel{rule}; the metrics say little, take a larger image or fraction"
    ]


def summarise(
    prediction: Prediction, full: dict[str, float | None] | None, provenance: dict[str, Any]
) -> dict[str, Any]:
    """Content of ``prediction.json``: metrics beside the full replay's, groups, and provenance."""
    metrics: dict[str, dict[str, Any]] = {}
    for name, rule in RULES.items():
        metrics[name] = {"title": rule.title, "predicted": prediction.metrics[name]}
        if full is not None:
            error = relative_error(prediction.metrics[name], full[name])
            metrics[name] |= {"full": full[name], "error": error}
    groups = [
        {
            "group": group,
            "pixels": int((prediction.plan.groups == group).sum()),
            "selected": int(chosen.pixels.sum()),
            "fraction": chosen.fraction,
            "simulated": outcome.metrics,
        }
        for group, (selections, outcomes) in enumerate(
            zip(prediction.plan.selections, prediction.simulated, strict=True)
        )
        for chosen, outcome in zip(selections, outcomes, strict=True)
    ]
    errors = [metric.get("error") for metric in metrics.values()]
    return {**provenance, "metrics": metrics, "mean_absolute_error": mean_absolute_error(errors), "groups": groups}


def write_files(writer: FolderWriter, trace: Trace, prediction: Prediction, summary: dict[str, Any]) -> None:
    """Put the tables and write all other files into the folder of ``writer``."""
    _put_metrics(writer, summary)
    _put_groups(writer, prediction, summary)
    _put_pixels(writer, prediction)
    folder = writer.folder
    for group, selections in enumerate(prediction.plan.selections):
        for number, chosen in enumerate(selections):
            name = f"group-{group}" + (f"-{number}" if len(selections) > 1 else "")
            write_pixels(folder / f"{name}.pixels", chosen.pixels)
    write_picture(trace, folder / "picture.png")
    for name, colour in step_colours(prediction.work, prediction.plan).items():
        write_png(colour, folder / f"{name}.png")
    (folder / "prediction.json").write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n")
    write_overview(folder, folder / "overview.png")


def _put_metrics(writer: FolderWriter, summary: dict[str, Any]) -> None:
    metrics = summary["metrics"]
    columns = {"metric": np.array(list(metrics), object)}
    for name in ("predicted", "full", "error"):
        columns[name] = np.array([or_nan(metric.get(name)) for metric in metrics.values()])
    writer.put("metrics", columns)


def _put_groups(writer: FolderWriter, prediction: Prediction, summary: dict[str, Any]) -> None:
    for entry in summary["groups"]:
        group, simulated = entry["group"], entry["simulated"]
        extrapolated = prediction.extrapolated[group]
        count = len(RULES)
        columns = {"group": np.full(count, group), "metric": np.array(list(RULES), object)}
        columns |= {name: np.full(count, entry[name]) for name in ("pixels", "selected", "fraction")}
        columns["simulated"] = np.array([or_nan(simulated[name]) for name in RULES])
        columns["extrapolated"] = np.array([or_nan(extrapolated[name]) for name in RULES])
        writer.put("groups", columns)


def _put_pixels(writer: FolderWriter, prediction: Prediction) -> None:
    height, width = prediction.work.shape
    y, x = np.divmod(np.arange(width * height), width)
    columns = {"pixel_x": x, "pixel_y": y, "work": prediction.work.ravel(), "group": prediction.plan.groups.ravel()}
    selected = prediction.plan.selected.ravel()
    writer.put("pixels", {**columns, "colour": prediction.plan.heatmap.labels.ravel(), "selected": selected})
