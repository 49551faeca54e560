"""The raster units of a GPU as each SM sees its share of them: colours take time one after another, depths before CTAs.

Source: docs/sources/choices.md#raster-operations.
"""

from fractions import Fraction
from math import ceil, floor

from .config import RasterConfig


class Rop:
    """An SM's share, in cycles and their fractions."""

    def __init__(self, config: RasterConfig, sms: int) -> None:
        self.config, self.sms = config, sms
        self.written = Fraction(0)
        self.begun = 0
        self.started = 0
        self.counts = {"bytes": 0, "cycles": 0, "waits": 0, "tests": 0, "test_cycles": 0}

    def take(self, now: int, size: int) -> bool:
        """Whether a store of that many bytes is begun, or waits as the only one."""
        if not self.config.colour_pixels:
            return True
        if self.begun > now:
            self.counts["waits"] += 1
            return False
        begins = max(self.written, Fraction(now))
        self.written = begins + Fraction(size * self.sms, self.config.pixel_bytes * self.config.colour_pixels)
        self.begun = floor(begins)
        self.counts["bytes"] += size
        self.counts["cycles"] += floor(self.written) - floor(begins)
        return True

    def test_cycles(self, tests: int, ctas: int) -> int:
        """Cycles of the tests before each CTA of a draw."""
        if not self.config.depth_pixels:
            return 0
        return ceil(Fraction(tests, ctas) * self.sms / self.config.depth_pixels)

    def is_tested(self, start: int, opened: int, tests: int, ctas: int) -> bool:
        """Whether a CTA of a draw that opened in a cycle may start in one."""
        cycles = self.test_cycles(tests, ctas)
        return not cycles or start >= max(self.started, opened) + cycles

    def start(self, start: int, tests: int, number: int, ctas: int) -> None:
        """A CTA of a draw starts, the one of that number."""
        cycles = self.test_cycles(tests, ctas)
        if cycles:
            self.started = start
            self.counts["test_cycles"] += cycles
            self.counts["tests"] += (number + 1) * tests // ctas - number * tests // ctas
