"""One HTML file: head, policy, style and script around the parts of a page, and the switch between views."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from rayplay.report.markup import Child, Markup, tag

BEGIN = '<!DOCTYPE html>\n<html lang="en" data-rayplay="report">'  # tells our pages from other files


def document(title: str, *parts: Child) -> str:
    """The HTML of a page, which asks no network for anything."""
    style, script = (files("rayplay.report").joinpath(name).read_text() for name in ("style.css", "script.js"))
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    head = tag(
        "head", tag("meta", charset="utf-8"), tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title), tag("style", Markup(style)),
    )  # fmt: skip
    tip = tag("div", id="tip", role="status", hidden=True)
    body = tag("body", tag("main", *parts), tip, tag("script", Markup(script)))
    return f"{BEGIN}{head}{body}</html>\n"


def of_run(number: int, children: Child, class_: str) -> Markup:
    """A part of the page that belongs to one run; without the script all are shown."""
    return tag("div", children, class_=class_, data_run=number)


def switch(names: Sequence[str]) -> Markup | None:
    """Buttons that choose the run, where there are several."""
    if len(names) == 1:
        return None
    buttons = [
        tag("button", name, type="button", data_show=number, aria_pressed="true" if number == 0 else "false")
        for number, name in enumerate(names)
    ]
    return tag("nav", *buttons, aria_label="Results", class_="switch")
