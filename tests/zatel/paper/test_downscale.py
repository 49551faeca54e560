"""Step 3: the scale factor and the smaller GPU."""

import dataclasses
from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load as load_gpu
from rayplay.zatel.paper.downscale import downscale, parts, scale_factor


@pytest.mark.parametrize(("name", "factor", "scaled"), [("rtx2060", 6, (5, 2)), ("mobile", 4, (2, 1))])
def test_the_papers_gpus_are_scaled_by_6_and_4(name: str, factor: int, scaled: tuple[int, int]) -> None:
    gpu = load_gpu(name)
    assert scale_factor(gpu) == factor
    assert tuple(parts(gpu.scaled(factor)).values()) == scaled


def test_80_sms_and_10_controllers_give_10() -> None:  # Zatel III-C
    gpu = load_gpu("rtx2060")
    l2 = dataclasses.replace(gpu.l2, bytes=gpu.l2.bytes // gpu.memory.count * 10)
    sm = dataclasses.replace(gpu.sm, count=80)
    large = dataclasses.replace(gpu, sm=sm, memory=dataclasses.replace(gpu.memory, count=10), l2=l2)
    assert scale_factor(large) == 10
    assert parts(large.scaled(10)) == {"SMs": 8, "memory partitions": 1}


@pytest.mark.parametrize(("name", "factor"), [("rtx2060", 6), ("rtx2060", 4), ("rtx2060", 5), ("mobile", 4)])
def test_the_whole_l2_is_kept_in_fewer_partitions(name: str, factor: int) -> None:
    gpu = load_gpu(name)
    part, whole = downscale(gpu, factor), downscale(gpu, factor, "whole")
    one_set = whole.l2.bytes // whole.l2_sets_per_slice
    assert abs(whole.l2.bytes - gpu.l2.bytes) <= one_set / 2
    assert whole.l2.set_hash == "multiplicative"  # others need a power of two of sets
    same = dataclasses.replace(whole.l2, bytes=part.l2.bytes, set_hash=part.l2.set_hash)
    assert dataclasses.replace(whole, l2=same) == part


def test_only_sms_partitions_and_their_share_of_the_l2_are_scaled() -> None:
    gpu = load_gpu("mobile")
    scaled = gpu.scaled(4)
    back = dataclasses.replace(
        scaled,
        name=gpu.name,
        sm=dataclasses.replace(scaled.sm, count=8),
        memory=dataclasses.replace(scaled.memory, count=4),
        l2=dataclasses.replace(scaled.l2, bytes=gpu.l2.bytes),
    )
    assert back == gpu
    assert scaled.l2_sets_per_slice == gpu.l2_sets_per_slice
    assert 4 * scaled.dram_bytes_per_second == gpu.dram_bytes_per_second


def test_a_gpu_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"must be a \.toml or gpgpusim\.config file or one of .*mobile, orin"):
        load_gpu("voodoo")
    with pytest.raises(UserError, match="no such GPU description"):
        load_gpu(str(tmp_path / "none.toml"))
