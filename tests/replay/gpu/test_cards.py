"""Descriptions of cards: published sizes, a source at every value, rows of latencies that are used."""

import pytest

from rayplay.replay.gpu.description import FOLDER, load, shipped
from rayplay.replay.unit.schema import read_text

FILES = sorted((FOLDER / "cards").rglob("*.toml"))
# SMs, L2 KiB, GB/s of the published specifications
PUBLISHED = {
    "gtx1650": (14, 1024, 192), "rtx2060": (30, 3072, 336), "rtx2070": (36, 4096, 448), "rtx2080ti": (68, 5632, 616),
    "rtx3060": (28, 2304, 360), "rtx3060ti": (38, 3072, 448), "rtx3070": (46, 4096, 448),
    "rtx3070ti": (48, 4096, 608), "rtx3080": (68, 5120, 760), "rtx4090": (128, 73728, 1008),
    "titanv": (80, 4608, 652.8), "a100": (108, 40960, 1555), "h100": (132, 51200, 3352), "orin": (16, 4096, 204.8),
    "v100": (80, 6144, 898), "a100-80gb": (108, 40960, 2039), "h100-pcie": (114, 51200, 2039), "a40": (84, 6144, 696),
    "t1000": (14, 1024, 160), "rtx3090": (82, 6144, 936),
}  # fmt: skip


def test_each_card_is_described():
    assert {f"card-{name}" for name in PUBLISHED} == {name for name in shipped() if name.startswith("card-")}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes(name):
    gpu = load(f"card-{name}")
    assert gpu.name == f"card-{name}"
    assert (gpu.sm.count, gpu.l2.bytes >> 10) == PUBLISHED[name][:2]
    assert gpu.dram_bytes_per_second / 1e9 == pytest.approx(PUBLISHED[name][2], rel=0.002)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_value_has_a_source(path):
    assert all(source for key, source in read_text(path).comments.items() if key != "like")


@pytest.mark.parametrize("name", PUBLISHED)
def test_latencies_are_of_the_card(name):
    """A fused multiply-add takes the 4 cycles that every card since Volta has."""
    rows = load(f"card-{name}").latencies.rows()
    assert next(row for row in rows if row.pattern == "fma.*.f32").latency_cycles == 4
