"""Fuzzing of the PTX parser: mutations of our own files give a UserError or a module, and the module prints and parses.

``python -m tests.ptx.text.fuzz SEED COUNT`` runs as many mutations as asked for; the tests run a few.
"""

import random
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.text.parser import parse
from rayplay.ptx.text.printer import print_module
from rayplay.ptx.verifier.code import verify

ROOT = Path(__file__).resolve().parents[3]
TOKEN = re.compile(r"\s+|[\w$%.:]+|.", re.DOTALL)
LONGEST = 6000  # characters of a mutated text
SLOWEST_S = 5.0


def own_texts() -> list[str]:
    """The PTX files of the repository, in an order that does not change."""
    found = [path for folder in ("tests", "tracer") for path in sorted((ROOT / folder).rglob("*.ptx"))]
    return [path.read_text() for path in found]


def mutated(texts: Sequence[str], words: Sequence[str], chance: random.Random) -> str:
    """One to three changes of bytes, tokens and lines, or a splice, in a part of one of the texts."""
    text = chance.choice(texts)
    if len(text) > LONGEST:
        start = text.index("\n", chance.randrange(len(text) - LONGEST))
        text = text[:200] + text[start : start + LONGEST]
    for _ in range(chance.randrange(1, 4)):
        at, length = chance.randrange(len(text) + 1), chance.randrange(1, 40)
        change = chance.randrange(6)
        if change == 0:
            text = text[:at] + text[at + length :]
        elif change == 1:
            text = text[:at] + chr(chance.randrange(300)) + text[at:]
        elif change == 2:
            text = text[:at] + text[at : at + length] * chance.randrange(2, 50) + text[at + length :]
        elif change == 3:
            text = text[:at] + chance.choice(words) + text[at:]
        elif change == 4:
            other = chance.choice(texts)
            start = chance.randrange(len(other))
            text = text[:at] + other[start : start + 500] + text[at:]
        else:
            lines = text.split("\n")
            one, two = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[one], lines[two] = lines[two], lines[one]
            text = "\n".join(lines)
    return text


def run_one(text: str) -> bool:
    """Whether the text is a module, which then verifies, prints and parses again. Only UserError may come out."""
    try:
        module = parse(text, "mutated")
    except UserError:
        return False
    verify(module)
    printed = print_module(module)
    assert print_module(parse(printed, "printed")) == printed
    return True


def fuzz(seed: int, count: int) -> int:
    """``count`` mutations; how many of them are modules. Raises what must not come out, with the text."""
    texts = own_texts()
    words = [word for text in texts for word in TOKEN.findall(text[:3000])]
    chance = random.Random(seed)
    modules = 0
    for number in range(count):
        text = mutated(texts, words, chance)
        start = time.process_time()
        try:
            modules += run_one(text)
        except Exception as error:
            error.add_note(f"mutation {number} of seed {seed}:\n{text}")
            raise
        assert time.process_time() - start < SLOWEST_S, f"mutation {number} of seed {seed} takes too long"
    return modules


if __name__ == "__main__":
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    print(f"{count} mutations of seed {seed}: {fuzz(seed, count)} modules, the rest refused")
