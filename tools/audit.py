"""Known vulnerabilities of the pinned packages, from the advisories that ``pip-audit`` finds.

``python -m tools.audit requirements/test.txt ...`` lists them; exit code 1 when there is one. Where the advisory
service cannot be reached, or does not know a package, it says so and finds nothing wrong.
"""

import json
import subprocess
import sys
from typing import Any

OPTIONS = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--timeout", "10", "--format", "json")
PATIENCE_SECONDS = 120


def main(locks: list[str]) -> int:
    """Audit the locks; 1 when a package has an advisory."""
    command = [sys.executable, "-m", "pip_audit", *OPTIONS, *(word for lock in locks for word in ("-r", lock))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        packages = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError):
        packages = []
    lines, found = report(packages)
    print("\n".join(lines))
    return int(found > 0)


def report(packages: list[dict[str, Any]]) -> tuple[list[str], int]:
    """Lines about the packages of an audit, and the number of advisories."""
    audited = [package for package in packages if "vulns" in package]
    lines = [
        f"{package['name']} {package['version']}: {each['id']}, fixed in {', '.join(each['fix_versions']) or 'none'}"
        for package in audited
        for each in package["vulns"]
    ]
    if not audited:
        return ["audit: the advisory service could not be reached: no package was audited"], 0
    unknown = f", {len(packages) - len(audited)} unknown to it" if len(audited) < len(packages) else ""
    return [*lines, f"audit: {len(lines)} advisories for {len(audited)} packages{unknown}"], len(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
