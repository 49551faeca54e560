"""``rayplay demo``: from nothing to a replayed trace and its pictures, each step a command of its own."""

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rayplay.door.parser import Parser
from rayplay.formats.guard.errors import UserError

GPU = "rtx2060"


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--out", type=Path, default=Path("demo"), metavar="FOLDER",
                      help="where everything is written (default: %(default)s)")  # fmt: skip
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Trace, replay and draw in processes of their own, and say what each step does."""
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    trace, result = folder / "wknd.trace", folder / f"wknd-{GPU}.result"
    steps = (
        ("trace a scene: every warp of a path tracer, with its addresses and rays",
         ["trace", "wknd", "--size", "96x64", "--samples", "1", "--out", str(trace)]),
        (f"replay the trace on a GPU description: cycles and metrics of {GPU}, and where the cycles go",
         ["replay", str(trace), "--gpu", GPU, "--out", str(result), "--picture", str(folder / "cycles.png")]),
        ("draw the cycles of each pixel",
         ["heat", str(result), "--out", str(folder / "heat.png")]),
    )  # fmt: skip
    with engine_in_the_background():
        for number, (meaning, words) in enumerate(steps, start=1):
            print(f"\n{number} of {len(steps)}  {meaning}\n$ rayplay {shlex.join(words)}", flush=True)
            run_step(words, arguments.quiet)
    pictures = (f"{folder / 'wknd.png'} shows the scene, {folder / 'cycles.png'} where the cycles go, "
                f"{folder / 'heat.png'} what each pixel costs")  # fmt: skip
    print(f"\n{pictures}\nnext: rayplay whatif {trace} --gpu {GPU} --change 'rt.warps*2'")
    if hasattr(arguments, "records"):
        from rayplay.formats.dataset.result import open_result
        from rayplay.formats.look.records import metrics

        arguments.records.extend(metrics(open_result(result).summary))
    return 0


@contextmanager
def engine_in_the_background() -> Iterator[None]:
    """Have the replay engine compiled, once after an installation, while another process traces."""
    with tempfile.TemporaryDirectory(prefix="rayplay-demo-") as folder:
        words = ["replay", "sample", "--gpu", GPU, "--out", f"{folder}/sample.result", "--quiet"]
        process = subprocess.Popen(command(words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def run_step(words: Sequence[str], quiet: bool) -> None:
    """Run one verb in a process of its own, which loads only what it compiled; ``UserError`` when it fails."""
    sink = subprocess.DEVNULL if sys.stdout is sys.stderr or quiet else None
    code = subprocess.run([*command(words), *(["--quiet"] if quiet else [])], stdout=sink, check=False).returncode
    if code == -2 or code == 130:
        raise KeyboardInterrupt
    if code:
        raise UserError(f"rayplay {shlex.join(words)}: ended with exit code {code}")


def command(words: Sequence[str]) -> list[str]:
    """The command line of a verb in a process of its own."""
    return [sys.executable, "-m", "rayplay", *words]
