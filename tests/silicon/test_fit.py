"""Fitting: values that made the rows are found again, check rows are never read, what cannot be fitted is refused."""

from pathlib import Path

import pytest

from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.silicon.correlate import CALIBRATION, split_of
from rayplay.silicon.fit import fit
from rayplay.silicon.simulate import simulate_suite

WANTED = {"l1.latency_cycles": 33, "lsu.shared_latency_cycles": 21}
QUANTITIES = ("l1_hit", "shared_load")
PLACE = Path("rows.csv")


def rows_of(values, card="RTX 2070", quantities=QUANTITIES):
    """Rows as a card with these values would have them."""
    gpu = load("mobile", [f"{key}={number}" for key, number in values.items()])
    (made,) = simulate_suite([gpu], quantities).values()
    return [{"gpu": card, "quantity": m.quantity, "value": str(m.value), "unit": m.unit} for m in made]


def test_finds_what_made_the_rows():
    found = fit("mobile", PLACE, rows_of(WANTED))
    assert {m.key: m.after for m in found.moved} == WANTED
    assert all(abs(row.error) < 1e-9 for row in found.rows)
    assert found.gpu.l1.latency_cycles == WANTED["l1.latency_cycles"]


def test_bounds_hold():
    found = fit("mobile", PLACE, rows_of(WANTED), {"l1.latency_cycles": (1, 25)})
    assert [m.after for m in found.moved] == [25]
    assert any(row.error < -0.01 for row in found.rows)


def test_check_rows_are_not_read():
    rows = rows_of(WANTED)
    wrong = [{"gpu": "RTX 2070", "quantity": "dram", "value": "9000", "unit": "cycles"}]
    assert split_of("RTX 2070", "dram") != CALIBRATION
    found = fit("mobile", PLACE, [*rows, *wrong])
    assert {m.key: m.after for m in found.moved} == WANTED
    assert len(found.rows) == len(rows)


def test_card_for_checks_is_refused():
    with pytest.raises(UserError, match="no row for calibration"):
        fit("mobile", PLACE, rows_of({}, card="RTX 3080"))


@pytest.mark.parametrize("key", ["l1.latency", "l1.replacement", "sm"])
def test_unknown_value_is_refused(key):
    with pytest.raises(UserError, match=rf"--fit {key}: must be a whole number"):
        fit("mobile", PLACE, rows_of({}), {key: (1, 9)})
