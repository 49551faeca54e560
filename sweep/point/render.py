"""Render a scene by the tracer's own verb, in this process."""

from pathlib import Path
from typing import Any


def render(subject: str, out: Path, options: dict[str, Any]) -> None:
    """Render ``subject`` to the trace ``out``; options as of ``rayplay trace``. ``UserError`` as the verb raises it."""
    from rayplay.tracer.__main__ import parser, perform

    words = ["render", subject, "--out", str(out)]
    words += [word for name, value in sorted(options.items()) for word in (f"--{name}", str(value))]
    arguments = parser().parse_args(words)
    arguments.records = []  # nothing is printed
    perform(arguments)
