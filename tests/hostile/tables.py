"""Hostile tables, lists and measurements that verbs import, and results and predictions that they show."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rayplay.formats.guard.digest import file_digest
from rayplay.formats.schema.manifest import MANIFEST, digest_of
from tests.hostile.verbs import Case
from tests.reliability.specimens import write_result

HEAD = "Kernel Name,gpu__cycles_elapsed.max,smsp__inst_executed.sum,lts__t_sector_hit_rate.pct\n"
HEAD = HEAD.replace("gpu__", "gpc__") + ",cycle,inst,%\n"
LOOKED_AT = frozenset({"show", "check", "verify", "compare"})


def text(name: str, content: str) -> Callable[[Path], object]:
    """Write a text file."""

    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)

    return make


def tables(visits: str, **more: str) -> Callable[[Path], object]:
    """Write tables as CSV files; one instruction unless told otherwise."""

    def make(folder: Path) -> None:
        content = {"instructions": "operation_class\nint\n", "visits": f"warp_id,block_id,active_mask\n{visits}\n"}
        for name, lines in (content | more).items():
            text(f"tables/{name}.csv", lines)(folder)

    return make


def summary(**entry: Any) -> Callable[[Path], object]:
    """Write a result one of whose metrics is this, with its digest."""

    def make(folder: Path) -> None:
        path = write_result(folder / "a.result")
        document = json.loads((path / "summary.json").read_text())
        document["gpu_cycles"] |= entry
        (path / "summary.json").write_text(json.dumps(document))
        manifest = json.loads((path / MANIFEST).read_text())
        manifest["files"]["summary.json"] = file_digest(path / "summary.json")
        manifest["digest"] = digest_of(manifest)
        (path / MANIFEST).write_text(json.dumps(manifest))

    return make


def measured(cells: str) -> Callable[[Path], object]:
    """Write measurements of one kernel."""
    return text("a.csv", f"{HEAD}k,{cells}\n")


CASES = (
    Case("warp 2^32 - 1 in CSV", "tables", tables("4294967295,0,1"), "warps="),
    Case("warp -1 in CSV", "tables", tables("-1,0,1"), "warp_id"),
    Case("warp 2^64 in CSV", "tables", tables(f"{1 << 64},0,1"), "warp_id"),
    Case("warp NaN in CSV", "tables", tables("nan,0,1"), "warp_id"),
    Case("warp of 10,000 digits in CSV", "tables", tables("9" * 10_000 + ",0,1"), "warp_id"),
    Case("CTA 2^32 - 1 in CSV", "tables", tables("0,0,1", warps="cta_id\n4294967295\n"), "grid|int64|at most",
         frozenset({"import"})),
    Case("block of 2^32 - 1 in CSV", "tables", tables("0,4294967295,1"), "block_id"),
    Case("NaN cycles", "nsight", measured("nan,1,50"), "finite"),
    Case("infinite cycles", "nsight", measured("inf,1,50"), "finite"),
    Case("cycles of 1e300", "nsight", measured("1e300,1,50"), "from 0 to"),
    Case("negative cycles", "nsight", measured("-5,1,50"), "from 0 to"),
    Case("NaN hit rate", "nsight", measured("5,1,nan"), "finite"),
    Case("hit rate of 1e308", "nsight", measured("5,1,1e308"), "finite|at most"),
    Case("pixel of 10,000 digits", "pixels", text("a.pixels", "9" * 10_000 + " 0\n"), "pixel"),
    Case("text as a metric's value", "result", summary(value="many"), "value", frozenset({"verify"}), LOOKED_AT),
    Case("NaN as a metric's value", "result", summary(value=float("nan")), "JSON", frozenset({"verify"}), LOOKED_AT),
    Case("number as a metric's unit", "result", summary(unit=[1]), "unit", frozenset({"verify"}), LOOKED_AT),
)  # fmt: skip
