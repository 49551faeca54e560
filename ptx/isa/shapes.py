"""The forms of the instructions that are not scalar: memory, control, warps, textures, matrices, asynchronous copies.

Patterns are those of ``ptx.isa.forms``: a row of slots, ``a|b`` takes one of the words, ``a|b?`` one or none. Keys are
those of ``ptx.isa.table``. Source: PTX ISA 9.0 sections 9.7.9 to 9.7.19; where it is silent, what ``ptxas`` 13.0 takes.
"""

WORDS = {
    "SHARED": "shared|shared::cta|shared::cluster", "BOTH": "global|shared|shared::cta|shared::cluster",
    "CTA": "shared|shared::cta",
    "NEAR": "local|shared|shared::cta|shared::cluster|param|param::entry|param::func|const",
    "STORED": "local|shared|shared::cta|shared::cluster|param|param::func",
    "SPACE": "global|local|shared|shared::cta|shared::cluster|param|param::entry|const",
    "TYPE": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "TYPE2": "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64", "TYPE4": "b8|b16|b32|u8|u16|u32|s8|s16|s32|f32",
    "WORD32": "b32|u32|s32|f32", "WORD64": "b64|u64|s64|f64", "SCOPE": "cta|cluster|gpu|sys", "NARROW": "cta|cluster",
    "CACHED": "ca|cg|cs|lu|cv", "WRITTEN": "wb|cg|cs|wt", "HINT": "L2::cache_hint",
    "EVICT": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "EVICT2": "L2::evict_normal|L2::evict_first|L2::evict_last", "FETCH": "L2::64B|L2::128B|L2::256B",
    "POLICY": "L2::evict_normal|L2::evict_first|L2::evict_last|L2::evict_unchanged", "ADDRESS": "u32|u64",
    "MEMORY": "relaxed|acquire|release|acq_rel", "BANK": "|".join(f"const[{i}]" for i in range(11)),
    "FLAT": "1d|2d|3d|a1d|a2d", "SAMPLED": "1d|2d|3d|a1d|a2d|cube|acube", "CLAMP": "trap|clamp|zero",
    "QUERY": "width|height|depth|channel_data_type|channel_order|array_size", "SYNC": "sync|aligned",
    "STATE": "normalized_coords|num_mipmap_levels|num_samples|force_unnormalized_coords|filter_mode|addr_mode_0|"
             "addr_mode_1|addr_mode_2",
    "TILE": "m16n16k16|m32n8k16|m8n32k16|m16n16k8|m8n8k32|m8n8k128|m8n8k4", "LAYOUT": "row|col",
    "ELEMENT": "f16|f16x2|bf16|bf16x2|tf32|f32|f64|s8|u8|s4|u4|b1|s32|e4m3|e5m2|e3m2|e2m3|e2m1|ue8m0|ue4m3",
    "FRAGMENT": "f16|f32|f64|bf16|tf32|s8|u8|s4|u4|b1|s32",
}  # fmt: skip

_DATA = ("TYPE", "v2 TYPE2", "v4 TYPE4")
_WIDE = ("v8 WORD32", "v4 WORD64")  # 256 bits, of global memory only


def _accesses(near: str, cache: str, ordered: str) -> tuple[str, ...]:
    """Loads or stores: ``near`` are the spaces without an L2, ``ordered`` the semantics that need a scope."""
    fetch = "FETCH?" if cache == "CACHED" else ""
    rows = [
        *(f"weak? {near} {cache}? {data}" for data in _DATA),
        *(f"weak? global? {cache}|EVICT? HINT? {fetch} {data}" for data in _DATA),
        *(f"weak? global? {cache}|EVICT? EVICT2? HINT? {fetch} {data}" for data in _WIDE),
        *(f"volatile SHARED {data}" for data in _DATA), *(f"volatile global? {fetch} {data}" for data in _DATA),
        f"mmio relaxed sys global? {_DATA[0]}",
        *(f"{ordered} SCOPE SHARED {data}" for data in _DATA),
        *(f"{ordered} SCOPE global? EVICT? HINT? {fetch} {data}" for data in _DATA),
        *(f"{ordered} SCOPE global? EVICT? EVICT2? HINT? {fetch} {data}" for data in _WIDE),
    ]  # fmt: skip
    return tuple(rows)


