"""Axes of a design: grid, zip, list, random and Latin hypercube samples, and their product."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np

from rayplay.formats.guard import exact
from rayplay.formats.guard.errors import UserError
from rayplay.sweep.space.file import Design, Range, Sampled

Values = Mapping[str, Any]


def design_count(axes: Design) -> int:
    """How many designs there are, before any is made; a kind without axes or values counts as one."""
    kinds = [len(values) for values in axes.grid.values()]
    kinds += [max((len(values) for values in axes.zip.values()), default=1), len(axes.list)]
    kinds += [each.count for each in (axes.random, axes.latin) if each]
    return prod(max(each, 1) for each in kinds)


def designs(axes: Design) -> list[Values]:
    """Every combination of the axes, each a value by key of a GPU; one empty design without axes.

    Raises ``UserError`` for a key on two axes, an axis without values and columns of a zip of different lengths.
    """
    kinds: list[list[Values]] = [list(grid(axes.grid)), list(zipped(axes.zip))]
    kinds += [list(axes.list) or [{}]]
    kinds += [list(sample(each, is_latin)) for each, is_latin in ((axes.random, False), (axes.latin, True)) if each]
    seen: dict[str, int] = {}
    for number, kind in enumerate(kinds):
        for key in {key for values in kind for key in values}:
            if key in seen:
                raise UserError(f"design: {key} must stand on one axis, but stands on two")
            seen[key] = number
    return [{key: value for part in parts for key, value in part.items()} for parts in product(*kinds)]


def grid(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[Values]:
    """Product of the axes, the last the fastest."""
    for key, values in axes.items():
        if not values:
            raise UserError(f"design.grid: {key} must have a value at least")
    for values in product(*axes.values()):
        yield dict(zip(axes, values, strict=True))


def zipped(axes: Mapping[str, tuple[Any, ...]]) -> Iterator[Values]:
    """Row by row: the nth value of every axis together."""
    lengths = {key: len(values) for key, values in axes.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise UserError(f"design.zip: axes must have the same number of values, found {found}")
    if not axes:
        yield {}
        return
    for values in zip(*axes.values(), strict=True):
        yield dict(zip(axes, values, strict=True))


def sample(wanted: Sampled, is_latin: bool) -> Iterator[Values]:
    """Draw designs: independently, or as a Latin hypercube, in which each of ``count`` parts of every axis has one."""
    keys = list(wanted.ranges)
    if not keys:
        raise UserError(f"design.{'latin' if is_latin else 'random'}: ranges must have a key at least")
    if is_latin:
        from scipy.stats import qmc

        at = qmc.LatinHypercube(len(keys), rng=np.random.default_rng(wanted.seed)).random(wanted.count)
    else:
        at = np.random.default_rng(wanted.seed).random((wanted.count, len(keys)))
    for row in at.tolist():
        yield {key: value_at(wanted.ranges[key], place) for key, place in zip(keys, row, strict=True)}


def value_at(range_: Range, place: float) -> Any:
    """The value at a place from 0 to 1 (excluded) of a range."""
    if range_.choices:
        return range_.choices[int(place * len(range_.choices))]
    low, high = range_.low, range_.high
    assert low is not None
    assert high is not None
    whole = isinstance(low, int) and isinstance(high, int)
    is_log = range_.scale == "log"
    found = low * exact.power((high + whole) / low, place) if is_log else low + (high + whole - low) * place
    return min(int(found), int(high)) if whole else float(f"{found:.6g}")
