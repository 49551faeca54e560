"""First come, first served: a DRAM bank serves its oldest request, whatever row is open.

The baseline of Rixner, Dally, Kapasi, Mattson and Owens, Memory access scheduling (ISCA 2000), whose first-ready
scheduler is the engine's own. It loses the row hits that first-ready makes by overtaking.
"""

from rayplay.policy import hook


@hook("dram.choose_request")
def oldest(state, own, channel, here, first):
    """Choose the oldest request."""
    return first
