"""Names without a suffix: ``bunny`` for ``bunny.trace`` here, in ``traces/`` or in ``results/``.

The functions at the end are types of command-line arguments. ``sample`` is the trace that comes with the package.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rayplay.formats.guard.errors import FormatError
from rayplay.formats.guard.nearest import meant
from rayplay.formats.place.location import is_local, location

TRACE = (".trace", ".trace.h5", ".trace.hdf5")
RESULT = (".result",)
PREDICTION = (".prediction",)
PROFILE = (".profile",)
ENERGY = (".energy",)
KNOWN = (*TRACE, *RESULT, *PREDICTION, *PROFILE, *ENERGY)
FOLDERS = (".", "traces", "results")
SHIPPED = Path(__file__).parents[2]  # holds sample.trace


def completed(given: str, suffixes: Sequence[str], kind: str) -> Path:
    """``given``, with the first of ``suffixes`` and the first of ``FOLDERS`` under which something exists.

    A name that exists, has a known suffix or is a URL stays as it is. ``FormatError`` suggests the nearest name when
    nothing fits; without a near one the name stays as it is, and opening it fails.
    """
    path = location(given)
    if not is_local(path) or given.endswith(KNOWN) or path.exists():
        return path
    for suffix in suffixes:
        for folder in (*FOLDERS, SHIPPED):
            candidate = Path(folder) / f"{given}{suffix}"
            if candidate.exists():
                return candidate
    if near := meant(given, present(suffixes)):
        raise FormatError(f"no such {kind}; {near}", file=given)
    return path


def present(suffixes: Sequence[str] = KNOWN) -> Iterator[str]:
    """Names without suffix of what lies in ``FOLDERS``, and of the trace that comes with the package."""
    for folder in (*FOLDERS, SHIPPED):
        for path in sorted(Path(folder).glob("*.*")):
            suffix = next((one for one in suffixes if path.name.endswith(one)), None)
            if suffix is not None:
                yield path.name.removesuffix(suffix)


trace_name = partial(completed, suffixes=TRACE, kind="trace")
result_name = partial(completed, suffixes=RESULT, kind="result")
prediction_name = partial(completed, suffixes=PREDICTION, kind="prediction")
any_name = partial(completed, suffixes=KNOWN, kind="file")  # looked for in this order
