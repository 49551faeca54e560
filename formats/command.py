"""How every ``python -m PACKAGE`` ends: one clear line and exit code 2 for whatever the user can mend."""

import sys
from collections.abc import Callable

from formats.errors import UserError

EXIT_USER_ERROR = 2


def run(name: str, main: Callable[[], int | None]) -> None:
    """Run ``main`` and leave the process.

    Exit code 0 (or what ``main`` returns); 2 with one line on standard error after a ``UserError``,
    an ``OSError`` (a full disk, a missing file) or Ctrl-C.
    """
    try:
        code = main() or 0
    except UserError as error:
        code = _fail(name, str(error))
    except KeyboardInterrupt:
        code = _fail(name, "interrupted; nothing was written under a final name")
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone: silence is the convention
        code = EXIT_USER_ERROR
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        code = _fail(name, f"{place}{error.strerror or error}")
    raise SystemExit(code)


def _fail(name: str, message: str) -> int:
    print(f"{name}: error: {' '.join(message.split())}", file=sys.stderr)
    return EXIT_USER_ERROR
