"""The profile of a network: both methods agree, equal launches share a profile, and the files hold the counts."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rayplay import ptx
from rayplay.formats.guard.errors import UserError
from rayplay.formats.look.show import open_any
from rayplay.hypa.network.file import read_network
from rayplay.hypa.network.plan import Plan, plan_network
from rayplay.hypa.network.profile import profile_network
from rayplay.hypa.network.run import NetworkMemory, bind
from rayplay.hypa.network.show import PAPER, comparison_lines, paper_row
from rayplay.hypa.profile import profile_launch
from rayplay.hypa.report import launch_columns
from rayplay.tracer.__main__ import main
from tests.hypa.network.test_kernels import FOLDER, SMALL, SMALL_BLOCKS

OWN = {"method", "slice_instructions", "executed_instructions", "executed_share"}  # of a method, not of the launch

BRANCHING = """.version 7.5
.target sm_75
.address_size 64
// input, output, count: negative values take a way of their own
.visible .entry activation_relu(.param .u64 from, .param .u64 to, .param .u32 count)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    .reg .f32 %f<3>;
    .reg .b64 %a<6>;
    ld.param.u64 %a1, [from];
    ld.param.u64 %a2, [to];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %a3, %r5, 4;
    add.s64 %a4, %a1, %a3;
    add.s64 %a5, %a2, %a3;
    ld.global.f32 %f1, [%a4];
    setp.ge.f32 %p2, %f1, 0f00000000;
    @%p2 bra STORE;
    mov.f32 %f1, 0f00000000;
STORE:
    st.global.f32 [%a5], %f1;
