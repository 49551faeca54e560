"""Every option that Accel-Sim registers is modelled, refused by its name, or listed as one that changes no cycle.

Source: docs/sources/accel-sim.md#configurations, and the places that ``reference_options`` names.
"""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load, notes
from rayplay.replay.gpu.gpgpusim_options import FIXED, HELPERS, OPTIONS, TOGETHER
from rayplay.replay.gpu.reference_options import MODELLED, REGISTERED, WITHOUT_EFFECT, meaning, rows

VULKAN_SIMS = "gpgpu_rt_", "gpgpu_num_rt_"
"""Beginnings of options that only Vulkan-Sim has."""


@pytest.mark.parametrize("name", REGISTERED)
def test_an_option_of_the_reference_has_one_verdict(name: str) -> None:
    assert (name in MODELLED) + (name in FIXED) + (name in WITHOUT_EFFECT) == 1


def test_every_option_with_a_verdict_is_one_of_the_reference_or_of_vulkan_sim() -> None:
    named = {*OPTIONS, *TOGETHER, *HELPERS, *FIXED, *WITHOUT_EFFECT}
    assert {name for name in named - REGISTERED.keys() if not name.startswith(VULKAN_SIMS)} == set()
    assert len(REGISTERED) > 250
    assert len(list(rows())) == len(REGISTERED)


@pytest.mark.parametrize("name", FIXED)
def test_a_value_that_is_not_modelled_is_refused_by_name(name: str, tmp_path: Path) -> None:
    file = tmp_path / "gpgpusim.config"
    file.write_text(f"-gpgpu_n_clusters 30\n-{name} 77\n")
    with pytest.raises(UserError, match=f"gpgpusim.config:2: -{name} must be .*: others are not modelled, found '77'"):
        load(str(file))
    for value in FIXED[name]:
        file.write_text(f"-gpgpu_n_clusters 30\n-{name} {value}\n")
        assert load(str(file)).sm.count == 30


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_an_option_without_effect_is_named_and_changes_nothing(name: str, tmp_path: Path) -> None:
    file = tmp_path / "gpgpusim.config"
    file.write_text("-gpgpu_n_clusters 30\n")
    before = load(str(file))
    file.write_text(f"-gpgpu_n_clusters 30\n-{name} 77\n")
    assert load(str(file)) == before
    assert list(notes(str(file)))[1:] == [f"1 options change no cycle of a trace: -{name}"]
    assert meaning(name).startswith("no effect: ")
