"""Bulk copies, multimem, wgmma and tcgen05: from sm_90 on. PTX ISA 9.0, 9.7.9.25 to 9.7.9.28 and 9.7.15 to 9.7.17."""

from functools import partial

from rayplay.ptx.ir import Form
from rayplay.ptx.isa.memory import HINT
from rayplay.ptx.isa.row import (
    COPIES,
    HIDDEN,
    NO_MEMORY,
    UPDATES,
    WRITES,
    Allows,
    Control,
    Loose,
    Op,
    Operand,
    Yields,
    a_constant,
)

_row = partial(
    Op, operation_class="other", control=Control.NEXT, reads_carry=False, allows=Allows.NOTHING, flops=0,
    timing="simple", yields=Yields.NOTHING, memory=UPDATES,
)  # fmt: skip
_copy = partial(_row, memory=COPIES)
_store = partial(_row, memory=WRITES, allows=Allows.WIDER | Allows.VECTOR)
_hidden = partial(_row, memory=HIDDEN)
_group = partial(_hidden, operation_class="fence", roles="")
_product = partial(_hidden, operation_class="matrix", yields=Yields.MIXED)
_COUNTED = "mbarrier::complete_tx::bytes"
_TENSOR = "async bulk tensor 1d|2d|3d|4d|5d"
_CTAS = "cta_group::1|cta_group::2"
_MATRIX_LOADS = "sync aligned 32x32b|16x64b|16x128b|16x256b x1 b32"


def _any(*usual: str) -> Loose:
    return Loose("", r"\w+(?:::\w+)*", usual)


def _fence_forms(name: str) -> Loose:
    return Loose(f"{name} sync aligned", f"{name}|sync|aligned", (f"{name} sync aligned",))


def _product_forms(*usual: str) -> Loose:
    return Loose("mma_async sync aligned", r"mma_async|sp|m64n\d+k\d+|sync|aligned|satfinite|and|popc", usual)


def _bulk(form: Form) -> list[Operand]:
    """The mbarrier that counts the bytes, the mask of CTAs or bytes, and the policy, each where a modifier asks."""
    words, made = form.modifiers, [Operand("a"), Operand("a"), Operand("u", "u32")]
    made += [Operand("a")] * (_COUNTED in words)
    made += [Operand("s", "b16")] * ("multicast::cluster" in words or "cp_mask" in words)
    return made + [Operand("s", "b64")] * (HINT in words)


