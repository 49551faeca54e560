"""The page of an animation: its numbers equal its table, other folders are refused."""

from pathlib import Path

import numpy as np
import pytest

import rayplay
from rayplay.formats.guard.errors import UserError
from rayplay.report.film import brightness, film_page, read_film, said
from tests.report.pages import Parsed

HEAD = "frame,trace,rays,records_per_ray,ms,ms_low,ms_high"
LINES = (HEAD, "0,0000.trace,512,4.5,2.5,2.0,3.0", "1,0001.trace,500,4.25,,,")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two frames, of which the second has no time."""
    made = tmp_path_factory.mktemp("walk")
    for number in range(2):
        rayplay.trace("cornell", size=(16, 8), samples=1, seed=number + 1, out=made / f"000{number}.trace")
    (made / "frames.csv").write_text("\n".join(LINES) + "\n")
    return made


def test_the_page_has_every_frame(folder: Path) -> None:
    film = read_film(folder)
    page = film_page(film)
    parsed = Parsed(page)
    assert not parsed.open
    assert film.rows[0] == [0, "0000.trace", 512, 4.5, 2.5, 2.0, 3.0]
    assert film.column("ms") == [2.5, None]
    values = {a.get("data-value") for _, a in parsed.elements}
    assert {"512", "4.5", "2.5", "2.0", "3.0", "500", "4.25"} <= values
    tips = [str(a.get("data-tip")) for _, a in parsed.elements]
    assert "frame 0: 2.5 ms, 95 % interval 2 to 3" in tips
    assert "frame 0 takes most (2.5 ms)" in said(film)
    assert page == film_page(read_film(folder))


def test_the_strip_shows_what_moved(folder: Path) -> None:
    film = read_film(folder)
    differ = (brightness(film.pictures[0]) != brightness(film.pictures[1])).mean()
    assert 0 < differ < 1
    alternatives = [a.get("alt") for element, a in Parsed(film_page(film)).elements if element == "img"]
    assert alternatives == ["Frame 0", "Frame 1", f"Difference of frame 1, {100 * differ:.0f} % of the pixels differ"]
    assert brightness(np.full((1, 1, 3), np.inf)).tolist() == [[255]]


@pytest.mark.parametrize("text", ["", HEAD, "a,b\n1,2", f"{HEAD}\n0,0000.trace,x,1,1,1,1", f"{HEAD}\n0,0000.trace,1",
                                  f"{HEAD}\n0,0000.trace,nan,1,1,1,1", f"{HEAD}\n0,\0,1,1,1,1,1",
                                  f"{HEAD}\n0,absent.trace,1,1,1,1,1"])  # fmt: skip
def test_another_folder_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "frames.csv").write_text(text, newline="")
    with pytest.raises(UserError, match=r"--animation|must be a rayplay trace"):
        read_film(tmp_path)
