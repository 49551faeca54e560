"""Compare two results: each common metric, and the difference of the first from the second."""

from collections.abc import Iterator

from rayplay.formats.dataset.result import Result

EXACT = 1 << 53  # from here on a float has no ones digit


def compare(ours: Result, theirs: Result) -> Iterator[str]:
    """Both names, then a line a metric: both values, the difference from ``theirs`` (of ratios in points), the unit."""
    yield f"A: {ours.path.name}   B, the base of the differences: {theirs.path.name}"
    left, right = ours.summary, theirs.summary
    shared = [metric for metric in left if metric in right]
    width = max(map(len, shared), default=6)
    yield f"{'metric':<{width}}  {'A':>16}  {'B':>16}  {'A from B':>14}  unit"
    for metric in shared:
        values = left[metric]["value"], right[metric]["value"]
        shown = "  ".join(f"{shown_value(value):>16}" for value in values)
        yield f"{metric:<{width}}  {shown}  {difference(*values, left[metric]['unit']):>14}  {left[metric]['unit']}"
    for result, other in ((left, right), (right, left)):
        missing = [metric for metric in result if metric not in other]
        if missing:
            yield f"only in {'A' if result is left else 'B'}: {', '.join(missing)}"


def shown_value(value: float | None) -> str:
    """Every digit of a whole number, as a replay prints it; six of any other."""
    if value is None:
        return "undefined"
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < EXACT)
    return f"{int(value):,}" if whole else f"{value:,.6g}"


def change(ours: float | None, theirs: float | None, unit: str) -> float | None:
    """Difference for a share (unit 1), else relative to ``theirs``; None where it is undefined."""
    if ours is None or theirs is None or not (unit == "1" or theirs):
        return None
    return ours - theirs if unit == "1" else ours / theirs - 1


def difference(ours: float | None, theirs: float | None, unit: str) -> str:
    """Percentage points for a share (unit 1), else percent of ``theirs``."""
    found = change(ours, theirs, unit)
    return "" if found is None else f"{100 * found:+.2f} {'points' if unit == '1' else '%'}"
