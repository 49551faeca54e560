"""The one opcode table: what each PTX instruction reads, writes and is.

``TABLE`` has one row per opcode; ``opcode.modifier`` rows (``bar.red``) come before the bare opcode's. Verification,
liveness, characterisation and execution all read it, through ``ptx.isa.describe``. Source: PTX ISA 9.0 chapter 9; the
order of use is in ``docs/sources/ptx-sass.md#opcode-ranking``.

Roles of operands, in order; ``?`` marks those that may be left out:

    d   destination of the instruction's first type        s   source of its last type
    D   destination twice as wide as the type (mul.wide)   S   source twice as wide (mad.wide's addend)
    r   32-bit destination (popc)                          u   32-bit integer source (shift amounts, masks)
    P   predicate destination, or a pair of them           p   predicate source, may be negated
    q   destination with an optional second, predicate one (shfl d|p)
    X   destination of any type                            x   source of any type
    a   address                                            t   texture or surface
    l   label or branch target list                        m   read and written, of any type
"""

ARITHMETIC = "arithmetic"  # int, fp32, fp64 or fp16, by the type

TABLE: dict[str, tuple[str, str]] = {
    # opcode: (roles, operation class)
    "add": ("d s s", ARITHMETIC), "addc": ("d s s", "int"), "sub": ("d s s", ARITHMETIC), "subc": ("d s s", "int"),
    "mul.wide": ("D s s", "int"), "mul": ("d s s", ARITHMETIC), "mul24": ("d s s", "int"),
    "mad.wide": ("D s s S", "int"), "mad": ("d s s s", ARITHMETIC), "madc": ("d s s s", "int"),
    "mad24": ("d s s s", "int"), "fma": ("d s s s", ARITHMETIC), "sad": ("d s s s", "int"),
    "div": ("d s s", ARITHMETIC), "rem": ("d s s", "int"), "abs": ("d s", ARITHMETIC), "neg": ("d s", ARITHMETIC),
    "min": ("d s s ?s", ARITHMETIC), "max": ("d s s ?s", ARITHMETIC), "copysign": ("d s s", ARITHMETIC),
    "testp": ("P s", ARITHMETIC), "rcp": ("d s", "sfu"), "sqrt": ("d s", "sfu"), "rsqrt": ("d s", "sfu"),
    "sin": ("d s", "sfu"), "cos": ("d s", "sfu"), "lg2": ("d s", "sfu"), "ex2": ("d s", "sfu"),
    "tanh": ("d s", "sfu"),
    "popc": ("r s", "int"), "clz": ("r s", "int"), "bfind": ("r s", "int"), "brev": ("d s", "int"),
    "fns": ("X x x x", "int"), "bfe": ("d s u u", "int"), "bfi": ("d s s u u", "int"), "szext": ("d s u", "int"),
    "bmsk": ("d u u", "int"), "dp4a": ("r x x x", "int"), "dp2a": ("r x x x", "int"),
    "and": ("d s s", "int"), "or": ("d s s", "int"), "xor": ("d s s", "int"), "not": ("d s", "int"),
    "cnot": ("d s", "int"), "lop3": ("q s s s x ?p", "int"), "shl": ("d s u", "int"), "shr": ("d s u", "int"),
    "shf": ("d s s u", "int"), "prmt": ("d s s s", "int"),
    "set": ("d s s ?p", "predicate"), "setp": ("P s s ?p", "predicate"), "selp": ("d s s p", "move"),
    "slct": ("d x x x", "move"), "isspacep": ("P x", "predicate"), "istypep": ("P x", "predicate"),
    "mov": ("d s", "move"), "cvta": ("d s", "move"), "cvt": ("d s ?s ?x", "convert"), "mapa": ("d s u", "move"),
    "getctarank": ("r s", "move"), "stacksave": ("d", "move"), "stackrestore": ("s", "move"),
    "alloca": ("d s ?x", "other"),
    "ld": ("d a ?x", "load"), "ldu": ("d a", "load"), "st": ("a s ?x", "store"), "prefetch": ("a", "other"),
    "prefetchu": ("a", "other"), "discard": ("a x", "other"), "applypriority": ("a x", "other"),
    "cp.async.commit_group": ("", "other"), "cp.async.wait_group": ("x", "fence"), "cp.async.wait_all": ("", "fence"),
    "cp.async.mbarrier": ("a", "other"), "mbarrier.init": ("a u", "other"), "mbarrier.inval": ("a", "other"),
    "mbarrier.arrive": ("d a ?u", "other"), "mbarrier.arrive_drop": ("d a ?u", "other"),
    "mbarrier.test_wait": ("P a x", "other"), "mbarrier.try_wait": ("P a x ?u", "other"),
    "mbarrier.expect_tx": ("a u", "other"), "mbarrier.complete_tx": ("a u", "other"),
    "mbarrier.pending_count": ("r x", "other"),
    "cp.async": ("a a x ?x ?x", "load"), "cp.async.bulk": ("a a x ?x ?x ?x ?x", "other"),
    "cp.async.bulk.commit_group": ("", "other"), "cp.async.bulk.wait_group": ("x", "fence"),
    "cp.async.bulk.prefetch": ("a x ?x", "other"), "cp.async.bulk.prefetch.tensor": ("t ?x ?x", "other"),
    "cp.async.bulk.tensor": ("x x ?x ?x ?x ?x", "other"), "cp.reduce.async.bulk": ("a a x ?a ?x", "other"),
    "cp.reduce.async.bulk.tensor": ("t a ?x", "other"), "st.async": ("a s ?a", "other"), "st.bulk": ("a x x", "other"),
    "red.async": ("a s a", "other"), "multimem.ld_reduce": ("X a", "load"), "multimem.st": ("a x", "store"),
    "multimem.red": ("a x", "atomic"), "multimem.cp": ("a a x ?a ?x", "other"),
    "tensormap.replace": ("a x ?x", "other"), "tensormap.cp_fenceproxy": ("a a x", "other"),
    "clusterlaunchcontrol.try_cancel": ("a a", "other"), "clusterlaunchcontrol.query_cancel": ("X x", "other"),
    "atom": ("d a s ?s ?x", "atomic"), "red": ("a s ?x", "atomic"),
    "tex": ("X t ?x ?x ?x", "texture"), "tld4": ("X t ?x ?x", "texture"), "txq": ("X t ?x", "texture"),
    "suq": ("X t", "texture"), "suld": ("X t", "load"), "sust": ("t x", "store"), "sured": ("t x", "atomic"),
    "bra": ("l", "branch"), "brx": ("u l", "branch"), "call": ("", "branch"), "ret": ("", "exit"),
    "exit": ("", "exit"), "trap": ("", "exit"), "brkpt": ("", "other"),
    "bar.cta.red": ("X x ?x ?p", "barrier"), "bar.red": ("X x ?x ?p", "barrier"),
    "barrier.red": ("X x ?x ?p", "barrier"),
    "barrier.cta.red": ("X x ?x ?p", "barrier"), "bar.warp": ("u", "other"),
    "bar": ("x ?x", "barrier"), "barrier.cluster": ("", "other"), "barrier": ("x ?x", "barrier"),
    "membar": ("", "fence"), "fence": ("?a ?x", "fence"), "griddepcontrol": ("", "other"),
    "shfl": ("q s u u ?u", "shuffle"), "vote": ("X p ?u", "shuffle"), "match": ("X s ?u", "shuffle"),
    "activemask": ("r", "shuffle"), "redux": ("d s u", "shuffle"), "elect": ("q u", "shuffle"),
    "wmma.load": ("X a ?u", "load"), "wmma.store": ("a x ?u", "store"), "wmma.mma": ("X x x x", "matrix"),
    "mma": ("X x x x ?x ?x ?x ?x", "matrix"), "mma.sp": ("X x x x x x ?x ?x ?x ?x", "matrix"),
    "mma.sp::ordered_metadata": ("X x x x x x ?x ?x ?x ?x", "matrix"),
    "wgmma.fence": ("", "fence"), "wgmma.commit_group": ("", "other"), "wgmma.wait_group": ("x", "fence"),
    "wgmma.mma_async": ("m x x x ?x ?x ?x ?x", "matrix"), "wgmma.mma_async.sp": ("m x x x x x ?x ?x ?x ?x", "matrix"),
    "tcgen05.alloc": ("a u", "other"), "tcgen05.dealloc": ("x u", "other"),
    "tcgen05.relinquish_alloc_permit": ("", "other"), "tcgen05.ld": ("X a ?x", "other"),
    "tcgen05.ld.red": ("X X a ?x", "other"), "tcgen05.st": ("a x ?x", "other"),
    "tcgen05.wait::ld": ("", "fence"), "tcgen05.wait::st": ("", "fence"),
    "tcgen05.cp": ("a x", "other"), "tcgen05.shift": ("a", "other"),
    "tcgen05.fence::before_thread_sync": ("", "fence"), "tcgen05.fence::after_thread_sync": ("", "fence"),
    "tcgen05.commit": ("a ?x", "other"), "tcgen05.mma": ("a x x x ?x ?x ?x ?x ?x", "matrix"),
    "ldmatrix": ("X a", "load"), "stmatrix": ("a x", "store"),
    "movmatrix": ("X x", "matrix"), "nanosleep": ("u", "other"), "pmevent": ("x", "other"),
    "setmaxnreg": ("x", "other"), "createpolicy": ("X ?x ?x ?x", "other"),
    **dict.fromkeys(("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset"), ("r x x ?x", "int")),
    **{f"{name}{width}": ("r x x ?x", "int") for name in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax", "vset")
       for width in (2, 4)},
    "vmad": ("r x x x", "int"),
    # Zatel's instruction: 1 where the pixel is to be traced, 0 where not (Zatel Listing 1)
    "filter_shader": ("r", "runtime"),
}  # fmt: skip
