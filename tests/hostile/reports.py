"""Hostile files of the page, of energy and measurements, and plug-ins that are no policy."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hostile.tables import text
from tests.hostile.verbs import Case

ROOT = Path(__file__).resolve().parents[2]
ENERGIES = (ROOT / "replay" / "energy" / "tables" / "accelwattch-sass.toml").read_text()
QUANTITIES = "gpu,arch,clock_mhz,quantity,value,unit,method,source,confidence,note\n"
TIMES = "gpu,sms,default_clock_mhz,clock_mhz,file,launch,kernel,grid,block,bytes,cold_us,cold_noise,warm_us,warm_noise"
TIMES += ",samples\n"
TIME = "card,1,1000,1000,a.toml,0,k,1x1x1,32x1x1,0,2.0,0.0,1.0,0.0,21\n"
FRAMES = "frame,trace,rays,records_per_ray,ms,ms_low,ms_high\n"


def energies(old: str, new: str) -> Callable[[Path], object]:
    """Write a table of energies one of whose texts is another."""
    assert old in ENERGIES
    return text("a.toml", ENERGIES.replace(old, new, 1))


def film(content: str) -> Callable[[Path], object]:
    """Write a folder of rayplay animate with this table of frames."""

    def make(folder: Path) -> None:
        (folder / "film").mkdir()
        (folder / "film" / "frames.csv").write_text(content)

    return make


def document(value: Any) -> Callable[[Path], object]:
    """Write a value as JSON."""
    return text("a.json", json.dumps(value))


def forecast(found: Any) -> Callable[[Path], object]:
    """Write an estimate one of whose metrics is ``found``."""
    return document({"trace": "good.trace", "gpu": "mobile", "metrics": {"gpu_cycles": found}})


CASES = (
    Case("energies of 5 MB", "energies", text("a.toml", ENERGIES + "#" * 5_000_000), "--limit text-bytes"),
    Case("energies of 100,000 parts", "energies", text("a.toml", "a" + ".a" * 100_000 + " = 1"), "--limit key-parts"),
    Case("energies of a device", "energies", lambda folder: (folder / "a.toml").symlink_to("/dev/zero"),
         "a.toml"),
    Case("energies that take from themselves", "energies", text("a.toml", 'like = "a.toml"\nname = "a"\n'), "like"),
    Case("an energy of NaN", "energies", energies("IBP = 5.8783606", "IBP = nan"), "must be a number from 0"),
    Case("an energy of 10^300", "energies", energies("IBP = 5.8783606", "IBP = 1e300"), "must be a number from 0"),
    Case("energies called by escapes", "energies", energies('name = "accelwattch-sass"', 'name = "\\u001b[31m"'),
         "printable"),
    Case("measurements of 70 MB of quantities", "measured", text("a.csv", QUANTITIES + "#" * 70_000_000),
         "--limit list-bytes"),
    Case("measurements of nothing", "measured", text("a.csv", ""), "must have the columns"),
    Case("measurements that are a device", "measured", lambda folder: (folder / "a.csv").symlink_to("/dev/zero"),
         "a.csv"),
    Case("a quantity of NaN", "measured", text("a.csv", QUANTITIES + "card,sm_90,1,ptx:add.u32,nan,cycles,,,,\n"),
         "value must be a number, found 'nan'"),
    Case("a quantity of 10^400", "measured", text("a.csv", QUANTITIES + f"card,sm_90,1,ptx:add.u32,1{'0' * 400},"
         "cycles,,,,\n"), "a.csv: line 2"),
    Case("a million columns of quantities", "measured", text("a.csv", QUANTITIES.strip() + "," * 1_000_000 + "\n1\n"),
         "a.csv: line 2"),
    Case("a quotation of quantities without an end", "measured", text("a.csv", QUANTITIES + '"' + "x\n" * 1_000_000),
         "must be CSV"),
    Case("a card called by escapes", "measured", text("a.csv", QUANTITIES + "\x1b[31m,sm_90,1,l1_latency,-1,cycles,"
         ",,,\n"), "a.csv"),
    Case("a time of -1", "timed", text("a.csv", TIMES + TIME.replace("1.0,0.0,21", "-1.0,0.0,21")),
         "must have the launches of the trace"),
    Case("launch 2^64 of a time", "timed", text("a.csv", TIMES + TIME.replace("toml,0,", f"toml,{1 << 64},")),
         "must have the launches of the trace"),
    Case("a grid of letters", "timed", text("a.csv", TIMES + TIME.replace("1x1x1", "many")),
         "must have the launches of the trace"),
    Case("estimate of 70 MB", "forecast", text("a.json", '{"metrics": {}' + " " * 70_000_000 + "}"),
         "--limit list-bytes"),
    Case("estimate of 10^6 brackets", "forecast", text("a.json", "[" * 1_000_000), "must be JSON"),
    Case("estimate of a list", "forecast", document([1]), "has no metrics"),
    Case("estimate of NaN", "forecast", text("a.json", '{"metrics": {"gpu_cycles": {"estimate": NaN}}}'),
         "a.json"),
    Case("estimate of a text", "forecast", forecast("much"), "a.json"),
    Case("estimate of 10^400", "forecast",
         text("a.json", '{"metrics": {"gpu_cycles": {"estimate": 1' + "0" * 400 + "}}}"),
         "a.json"),
    Case("interval of 10^400", "forecast", forecast({"estimate": 1, "interval": [0, 10**400]}),
         "must be a finite number"),
    Case("change of 10^400", "changes", document({"noise_floor": {}, "designs": [{"predicted": {"c": 10**400}}]}),
         "must be a finite number"),
    Case("study of 70 MB", "changes", text("a.json", '{"designs": []' + " " * 70_000_000 + "}"),
         "--limit list-bytes"),
    Case("study of nothing", "changes", document({}), "has neither designs nor models"),
    Case("study of texts", "changes", document({"designs": "many", "noise_floor": 1}), "a.json"),
    Case("study without changes", "changes", document({"designs": [1], "noise_floor": {}}), "a.json"),
    Case("models of numbers", "changes", document({"models": 7}), "a.json"),
    Case("film without frames", "film", film(""), "must be what rayplay animate wrote"),
    Case("film of 70 MB", "film", film(FRAMES + "0" * 70_000_000), "--limit list-bytes"),
    Case("film of a device", "film", lambda folder: ((folder / "film").mkdir(),
         (folder / "film" / "frames.csv").symlink_to("/dev/zero")), "frames.csv"),
    Case("film of NaN", "film", film(FRAMES + "0,0.trace,nan,1,1,1,1\n"), "must hold finite numbers"),
    Case("film of an integer of 10,000 digits", "film", film(FRAMES + f"0,0.trace,{'9' * 10_000},1,1,1,1\n"),
         "must hold finite numbers"),
    Case("film of another folder", "film", film(FRAMES + "0,../../etc,1,1,1,1,1\n"), "no such trace|etc"),
    Case("film without its traces", "film", film(FRAMES + "0,0.trace,1,1,1,1,1\n"), "0.trace"),
    Case("plug-in of nothing", "plugin", text("a.py", ""), "replaces no hook"),
    Case("plug-in that is no Python", "plugin", text("a.py", "def f(:\n"), "a.py:1"),
    Case("plug-in of NUL bytes", "plugin", text("a.py", "\0" * 1_000_000), "a.py"),
    Case("plug-in of 70 MB", "plugin", text("a.py", "#" * 70_000_000), "bytes"),
    Case("plug-in of 100,000 brackets", "plugin", text("a.py", "(" * 100_000), "a.py"),
    Case("plug-in that is a device", "plugin", lambda folder: (folder / "a.py").symlink_to("/dev/zero"), "a.py"),
    Case("plug-in of an unknown hook", "plugin", text("a.py",
         'from rayplay.policy import hook\n@hook("rt.nothing")\ndef f(rt):\n    return 0\n'), "a.py"),
)  # fmt: skip
