"""Hostile descriptions of GPUs."""

import re
from collections.abc import Callable
from pathlib import Path

from tests.hostile.tables import text
from tests.hostile.verbs import Case
from tests.replay.gpu.test_gpgpusim import CONFIG

MOBILE = (Path(__file__).resolve().parents[2] / "replay" / "gpu" / "mobile.toml").read_text()
LARGE = (1 << 31) - 1


def gpu(key: str, value: object) -> Callable[[Path], object]:
    """Write a description one of whose values is another; ``key``: section.name."""
    section, _, name = key.rpartition(".")
    changed, count = re.subn(
        rf"(^\[{section}\]$(?:\n(?!\[).*)*?\n{name} =) [^#\n]*", lambda m: f"{m[1]} {value} ", MOBILE, flags=re.M
    )
    assert count == 1, key
    return text("a.toml", changed)


def config(old: str, new: str) -> Callable[[Path], object]:
    """Write a configuration of GPGPU-Sim one of whose options is another."""
    assert old in CONFIG
    return text("gpgpusim.config", CONFIG.replace(old, new))


CASES = (
    Case("GPU key of 100,000 parts", "gpu", text("a.toml", "a" + ".a" * 100_000 + " = 1"), "--limit key-parts"),
    Case("GPU of 5 MB", "gpu", text("a.toml", MOBILE + "#" * 5_000_000), "--limit text-bytes"),
    Case("GPU of a folder", "gpu", lambda folder: (folder / "a.toml").mkdir(), "no such"),
    Case("GPU of a line", "gpu", text("a.toml", "name = nan"), "needs the key 'sm'"),
    Case("GPU called by escapes", "gpu", text("a.toml", MOBILE.replace('"mobile"', '"\\u001b[31m\\n"', 1)), "name"),
    *(
        Case(f"{key} = {value}", "gpu", gpu(key, value), key)
        for key, value in {
            "sm.count": 0, "sm.warps": 1 << 40, "sm.registers": "nan", "sm.cluster": "true", "sm.clock_khz": 1 << 62,
            "sm.kernel_launch_cycles": 1 << 62, "scheduler.policy": '"\\u001b"', "pipeline.fetches": -1,
            "lsu.queue_entries": (1 << 31) - 1, "l1.bytes": 1 << 62, "l1.ways": "[1]", "l2.latency_cycles": 1 << 31,
            "rt.warps": '"many"', "dram.banks": 3.5, "memory.address_map": '"' + "R" * 100_000 + '"',
        }.items()
    ),
    Case("clocks 10^6 times apart", "gpu", gpu("memory.l2_clock_khz", 1), "must differ at most 1000 times"),
    Case("configuration of 5 MB", "config", text("gpgpusim.config", CONFIG + "#" * 5_000_000), "--limit text-bytes"),
    Case("quotation without an end", "config", text("gpgpusim.config", CONFIG + '"' + "x" * 1_000_000), "quotation"),
    Case("configuration without options", "config", text("gpgpusim.config", "x" * 1_000_000),
         "must be '-option value'"),
    Case("configuration of NUL bytes", "config", text("gpgpusim.config", "\0" * 1_000_000), "gpgpusim.config"),
    *(
        Case(f"option {new[:40]}", "config", config(old, new), r"gpgpusim.config")
        for old, new in {
            "-gpgpu_n_clusters 30": f"-gpgpu_n_clusters {LARGE}",
            "-gpgpu_n_mem 12": f"-gpgpu_n_mem {1 << 62}",
            "-gpgpu_clock_domains 1365:1365:1365:3500.5": "-gpgpu_clock_domains 1e300:nan:inf:0",
            "-gpgpu_shader_core_pipeline 1024:32": f"-gpgpu_shader_core_pipeline {LARGE}:32",
            "-gpgpu_shader_registers 65536": f"-gpgpu_shader_registers {'9' * 5000}",
            "S:4:128:64,L:T:m:L:L": f"S:{LARGE}:{LARGE}:{LARGE},L:T:m:L:L",
            "-gpgpu_l1_latency 32": f"-gpgpu_l1_latency {1 << 62}",
            "dramid@8;": f"dramid@{LARGE};",
        }.items()
    ),
)  # fmt: skip
