"""Every number that decides an estimate stands on the page with its source, measurement or derivation."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "estimate.md"
# Encodings of lines and sectors, working memory that changes no result, columns, lists of names or of things to show.
OTHERS = {
    "LOCAL_LINES", "WRITE", "FULL_SHIFT", "LANES", "LINE_SHIFT", "BEFORE", "COUNTERS", "SECTORS", "VISIT_BITS",
    "LINE_BYTES", "SECTOR_BYTES", "HIT_LINES", "TABLE_LINES", "WARPS_PER_BATCH", "BINS",
    "ALIGNED_BYTES", "LARGEST_BYTES", "MOST_BYTES", "SAMPLE_BYTES", "UNSEEN", "FOLLOWED@walk", "INTERVAL_CYCLES",
    "FACTORS", "SHOWN", "OFFSETS",
}  # fmt: skip


def numbers() -> dict[str, float]:
    """``file: NAME`` -> value of every module-level number of the estimator."""
    found = {}
    for folder in ("model", "sample", "changes"):
        for file in sorted((ROOT / "zatel" / folder).glob("*.py")):
            for line in ast.parse(file.read_text(encoding="utf-8")).body:
                if not isinstance(line, ast.Assign):
                    continue
                targets = line.targets[0].elts if isinstance(line.targets[0], ast.Tuple) else line.targets
                values = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
                for target, value in zip(targets, values, strict=len(targets) > 1 and len(values) > 1):
                    name = target.id if isinstance(target, ast.Name) else ""
                    if name in OTHERS or f"{name}@{file.stem}" in OTHERS or not is_number(value):
                        continue
                    found[f"{file.stem}: {name}"] = float(eval(ast.unparse(value)))  # arithmetic of literals alone
    return found


def is_number(value: ast.expr) -> bool:
    """Whether an expression is arithmetic of literal numbers."""
    allowed = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    nodes = list(ast.walk(value))
    return all(isinstance(node, allowed) for node in nodes) and all(
        isinstance(node.value, int | float) for node in nodes if isinstance(node, ast.Constant)
    )


def test_the_page_has_every_constant_with_its_value_and_its_reason() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Constants")[2]
    rows = re.findall(r"^\| `(\w+: \w+)` \| ([\d.,]+)[^|]* \| (.+) \|$", text, re.MULTILINE)
    said = {name: float(value.replace(",", "")) for name, value, _ in rows}
    assert said == numbers()
    assert all(len(reason) > 20 for _, _, reason in rows)
