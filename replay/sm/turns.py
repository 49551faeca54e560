"""Order in which SMs are offered CTAs: round robin by clusters, or as a policy says."""

from rayplay.replay.jit.bits import inlined
from rayplay.replay.jit.hooks import hook, is_replaced
from rayplay.replay.sm import ctas as dispatch


@hook("ctas.sm_in_turn")
def sm_in_turn(state: dispatch.Dispatch, last: int, turn: int, core: int) -> int:
    """Choose the SM that is offered the next CTA after ``turn`` others in a cycle in which several have room.

    By default clusters in turn, the next after the ``last`` SM's first, in each its SMs from ``core`` on. Over the
    turns 0, 1, 2, ... each SM must come once, and the SMs of a cluster together. A number that is no SM stands for 0.
    """
    each, sms = state.cluster, state.unit.shape[0]
    if each == 1:
        number = last + 1 + turn
        return number if number < sms else number - sms
    home = (last - last % each + each + turn - turn % each) % sms
    return home + (core + turn % each) % each


chooses = is_replaced("ctas.sm_in_turn")


@inlined
def offered(state: dispatch.Dispatch, last: int, turn: int, core: int) -> int:
    """The SM that ``sm_in_turn`` chooses; a policy's mistake must not end in other memory."""
    sm = sm_in_turn(state, last, turn, core)
    return 0 if chooses(state) and not 0 <= sm < state.unit.shape[0] else sm


@inlined
def begins_cluster(state: dispatch.Dispatch, turn: int) -> bool:
    """Whether another cluster of several SMs has its turn."""
    return state.cluster > 1 and turn % state.cluster == 0


@inlined
def next_core(state: dispatch.Dispatch, last: int, turn: int) -> int:
    """Which SM of the cluster whose turn begins is served first: the one after the last."""
    return state.unit[offered(state, last, turn, 0), dispatch.LAST_CORE] + 1
