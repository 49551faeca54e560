"""Names of choices, for the command line, which imports no array."""

VARYINGS = ("l2", "chip")
TARGETS = {"rgba32f": 16, "rgba8": 4}
"""Bytes of a pixel."""
