"""``docs/opcodes.md``: instructions that are parsed, the executed ones among them, their classes and timing.

Whether a form is executed is what lowering it says (``tracer.opcodes.trial``); nothing on the page is written by hand
but its sentences.
"""

from collections.abc import Iterator
from itertools import groupby

from rayplay.formats.exchange.accelsim import sass_classes
from rayplay.ptx.isa.describe import DESTINATION_ROLES
from rayplay.ptx.isa.form import form_of
from rayplay.ptx.isa.patterns import WORDS
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.timing.pipelines import RTX2060, VARIABLE_LATENCY_CLASSES
from rayplay.tracer.opcodes.patterns import MOST_TRIED, spell
from rayplay.tracer.opcodes.trial import Trial, try_all

LONGEST_CELL = 150  # characters of patterns in the table; a longer cell has a list of its own
SHOWN = 6  # refused forms that are listed one by one where no word tells them

HEAD = """\
# Opcodes

This page is made from the opcode tables by `python -m tracer opcodes`; `make docs` writes it, and a test fails when it
differs. Verification, interpreter, machine code and characterisation read the same tables: `ptx/isa/`
(a row an opcode, by family) and `ptx/timing/pipelines.py` (latencies).

**{opcodes} opcodes in {patterns} patterns** are parsed and verified: {yes} are executed in every form, {partly} in
some, {no} not at all ([what is not executed](#parsed-and-verified-but-not-executed)). Executed means that it can be
lowered to machine code: to make this page, all forms of each pattern were, or {most} of them and each word once where
there are more ({tried:,} in all). The tests hold the interpreter equal to machine code. The rest, and opcodes that are
not listed, parse too; a launch that needs one ends before it starts, with an error that names opcode and line, and so
does a form that PTX lacks.

## PTX

- **forms**: the modifiers after the opcode, a comma between patterns. `a/b` is one of the words, `a?` may be left out,
  and capitals are the [words below](#words-of-forms). Modifiers that name the row are not repeated. `—`: none. Of
  bulk copies, `multimem`, `mma`, `wgmma` and `tcgen05` these are the usual forms; the verifier takes more.
- **class**, **unit** as in [traces](formats.md); several where they depend on the type.
- **cycles**: from the issue of an instruction until one that needs its result can issue, on the RTX 2060 (pipeline
  `rtx2060`, the unit's latency + {depth}). `memory`: the replay's memory decides. `—`: nothing
  waits.

| opcode | forms | executed | class | unit | cycles |
|---|---|---|---|---|---|
"""
NOT_EXECUTED = """
## Parsed and verified, but not executed

After `with` stand the modifiers that are not executed; the other forms of the opcode, or of the pattern, are.

"""
SASS = """
## SASS

Listings (`python -m ptx`) and imported Accel-Sim traces are classed by `formats/exchange/accelsim/sass_classes.py`;
SASS is analysed and replayed, never executed.

| class | unit | opcodes |
|---|---|---|
"""


def page() -> str:
    """The text of docs/opcodes.md."""
    trials = {key: list(group) for key, group in groupby(try_all(sorted(TABLE)), lambda trial: trial.key)}
    states = {key: executed(group) for key, group in trials.items()}
    count = list(states.values()).count
    head = HEAD.format(
        opcodes=len(trials), patterns=sum(map(len, trials.values())), yes=count("yes"), partly=count("partly"),
        no=count("no"), most=MOST_TRIED, depth=RTX2060.depth_cycles,
        tried=sum(len(trial.tried) for group in trials.values() for trial in group),
    )  # fmt: skip
    rows = [_row(key, group, states[key]) for key, group in trials.items()]
    return "\n".join(
        (head + "\n".join(rows), *_long_lists(), *_words(), NOT_EXECUTED + "\n".join(_refusals(trials)),
         SASS + "\n".join(_sass_rows()), "")
    )  # fmt: skip


def executed(trials: list[Trial]) -> str:
    """``yes``, ``partly`` or ``no`` for the patterns of an opcode."""
    refused = sum(len(trial.refused) for trial in trials)
    tried = sum(len(trial.tried) for trial in trials)
    return "yes" if refused == 0 else "no" if refused == tried else "partly"


def _row(key: str, trials: list[Trial], state: str) -> str:
    timings: dict[tuple[str, str, str], None] = {}
    for trial in trials:
        for opcode, modifiers in trial.tried:
            form = form_of(opcode, modifiers)
            timing = RTX2060.timing(form.operation_class, TABLE[key].timing, form.type)
            cycles = str(RTX2060.result_cycles(timing))
            if not any(role.lstrip("?") in DESTINATION_ROLES for role in TABLE[key].roles.split()):
                cycles = "—"
            elif form.operation_class in VARIABLE_LATENCY_CLASSES:
                cycles = "memory"
            timings[form.operation_class, timing.unit, cycles] = None
    columns = [" / ".join(column) if len(set(column)) > 1 else column[0] for column in zip(*timings, strict=True)]
    return f"| `{key}` | {_cell(key)} | {state} | {' | '.join(columns)} |"


