"""Rules of step 5 in which the released code departs from the paper's text.

Source: ``docs/sources/zatel-code.md#fraction, #blocks, #pixel-list``.
"""

import math

import numpy as np

from rayplay.formats.guard import exact

SCALE = 0.5  # num_pixels_scale
LEAST, MOST = 0.05, 0.6
BUFFER_BYTES = 8192  # of the file that is never closed


def warm_fraction(warmth: np.ndarray) -> float:
    """Half the mean warmth of the group's pixels, at least 0.05, then at most 0.6; equation (1) has the coldness."""
    return min(max(float(np.mean(warmth)) * SCALE, LEAST), MOST)


def colour_shares(warmth: np.ndarray, power: int, pixels: int) -> np.ndarray:
    """float64[colours]: p_j = a_j / sum over the colours of a, where a_j = (1 - o) * warmth^power + o, o = 64 / pixels.

    Equations (2) and (3) sum over the pixels, so that there a frequent colour has a larger share.
    """
    offset = 64 / pixels
    weight = (1 - offset) * np.array([exact.power(value, power) for value in warmth.tolist()]) + offset
    return weight / weight.sum()


def extra_block(weights: np.ndarray, pixels: int, share: float, block: tuple[int, int]) -> np.ndarray:
    """int64[colours]: ceil(p_j n) + 1 blocks for each colour, n = ceil(share * pixels / pixels of a block)."""
    count = math.ceil(share * pixels / (block[0] * block[1]))
    return np.ceil(weights / weights.sum() * count - 1e-9).astype(np.int64) + 1


def choose_cold_first(colour_of_block: np.ndarray, quota: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The chosen blocks in the order of choice, colour by colour from the coldest.

    A colour without a block in the group gets none. One whose blocks run out, for example because a colder colour took
    them, takes any block that is left.
    """
    left = np.ones(len(colour_of_block), bool)
    chosen: list[int] = []
    for colour, count in enumerate(quota):
        is_mine = colour_of_block == colour
        if not is_mine.any():
            continue
        for _ in range(int(count)):
            candidates = np.flatnonzero(left & is_mine)
            if not candidates.size:
                candidates = np.flatnonzero(left)
            if not candidates.size:
                break
            block = int(random.choice(candidates))
            left[block] = False
            chosen.append(block)
    return np.array(chosen, np.int64)


def read_back(x: np.ndarray, y: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """bool[height, width]: the pixels that a simulator finds in the list ``x y`` when its last buffer was not written.

    The file ends after the last whole 8 KiB, perhaps within a number; the digits before the cut are read as the number.
    """
    text = "".join(f"{column} {row}\n" for column, row in zip(x.tolist(), y.tolist(), strict=True))
    visible = text[: len(text) // BUFFER_BYTES * BUFFER_BYTES]
    found = np.zeros(shape, bool)
    for line in visible.splitlines():
        words = line.split()
        if len(words) == 2:
            found[int(words[1]), int(words[0])] = True
    return found
