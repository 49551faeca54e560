"""``python -m zatel whatif``: a trace, a GPU and changes of it in, relative changes of the metrics out."""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.errors import UserError
from rayplay.replay.energy.table import DEFAULT, read_table
from rayplay.zatel.verbs import records
from rayplay.zatel.verbs.sampled import (
    add_sampled_verb,
    add_workers,
    checked_seed,
    checked_workers,
    described,
    write_json,
)
from rayplay.zatel.verbs.targets import check_json_target

SHOWN = ("gpu_cycles", "gpu_ipc", "l1d_miss_rate", "l2_miss_rate", "rt_efficiency", "dram_efficiency")
KEYS = frozenset({"trace", "gpu", "sample", "noise_floor", "full_noise_floor", "designs", "energy"})  # of the file
FEW_KERNELS = "a launch without rays: intervals are as wide as errors of three kernels say; --fraction 1 has none"
BELOW = "~"  # marks a change within the noise


def add_parser(verbs: Any) -> None:
    """The options of the verb."""
    made = add_sampled_verb(verbs, whatif_verb)
    made.add_argument("--change", action="append", default=[], metavar="CHANGE", help="repeatable (default: a list)")
    made.add_argument(
        "--fraction",
        type=float,
        default=0.1,
        metavar="F",
        help="part of the CTAs (default: 0.1), or the least above it whose machines are in proportion",
    )
    made.add_argument("--full", action="store_true", help="also replay the whole trace on every design")
    made.add_argument("--store", type=Path, metavar="FOLDER", help="keep the replays of --full there; resume from it")
    made.add_argument("--energy", nargs="?", const=DEFAULT, metavar="TABLE", help="also replay the whole trace on "
                      f"every design and count its joules (default table: {DEFAULT})")  # fmt: skip
    add_workers(made)


def whatif_verb(arguments: argparse.Namespace) -> int:
    """A trace, a GPU and changes of it -> relative changes of the metrics, beside the noise floor.

    Predict the effect of design changes. Each design replays the same sample of the image, and so does the unchanged
    GPU with a latency off by a cycle or two. The effect of such a trifle is the noise floor; a change below it says
    nothing. Below each change stands its 95 % interval: both replay the same CTAs, so errors that they share cancel.

    examples:
      python -m zatel whatif traces/bunny.trace --gpu mobile --change 'rt.warps*2' --change l1.latency_cycles=30
      python -m zatel whatif traces/bunny.trace --gpu mobile --full --store build/whatif

    A change is KEY=VALUE, KEY*N or KEY/N with the keys of python -m replay --explain GPU. Without any,
    halves and doubles of RT warps, MSHRs, L1, L2, SMs and memory controllers, and round robin. --full replays the whole
    trace on every design as well and prints its changes below; with --store an interrupted run resumes. --energy says
    which designs are cheaper, and whether that is so anywhere in the range of the RT units' energies.
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.zatel.changes.energy import energy_changes
    from rayplay.zatel.changes.whatif import CHANGES, what_if
    from rayplay.zatel.model.instructions import traces_rays
    from rayplay.zatel.replays.result_cache import Store

    seed, workers = checked_seed(arguments), checked_workers(arguments)
    if arguments.store and not arguments.full:
        raise UserError("--store must be given with --full, whose replays it keeps")
    if arguments.energy:
        read_table(arguments.energy)
    check_json_target(arguments.out, KEYS, "whatif")
    changes = arguments.change or list(CHANGES.values())
    trace, (gpu, name) = open_trace(arguments.trace), described(arguments)
    found = what_if(
        trace, gpu, changes, arguments.fraction, seed,
        workers, arguments.full, store=Store(arguments.store) if arguments.store else None,
    )  # fmt: skip
    content, lines = as_json(found, arguments.trace.name, name), [table_text(found)]
    if not traces_rays(trace):
        lines.append(FEW_KERNELS)
    if arguments.energy:
        base, charges = energy_changes(trace, gpu, changes, arguments.energy, workers)
        content["energy"] = energy_json(base, charges, arguments.energy)
        lines += ["", *energy_lines(base, charges)]
    answer(arguments, lines, lambda: records.compared(content))
    write_json(arguments.out, content)
    return 0


def table_text(found: Any) -> str:
    """Sample, and a table with a line per design and a column per metric; ``BELOW`` marks a change within the noise.

    A line names the machine that replays a design's sample where it is another than the unchanged GPU's.
    """
    lines = [
        "each design replays " + machine_text(found.sample),
        f"{'relative change, %':<28}" + "".join(f"{name:>17}" for name in SHOWN),
    ]
    lines.append(f"{'noise floor':<28}" + "".join(f"{100 * found.floor[name]:>17.1f}" for name in SHOWN))
    for design in found.designs:
        lines.append(f"{design.name:<28}" + "".join(cell(design.predicted[name], found.floor[name]) for name in SHOWN))
        lines.append(f"{'  95 % interval':<28}" + "".join(bounds_text(design.intervals[name]) for name in SHOWN))
        if any(design.sample[name] != found.sample[name] for name in ("sms", "controllers", "dram_clock_khz")):
            lines.append("  " + machine_text(design.sample))
        if design.full is not None and found.full_floor is not None:
            cells = (cell(design.full[name], found.full_floor[name]) for name in SHOWN)
            lines.append(f"{'  full replay':<28}" + "".join(cells))
    lines.append(f"{BELOW} below the noise floor: says nothing")
    return "\n".join(lines)


def machine_text(sample: Any) -> str:
    """A sample, its machine and the clock that holds an SM's bandwidth; a machine out of proportion says so."""
    from rayplay.zatel.sample.report import sample_text

    text = f"{sample_text(sample)}, DRAM at {sample['dram_clock_khz'] / 1000:,.0f} MHz"
    if sample["misfit"]:
        off = f"{100 * math.expm1(sample['misfit']):.1f} % out of proportion"
        text += f"; {off}, so its intervals are wider (--fraction 1, or --full, has none)"
    return text


