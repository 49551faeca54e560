"""Barriers of CTAs and clusters, mbarriers and fences. PTX ISA 9.0, 9.7.13.1 to 9.7.13.4 and 9.7.13.15."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.row import NO_MEMORY, UPDATES, Allows, Control, Op, Operand, Yields

_shared = partial(Op, reads_carry=False, flops=0, timing="simple")
_row = partial(_shared, allows=Allows.NOTHING, memory=NO_MEMORY)
_meet = partial(_row, operation_class="barrier", control=Control.MEETS)
_reduce = partial(_meet, roles="X x ?x ?p", yields=Yields.MIXED)
_fence = partial(_row, operation_class="fence", control=Control.NEXT, yields=Yields.NOTHING)
_phase = partial(_shared, operation_class="other", memory=UPDATES, allows=Allows.SINK)
_count = partial(_phase, control=Control.NEXT, yields=Yields.NOTHING)


def _reduction(form: Form) -> list[Operand]:
    result = Operand("d", "u32") if "popc" in form.modifiers else Operand("P", "pred")
    return [result, Operand("u", "u32"), Operand("b", "u32", True), Operand("p", "pred")]


def _meeting(form: Form) -> list[Operand]:
    return [Operand("u", "u32"), Operand("u", "u32", "arrive" not in form.modifiers)]


def _arrival(form: Form) -> list[Operand]:
    """The count, or the bytes to expect, may be left out where no modifier asks for it."""
    counted = {"expect_tx", "noComplete"} & set(form.modifiers)
    return [Operand("d", form.type), Operand("a"), Operand("u", "u32", not counted)]


def _asked(form: Form) -> list[Operand]:
    """The phase by its parity, or by the state that an arrival gave."""
    made = [Operand("P", "pred"), Operand("a"), Operand("s", "u32" if "parity" in form.modifiers else "b64")]
    return [*made, Operand("u", "u32", True)] if form.key.endswith("try_wait") else made


def _pending(form: Form) -> list[Operand]:
    return [Operand("r", "u32"), Operand("s", "b64")]


def _acquired(form: Form) -> list[Operand]:
    """Acquiring through the tensormap proxy names the map and its bytes."""
    return [Operand("a"), Operand("i")] if {"tensormap::generic", "acquire"} <= set(form.modifiers) else []


def _of_phase(name: str, ordered: str, space: str) -> tuple[str, ...]:
    """An operation of mbarrier: an order comes with its scope."""
    return (f"{name} {space}? b64", f"{name} {ordered} NARROW {space}? b64")


ROWS = (
    _meet(name="bar", forms=("cta? sync|arrive",), roles="x ?x", yields=Yields.NOTHING, typed=_meeting),
    _meet(name="barrier", forms=("cta? sync|arrive aligned?",), roles="x ?x", yields=Yields.NOTHING, typed=_meeting),
    _reduce(name="bar.red", forms=("red popc u32", "red and|or pred"), typed=_reduction),
    _reduce(name="bar.cta.red", forms=("cta red popc u32", "cta red and|or pred"), typed=_reduction),
    _reduce(name="barrier.red", forms=("red popc aligned? u32", "red and|or aligned? pred"), typed=_reduction),
    _reduce(name="barrier.cta.red", forms=("cta red popc aligned? u32", "cta red and|or aligned? pred"),
            typed=_reduction),
    _meet(name="barrier.cluster", operation_class="other", roles="", yields=Yields.NOTHING,
          forms=("cluster arrive release|relaxed? aligned?", "cluster wait acquire? aligned?")),
    # warps run in lockstep: nothing to wait for
    _row(name="bar.warp", forms=("warp sync",), roles="u", operation_class="other", control=Control.NEXT,
         yields=Yields.NOTHING),
    _count(name="mbarrier.init", forms=("init CTA? b64",), roles="a u"),
    _count(name="mbarrier.inval", forms=("inval CTA? b64",), roles="a"),
    *(_count(name=f"mbarrier.{name}", forms=_of_phase(name, "relaxed", "SHARED"), roles="a u")
      for name in ("expect_tx", "complete_tx")),
    *(_count(name=f"mbarrier.{name}", roles="d a ?u", yields=Yields.MIXED, typed=_arrival,
             forms=(*_of_phase(f"{name} expect_tx?", "release|relaxed", "SHARED"),
                    f"{name} noComplete CTA? b64", f"{name} release cta noComplete CTA? b64"))
      for name in ("arrive", "arrive_drop")),
    *(_phase(name=f"mbarrier.{name}", forms=_of_phase(f"{name} parity?", "acquire|relaxed", "CTA"), roles=roles,
             typed=_asked, control=Control.ASKS, yields=Yields.NUMBER)
      for name, roles in (("test_wait", "P a x"), ("try_wait", "P a x ?u"))),
    _count(name="mbarrier.pending_count", forms=("pending_count b64",), roles="r x", yields=Yields.MIXED,
           memory=NO_MEMORY, typed=_pending),
    _fence(name="membar", forms=("cta|gl|sys", "proxy alias"), roles=""),
    _fence(name="fence", roles="?a ?x", typed=_acquired, forms=(
        "sc|acq_rel|acquire|release? SCOPE", "mbarrier_init release cluster", "proxy alias|async",
        "proxy async global|shared::cta|shared::cluster", "proxy tensormap::generic acquire|release SCOPE",
        "proxy async::generic acquire sync_restrict::shared::cluster cluster",
        "proxy async::generic release sync_restrict::shared::cta cluster",
        "acquire sync_restrict::shared::cluster cluster", "release sync_restrict::shared::cta cluster")),
)  # fmt: skip
