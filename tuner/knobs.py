"""Candidates of a frame: the values of one rendering parameter or, where its least is too much, of the next."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rayplay.tuner.settings import Settings

KNOBS = ("occlusion_rays", "shadow_rays", "samples", "radius", "scale")
STEP = 0.125
"""Rays between two candidates."""
RADII, LEAST_RADIUS, MOST_RADIUS = 49, 0.01, 1.0
SCALES, LEAST_SCALE = 49, 0.25
LOOKS = 4
"""Values of a radius or a scale that are looked at; the time of others lies between theirs."""


@dataclass(frozen=True)
class Knob:
    """A parameter and its values.

    name      field of ``Settings``.
    values    float64[n], in ascending quality.
    looked    values at which a frame is looked at; none of a number of rays, whose work is a straight line.
    knots     values whose time the model predicts; the time of others lies on straight lines between them.
    """

    name: str
    values: NDArray[np.float64]
    looked: tuple[float, ...]
    knots: tuple[float, ...]


def knob(name: str, most: float = 64, step: float = STEP) -> Knob:
    """A knob by its name. ``most`` and ``step`` are of numbers of rays or samples; the others have their own values."""
    if name in ("radius", "scale"):
        ends = (RADII, LEAST_RADIUS, MOST_RADIUS) if name == "radius" else (SCALES, LEAST_SCALE, 1.0)
        values = np.geomspace(ends[1], ends[2], ends[0])
        looked = tuple(values[:: (ends[0] - 1) // LOOKS].tolist())
        return Knob(name, values, looked, looked)
    least = 1.0 if name == "samples" else 0.0
    values = np.arange(least, max(most, least) + step / 2, step)
    whole = [least, *(float(2**power - 1) for power in range(1, 32) if least < 2**power - 1 < values[-1])]
    return Knob(name, values, (), tuple(dict.fromkeys([*whole, float(values[-1])])))


@dataclass(frozen=True)
class Section:
    """Candidates that differ in one knob; ``settings`` gives their other parameters."""

    knob: Knob
    settings: Settings

    def at(self, value: float) -> Settings:
        """Settings of a value."""
        return replace(self.settings, **{self.knob.name: float(value)})


@dataclass(frozen=True)
class Candidates:
    """All candidates in ascending quality: ``sections`` one after another, int ``index`` from 0."""

    sections: tuple[Section, ...]

    @cached_property
    def settings(self) -> list[Settings]:
        """Settings of each candidate."""
        return [section.at(value) for section in self.sections for value in section.knob.values]

    def place(self, index: int) -> tuple[str, float]:
        """The knob of a candidate, and its value."""
        for section in self.sections:
            if index < len(section.knob.values):
                return section.knob.name, float(section.knob.values[index])
            index -= len(section.knob.values)
        raise IndexError(index)

    @cached_property
    def work(self) -> NDArray[np.float64]:
        """Work of each candidate (``Settings.work``)."""
        return np.array([settings.work for settings in self.settings])


def candidates(knobs: Sequence[Knob], settings: Settings) -> Candidates:
    """Candidates of ``knobs``: values of the first one; below them, with its least, values of the second, and so on.

    settings  gives what no knob does; a later knob has its best value while an earlier one varies.
    """
    sections: list[Section] = []
    for number, each in enumerate(knobs):
        lowest = {before.name: float(before.values[0]) for before in knobs[:number]}
        best = {after.name: float(after.values[-1]) for after in knobs[number + 1 :]}
        sections.insert(0, Section(each, replace(settings, **lowest, **best)))
    return Candidates(tuple(sections))