def cell(change: float | None, floor: float) -> str:
    """Relative change in per cent, marked within the noise; ``-`` where it is undefined."""
    if change is None:
        return f"{'-':>17}"
    return f"{(BELOW if abs(change) <= floor else '') + f'{100 * change:+.1f}':>17}"


def bounds_text(interval: Any) -> str:
    """Ends of an interval in per cent; ``-`` for a missing one."""
    return f"{'-' if interval is None else f'{100 * interval.low:+.1f} to {100 * interval.high:+.1f}':>17}"


def as_json(found: Any, trace: str, gpu: str) -> dict[str, Any]:
    """Content of the file, without times: equal comparisons are equal files."""
    subject = {"trace": trace, "gpu": gpu, "sample": found.sample}
    designs = [
        {
            "change": one.name, "predicted": one.predicted, "full": one.full, "sample": one.sample,
            "intervals": {name: bounds and list(bounds) for name, bounds in one.intervals.items()},
        }
        for one in found.designs
    ]  # fmt: skip
    floors = {"noise_floor": found.floor, "full_noise_floor": found.full_floor}
    return subject | floors | {"designs": designs}


def energy_lines(base: Any, charges: Any) -> Iterator[str]:
    """A line per design: energy, difference, its range, and whether the sign survives it."""
    from rayplay.replay.energy.difference import kept_text
    from rayplay.replay.energy.write import quantity

    yield f"energy of a whole replay: {quantity(base.joules, 'J')} unchanged"
    for name, charge, less in charges:
        spread = f"{quantity(less.low, 'J')} to {quantity(less.high, 'J')}"
        yield f"{name:<28}{less.default / base.joules:>+9.2%}  {quantity(less.default, 'J')} ({spread})"
        product = charge.joules * charge.seconds / (base.joules * base.seconds) - 1
        yield f"  edp {product:+.2%}; the sign of the energy {kept_text(less)} the range of the RT units' energies"


def energy_json(base: Any, charges: Any, table: str) -> dict[str, Any]:
    """The same for the file: joules and seconds, and the ends of each difference."""
    designs = [
        {
            "change": name, "joules": charge.joules, "seconds": charge.seconds, "less": list(less),
            "sign_survives": less.survives,
        }
        for name, charge, less in charges
    ]  # fmt: skip
    return {"table": Path(table).name, "joules": base.joules, "seconds": base.seconds, "designs": designs}