_NOFTZ = "noftz f16|f16x2|bf16|bf16x2"
_SCALARS = (
    "and|or|xor b32|b64", "add u32|s32|u64|f32|f64", "inc|dec u32", "min|max u32|s32|u64|s64", f"add {_NOFTZ}",
)  # fmt: skip
_VECTORS = ("v2|v4 add f32", "v2|v4|v8 add|min|max noftz f16|bf16", "v2|v4 add|min|max noftz f16x2|bf16x2")


def _atomics(ordered: str, scalars: tuple[str, ...]) -> tuple[str, ...]:
    return (
        *(f"{ordered}? SCOPE? SHARED {operation}" for operation in scalars),
        *(f"{ordered}? SCOPE? global? HINT? {operation}" for operation in scalars),
        *(f"{ordered}? SCOPE? global? HINT? {operation}" for operation in _VECTORS),
    )


def _barrier_phase(name: str, ordered: str, space: str) -> tuple[str, ...]:
    """An operation of mbarrier: an order comes with its scope."""
    return (f"{name} {space}? b64", f"{name} {ordered} NARROW {space}? b64")


_MBARRIER = {
    **{f"mbarrier.{name}": (f"{name} CTA? b64",) for name in ("init", "inval")},
    **{f"mbarrier.{name}": _barrier_phase(name, "relaxed", "SHARED") for name in ("expect_tx", "complete_tx")},
    **{f"mbarrier.{name}": (*_barrier_phase(f"{name} expect_tx?", "release|relaxed", "SHARED"),
                            f"{name} noComplete CTA? b64", f"{name} release cta noComplete CTA? b64")
       for name in ("arrive", "arrive_drop")},
    **{f"mbarrier.{name}": _barrier_phase(f"{name} parity?", "acquire|relaxed", "CTA")
       for name in ("test_wait", "try_wait")},
    "mbarrier.pending_count": ("pending_count b64",),
}  # fmt: skip
_BARRIERS = {
    "bar": ("cta? sync|arrive",), "barrier": ("cta? sync|arrive aligned?",), "bar.warp": ("warp sync",),
    "bar.red": ("red popc u32", "red and|or pred"), "bar.cta.red": ("cta red popc u32", "cta red and|or pred"),
    "barrier.red": ("red popc aligned? u32", "red and|or aligned? pred"),
    "barrier.cta.red": ("cta red popc aligned? u32", "cta red and|or aligned? pred"),
    "barrier.cluster": ("cluster arrive release|relaxed? aligned?", "cluster wait acquire? aligned?"),
    "membar": ("cta|gl|sys", "proxy alias"),
    "fence": ("sc|acq_rel|acquire|release? SCOPE", "mbarrier_init release cluster",
              "proxy alias|async", "proxy async global|shared::cta|shared::cluster",
              "proxy tensormap::generic acquire|release SCOPE",
              "proxy async::generic acquire sync_restrict::shared::cluster cluster",
              "proxy async::generic release sync_restrict::shared::cta cluster",
              "acquire sync_restrict::shared::cluster cluster", "release sync_restrict::shared::cta cluster"),
}  # fmt: skip
_TEXTURES = {
    "tex": ("base? 1d|2d|3d|a1d|a2d v4 u32|s32|f32 s32|f32", "base? 1d|2d|3d|a1d|a2d v2 f16x2 s32|f32",
            "base? cube|acube v4 u32|s32|f32 f32", "base? cube|acube v2 f16x2 f32",
            "base? 2dms|a2dms v4 u32|s32|f32 s32", "base? 2dms|a2dms v2 f16x2 s32",
            "level|grad 1d|2d|3d|a1d|a2d v4 u32|s32|f32 s32|f32", "level|grad 1d|2d|3d|a1d|a2d v2 f16x2 s32|f32",
            "level|grad cube|acube v4 u32|s32|f32 f32", "level|grad cube|acube v2 f16x2 f32"),
    "tld4": ("r|g|b|a 2d|a2d|cube|acube v4 u32|s32|f32 f32",),
    "txq": ("QUERY|STATE b32", "level width|height|depth b32"),
    "suq": ("QUERY|memory_layout b32",),
    **{name: tuple(f"b FLAT {cached}? {data} CLAMP" for data in (
           "b8|b16|b32|b64", "v2 b8|b16|b32|b64", "v4 b8|b16|b32"))
       for name, cached in (("suld", "ca|cg|cs|cv"), ("sust", "WRITTEN"))},
    "sured": ("b 1d|2d|3d add u32|s32|u64 CLAMP", "b 1d|2d|3d min|max u32|s32|u64|s64 CLAMP",
              "b 1d|2d|3d and|or b32 CLAMP", "p 1d|2d|3d add|min|max|and|or b32 CLAMP", "p 1d|2d|3d min|max b64 CLAMP"),
}  # fmt: skip
_TEXTURES["sust"] += tuple(f"p FLAT WRITTEN? {data} CLAMP" for data in ("b32", "v2 b32", "v4 b32"))
_MATRICES = {
    "ldmatrix": ("sync aligned m8n8 x1|x2|x4 trans? CTA? b16", "sync aligned m16n16 x1|x2 trans CTA? b8",
                 "sync aligned m16n16 x1|x2 trans CTA? b8x16 b6x16_p32|b4x16_p64",
                 "sync aligned m8n16 x1|x2|x4 CTA? b8x16 b6x16_p32|b4x16_p64"),
    "stmatrix": ("sync aligned m8n8 x1|x2|x4 trans? CTA? b16", "sync aligned m16n8 x1|x2|x4 trans CTA? b8"),
    "movmatrix": ("sync aligned m8n8 trans b16",),
    "wmma.load": ("load a|b|c sync aligned LAYOUT TILE SPACE? FRAGMENT",),
    "wmma.store": ("store d sync aligned LAYOUT TILE SPACE? FRAGMENT",),
    "wmma.mma": (
        "mma sync aligned LAYOUT LAYOUT TILE f16|f32 f16|f32 satfinite?",
        "mma sync aligned LAYOUT LAYOUT TILE f32 bf16|tf32 bf16|tf32 f32",
        "mma sync aligned LAYOUT LAYOUT TILE rn|rz|rm|rp? f64 f64 f64 f64",
        "mma sync aligned LAYOUT LAYOUT TILE s32 s8|u8|s4|u4 s8|u8|s4|u4 s32 satfinite?",
        "mma xor|and popc sync aligned LAYOUT LAYOUT TILE s32 b1 b1 s32",
    ),
}  # fmt: skip

