"""Packages are installed by the hashes of a lock, and an audit says whether it could be made."""

import re
import tomllib
from pathlib import Path

import pytest

from tools.audit import report

ROOT = Path(__file__).resolve().parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"([A-Za-z0-9_.-]+)==([^ ;]+)(?: ; [^\\]+)?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: Path) -> dict[str, str]:
    """Version by name; every line of the lock is a version with its hashes, and nothing else such as a host."""
    text = lock.read_text(encoding="utf-8")
    assert PIN.sub("", text) == ""
    return {normal(match[1]): match[2] for match in PIN.finditer(text)}


def constraints() -> dict[str, str]:
    rows = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return {normal(name): version for name, version in (row.split("==") for row in rows)}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_a_lock_has_hashes_and_the_versions_of_the_constraints(lock: Path) -> None:
    known = constraints()
    for name, version in pins(lock).items():
        assert known.get(name, version) == version
        assert name in known or lock.stem == "tools"


@pytest.mark.parametrize(("lock", "extras"), [("run", ()), ("test", ("test", "check")), ("site", ("site",))])
def test_a_lock_has_all_that_the_package_asks_for(lock: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in extras:
        wanted += project["project"]["optional-dependencies"][extra]
    found = pins(ROOT / "requirements" / f"{lock}.txt")
    assert {normal(re.split(r"[\[=<>~!]", need)[0]) for need in wanted} <= set(found)


def test_an_audit_names_each_advisory() -> None:
    advisories = [{"id": "X-1", "fix_versions": ["2"]}, {"id": "X-2", "fix_versions": []}]
    vulnerable = {"name": "a", "version": "1", "vulns": advisories}
    packages = [vulnerable, {"name": "b", "version": "1", "vulns": []}, {"name": "c", "skip_reason": "unknown"}]
    assert report(packages) == (
        ["a 1: X-1, fixed in 2", "a 1: X-2, fixed in none", "audit: 2 advisories for 2 packages, 1 unknown to it"], 2,
    )  # fmt: skip


def test_an_audit_without_a_service_says_so() -> None:
    for packages in ([], [{"name": "c", "skip_reason": "unknown"}]):
        lines, found = report(packages)
        assert lines == ["audit: the advisory service could not be reached: no package was audited"]
        assert found == 0


def test_every_installation_is_by_hashes() -> None:
    """Whatever ``make`` installs comes from a lock, and pip refuses what has no hash there."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8") + (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if "pip install" in line or "$(INSTALL)" in line]
    assert len(commands) >= 5
    for line in commands:
        assert "--require-hashes" in line or re.search(r"\$\(INSTALL\) -r requirements/\w+\.txt$|--no-deps", line), line
    used = set(re.findall(r"requirements/(\w+)\.txt", text))
    assert used == {lock.stem for lock in LOCKS}


def test_the_threat_model_names_caches_limits_and_the_way_to_report() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Report", "Threat model"]
    for limit in ("--limit NAME=N", "mode 0700", "`requirements/`", "security advisories"):
        assert limit in text, limit
    for variable in re.findall(r"`((?:RAYPLAY|XDG)_\w+)`", text):  # as the code reads them
        assert variable in "".join(path.read_text() for path in (ROOT / "formats" / "guard").glob("*.py")), variable
    assert "SECURITY.md" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
