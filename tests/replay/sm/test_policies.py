"""Policies stand in one file; any with a state of their own have another."""

import re
from pathlib import Path

from rayplay.replay.sm import policies

REPLAY = Path(policies.__file__).parents[1]
NAMES = [name.upper().replace("-", "_") for name in policies.POLICIES]
TAGS = re.compile(rf"\b({'|'.join(NAMES)})\b")
WITH_STATE = {
    "TWO_LEVEL": {"sm/warps.py", "sm/pipeline/issue.py", "sm/pipeline/sm.py", "sm/pipeline/scoreboard.py"},
    "RRR": {"sm/pipeline/issue.py"},
    "LIMITED": {"sm/pipeline/issue.py"},
}


def test_a_policy_by_age_slot_and_last_warp_stands_in_one_file() -> None:
    """As CONTRIBUTING.md says: the tag of no other policy is read elsewhere."""
    found: dict[str, set[str]] = {}
    for path in (REPLAY / "sm").rglob("*.py"):
        for line in path.read_text().splitlines() if path.name != "policies.py" else ():
            for tag in TAGS.findall(line.partition("#")[0]):
                found.setdefault(tag, set()).add(str(path.relative_to(REPLAY)))
    assert found == WITH_STATE


def test_tags_are_the_rows_of_the_table() -> None:
    assert [getattr(policies, name) for name in NAMES] == list(range(len(NAMES)))
