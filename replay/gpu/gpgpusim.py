"""``gpgpusim.config`` of GPGPU-Sim, Accel-Sim and Vulkan-Sim as a GPU description: ``--gpu DIR/gpgpusim.config``.

A ``trace.config`` beside it is read with it. Options that describe something modelled become values of the description
(``gpgpusim_options``). One that asks for more is refused; one that changes no cycle, and one that
Accel-Sim does not register, is named by ``notes``, so that nothing is dropped in silence. What the files do not say is
as in ``accelsim-rtx2060``, except rules of the version of GPGPU-Sim that Vulkan-Sim is built on.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.text import read_text
from rayplay.replay.gpu.gpgpusim_options import (
    FIXED,
    OPTIONS,
    TOGETHER,
    VULKAN_SIM,
    OptionError,
    Values,
)
from rayplay.replay.gpu.reference_options import MODELLED, WITHOUT_EFFECT
from rayplay.replay.unit.schema import Text

BASE = "accelsim-rtx2060"
BESIDE = "trace.config"
_WORD = re.compile(r'\s+|#.*|"(?P<quoted>[^"]*)"|(?P<plain>[^\s"#]+)')
_NAME = re.compile(r"-([A-Za-z_][\w:.-]*)")


@dataclass(frozen=True)
class Option:
    """One option and where it stands."""

    text: str
    place: str
    line: int


def read_options(path: Path) -> dict[str, Option]:
    """The options of a file by name, the last of each; ``UserError`` names a line without an option."""
    options: dict[str, Option] = {}
    words = read_words(path)
    for word, number in words:
        name, (text, _) = _NAME.fullmatch(word), next(words, ("", 0))
        if name is None or not text or _NAME.fullmatch(text):
            raise UserError(f"{path}:{number}: must be '-option value', found {f'{word} {text}'.strip()[:60]!r}")
        options[name[1]] = Option(text, f"{path}:{number}", number)
    return options


def read_words(path: Path) -> Iterator[tuple[str, int]]:
    """The words of a file and their lines, as GPGPU-Sim reads it; a quotation, even over lines, is one word."""
    text, at, number = read_text(path, "configuration"), 0, 1
    while at < len(text):
        match = _WORD.match(text, at)
        if match is None:
            raise UserError(f"{path}:{number}: the quotation must end, found {text[at : at + 60].splitlines()[0]!r}")
        if match["quoted"] is not None:
            yield "".join(match["quoted"].split()), number
        elif match["plain"] is not None:
            yield match["plain"], number
        at, number = match.end(), number + match[0].count("\n")


def all_options(path: Path) -> dict[str, Option]:
    """The options of a configuration and of the ``trace.config`` beside it."""
    options = read_options(path)
    beside = path.with_name(BESIDE)
    if beside != path and beside.is_file():
        options |= read_options(beside)
    return options


def read_config(path: Path, base: Text) -> Text:
    """A configuration as the text of a description: ``base`` with what the options say, each with its place."""
    options = all_options(path)
    values = {key: dict(entry) if isinstance(entry, dict) else entry for key, entry in base.values.items()}
    comments = dict.fromkeys(base.comments, f"not in {path.name}: as {BASE}")
    lines: dict[str, int] = {}
    values["name"], comments["name"] = path.parent.name or path.stem, str(path)
    if not {*OPTIONS, *TOGETHER}.intersection(options):
        raise UserError(f"{path}: must have an option that describes a GPU, such as -gpgpu_n_clusters, and has none")
    given = {name: option.text for name, option in options.items()}
    for name, option in options.items():
        try:
            found = OPTIONS[name](option.text) if name in OPTIONS else {}
            if name in TOGETHER:
                found |= TOGETHER[name](given)
            if name in FIXED and option.text.replace(" ", "") not in FIXED[name]:
                raise OptionError(f"must be {' or '.join(FIXED[name])}: others are not modelled")
        except OptionError as error:
            raise UserError(f"{option.place}: -{name} {error}, found {option.text[:100]!r}") from None
        _assign(values, comments, lines, found, option)
    if _is_vulkan_sim(options):
        for key, meant in VULKAN_SIM.items():
            section, field = key.split(".")
            if values[section][field] in meant:
                values[section][field] = meant[values[section][field]]
                comments[key] += ", in Vulkan-Sim"
    return Text(str(path), values, lines, comments)


def _is_vulkan_sim(options: dict[str, Option]) -> bool:
    """Whether a configuration is for Vulkan-Sim: it has an option of the RT unit."""
    return any(name.startswith("gpgpu_rt_") for name in options)


def _assign(
    values: dict[str, Any], comments: dict[str, str], lines: dict[str, int], found: Values, option: Option
) -> None:
    for key, value in found.items():
        section, _, field = key.rpartition(".")
        values[section][field] = value
        comments[key], lines[key] = option.place, option.line


def notes(path: Path) -> Iterator[str]:
    """Options of a configuration by their use, in counts and names."""
    options = all_options(path)
    used = [name for name in options if name in MODELLED]
    agreeing = [name for name in options if name in FIXED]
    quiet = [name for name in options if name in WITHOUT_EFFECT]
    rest = [name for name in options if name not in (*used, *agreeing, *quiet)]
    yield f"{path}: {len(used)} options became values, {len(agreeing)} say what is modelled anyway"
    if _is_vulkan_sim(options):
        yield f"options of Vulkan-Sim's RT unit are given: {', '.join(VULKAN_SIM)} as in its GPGPU-Sim 4.0"
    if quiet:
        yield f"{len(quiet)} options change no cycle of a trace: {', '.join(f'-{name}' for name in quiet)}"
    if rest:
        listed = ", ".join(f"-{name}" for name in rest)
        yield f"warning: {len(rest)} options are none of Accel-Sim's, and ignored: {listed}"
