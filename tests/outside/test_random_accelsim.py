"""Random cases for Accel-Sim: the same for a seed, read by the replay, compared with logs; our cycles are pinned."""

import hashlib
from pathlib import Path

import pytest

from outside import random_accelsim
from outside.random_accelsim import CHANGES, LOG, cycles, rows, write_cases
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.replay.gpu.reference_options import MODELLED

PINNED = {
    "case-0000": [171, 490, 1636], "case-0001": [261, 96], "case-0002": [1130], "case-0003": [828, 245],
    "case-0004": [1751], "case-0005": [208], "case-0006": [962], "case-0007": [21], "case-0009": [220],
    "case-0020": [902], "case-0096": [694],
}  # fmt: skip
DIGEST = "21c77982eed0e5a006a31eb3e8eed7267ec67c19e9f29762fe6d83df496418d2"


def test_cases_are_the_same_for_a_seed(tmp_path: Path) -> None:
    written = list(write_cases(tmp_path / "all", 0, 8))
    again = list(write_cases(tmp_path / "later", 5, 3))
    for case, other in zip(written[5:], again, strict=True):
        assert {file.name: file.read_bytes() for file in case.iterdir()} == {
            file.name: file.read_bytes() for file in other.iterdir()
        }
    files = sorted(file for case in written for file in case.iterdir())
    assert hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest() == DIGEST
    with pytest.raises(UserError, match="case-0000: must not exist"):
        list(write_cases(tmp_path / "all", 0, 1))


@pytest.mark.parametrize(("option", "value"), [(name, value) for name, values in CHANGES.items() for value in values])
def test_every_changed_option_is_modelled(option: str, value: str, tmp_path: Path) -> None:
    assert option in MODELLED
    text = (random_accelsim.BASE / "gpgpusim.config").read_text()
    assert f"\n-{option} " in text
    file = tmp_path / "gpgpusim.config"
    file.write_text(text)
    before = load(str(file))
    file.write_text(f"{text}-{option} {value}\n")
    assert load(str(file)) != before


@pytest.mark.parametrize("case", PINNED)
def test_our_cycles_are_pinned(case: str, tmp_path: Path) -> None:
    (found,) = write_cases(tmp_path, int(case.removeprefix("case-")), 1)
    assert cycles(found) == PINNED[case]


def test_logs_are_compared_kernel_by_kernel(tmp_path: Path) -> None:
    (case,) = write_cases(tmp_path, 0, 1)
    assert list(rows(tmp_path)) == []
    ours = cycles(case)
    (case / LOG).write_text("".join(f"kernel_name = k\ngpu_sim_cycle = {found}\n" for found in ours))
    assert [row.passed for row in rows(tmp_path)] == [True] * len(ours)
    (case / LOG).write_text(f"gpu_sim_cycle = {ours[0] + 1}\n" + "gpu_sim_cycle = 1\n" * len(ours))
    found = list(rows(tmp_path))
    assert [row.quantity for row in found] == ["kernels", *["cycles"] * len(ours)]
    assert not any(row.passed for row in found[:2])
