"""Rows of ``make reference`` against Vulkan-Sim."""

import numpy as np
import pytest

from outside import vulkan_sim


@pytest.mark.parametrize("run", vulkan_sim.ray_cases(), ids=vulkan_sim.case_name)
def test_rays_hits_and_nodes_are_near_vulkan_sims(run: dict[str, str]) -> None:
    rows = list(vulkan_sim.ray_rows(run))
    assert [row for row in rows if not row.passed] == []
    if run["workload"] != "PT":
        assert rows[0].ours == rows[0].theirs, "primary rays that hit, and shadow rays away from the surface"


@pytest.mark.parametrize(
    ("scene", "workload", "config", "dumped"),
    [
        ("CORNELL", "PT", "MOBILE", 3), ("CORNELL", "PT", "RTX2060", 3), ("CORNELL", "SH2", "MOBILE", 0),
        ("CORNELL", "AO4", "MOBILE", 0), ("WKND", "PT", "MOBILE", 0),
    ],
)  # fmt: skip
def test_quantities_of_the_same_picture_are_near_vulkan_sims(
    scene: str, workload: str, config: str, dumped: int
) -> None:
    [run] = [
        run for run in vulkan_sim.runs()
        if (run["scene"], run["workload"], run["width"], run["config"]) == (scene, workload, "32", config)
        and not run["changed_option"]
    ]  # fmt: skip
    rows = list(vulkan_sim.run_rows(run))
    assert len(rows) == len(vulkan_sim.QUANTITIES) + 1 + dumped
    assert [row for row in rows if not row.passed] == []


def test_every_change_beyond_the_noise_is_compared() -> None:
    changed = {run["changed_option"] for run in vulkan_sim.runs() if run["width"] == "64" and run["changed_option"]}
    assert changed - set(vulkan_sim.CHANGES) == {"-gpgpu_l2_rop_latency 158", "-gpgpu_l2_rop_latency 161"}
    noise, changes = vulkan_sim.what_ifs()
    assert [round(100 * change, 1) for _, change in changes] == [23.4, 68.3, -33.6, 9.8, -17.1, 8.1]
    cycles = np.array([120645, 119177, 117065])  # of the runs that differ by L2 latency alone; t of 2 degrees 4.303
    assert noise == pytest.approx(4.303 * cycles.std(ddof=1) * (4 / 3) ** 0.5 / cycles.mean(), rel=1e-3)


@pytest.mark.parametrize(
    ("theirs", "ours", "passed"),
    [
        (0.1, 0.259, True), (0.1, 0.261, False), (0.1, 0.0351, True), (0.1, 0.0349, False), (0.1, -0.001, False),
        (-0.1, -0.259, True), (-0.1, -0.261, False), (-0.1, 0.001, False), (0.1, 0.1, True),
    ],
)  # fmt: skip
def test_a_change_must_have_the_direction_and_at_most_twice_the_size_up_to_the_noise(
    theirs: float, ours: float, passed: bool
) -> None:
    assert vulkan_sim.what_if_row("option", theirs, ours, 0.03).passed == passed
