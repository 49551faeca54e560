"""An estimate in words and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rayplay.zatel.replays.metrics import RULES, number_text, relative_error
from rayplay.zatel.sample.estimate import Estimate
from rayplay.zatel.sample.forecast import Forecast
from rayplay.zatel.sample.intervals import CONFIDENCE

Full = Mapping[str, float | None]
WHOLE = "that is the full replay: its metrics are exact"
KEYS = frozenset({"trace", "gpu", "seed", "confidence", "metrics", "samples"})  # of the file


def table_text(steps: Sequence[Estimate], full: Full | None = None) -> str:
    """Cost of the samples, and one line per metric: estimate, interval, and the full value where it is known."""
    last = steps[-1]
    samples = [
        f"replayed {sample_text(sample_record(one), f' of {len(one.warps):,}')} in {one.replayed.cpu_seconds:.1f} s"
        for one in steps
    ]
    lines = [*samples, WHOLE if last.share == 1.0 else cost_text(steps)]
    lines.append(f"{'metric':<30}{'estimate':>14}{'95 % interval':>28}" + (f"{'full':>14}{'error':>9}" if full else ""))
    for name, rule in RULES.items():
        interval = last.intervals[name]
        bounds = "-" if interval is None else f"{number_text(interval.low)} to {number_text(interval.high)}"
        line = f"{rule.title:<30}{number_text(last.metrics[name]):>14}{bounds:>28}"
        if full:
            error = relative_error(last.metrics[name], full[name])
            line += f"{number_text(full[name]):>14}" + ("        -" if error is None else f"{100 * error:>7.1f} %")
        lines.append(line)
    return "\n".join(lines)


def forecast_text(promised: Sequence[Forecast], is_read: bool, is_small: bool) -> str:
    """A line per fraction: expected half width of each metric's interval, and the cost beside a full replay's."""
    lines = [f"{'fraction':<10}{'cost':>8}" + "".join(f"{name.removeprefix('gpu_')[:16]:>18}" for name in RULES)]
    for one in promised:
        cost = one.cost if is_read else one.first
        widths = [one.widths.get(name) for name in RULES]  # without rays none for the RT units
        cells = "".join(f"{'-':>18}" if width is None else f"{100 * width:>16.1f} %" for width in widths)
        lines.append(f"{one.fraction:<10.3g}{cost:>8.2f}{cells}")
    known = "was read before" if is_read else "is read for the first time; later estimates cost less"
    lines.append(f"half width of the 95 % intervals; cost in full replays, where the trace {known}")
    if is_small:
        lines.append("without --forecast the trace is replayed whole: a sample would save little")
    return "\n".join(lines)


def sample_text(sample: Mapping[str, float], of: str = "") -> str:
    """A sample and its machine, from ``sample_record``, in one line; ``of`` follows its number of warps."""
    return (
        f"{sample['warps']:,}{of} warps, {100 * sample['share']:.1f} % of the instructions, on {sample['sms']} SMs and"
        f" {sample['controllers']} memory controllers with {sample['l2_bytes'] // 1024:,} KB of L2"
    )


def cost_text(steps: Sequence[Estimate]) -> str:
    """Processor time of all samples by what it was spent on, beside the expected time of replaying everything."""
    reading, last = steps[0].cpu_seconds[0], steps[-1].replayed.cpu_seconds / max(steps[-1].share, 1e-9)
    models, replays = sum(step.cpu_seconds[1] for step in steps), sum(step.replayed.cpu_seconds for step in steps)
    return (
        f"{reading + models + replays:.1f} s of processor time: {reading:.1f} s to read all warps,"
        f" {models:.1f} s of functional caches, {replays:.1f} s of replay; a full replay takes about {last:.1f} s"
        " and the time to read"
    )


def as_json(steps: Sequence[Estimate], trace: str, gpu: str, seed: int, full: Full | None) -> dict[str, Any]:
    """Content of the file, without times: equal estimates are equal files."""
    last = steps[-1]
    metrics = {
        name: {"estimate": last.metrics[name], "interval": last.intervals[name] and list(last.intervals[name] or ())}
        | ({"full": full[name], "error": relative_error(last.metrics[name], full[name])} if full else {})
        for name in RULES
    }
    samples = [sample_record(step) for step in steps]
    return {"trace": trace, "gpu": gpu, "seed": seed, "confidence": CONFIDENCE, "metrics": metrics, "samples": samples}


def sample_record(step: Estimate) -> dict[str, float]:
    """Size of a sample and of the machine that replayed it."""
    return {
        "warps": int(step.warps.sum()), "share": step.share, "sms": step.machine.sms,
        "controllers": step.machine.controllers, "l2_bytes": step.gpu.l2.bytes,
    }  # fmt: skip
