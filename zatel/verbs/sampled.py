"""Options and checks that several verbs share, and the file that those write which replay a sample of CTAs."""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rayplay.formats.guard.command import Once, add_verb
from rayplay.formats.guard.errors import UserError
from rayplay.formats.place.names import trace_name
from rayplay.formats.place.publish import atomic_file

if TYPE_CHECKING:
    from rayplay.replay.gpu.description import Gpu


def add_replayed(parser: argparse.ArgumentParser, what: str) -> None:
    """Add a trace, a GPU and its plug-in."""
    parser.add_argument("trace", type=trace_name, metavar="TRACE", help=f"trace of {what}")
    parser.add_argument("--gpu", required=True, metavar="GPU", help="rtx2060, mobile, or a GPU description (TOML)")
    parser.add_argument("--plugin", action=Once, metavar="FILE.py|NAME",
                        help="run a policy of your own in place of the engine's (docs/policies.md)")  # fmt: skip


def add_sampled_verb(verbs: Any, run_verb: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """Add a verb with a trace, a GPU and the options of a sample; return its parser for further options."""
    made = add_verb(verbs, run_verb)
    add_replayed(made, "one launch")
    made.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the sample (default: 1)")
    made.add_argument("--out", type=Path, metavar="FILE.json", help="file to write (default: none)")
    return made


def described(arguments: argparse.Namespace) -> tuple["Gpu", str]:
    """The GPU with the plug-in, if any, and its name in the file that the verb writes."""
    from rayplay.replay.gpu.description import load as load_gpu

    gpu = load_gpu(arguments.gpu, plugin=arguments.plugin)
    if gpu.plugin is None:
        return gpu, arguments.gpu
    return gpu, f"{arguments.gpu} with {gpu.plugin.name} {gpu.plugin.digest[:16]}"


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the option of a verb that replays on several machines."""
    parser.add_argument("--workers", type=int, metavar="N", help="processes at a time (default: one per core)")


def checked_workers(arguments: argparse.Namespace) -> int:
    """Processes at a time; ``UserError`` for less than one."""
    if arguments.workers is not None and arguments.workers < 1:
        raise UserError(f"--workers must be at least 1, not {arguments.workers}")
    return arguments.workers or os.cpu_count() or 1


def checked_seed(arguments: argparse.Namespace) -> int:
    """The seed; ``UserError`` for a negative one."""
    seed: int = arguments.seed
    if seed < 0:
        raise UserError(f"--seed must not be negative, but is {seed}")
    return seed


def write_json(path: Path | None, content: dict[str, Any]) -> None:
    """Write the requested file, if any."""
    if path:
        with atomic_file(path) as partial:
            partial.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
