"""Energy on the page: the file's numbers, only where it is of this very result."""

import shutil
from pathlib import Path

from rayplay.formats.dataset.energy import open_energy
from rayplay.formats.dataset.result import open_result
from rayplay.replay.energy.account import account
from rayplay.replay.energy.table import read_table
from rayplay.replay.energy.write import write
from rayplay.report.detail import sections
from rayplay.report.energy import energy
from rayplay.report.run import Run


def test_the_page_has_the_energy_beside_the_result(runs: list[Run], tmp_path: Path) -> None:
    copied, other = (
        shutil.copytree(runs[at].result.path, tmp_path / f"{name}.result") for at, name in ((0, "a"), (1, "b"))
    )
    run = Run(open_result(copied), runs[0].trace)
    assert energy(run) is None
    write(account(run.result, read_table(), run.trace), tmp_path / "a.energy")
    made = energy(run)
    assert made is not None
    assert made in list(sections(run))
    totals = open_energy(tmp_path / "a.energy").read("totals")
    for name in ("value", "low", "high"):
        assert all(f'data-value="{value!r}"' in made for value in totals[name].tolist())
    assert "fitted on NVIDIA Quadro GV100" in made
    shutil.copytree(tmp_path / "a.energy", tmp_path / "b.energy")
    assert energy(Run(open_result(other))) is None
