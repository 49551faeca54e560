"""A cooperative launch that a GPU cannot hold as a whole is refused by one line; any other one replays as ever."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rayplay.formats.dataset.reader import open_trace
from rayplay.formats.edit.merge import merge
from rayplay.formats.edit.select import select
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import Gpu, load
from rayplay.replay.run.driver import simulate
from tests.replay.launches import Kernel, write_kernels

TWO = Kernel((3, 3), shared_bytes=20_000), Kernel((3, 3, 3), shared_bytes=20_000)


def gpu(sms: int) -> Gpu:
    """An SM holds one CTA of ``TWO``."""
    return load("mobile", [f"sm.count={sms}", "memory.count=1", "l2.bytes=65536", "sm.shared_bytes=32768"])


def cooperative(*kernels: int) -> dict[str, dict[str, Any]]:
    return {"cooperative": {"kernel_id": np.array(kernels, np.uint32)}}


@pytest.mark.parametrize("model", ["characterised", "gatsim"])
def test_all_ctas_have_to_be_resident(tmp_path: Path, model: str) -> None:
    trace = write_kernels(tmp_path / "a.trace", [*TWO], cooperative(1))
    alone = write_kernels(tmp_path / "b.trace", [*TWO])
    with pytest.raises(UserError) as refused:
        simulate(trace, gpu(2), model=model)
    assert str(refused.value) == (
        f"{trace}: launch 1 (plain) is cooperative: its 3 CTAs must be resident at once, and GPU mobile holds "
        "2, 1 on each of 2 SMs"
    )
    for path, sms in ((trace, 3), (alone, 2)):
        assert simulate(path, gpu(sms), model=model).value("gpu_cycles") > 0


def test_parts_of_a_trace_keep_what_is_cooperative(tmp_path: Path) -> None:
    trace = write_kernels(tmp_path / "a.trace", [*TWO], cooperative(1))
    select(open_trace(trace), tmp_path / "last.trace", kernels="1")
    select(open_trace(trace), tmp_path / "first.trace", kernels="0")
    merge([open_trace(trace), open_trace(tmp_path / "last.trace")], tmp_path / "both.trace")
    rows = {name: open_trace(tmp_path / f"{name}.trace").read("cooperative") for name in ("last", "first", "both")}
    assert {name: row["kernel_id"].tolist() for name, row in rows.items()} == {"last": [0], "first": [], "both": [1, 2]}
