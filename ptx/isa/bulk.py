"""Bulk copies, multimem, wgmma and tcgen05: from sm_90 on. PTX ISA 9.0, 9.7.9.25 to 9.7.9.28 and 9.7.15 to 9.7.17."""

from functools import partial

from rayplay.ptx.isa.row import COPIES, HIDDEN, NO_MEMORY, UPDATES, WRITES, Allows, Control, Loose, Op, Yields

_ANY = Loose("", r"\w+(?:::\w+)*")
_row = partial(
    Op, forms=_ANY, operation_class="other", control=Control.NEXT, reads_carry=False, allows=Allows.NOTHING, flops=0,
    timing="simple", yields=Yields.NOTHING, memory=UPDATES,
)  # fmt: skip
_copy = partial(_row, memory=COPIES)
_hidden = partial(_row, memory=HIDDEN)
_group = partial(_hidden, operation_class="fence", roles="")
_product = partial(_hidden, operation_class="matrix", yields=Yields.MIXED)
_GROUP_PRODUCT = Loose("mma_async sync aligned", r"mma_async|sp|m64n\d+k\d+|sync|aligned|satfinite|and|popc")


def _fence_forms(name: str) -> Loose:
    return Loose(f"{name} sync aligned", f"{name}|sync|aligned")


ROWS = (
    _copy(name="cp.async.bulk", roles="a a x ?x ?x ?x ?x"), _copy(name="cp.async.bulk.commit_group", roles=""),
    _copy(name="cp.async.bulk.wait_group", operation_class="fence", roles="x"),
    _copy(name="cp.async.bulk.prefetch", roles="a x ?x"),
    _copy(name="cp.async.bulk.prefetch.tensor", roles="t ?x ?x"),
    _copy(name="cp.async.bulk.tensor", roles="x x ?x ?x ?x ?x"),
    _copy(name="cp.reduce.async.bulk", roles="a a x ?a ?x"),
    _copy(name="cp.reduce.async.bulk.tensor", roles="t a ?x"),
    _row(name="st.async", roles="a s ?a", memory=WRITES, allows=Allows.WIDER | Allows.VECTOR),
    _row(name="st.bulk", roles="a x x", memory=WRITES, allows=Allows.WIDER | Allows.VECTOR),
    _row(name="red.async", roles="a s a"),
    _row(name="multimem.ld_reduce", operation_class="load", roles="X a", yields=Yields.MIXED),
    _row(name="multimem.st", operation_class="store", roles="a x"),
    _row(name="multimem.red", operation_class="atomic", roles="a x"), _row(name="multimem.cp", roles="a a x ?a ?x"),
    _row(name="tensormap.replace", roles="a x ?x"), _row(name="tensormap.cp_fenceproxy", roles="a a x"),
    _row(name="clusterlaunchcontrol.try_cancel", roles="a a"),
    _row(name="clusterlaunchcontrol.query_cancel", roles="X x", yields=Yields.MIXED, memory=NO_MEMORY),
    _group(name="wgmma.fence", forms=_fence_forms("fence")),
    _group(name="wgmma.commit_group", operation_class="other", forms=_fence_forms("commit_group")),
    _group(name="wgmma.wait_group", roles="x", forms=_fence_forms("wait_group")),
    _product(name="wgmma.mma_async", forms=_GROUP_PRODUCT, roles="m x x x ?x ?x ?x ?x"),
    _product(name="wgmma.mma_async.sp", forms=_GROUP_PRODUCT, roles="m x x x x x ?x ?x ?x ?x"),
    _hidden(name="tcgen05.alloc", roles="a u"), _hidden(name="tcgen05.dealloc", roles="x u"),
    _hidden(name="tcgen05.relinquish_alloc_permit", roles=""),
    _hidden(name="tcgen05.ld", roles="X a ?x", yields=Yields.MIXED),
    _hidden(name="tcgen05.ld.red", roles="X X a ?x", yields=Yields.MIXED), _hidden(name="tcgen05.st", roles="a x ?x"),
    _group(name="tcgen05.wait::ld"), _group(name="tcgen05.wait::st"),
    _hidden(name="tcgen05.cp", roles="a x"), _hidden(name="tcgen05.shift", roles="a"),
    _group(name="tcgen05.fence::before_thread_sync"), _group(name="tcgen05.fence::after_thread_sync"),
    _hidden(name="tcgen05.commit", roles="a ?x"),
    _hidden(name="tcgen05.mma", operation_class="matrix", roles="a x x x ?x ?x ?x ?x ?x"),
)  # fmt: skip
