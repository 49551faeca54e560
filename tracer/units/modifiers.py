"""The modifiers of an instruction while its plan is made: what nobody has understood in the end is an error."""

import re

from rayplay.ptx.ir import Instruction
from rayplay.tracer.units.call import UnknownFormError


class Modifiers:
    """``left`` are the modifiers not yet understood, in order; those of ``needed`` must be there."""

    def __init__(self, i: Instruction, needed: tuple[str, ...]) -> None:
        self.left = list(i.modifiers)
        for word in needed:
            if word not in self.left:
                raise UnknownFormError
            self.left.remove(word)

    def take(self, known: tuple[str, ...], count: int | None) -> list[str]:
        """Those of ``known`` among the modifiers, in order; ``UnknownFormError`` unless there are ``count``."""
        found = [word for word in self.left if word in known]
        if count is not None and len(found) != count:
            raise UnknownFormError
        self.left = [word for word in self.left if word not in known]
        return found

    def one(self, known: tuple[str, ...], default: str | None = None) -> str:
        """The one of ``known``; ``default`` stands for none."""
        found = self.take(known, None)
        if len(found) > 1 or (not found and default is None):
            raise UnknownFormError
        return found[0] if found else str(default)

    def flag(self, word: str) -> bool:
        """Whether a modifier is there."""
        return len(self.take((word,), None)) > 0

    def matching(self, pattern: re.Pattern[str]) -> str:
        """The one modifier of a shape."""
        name = next((word for word in self.left if pattern.fullmatch(word)), None)
        if name is None:
            raise UnknownFormError
        self.left.remove(name)
        return name

    def finish(self) -> None:
        """Nothing may be left."""
        if self.left:
            raise UnknownFormError
