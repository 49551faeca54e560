"""``python -m zatel scale``: a trace, a GPU and machine sizes in, each machine's prediction of the GPU out."""

import argparse
from collections.abc import Sequence
from typing import Any

from rayplay.formats.guard.answer import answer
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
from rayplay.zatel.verbs.whatif import BELOW, SHOWN, cell

KEYS = frozenset({"trace", "gpu", "models", "full", "full_noise_floor"})  # of the file


def add_parser(verbs: Any) -> None:
    """The options of the verb."""
    made = add_sampled_verb(verbs, scale_verb)
    made.add_argument("--factor", type=int, action="append", metavar="K", help="repeatable (default: 1 to 6, as far as the GPU goes)")  # fmt: skip # noqa: E501
    made.add_argument("--like", action="append", default=[], metavar="GPU", help="machine with as many SMs and controllers as this GPU; repeatable")  # fmt: skip # noqa: E501
    made.add_argument("--full", action="store_true", help="also replay the whole trace on the whole GPU, to compare")
    add_workers(made)


def scale_verb(arguments: argparse.Namespace) -> int:
    """A trace and a GPU -> what smaller and larger machines predict of it, beside the noise floor.

    Predict the whole GPU from smaller or larger machines: 1/K of its SMs and memory controllers, replaying 1/K of its
    CTAs, or the counts of another GPU. Beside each machine stands its noise floor, the effect of a cycle of latency or
    of the CTAs' start.

    examples:
      python -m zatel scale traces/bunny.trace --gpu rtx2060                     K from 1 to 6
      python -m zatel scale traces/bunny.trace --gpu rtx2060 --like mobile       RTX 2060 from a Mobile-sized group
      python -m zatel scale traces/bunny.trace --gpu mobile --like rtx2060       and the reverse
      python -m zatel scale traces/bunny.trace --gpu mobile --factor 2 --factor 4 --full
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.replay.gpu.description import load as load_gpu
    from rayplay.zatel.changes.scale import FACTORS, divided, full_replays, scale, sized_as

    seed, workers = checked_seed(arguments), checked_workers(arguments)
    check_json_target(arguments.out, KEYS, "scale")
    (gpu, name_of_gpu), trace = described(arguments), open_trace(arguments.trace)
    usual = [] if arguments.like else [one for one in FACTORS if one <= min(gpu.sm.count, gpu.memory.count)]
    models = divided(gpu, arguments.factor or usual) + [sized_as(gpu, load_gpu(name)) for name in arguments.like]
    found = scale(trace, gpu, models, seed, workers)
    full, floor = full_replays(trace, gpu, workers) if arguments.full else (None, None)
    content = as_json(found, full, floor, arguments.trace.name, name_of_gpu)
    answer(arguments, [table_text(found, full, floor)], lambda: records.scaled(content))
    write_json(arguments.out, content)
    return 0


def table_text(found: Sequence[Any], full: Any, floor: Any) -> str:
    """A line per machine: relative differences to the full replay, or else to the first machine; its noise floor."""
    from rayplay.zatel.changes.whatif import relative_change

    against = full or found[0].estimate.metrics
    name = "the full replay" if full else f"machine {found[0].model.name}"
    lines = [f"{'difference, % of ' + name:<44}" + "".join(f"{metric:>17}" for metric in SHOWN)]
    if floor:
        lines.append(f"{'noise floor of the full replay':<44}" + "".join(f"{100 * floor[one]:>17.1f}" for one in SHOWN))
    for model, estimate, own in found:
        parts = f"{model.name}: {model.sms} SMs, {model.controllers} controllers, {100 * model.fraction:.0f} % of CTAs"
        changes = relative_change(estimate.metrics, against)
        lines.append(f"{parts:<44}" + "".join(cell(changes[one], own[one]) for one in SHOWN))
        lines.append(f"{'  noise floor':<44}" + "".join(f"{100 * own[one]:>17.1f}" for one in SHOWN))
    lines.append(f"{BELOW} below the noise floor: says nothing")
    return "\n".join(lines)


def as_json(found: Sequence[Any], full: Any, floor: Any, trace: str, gpu: str) -> dict[str, Any]:
    """Content of the file, without times: equal comparisons are equal files."""
    models = [
        {"name": one.model.name, "sms": one.model.sms, "controllers": one.model.controllers}
        | {"fraction": one.model.fraction, "metrics": one.estimate.metrics, "noise_floor": one.floor}
        for one in found
    ]
    return {"trace": trace, "gpu": gpu, "models": models, "full": full, "full_noise_floor": floor}
