"""Nothing outside ``replay/rt`` reaches into an RT unit: only its protocol, and constants that describe it."""

import ast
from pathlib import Path

import pytest

from rayplay.replay.plugin.targets import hooks_of_units

ROOT = Path(__file__).parents[3]
MODULE = "rayplay.replay.rt"
ALLOWED = {
    "state": {
        "RtUnit", "make_state", "stats", "COUNTERS", "EFFICIENCY_UNIT", "WARP_DOINGS", "LANE_DOINGS", "RT_TAG",
        "TABLE_BYTES", "WARPS_PER_SM",
    },
    "unit": {"run", "CYCLE", "OWN_RESPONSE", "SECTOR_RESPONSE"},
    "entry": {"enqueue", "due", "wake", "next_arrival"},
    "count": {"asks", "count_warp"},
    "metrics": {"rt_metrics"},
    "outside": {
        "move_cursors", "work_done", "uncounted_busy_cycles", "waits_for", "residents", "Entered", "entered_in",
        "asking_lane",
    },
    "spec": {"Spec", "CACHES"},
}  # fmt: skip
"""Names of the unit's modules that others may use."""
POLICIES = ("rayplay/policy.py",)  # which hands the columns to policies
FILES = [
    path
    for package in ("replay", "zatel", "rayplay", "report", "outside")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "replay/rt/" not in path.as_posix() and not any(parent.is_symlink() for parent in path.parents)
]


def used(path: Path) -> set[tuple[str, str]]:
    """(module of the unit, name) that a file imports from it or reads of it."""
    tree, modules, found = ast.parse(path.read_text()), {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == MODULE:
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{MODULE}."):
            found |= {(str(node.module).rpartition(".")[2], alias.name) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add((modules[node.value.id], node.attr))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_unit_is_reached_through_its_protocol(path: Path) -> None:
    assert {(module, name) for module, name in used(path) if name not in ALLOWED.get(module, ())} == set()


def test_the_rule_finds_what_reaches_inside(tmp_path: Path) -> None:
    file = tmp_path / "reach.py"
    file.write_text(
        f"from {MODULE} import state as rt\nfrom {MODULE}.send import fill_queue\nx = rt.CURSOR, rt.stats\n"
    )
    assert used(file) == {("state", "CURSOR"), ("state", "stats"), ("send", "fill_queue")}


def test_the_protocol_is_hooks() -> None:
    assert {"rt.enqueue", "rt.cycle", "rt.receive_sector", "rt.receive_own"} <= set(hooks_of_units())