SHAPES: dict[str, tuple[str, ...]] = {
    "ld": (*_accesses("NEAR", "CACHED", "relaxed|acquire"), *(f"BANK {data}" for data in _DATA),
           *(f"global ca|cg|cs|EVICT? nc HINT? FETCH? {data}" for data in _DATA),
           *(f"global ca|cg|cs|EVICT? nc EVICT2? HINT? FETCH? {data}" for data in _WIDE)),
    "ldu": tuple(f"global? {data}" for data in _DATA), "st": _accesses("STORED", "WRITTEN", "relaxed|release"),
    "atom": (*_atomics("MEMORY", (*_SCALARS, "exch b32|b64")),
             "MEMORY? SCOPE? BOTH? cas b16|b32|b64|b128", "MEMORY? SCOPE? BOTH? exch b128"),
    "red": _atomics("relaxed|release", _SCALARS),
    "prefetch": ("global|local? L1|L2", "global? L2::evict_last|L2::evict_normal", "const|param? tensormap"),
    "prefetchu": ("L1",), "discard": ("global? L2",), "applypriority": ("global? L2::evict_normal",),
    "isspacep": ("SPACE",), "istypep": ("texref|samplerref|surfref",), "cvta": ("to? SPACE ADDRESS",),
    "mapa": ("shared::cluster? ADDRESS",), "getctarank": ("shared::cluster? ADDRESS",),
    "stacksave": ("ADDRESS",), "stackrestore": ("ADDRESS",), "alloca": ("ADDRESS",),
    "createpolicy": ("fractional POLICY L2::evict_first|L2::evict_unchanged? b64",
                     "range global? POLICY L2::evict_first|L2::evict_unchanged? b64", "cvt L2 b64"),
    "cp.async": ("async ca|cg CTA global HINT? FETCH?",), "cp.async.commit_group": ("async commit_group",),
    "cp.async.wait_group": ("async wait_group",), "cp.async.wait_all": ("async wait_all",),
    "cp.async.mbarrier": ("async mbarrier arrive noinc? CTA? b64",),
    "bra": ("uni?",), "brx": ("idx uni?",), "call": ("uni?",), "ret": ("uni?",), "exit": ("",), "trap": ("",),
    "brkpt": ("",), "griddepcontrol": ("launch_dependents|wait",), "nanosleep": ("u32",), "pmevent": ("mask?",),
    "setmaxnreg": ("inc|dec sync aligned u32",), "activemask": ("b32",), "elect": ("sync",),
    "shfl": ("sync? up|down|bfly|idx b32",), "match": ("any|all sync b32|b64",),
    "vote": ("sync? all|any|uni pred", "sync? ballot b32"),
    "redux": ("sync add|min|max u32|s32", "sync and|or|xor b32", "sync min|max abs? NaN? f32"),
    **_MBARRIER, **_BARRIERS, **_TEXTURES, **_MATRICES,
}  # fmt: skip

