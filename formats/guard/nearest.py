"""The one rule for "did you mean": the known name that a mistyped one is nearest to."""

import difflib
from collections.abc import Iterable

LIKE = 0.5  # similarity of two words, from 0 to 1, from which on one may be meant by the other


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, or None when none is like it (ratio of ``difflib`` below ``LIKE``)."""
    near = difflib.get_close_matches(name, list(known), 1, LIKE)
    return near[0] if near else None


def meant(name: str, known: Iterable[str], before: str = "") -> str:
    """``before`` and ``did you mean 'x'?``, or nothing where no known name is near."""
    near = nearest(name, known)
    return f"{before}did you mean {near!r}?" if near else ""


def hint(name: str, known: Iterable[str]) -> str:
    """End of a message about an unknown name: ``did you mean 'x'?``, or all names where none is near."""
    names = list(known)
    return meant(name, names) or f"known are {', '.join(names) or 'none'}"