DONE:
    ret;
}
"""


def small_plan(folder: Path) -> Plan:
    shutil.copy(FOLDER / "kernels" / "kernels.ptx", folder)
    layers = ", ".join(SMALL)
    (folder / "small.toml").write_text(
        f'program = "kernels.ptx"\nimage = [35, 30, 3]\nlayers = [{layers}]\n{SMALL_BLOCKS}'
    )
    return plan_network(read_network(folder / "small.toml"))


def columns_of(plan: Plan, method: str) -> dict[str, np.ndarray]:
    return launch_columns(profile_network(plan, method, progress=False).launches)


def assert_same_counts(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    for column in one.keys() - OWN:
        assert one[column].tolist() == other[column].tolist(), column


def test_methods_agree(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    cut, full = columns_of(plan, "slice"), columns_of(plan, "full")
    assert_same_counts(cut, full)
    assert (full["executed_instructions"] == full["dynamic_instructions"]).all()
    assert cut["executed_instructions"].sum() < 0.5 * cut["dynamic_instructions"].sum()
    assert (cut["divergent_branches"] <= cut["branches"]).all()
    assert cut["divergent_branches"].sum() > 0


def test_equal_launches_share_a_profile_which_is_their_own(tmp_path: Path) -> None:
    plan = small_plan(tmp_path)
    network = profile_network(plan, progress=False)
    shared = [number for number, same in enumerate(network.same_as) if same != number]
    assert len(shared) >= 6  # the residual block is there twice
    module, placed = ptx.parse_file(plan.network.program), NetworkMemory(plan)
    for number in shared:
        found = network.launches.launches[number].profile
        launch = bind(plan.launches[number], module, placed.addresses, placed.memory)
        assert found.seconds == 0
        assert found.visits == profile_launch(launch, "full", progress=False).visits


def test_kernels_that_branch_on_data(tmp_path: Path) -> None:
    """Slices run on weights where the output of a layer decides the way of the next, and keep what later ones read."""
    (tmp_path / "kernels.ptx").write_text(BRANCHING)
    layer = '{ op = "activation", function = "relu" }'
    (tmp_path / "n.toml").write_text(f'program = "kernels.ptx"\nimage = [9, 7, 5]\nlayers = [{layer}, {layer}]\n')
    plan = plan_network(read_network(tmp_path / "n.toml"))
    cut, full = columns_of(plan, "slice"), columns_of(plan, "full")
    assert_same_counts(cut, full)
    assert profile_network(plan, progress=False).same_as == (0, 1)
    assert cut["divergent_branches"][0] >= 10  # random values have both signs in nearly every warp
    assert cut["divergent_branches"][1] <= 1  # now none is negative: only the last warp parts


def test_static_and_dynamic_counts_by_hand(tmp_path: Path) -> None:
    """512 threads of 19 instructions; threads past the last value leave after the guard."""
    shutil.copy(FOLDER / "kernels" / "kernels.ptx", tmp_path)
    (tmp_path / "n.toml").write_text(
        'program = "kernels.ptx"\nimage = [1, 1, 411]\nlayers = [{ op = "activation", function = "relu" }]\n'
    )
    columns = columns_of(plan_network(read_network(tmp_path / "n.toml")), "slice")
    body = ptx.parse_file(tmp_path / "kernels.ptx").functions["activation_relu"].body
    guard = next(index for index, i in enumerate(body) if i.opcode == "bra") + 1
    skipped = len(body) - 1 - guard  # all but the final ret
    assert columns["static_instructions"].tolist() == [512 * len(body)]
    assert columns["dynamic_instructions"].tolist() == [512 * len(body) - 101 * skipped]
    assert columns["branches"].tolist() == [16]
    assert columns["divergent_branches"].tolist() == [1]  # 411 is 12 warps and 27 lanes
    assert columns["branch_efficiency"].tolist() == [93.75]
    assert (columns["cta_branches"].tolist(), columns["cta_divergent_branches"].tolist()) == ([2], [1])


def test_files_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = small_plan(tmp_path)
    assert main(["network", str(plan.network.path), "--out", str(tmp_path / "made")]) == 0
    printed = capsys.readouterr().out
    made = open_any(tmp_path / "made" / "small.profile")
    launches, layers = made.read("launches"), made.read("layers")
    assert [len(layers["layer"]), len(launches["launch"])] == [len(plan.launches)] * 2
    assert layers["layer"].tolist() == [plan.outputs[launch.layer].name for launch in plan.launches]
    assert layers["grid_x"].tolist() == [launch.grid[0] for launch in plan.launches]
    assert layers["block_y"].tolist() == [launch.block[1] for launch in plan.launches]
    with (tmp_path / "made" / "small.profile" / "profile.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["dynamic_instructions"]) for row in rows] == launches["dynamic_instructions"].tolist()
    for layer, count in zip(layers["layer"], launches["dynamic_instructions"], strict=True):
        assert f" {layer} " in printed
        assert f" {count:,} " in printed
    assert f" {launches['dynamic_instructions'].sum():,} " in printed
    assert "Table II" not in printed  # the paper does not know this network
    with pytest.raises(UserError, match="different names"):
        main(["network", *[str(plan.network.path)] * 2, "--out", str(tmp_path / "made")])


def test_paper_row_stands_beside_ours(tmp_path: Path) -> None:
    network = profile_network(small_plan(tmp_path), progress=False)
    known = replace(network, plan=replace(network.plan, network=replace(network.plan.network, name="mobilenet_v2")))
    lines = list(comparison_lines([known, network]))
    assert [line.split()[0] for line in lines[1:]] == ["mobilenet_v2", "Table", "Table", "small"]
    assert lines[1].split()[1:] == lines[4].split()[1:]
    assert lines[2].split()[3:] == ["10.22%", "995,962", "2,032,606", "0.4899", "177,403", "98.2702%"]
    assert lines[3].split()[5:] == ["15,757,543,754", "210,300,655,245", "92.1538%"]


def test_table_2_of_the_paper() -> None:
    """The copy keeps to the paper's own sums: its ratios follow from the other columns, except one misprint."""
    lines = [line for line in PAPER.read_text().splitlines() if not line.startswith("#")]
    rows = {row["cnn"]: row for row in csv.DictReader(lines)}
    assert len(rows) == 31
    for name, row in rows.items():
        ratio = int(row["hypa_instructions"]) / int(row["static_instructions"])
        of_eta = float(row["nvprof_branch_efficiency_percent"]) / float(row["hypa_branch_efficiency_percent"])
        assert float(row["branch_efficiency_ratio"]) == pytest.approx(of_eta, abs=2e-4), name
        if name != "resnet50v2":  # the paper prints 0.9761 for 0.8761
            assert float(row["ratio"]) == pytest.approx(ratio, abs=2e-4), name
    described = [path.stem for path in FOLDER.glob("*.toml")]
    assert all(paper_row(name) is not None for name in described)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("relu", "swish"), "no entry is called activation_swish; there are: activation_relu"),
        (('activation"', 'flatten"'), "must have a layer that computes"),
    ],
)
def test_program_without_the_kernel(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    (tmp_path / "kernels.ptx").write_text(BRANCHING)
    function = ', function = "relu"' if "flatten" not in change[1] else ""
    text = f'program = "kernels.ptx"\nimage = [9, 7, 5]\nlayers = [{{ op = "activation"{function} }}]\n'
    (tmp_path / "n.toml").write_text(text.replace(*change))
    with pytest.raises(UserError, match=message):
        profile_network(plan_network(read_network(tmp_path / "n.toml")), progress=False)