_ANY = r"\w+(?:::\w+)*"
# Instructions whose modifiers depend on each other in ways that only their hardware knows: words that must be there,
# and a regular expression of those that may.
LOOSE: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("mma", "mma.sp", "mma.sp::ordered_metadata"), (
        "sync aligned", r"m\d+n\d+k\d+|row|col|xor|and|popc|satfinite|sp|sp::ordered_metadata|kind::\w+|block_scale|"
        r"scale_vec::\dX|sync|aligned|rn|rz|rm|rp")),
    "wgmma.fence": ("fence sync aligned", "fence|sync|aligned"),
    "wgmma.commit_group": ("commit_group sync aligned", "commit_group|sync|aligned"),
    "wgmma.wait_group": ("wait_group sync aligned", "wait_group|sync|aligned"),
    **dict.fromkeys(("wgmma.mma_async", "wgmma.mma_async.sp"), (
        "mma_async sync aligned", r"mma_async|sp|m64n\d+k\d+|sync|aligned|satfinite|and|popc")),
    **dict.fromkeys((
        *(f"tcgen05.{name}" for name in (
            "alloc", "dealloc", "relinquish_alloc_permit", "ld", "ld.red", "st", "wait::ld", "wait::st", "cp", "shift",
            "fence::before_thread_sync", "fence::after_thread_sync", "commit", "mma")),
        *(f"cp.async.bulk{name}" for name in (
            "", ".commit_group", ".wait_group", ".prefetch", ".prefetch.tensor", ".tensor")),
        "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor", "multimem.ld_reduce", "multimem.st", "multimem.red",
        "multimem.cp", "st.async", "st.bulk", "red.async", "tensormap.replace", "tensormap.cp_fenceproxy",
        "clusterlaunchcontrol.try_cancel", "clusterlaunchcontrol.query_cancel"), ("", _ANY)),
}  # fmt: skip
