"""A kernel file must have as many CTAs as its grid."""

from pathlib import Path

import pytest

from rayplay.formats import open_trace
from rayplay.formats.exchange.accelsim.importer import import_accelsim
from rayplay.formats.guard.errors import FormatError
from tests.formats.exchange.accelsim.test_import import BODY, write


@pytest.mark.parametrize("grid", ["(2,1,1)", "(4,1,1)", "(1,4294967295,4294967295)"])
def test_a_file_with_other_ctas_than_its_grid_is_refused(tmp_path: Path, grid: str) -> None:
    """Accel-Sim aborts; a file that was cut after a CTA would be replayed without the others."""
    body = "".join(BODY.replace("block = 0,", f"block = {cta},") for cta in range(3))
    listing = write(tmp_path, body, grid=grid)
    with pytest.raises(FormatError) as caught:
        import_accelsim(listing, tmp_path / "a.trace")
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'kernel-1.traceg'}: must have as many 'thread block =' sections")
    assert f"'-grid dim = {grid}' has CTAs, " in message
    assert "but has 3" in message
    assert "\n" not in message
    assert [path.name for path in tmp_path.iterdir() if path != listing] == ["kernel-1.traceg"], "nothing half-written"
    import_accelsim(write(tmp_path, body, grid="(1,3,1)"), tmp_path / "a.trace")
    assert open_trace(tmp_path / "a.trace").rows("warps") == 3
