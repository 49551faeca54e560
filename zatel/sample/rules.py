"""Rules of the estimator beyond its skeleton, each a term that can be switched off.

The skeleton is a stratified sample, replayed on a machine of its size with the whole L2; a schedule of all warps gives
the cycles, and functional caches of all warps and of the sample correct the counts. The study of the rules
(``study.ablation``) estimates with and without each.
"""

from typing import NamedTuple


class Rules(NamedTuple):
    """Which rules hold.

    contents  BVH records, or without rays lines, that other CTAs fetched before are in the sample's L2
              (``rows.held_before``).
    bounds    no window takes less than its busiest L2 slice, and no launch less than the DRAM's channels; RT
              efficiency falls with the hold-up (``l2_slices``, ``extrapolate``).
    later     a step of rays waits for the misses that the sample lacks (``extrapolate.later``).
    load      DRAM efficiency follows the load (``extrapolate.rescale_efficiency``).
    """

    contents: bool = True
    bounds: bool = True
    later: bool = True
    load: bool = True

    def without(self, name: str) -> "Rules":
        """The same without a rule."""
        return self._replace(**{name: False})


EVERY = Rules()
OF_REPLAY = ("contents",)  # they change the replay of the sample, not only its use


def of_replay(rules: Rules) -> tuple[bool, ...]:
    """The rules that decide the replay of the sample: with equal ones, one replay serves."""
    return tuple(getattr(rules, name) for name in OF_REPLAY)
