"""Hostile files of scenes in motion, of devices of the analytical model, and of shaders."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hostile.tables import text
from tests.hostile.verbs import Case

ROOT = Path(__file__).resolve().parents[2]
DEVICE = (ROOT / "tuner" / "devices" / "geforce-580.toml").read_text()
SHADERS = (ROOT / "tracer" / "programs" / "graphics" / "surface.toml").read_text()
KEY = {"frame": 0, "eye": [0, 2, 0], "at": [4, 4, -20]}
POSE = {"frame": 0, "move": [1, 0, 0], "turn_degrees": 30}


def camera(**more: Any) -> Callable[[Path], object]:
    """Write a path of one key of the camera."""
    return text("a.json", json.dumps({"keys": [KEY | more]}))


def pose(**more: Any) -> Callable[[Path], object]:
    """Write a path of one pose of the first instance."""
    return moving(0, **more)


def moving(instance: int, **more: Any) -> Callable[[Path], object]:
    """Write a path of one pose of an instance."""
    return text("a.json", json.dumps({"instances": [{"instance": instance, "keys": [POSE | more]}]}))


def device(old: str, new: str) -> Callable[[Path], object]:
    """Write a device one of whose lines is another."""
    assert old in DEVICE
    return text("a.toml", DEVICE.replace(old, new))


def zeros(name: str) -> Callable[[Path], object]:
    """Put a link to a device without an end there."""
    return lambda folder: (folder / name).symlink_to("/dev/zero")


CASES = (
    Case("path nested 10^6 deep", "path", text("a.json", "[" * 10**6), "must be JSON"),
    Case("path of 5 MB", "path", text("a.json", "{}" + " " * 5_000_000), "--limit text-bytes"),
    Case("path of NUL bytes", "path", text("a.json", "\0" * 1_000_000), "must be JSON"),
    Case("path that is a device", "path", zeros("a.json"), "no such file of keys"),
    Case("path of nothing", "path", text("a.json", "{}"), "keys must be one or more"),
    Case("eye at NaN", "path", camera(eye=[float("nan"), 0, 0]), "numbers must be finite, not NaN"),
    Case("eye at 1e300", "path", camera(eye=[1e300, 0, 0]), "a.json: frame 0: camera.eye must be finite and below"),
    Case("eye of 5,000 digits", "path", text("a.json", json.dumps({"keys": [KEY]}).replace("-20", "9" * 5000)), "JSON"),
    Case("eye at 10^40", "path", camera(eye=[10**40, 0, 0]), "camera.eye must be finite and below"),
    Case("turn of 10^400 degrees", "path", pose(turn_degrees=10**400), "turn_degrees must be a finite number|left out"),
    Case("eye at 10^400", "path", camera(eye=[10**400, 0, 0]), "must be three finite numbers"),
    Case("key of frame 2^70", "path", camera(frame=1 << 70), "frame must be 0 to 1000000"),
    Case("key of frame 1.5", "path", camera(frame=1.5), "frame"),
    Case("20,000 keys of one frame", "path", text("a.json", json.dumps({"keys": [KEY] * 20_000})), "0 before 0"),
    Case("instance 10^9 moves", "path", moving(10**9), "must be 0 to|instances must be left out"),
    Case("instance moves by 1e300", "path", pose(move=[1e300, 0, 0]), "at most|must be 0 to|left out"),
    Case("path named by escapes", "path", text("a.json", json.dumps({"\x1b[31m\n": 1})), "unknown name"),
    Case("device of 5 MB", "device", text("a.toml", DEVICE + "#" * 5_000_000), "--limit text-bytes"),
    Case("device that is a device", "device", zeros("a.toml"), "no such"),
    Case("device of 2^70 cores", "device", device("cores = 16", f"cores = {1 << 70}"), "cores: must be"),
    Case("device of warps of 2^40", "device", device("warp_size = 32", f"warp_size = {1 << 40}"), "warp_size: must be"),
    Case("device at 1e308 GHz", "device", device("clock_ghz = 1.54", "clock_ghz = 1e308"), "clock_ghz: must be"),
    Case("device of infinite bandwidth", "device", device("= 192", "= inf"), "bandwidth_gbytes_per_s: must be"),
    Case("shaders of 5 MB", "shaders", text("a.toml", SHADERS + "#" * 5_000_000), "--limit text-bytes"),
    Case("shaders that are a device", "shaders", zeros("a.toml"), "no such"),
    Case("shaders without a program", "shaders", text("a.toml", "params = []\nvaryings = 3\n"), "a.toml"),
)  # fmt: skip
