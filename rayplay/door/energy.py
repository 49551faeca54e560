"""``rayplay energy``: joules of results that are already written."""

import argparse

from rayplay.door.parser import Parser
from rayplay.formats.guard.answer import answer
from rayplay.formats.guard.command import add_limits
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.location import location
from rayplay.formats.place.names import result_name, trace_name
from rayplay.replay.energy.table import DEFAULT


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("results", nargs="+", type=result_name, metavar="RESULT",
                      help="results; each is compared with the last")  # fmt: skip
    made.add_argument("--table", default=DEFAULT, metavar="NAME|FILE.toml",
                      help="coefficients: accelwattch-sass, -sass-alt, -ptx, -hw, -hybrid, or a file of your own "
                      "(default: %(default)s)")  # fmt: skip
    made.add_argument("--trace", type=trace_name, metavar="TRACE",
                      help="trace that the results replay, for operations and operands (default: the one of the "
                      "result's provenance where it is found, else estimates)")  # fmt: skip
    made.add_argument("--out", type=location, metavar="NAME.energy",
                      help="folder to write, of one result (default: beside each result)")  # fmt: skip
    add_limits(made)
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Count, print and write the energy of each result, then compare."""
    from rayplay.formats.dataset.energy import ENERGY_FORMAT
    from rayplay.formats.dataset.reader import open_trace
    from rayplay.formats.dataset.result import open_result
    from rayplay.formats.place.replaceable import check_replaceable
    from rayplay.replay.energy import difference, write
    from rayplay.replay.energy.account import account, account_with_trace
    from rayplay.replay.energy.table import read_table

    if arguments.out is not None and len(arguments.results) > 1:
        raise UserError(f"--out: takes one result, not {len(arguments.results)}")
    if arguments.out is not None and arguments.out.suffix != write.SUFFIX:
        raise UserError(f"--out {arguments.out}: must end in {write.SUFFIX}")
    table = read_table(arguments.table)
    trace = open_trace(arguments.trace) if arguments.trace is not None else None
    results = [open_result(path) for path in arguments.results]
    targets = [arguments.out or write.beside(result.path) for result in results]
    for target in targets:
        check_replaceable(target, ENERGY_FORMAT)
    counted = [
        account(result, table, trace) if trace is not None else account_with_trace(result, table) for result in results
    ]
    for found, target in zip(counted, targets, strict=True):
        write.write(found, target)
    lines = [line for found, target in zip(counted, targets, strict=True)
             for line in (str(found.result.path), *write.lines(found), f"{target}: tables", "")]  # fmt: skip
    base = counted[-1]
    compared = [line for found in counted[:-1] for line in difference.lines(found, base)]
    records = [record for found in counted for record in write.records(found)]
    records += [difference.record(found, base) for found in counted[:-1]]
    answer(arguments, [*lines, *compared] if compared else lines[:-1], lambda: records)
    return 0
