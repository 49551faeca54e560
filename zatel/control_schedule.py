"""How long the GPU takes to run its warps, from their work alone: ramp-up, steady state and drain.

Each SM holds some warps and shares its throughput among them: with n warps resident each advances by
min(1, saturation / n) steps a cycle. Few warps run as fast as they can, many share what there is; so the drain at the
end, where the last long warps are alone, is neither ignored nor stretched with the rest.
"""

from pathlib import Path

import numpy as np
from numba import njit

from formats.code_cache import use_numba_cache

use_numba_cache(Path(__file__).parent)

SATURATIONS = np.geomspace(0.5, 64.0, 29)  # warps; below the first the work alone counts, above the last the warps


@njit(cache=True)
def makespan(work: np.ndarray, sms: int, places: int, saturation: float) -> tuple[float, float]:
    """Cycles until all warps are over, and the mean number of resident warps of an SM meanwhile.

    work        float64[warps], steps of each, in launch order; a free place takes the next warp.
    saturation  warps that use the whole throughput of an SM.
    """
    ends = np.full((sms, places), np.inf)  # in steps of its SM that a warp would have made alone
    done, held, moved = np.zeros(sms), np.zeros(sms, np.int64), np.zeros(sms)
    following, now, resident = 0, 0.0, 0.0
    for place in range(places):
        for sm in range(sms):
            if following < work.size:
                ends[sm, place] = work[following]
                held[sm] += 1
                following += 1
    while True:
        soonest, of = np.inf, -1
        for sm in range(sms):
            if held[sm]:
                at = moved[sm] + (ends[sm].min() - done[sm]) * max(1.0, held[sm] / saturation)
                if at < soonest:
                    soonest, of = at, sm
        if of < 0:
            return now, resident / (sms * now) if now > 0.0 else 0.0
        place = ends[of].argmin()
        resident += held[of] * (soonest - moved[of])
        done[of], moved[of], now = ends[of, place], soonest, soonest
        if following < work.size:
            ends[of, place] = done[of] + work[following]
            following += 1
        else:
            ends[of, place] = np.inf
            held[of] -= 1


def fit_saturation(work: np.ndarray, sms: int, places: int, resident: float) -> float:
    """The saturation with which the sample's warps are as many at a time as its replay found, ``resident`` an SM."""
    found = np.array([makespan(work, sms, places, float(saturation))[1] for saturation in SATURATIONS])
    return float(SATURATIONS[np.abs(found - resident).argmin()])
