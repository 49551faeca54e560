"""Whole verbs on caches with flipped bits: crashes, other results, and files that were loaded all the same.

    python -m bench.flips [--flips 60] [--at-once 10] [--seed 1]

Runs a launch, a replay and a what-if from a cache of its own that holds what they load, then again and again with one
bit flipped in each of ``--at-once`` files, every file as often as any other. A run must end with exit code 0 and the
bytes of the first, and say of every damaged file that it is made again. Takes some two minutes of processor time, most
of it for machine code that is made again. The exit code is 1 when a run differs.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rayplay.formats.guard.command import run
from rayplay.formats.guard.sealed import sealed_root

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = str(ROOT / "traces" / "sample.trace")
VERBS = {
    "a.trace": ["rayplay.tracer", "launch", str(ROOT / "tracer" / "kernels" / "reduction.toml")],
    "a.result": ["rayplay.replay", SAMPLE, "--gpu", "mobile"],
    "a.json": ["rayplay.zatel", "whatif", SAMPLE, "--gpu", "mobile", "--fraction", "0.5", "--change", "rt.warps*2"],
}
NAMES_WHAT_IT_OPENS = """
import runpy, sys
names, module = open(sys.argv[1], "a"), sys.argv[2]
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and "/sealed/" in arguments[0]:
        names.write(arguments[0] + "\\n")
sys.addaudithook(note)
sys.argv = sys.argv[2:]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""


def verb(out: str, folder: Path, cache: Path, names: Path | None = None) -> tuple[int, dict[str, bytes], list[str]]:
    """Run a verb: exit code, files of its output, damaged files that it names."""
    words = [*VERBS[out], "--out", out]
    start = ["-m"] if names is None else ["-c", NAMES_WHAT_IT_OPENS, str(names)]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"RAYPLAY_CACHE": str(cache), "PYTHONPATH": path}
    done = subprocess.run([sys.executable, *start, *words], cwd=folder, env=environment, capture_output=True, text=True)
    made = folder / out
    files = [made] if made.is_file() else [each for each in made.rglob("*") if each.is_file()]
    found = {str(file.relative_to(folder)): file.read_bytes() for file in files if file.name != "host.json"}
    shutil.rmtree(made) if made.is_dir() else made.unlink(missing_ok=True)
    named = [line.split(": ")[1] for line in done.stderr.splitlines() if "is damaged; it is made again" in line]
    return done.returncode, found, named


def loaded(folder: Path) -> list[Path]:
    """Files of the user's cache that the verbs load, which are made first where they are missing."""
    names = folder / "names"
    for out in VERBS:
        verb(out, folder, sealed_root().parent)
    for out in VERBS:
        verb(out, folder, sealed_root().parent, names)
    found = {Path(line) for line in names.read_text().splitlines()}
    return sorted(path for path in found if path.is_relative_to(sealed_root()) and path.is_file())


def measure(flips: int, at_once: int, seed: int) -> int:
    """Flip bits and run the verbs; returns how many runs were wrong, and prints them."""
    rng, wrong, flipped, unseen = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder, cache = Path(name), Path(name) / "cache"
        for path in loaded(folder):
            copy = cache / "sealed" / path.relative_to(sealed_root())
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copy2(path, copy)
        objects = sorted(path for path in (cache / "sealed").rglob("*") if path.is_file() and path.name != "key")
        whole = {out: verb(out, folder, cache) for out in VERBS}
        assert all(code == 0 and not named for code, _, named in whole.values()), "the cache holds what they load"
        turns = [path for _ in range(-(-flips // len(objects))) for path in rng.sample(objects, len(objects))][:flips]
        for first in range(0, flips, at_once):
            damaged = set(turns[first : first + at_once])
            for path in damaged:
                data = bytearray(path.read_bytes())
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
                path.write_bytes(data)
            named: set[str] = set()
            for out in VERBS:
                code, files, said = verb(out, folder, cache)
                named |= set(said)
                if code or files != whole[out][1]:
                    wrong += 1
                    print(f"{out}: exit code {code}, {'same' if files == whole[out][1] else 'OTHER'} files: {damaged}")
            flipped, unseen = flipped + len(damaged), unseen + len({str(path) for path in damaged} - named)
            print(
                f"{flipped} of {flips} flips in {len(objects)} files, {wrong} wrong runs, {unseen} unseen", flush=True
            )
    return wrong + unseen


def main() -> int:
    """Flip, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.flips", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    for option, default in (("--flips", 60), ("--at-once", 10), ("--seed", 1)):
        parser.add_argument(option, type=int, default=default, metavar="N", help="default: %(default)s")
    options = parser.parse_args()
    return int(measure(options.flips, options.at_once, options.seed) > 0)


if __name__ == "__main__":
    run("bench.flips", main)