ROWS = (
    _copy(name="cp.async.bulk", roles="a a x ?x ?x ?x ?x", typed=_bulk, forms=_any(
        f"async bulk shared::cluster|shared::cta global {_COUNTED} HINT?",
        f"async bulk shared::cluster shared::cta {_COUNTED}", "async bulk global shared::cta bulk_group HINT?",
        f"async bulk shared::cluster global {_COUNTED} multicast::cluster",
        "async bulk global shared::cta bulk_group cp_mask")),
    _copy(name="cp.async.bulk.commit_group", roles="", forms=_any("async bulk commit_group")),
    _copy(name="cp.async.bulk.wait_group", operation_class="fence", roles="x", typed=a_constant,
          forms=_any("async bulk wait_group read?")),
    _copy(name="cp.async.bulk.prefetch", roles="a x ?x", forms=_any("async bulk prefetch L2 global")),
    _copy(name="cp.async.bulk.prefetch.tensor", roles="t ?x ?x",
          forms=_any("async bulk prefetch tensor 1d|2d|3d|4d|5d L2 global")),
    _copy(name="cp.async.bulk.tensor", roles="x x ?x ?x ?x ?x",
          forms=_any(f"{_TENSOR} shared::cluster|shared::cta global {_COUNTED}",
                     f"{_TENSOR} global shared::cta bulk_group")),
    _copy(name="cp.reduce.async.bulk", roles="a a x ?a ?x",
          forms=_any(f"reduce async bulk shared::cluster shared::cta {_COUNTED} add u32",
                     "reduce async bulk global shared::cta bulk_group add|min|max u32|s32")),
    _copy(name="cp.reduce.async.bulk.tensor", roles="t a ?x",
          forms=_any("reduce async bulk tensor 1d|2d|3d global shared::cta add|min|max bulk_group")),
    _store(name="st.async", roles="a s ?a", forms=_any(f"async weak? shared::cluster? {_COUNTED} b32|b64")),
    _store(name="st.bulk", roles="a x x", forms=_any("bulk weak? shared::cta?")),
    _row(name="red.async", roles="a s a", forms=_any(f"async relaxed cluster {_COUNTED} shared::cluster add u32")),
    _row(name="multimem.ld_reduce", operation_class="load", roles="X a", yields=Yields.MIXED,
         forms=_any("ld_reduce weak? global add|min|max u32|s32")),
    _row(name="multimem.st", operation_class="store", roles="a x", forms=_any("st weak? global u32|f32")),
    _row(name="multimem.red", operation_class="atomic", roles="a x", forms=_any("red relaxed gpu global add u32|f32")),
    _row(name="multimem.cp", roles="a a x ?a ?x", forms=_any("cp async bulk global shared::cta bulk_group")),
    _row(name="tensormap.replace", roles="a x ?x", forms=_any("replace tile global_address global b1024 b64")),
    _row(name="tensormap.cp_fenceproxy", roles="a a x",
         forms=_any("cp_fenceproxy global shared::cta tensormap::generic release gpu sync aligned")),
    _row(name="clusterlaunchcontrol.try_cancel", roles="a a",
         forms=_any(f"try_cancel async shared::cta {_COUNTED} b128")),
    _row(name="clusterlaunchcontrol.query_cancel", roles="X x", yields=Yields.MIXED, memory=NO_MEMORY,
         forms=_any("query_cancel is_canceled pred b128")),
    _group(name="wgmma.fence", forms=_fence_forms("fence")),
    _group(name="wgmma.commit_group", operation_class="other", forms=_fence_forms("commit_group")),
    _group(name="wgmma.wait_group", roles="x", forms=_fence_forms("wait_group")),
    _product(name="wgmma.mma_async", roles="m x x x ?x ?x ?x ?x",
             forms=_product_forms(*(f"mma_async sync aligned m64n8k16 f32 {kind} {kind}" for kind in ("f16", "bf16")))),
    _product(name="wgmma.mma_async.sp", roles="m x x x x x ?x ?x ?x ?x",
             forms=_product_forms("mma_async sp sync aligned m64n8k32 f32 f16 f16")),
    _hidden(name="tcgen05.alloc", roles="a u", forms=_any(f"alloc {_CTAS} sync aligned b32")),
    _hidden(name="tcgen05.dealloc", roles="x u", forms=_any(f"dealloc {_CTAS} sync aligned b32")),
    _hidden(name="tcgen05.relinquish_alloc_permit", roles="",
            forms=_any(f"relinquish_alloc_permit {_CTAS} sync aligned")),
    _hidden(name="tcgen05.ld", roles="X a ?x", yields=Yields.MIXED, forms=_any(f"ld {_MATRIX_LOADS}")),
    _hidden(name="tcgen05.ld.red", roles="X X a ?x", yields=Yields.MIXED,
            forms=_any("ld red sync aligned 32x32b x2 min|max u32")),
    _hidden(name="tcgen05.st", roles="a x ?x", forms=_any(f"st {_MATRIX_LOADS}")),
    *(_group(name=f"tcgen05.{name}", forms=_any(f"{name} sync aligned")) for name in ("wait::ld", "wait::st")),
    _hidden(name="tcgen05.cp", roles="a x", forms=_any(f"cp {_CTAS} 128x256b|4x256b")),
    _hidden(name="tcgen05.shift", roles="a", forms=_any(f"shift {_CTAS} down")),
    *(_group(name=f"tcgen05.{name}", forms=_any(name))
      for name in ("fence::before_thread_sync", "fence::after_thread_sync")),
    _hidden(name="tcgen05.commit", roles="a ?x", forms=_any(f"commit {_CTAS} mbarrier::arrive::one b64")),
    _hidden(name="tcgen05.mma", operation_class="matrix", roles="a x x x ?x ?x ?x ?x ?x",
            forms=_any(f"mma {_CTAS} kind::f16|kind::tf32|kind::f8f6f4|kind::i8")),
)  # fmt: skip
