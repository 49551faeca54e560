"""``rayplay doctor``: is this installation whole? One line a check."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

from rayplay.door.parser import Parser
from rayplay.formats.guard.answer import answer, has_colour
from rayplay.formats.guard.trust import cache_root, own_folder

PINNED = Path(__file__).parents[1] / "constraints.txt"
LEAST_FREE_BYTES = 1 << 30  # of a disk: a trace of 512x512 pixels is 0.6 GiB
COLOURS = {"ok": 32, "note": 33, "wrong": 31}


class Check(NamedTuple):
    """The outcome of a check: ``ok``, ``note`` or ``wrong``."""

    verdict: str
    name: str
    found: str


def parser(verb: str) -> Parser:
    """The parser."""
    made = Parser(f"rayplay {verb}", formatter_class=argparse.RawDescriptionHelpFormatter)
    made.set_defaults(perform=perform)
    return made


def perform(arguments: argparse.Namespace) -> int:
    """Print every check; 1 when something is wrong."""
    found = list(checks())
    answer(arguments, map(line, found), lambda: [check._asdict() for check in found])
    return 1 if any(check.verdict == "wrong" for check in found) else 0


def line(check: Check) -> str:
    """A check as a line."""
    verdict = f"{check.verdict:<6}"
    if has_colour(sys.stdout):
        verdict = f"\x1b[{COLOURS[check.verdict]}m{verdict}\x1b[0m"
    return f"{verdict} {check.name:<20} {check.found}"


def checks() -> Iterator[Check]:
    """All checks."""
    number = ".".join(map(str, sys.version_info[:3]))
    yield Check("ok" if sys.version_info >= (3, 11) else "wrong", "python", f"{number}, must be 3.11 or later")
    yield Check("ok", "rayplay", f"{version('rayplay')} in {Path(__file__).parents[1]}")
    yield from package_checks()
    yield machine_code()
    yield gpu_descriptions()
    yield cache_check()
    yield data_check()
    for name, folder in (("disk of the cache", existing(cache_root())), ("disk of this folder", Path.cwd())):
        free = shutil.disk_usage(folder).free
        verdict = "ok" if free >= LEAST_FREE_BYTES else "wrong"
        yield Check(verdict, name, f"{free / 2**30:.1f} GiB free of {folder}, 1 GiB is needed")


def package_checks() -> Iterator[Check]:
    """Each package that Rayplay needs: there, as new as it must be, and of the tested version."""
    from packaging.requirements import Requirement

    tested = dict(row.split("==") for row in PINNED.read_text(encoding="utf-8").split())
    tested = {name.lower().replace("_", "-"): number for name, number in tested.items()}
    for text in requires("rayplay") or ():
        need = Requirement(text)
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            found = version(need.name)
        except PackageNotFoundError:
            yield Check("wrong", need.name, f"is missing: pip install '{need.name}{need.specifier}'")
            continue
        known = tested.get(need.name.lower().replace("_", "-"))
        if not need.specifier.contains(found, prereleases=True):
            yield Check("wrong", need.name, f"{found}, must be {need.specifier}")
        elif known not in (None, found):
            yield Check("note", need.name, f"{found}, tested with {known}")
        else:
            yield Check("ok", need.name, found)


def machine_code() -> Check:
    """Whether LLVM makes code for this processor, and for which."""
    try:
        from llvmlite import binding

        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        name = binding.get_host_cpu_name()
        features = binding.get_host_cpu_features()
        binding.Target.from_default_triple().create_target_machine(cpu=name, features=features.flatten())
        widest = next((wide for wide in ("avx512f", "avx2", "neon") if features.get(wide)), "no wide vectors")
        return Check("ok", "machine code", f"{binding.get_default_triple()}, {name}, {widest}")
    except (ImportError, RuntimeError, OSError) as error:
        return Check("wrong", "machine code", f"LLVM makes none: {error}")


def gpu_descriptions() -> Check:
    """Whether the GPUs that come with the package can be read."""
    from rayplay.formats.guard.errors import UserError
    from rayplay.replay.gpu.description import load, shipped

    names = list(shipped())
    try:
        for name in names:
            load(name)
    except UserError as error:
        return Check("wrong", "GPUs", str(error))
    return Check("ok" if names else "wrong", "GPUs", ", ".join(names) or "none")


def cache_check() -> Check:
    """Whether compiled code can be kept, and how much there is."""
    root = cache_root()
    try:
        own_folder(root)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        return Check("wrong", "cache", f"{root}: cannot be used: {error.strerror}; RAYPLAY_CACHE names another")
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    return Check("ok", "cache", f"{root}, {size / 2**20:,.0f} MiB of compiled code; it may be removed")


def data_check() -> Check:
    """Whether real scenes are there; nothing needs them."""
    from rayplay.tracer.scenes.resolve import data_folder

    scenes = data_folder() / "scenes"
    count = len(list(scenes.glob("*.json")))
    if count:
        return Check("ok", "data folder", f"{data_folder()}, {count} scenes")
    asked = os.environ.get("RAYPLAY_DATA")
    if asked:
        return Check("wrong", "data folder", f"RAYPLAY_DATA={asked}: has no scenes/*.json")
    return Check("note", "data folder", f"no scenes in {scenes}; RAYPLAY_DATA names another folder")


def existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next(each for each in (path, *path.parents) if os.path.exists(each))
