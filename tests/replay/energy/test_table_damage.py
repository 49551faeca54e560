"""A wrong energy table is one line: file and line, key, rule and value."""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.energy.table import FOLDER, read_table

WHOLE = (FOLDER / "accelwattch-sass.toml").read_text()


@pytest.mark.parametrize(("old", "new", "said"), [
    ("DC_RH = {", "DC_RHS = {", "unknown key pj.DC_RHS; did you mean 'pj.DC_RH'?"),
    ("FP_INT = { SCHEDP", "# {", "pj: needs the key 'FP_INT'; like = 'accelwattch-sass' gives what a file leaves out"),
    ("IBP = 5.8783606", "IBQ = 5.8783606", "unknown key pj.TOT_INST.IBQ; did you mean 'pj.TOT_INST.IBP'?"),
    ("IBP = 5.8783606", "IBP = -5.8", "pj.TOT_INST.IBP: must be a number from 0 to 1e+12, not -5.8"),
    ("IBP = 5.8783606", "IBP = nan", "pj.TOT_INST.IBP: must be a number from 0 to 1e+12, not nan"),
    ("IBP = 5.8783606", "IBP = inf", "pj.TOT_INST.IBP: must be a number from 0 to 1e+12, not inf"),
    ("IBP = 5.8783606", "IBP = 'much'", "pj.TOT_INST.IBP: must be a number, found 'much'"),
    ("chip_w = 32.32522272", "chip_w = -1.0", "power.chip_w: must be a number from 0 to 1e+12, not -1.0"),
    ("chip_w = 32.32522272", "# ", "power: needs the key 'chip_w' (W of the chip)"),
    ("int_fp_dp = {", "int_fp_dq = {", "unknown key static.int_fp_dq; did you mean 'static.int_fp_dp'?"),
    ("light = {", "# {", "static: needs the key 'light'"),
    ("low_pj = 10.0", "low_pj = 50.0", "rt.box: low_pj <= pj <= high_pj must hold, not 50.0, 40.0, 90.0"),
    ("volts = 1.0  ", "volts = 0.0  ", "scale.volts: must be a number from 0.001 to 1000, not 0.0"),
    ('operands = "sass"', 'operands = "sas"', "operands: unknown name 'sas'; did you mean 'sass'?"),
    ('name = "accelwattch-sass"', 'name = 3', "name: must be a text, found 3"),
    ('fitted_on = "', 'fitted_on = "\\u001b[31m', "fitted_on must be 1 to 200 printable characters"),
    ("IBP = 5.8783606", "IBP = 1e13", "pj.TOT_INST.IBP: must be a number from 0 to 1e+12, not 10000000000000.0"),
    ("[pj]", "[pj", "must be TOML"),
])  # fmt: skip
def test_a_wrong_value_is_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = tmp_path / "mine.toml"
    assert old in WHOLE
    file.write_text(WHOLE.replace(old, new, 1))
    with pytest.raises(UserError) as refused:
        read_table(str(file))
    assert str(file) in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_table_takes_from_another_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('like = "accelwattch-hw"\nname = "base"\n[pj]\nMEM_RD = { DRAMP = 1.0 }\n')
    (tmp_path / "mine.toml").write_text('like = "base.toml"\nname = "mine"\n[rt.box]\npj = 11.0\n')
    mine, base = read_table(str(tmp_path / "mine.toml")), read_table("accelwattch-hw")
    assert mine.name == "mine"
    assert mine.pj["MEM_RD"] == {"MCP": base.pj["MEM_RD"]["MCP"], "DRAMP": 1.0}
    assert (mine.rt.box.pj, mine.rt.box.low_pj, mine.rt.triangle) == (11.0, 10.0, base.rt.triangle)


@pytest.mark.parametrize(("text", "said"), [
    ('like = "mine.toml"\n', "mine.toml:1: like: must not lead back to mine.toml"),
    ("like = 3\n", "mine.toml:1: like: must be the name or the .toml file of a table, not 3"),
    ('like = "accelwatch-sass"\n', "mine.toml:1: like: must be a .toml file or one of accelwattch-hw"),
    ('like = "other.toml"\n', "other.toml: no such energy table"),
])  # fmt: skip
def test_like_leads_to_a_table(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError, match=said.replace("(", r"\(")):
        read_table(str(tmp_path / "mine.toml"))


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(
        UserError, match=r"accelwattch-sas: must be a .toml file or one of .*; did you mean 'accelwattch-sass'"
    ):
        read_table("accelwattch-sas")
