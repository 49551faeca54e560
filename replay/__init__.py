"""Trace and GPU description to cycles: ``simulate`` replays a trace, ``python -m replay`` writes the result."""

from typing import Any

from rayplay.formats.guard.code_cache import use_numba_cache

use_numba_cache("replay")


def simulate(*arguments: Any, **options: Any) -> Any:
    """``replay.simulate.simulate``, imported when it is called: it brings numba with it."""
    from rayplay.replay.run.driver import simulate as run

    return run(*arguments, **options)