def _cell(key: str) -> str:
    shown = shown_patterns(key)
    text = ", ".join(f"`{pattern}`" if pattern else "—" for pattern in shown)
    return f"[{len(shown)} patterns](#{_anchor(key)})" if len(text) > LONGEST_CELL else text


def _anchor(key: str) -> str:
    return "forms-of-" + "".join(letter for letter in key if letter.isalnum() or letter in "_-")


def shown_patterns(key: str) -> list[str]:
    """The patterns of an opcode as the page writes them, without the words that the opcode's name has already."""
    return list(_gathered([_shown(key, pattern) for pattern in TABLE[key].patterns]))


def _shown(key: str, pattern: str) -> str:
    named, words = key.split(".")[1:], pattern.split()
    return " ".join(words[len(named) :] if words[: len(named)] == named else words).replace("|", "/")


def _gathered(made: list[str]) -> Iterator[str]:
    """Patterns that differ only in how wide an access is, as one."""
    place = 0
    while place < len(made):
        for name, endings in GATHERED.items():
            start = made[place].removesuffix(endings[0])
            if start != made[place] and made[place : place + len(endings)] == [start + ending for ending in endings]:
                yield start + name
                place += len(endings)
                break
        else:
            yield made[place]
            place += 1


GATHERED = {"DATA": ("TYPE", "v2 TYPE2", "v4 TYPE4"), "WIDE256": ("v8 WORD32", "v4 WORD64")}


def _long_lists() -> Iterator[str]:
    yield "\n## Long lists of forms\n"
    for key in sorted(TABLE):
        if _cell(key).startswith("["):
            yield "\n".join((f"### Forms of {key}\n", "```", *shown_patterns(key), "```", ""))


def _words() -> Iterator[str]:
    """The capitals that patterns have."""
    used = {
        word
        for key in sorted(TABLE)
        for pattern in TABLE[key].patterns
        for slot in pattern.split()
        for word in slot.rstrip("?").split("|")
    }
    yield "## Words of forms\n"
    yield "| word | one of |\n|---|---|"
    gathered = {name: ", ".join(f"`{ending}`" for ending in endings) for name, endings in GATHERED.items()}
    words = {name: f"`{text.replace('|', ' ')}`" for name, text in WORDS.items() if name in used}
    yield "\n".join(f"| {name} | {text} |" for name, text in sorted({**gathered, **words}.items()))


def _refusals(trials: dict[str, list[Trial]]) -> Iterator[str]:
    whole = [key for key, group in trials.items() if executed(group) == "no"]
    yield "- all forms of " + ", ".join(f"`{key}`" for key in whole)
    for key, group in trials.items():
        if key not in whole and executed(group) != "yes":
            yield from (f"- `{key}` {text}" for text in refusals(group))


def refusals(trials: list[Trial]) -> list[str]:
    """The refused forms of an opcode: those with certain words; whole patterns; the rest pattern by pattern."""
    told = _telling(trials)
    texts = [_with(told)] if told else []
    for trial in trials:
        left = [form for form in trial.refused if not set(form[1]) & set(told)]
        own = _telling([trial])
        pattern = f"`{_shown(trial.key, trial.pattern)}`"
        if not left:
            continue
        if len(trial.refused) == len(trial.tried):
            texts.append(pattern)
        elif all(set(form[1]) & set(own) for form in left):
            texts.append(f"{pattern} {_with(own)}")
        else:
            shown = ", ".join(f"`{spell(form)}`" for form in left[:SHOWN])
            texts.append(f"{pattern}: {len(left)} of {len(trial.tried)} that were tried, such as {shown}")
    return texts


def _telling(trials: list[Trial]) -> list[str]:
    """Words that no executed form of these patterns has, beside others that one has."""
    taken = {word for trial in trials for form in trial.tried if form not in trial.refused for word in form[1]}
    partly = [trial for trial in trials if 0 < len(trial.refused) < len(trial.tried)]
    return [w for w in dict.fromkeys(w for t in partly for form in t.refused for w in form[1]) if w not in taken]


def _with(words: list[str]) -> str:
    return "with " + ", ".join(f"`{word}`" for word in words)


def _sass_rows() -> Iterator[str]:
    """Classes of SASS, with opcodes of one unit together."""
    members: dict[tuple[str, str], list[str]] = {}
    for opcode, name in sass_classes.CLASSES.items():
        members.setdefault((name, sass_classes.unit(opcode)), []).append(opcode)
    for (name, unit), opcodes in members.items():
        yield f"| {name} | {unit} | {' '.join(opcodes)} |"
