"""HTML and SVG by construction: text is escaped wherever it enters, so that no name of a file becomes markup."""

from html import escape
from typing import TypeAlias


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child: TypeAlias = "str | int | float | list[Child] | tuple[Child, ...] | None"
VOID = {"img", "meta", "input", "br", "rect", "path", "line", "polygon", "circle", "image"}


def text(child: Child) -> str:
    """Markup of a child; a list is joined, None is nothing, any text but ``Markup`` is escaped."""
    if isinstance(child, Markup):
        return child
    if isinstance(child, (list, tuple)):
        return "".join(map(text, child))
    return "" if child is None else escape(printable(str(child)))


def printable(given: str) -> str:
    """``given`` with a replacement character for each control character and surrogate, which HTML may not hold."""
    return "".join("\ufffd" if unprintable(letter) else letter for letter in given)


def unprintable(letter: str) -> bool:
    """Whether a character would change how the page is read: controls, surrogates, overrides of the direction."""
    code = ord(letter)
    control = (code < 32 and letter not in "\t\n") or 127 <= code < 160
    return control or 0xD800 <= code < 0xE000 or 0x202A <= code < 0x202F or 0x2066 <= code < 0x206A


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """An element.

    attributes  ``class_`` is ``class``, and ``data_tip`` is ``data-tip``; True stands alone, None and False are left
                out. A float has at most two decimals, as coordinates need.
    """
    words = [name]
    for key, value in attributes.items():
        key = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(key)
        elif value is not None and value is not False:
            shown = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else printable(str(value))
            words.append(f'{key}="{escape(shown)}"')
    opened = " ".join(words)
    if name in VOID:
        return Markup(f"<{opened}/>")
    return Markup(f"<{opened}>{text(children)}</{name}>")
