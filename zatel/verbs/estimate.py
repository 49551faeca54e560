"""``python -m zatel estimate``: a trace and a GPU in, the seven metrics with confidence intervals out."""

import argparse
from typing import Any

from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.names import result_name
from rayplay.zatel.verbs import records
from rayplay.zatel.verbs.sampled import add_sampled_verb, checked_seed, described, write_json
from rayplay.zatel.verbs.targets import check_json_target


def add_parser(verbs: Any) -> None:
    """The options of the verb."""
    made = add_sampled_verb(verbs, estimate_verb)
    made.add_argument("--fraction", type=float, metavar="F", help="part of the CTAs to replay (default: 0.1)")
    made.add_argument("--target-error", metavar="P%", help="choose the fraction: until the cycles' interval is within P %%")  # fmt: skip # noqa: E501
    made.add_argument("--forecast", action="store_true", help="print width and cost of each fraction, and stop")
    made.add_argument(
        "--against", type=result_name, metavar="RESULT", help="result of the full replay, to compare with"
    )


def estimate_verb(arguments: argparse.Namespace) -> int:
    """A trace and a GPU -> metrics with confidence intervals.

    Estimate the metrics of a replay from a sample of its CTAs, with a confidence interval on each. Unlike predict,
    which follows the paper, the sample is stratified and replayed in one piece on a GPU of the sample's size, whose L2
    misses as often as the whole GPU's. The work of every pixel is read from the trace and known exactly.

    examples:
      python -m zatel estimate traces/bunny.trace --gpu mobile --fraction 0.1
      python -m zatel estimate traces/bunny.trace --gpu rtx2060 --target-error 2% --out bunny.json

    --target-error chooses the fraction whose interval of the cycles should be as narrow, or the full replay where that
    is cheaper. --forecast prints how wide the intervals of each fraction will be and what it will cost; nothing is
    replayed. A small trace, or a launch without rays, is replayed whole: a sample would save little time. The work of
    all warps is kept in the user's cache, so further estimates of a trace, and whatif and scale, do not read it again.
    """
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.dataset.result import open_result
    from rayplay.zatel.replays.full_result import full_metrics
    from rayplay.zatel.sample.estimate import checked_fraction, estimate
    from rayplay.zatel.sample.report import KEYS, as_json, forecast_text, table_text
    from rayplay.zatel.sample.until import estimate_until, expected
    from rayplay.zatel.sample.whole import is_small, replay_whole

    seed = checked_seed(arguments)
    check_json_target(arguments.out, KEYS, "estimate")
    if arguments.forecast:
        given = [
            name for name in ("fraction", "target_error", "against", "out") if getattr(arguments, name) is not None
        ]
        if given:
            raise UserError(f"--forecast must not be given with --{given[0].replace('_', '-')}: nothing is replayed")
    if arguments.fraction is not None and arguments.target_error is not None:
        raise UserError("--fraction and --target-error must not be given together: the latter chooses the fraction")
    trace, (gpu, name) = open_trace(arguments.trace), described(arguments)
    if arguments.forecast:
        promised, is_read = expected(trace, gpu)
        answer(
            arguments, [forecast_text(promised, is_read, is_small(trace))], lambda: records.forecast(promised, is_read)
        )
        return 0
    full = full_metrics(open_result(arguments.against), trace, gpu) if arguments.against else None
    target = None if arguments.target_error is None else percentage(arguments.target_error)
    fraction = 0.1 if arguments.fraction is None else checked_fraction(arguments.fraction)
    if is_small(trace):
        steps = [replay_whole(trace, gpu)]
    elif target is None:
        steps = [estimate(trace, gpu, fraction, seed)]
    else:
        steps = estimate_until(trace, gpu, target, seed)
    content = as_json(steps, arguments.trace.name, name, seed, full)
    answer(arguments, [table_text(steps, full)], lambda: records.estimated(content))
    write_json(arguments.out, content)
    return 0


def percentage(text: str) -> float:
    """``2%`` as 0.02; ``UserError`` for anything else or a value outside 0 to 100 %, both excluded."""
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = 0.0
    if not text.endswith("%") or not 0.0 < value < 1.0:
        raise UserError(f"--target-error must be a percentage such as 2%, more than 0% and less than 100%, not {text}")
    return value
