"""Expansion of a pattern into forms, for the page about opcodes."""

import math
from collections.abc import Iterator, Sequence

from rayplay.ptx.isa.patterns import Slot, parsed

Form = tuple[str, tuple[str, ...]]
MOST_TRIED = 64  # forms of one pattern: all of them where there are no more


def expand(pattern: str, key: str) -> Iterator[Form]:
    """Forms of a pattern: all, or ``MOST_TRIED`` spread evenly and besides each word once, if there are more."""
    slots = [words_of(slot) for slot in parsed(pattern)]
    total = math.prod(len(words) for words in slots)
    numbers: Sequence[int] = range(total)
    if total > MOST_TRIED:
        step = round(total * 0.618)
        step += next(more for more in range(total) if math.gcd(step + more, total) == 1)
        numbers = sorted({n * step % total for n in range(MOST_TRIED)} | set(_each_word(slots)))
    for number in numbers:
        chosen = []
        for words in reversed(slots):
            number, place = divmod(number, len(words))
            chosen.append(words[place])
        yield key.split(".")[0], tuple(word for word in reversed(chosen) if word)


def words_of(slot: Slot) -> tuple[str, ...]:
    """The words that may fill a place of a pattern; empty for none."""
    return ("",) * slot.may_lack + slot.words


def _each_word(slots: list[tuple[str, ...]]) -> Iterator[int]:
    """Numbers of forms that have each word beside the first words of the other slots."""
    weight = 1
    for words in reversed(slots):
        yield from range(0, weight * len(words), weight)
        weight *= len(words)


def spell(form: Form) -> str:
    """The opcode with its modifiers."""
    return ".".join((form[0], *form[1]))
