"""Patterns of the forms of every opcode, and expansion of a pattern into forms, for the page about opcodes.

Where ``ptx.isa`` lets more through than PTX has, ``TYPICAL`` has the forms of PTX ISA 9.0 (9.7.9.27 for copies,
9.7.14 to 9.7.17 for matrices), in the language of ``ptx.isa.patterns``.
"""

import math
from collections.abc import Iterator, Sequence

from rayplay.ptx.isa.patterns import WORDS
from rayplay.ptx.isa.row import Loose
from rayplay.ptx.isa.table import TABLE

Form = tuple[str, tuple[str, ...]]
MOST_TRIED = 64  # forms of one pattern: all of them where there are no more

BULK = "mbarrier::complete_tx::bytes"
_TENSOR = "async bulk tensor 1d|2d|3d|4d|5d"
_TC = "cta_group::1|cta_group::2"
_ACCUMULATORS = (
    "sync aligned LAYOUT WIDE BOTH? f16|f32|s32", "sync aligned LAYOUT m16n16k8 BOTH? f32",
    "sync aligned LAYOUT m8n8k4 BOTH? f64", "sync aligned LAYOUT m8n8k32|m8n8k128 BOTH? s32",
)  # fmt: skip
NAMES = {**WORDS, "WIDE": "m16n16k16|m8n32k16|m32n8k16"}
TYPICAL: dict[str, tuple[str, ...]] = {
    "mma": (
        "sync aligned m16n8k8|m16n8k16 row col f16 f16 f16 f16",
        "sync aligned m16n8k8|m16n8k16 row col f32 f16 f16 f32",
        "sync aligned m8n8k4 row|col row|col f16|f32 f16 f16 f16|f32",
        "sync aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32",
        "sync aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32",
        "sync aligned m8n8k4|m16n8k4|m16n8k8|m16n8k16 row col rn|rz|rm|rp? f64 f64 f64 f64",
        "sync aligned m8n8k16|m16n8k16|m16n8k32 row col satfinite? s32 s8|u8 s8|u8 s32",
        "sync aligned m8n8k32|m16n8k32|m16n8k64 row col satfinite? s32 s4|u4 s4|u4 s32",
        "sync aligned m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 xor|and popc",
        "sync aligned m16n8k16|m16n8k32 row col f16 e4m3|e5m2 e4m3|e5m2 f16",
        "sync aligned m16n8k16|m16n8k32 row col f32 e4m3|e5m2 e4m3|e5m2 f32",
        "sync aligned m16n8k32 row col kind::f8f6f4 f32 e4m3|e5m2|e3m2|e2m3|e2m1 e4m3|e5m2|e3m2|e2m3|e2m1 f32",
        "sync aligned m16n8k32 row col kind::mxf8f6f4 block_scale f32 e4m3 e4m3 f32 ue8m0",
    ),
    "mma.sp": ("sp sync aligned m16n8k16|m16n8k32 row col f16|f32 f16 f16 f16|f32",),
    "mma.sp::ordered_metadata": ("sp::ordered_metadata sync aligned m16n8k16|m16n8k32 row col f32 f16 f16 f32",),
    "wmma.load": (
        "load a|b sync aligned LAYOUT WIDE BOTH? f16|bf16|s8|u8", "load a|b sync aligned LAYOUT m16n16k8 BOTH? tf32",
        "load a|b sync aligned LAYOUT m8n8k4 BOTH? f64", "load a sync aligned row m8n8k32 BOTH? s4|u4",
        "load b sync aligned col m8n8k32 BOTH? s4|u4", "load a sync aligned row m8n8k128 BOTH? b1",
        "load b sync aligned col m8n8k128 BOTH? b1", *(f"load c {form}" for form in _ACCUMULATORS),
    ),
    "wmma.store": tuple(f"store d {form}" for form in _ACCUMULATORS),
    "wmma.mma": (
        "mma sync aligned LAYOUT LAYOUT WIDE f16|f32 f16|f32 satfinite?",
        "mma sync aligned LAYOUT LAYOUT WIDE f32 bf16 bf16 f32",
        "mma sync aligned LAYOUT LAYOUT m16n16k8 f32 tf32 tf32 f32",
        "mma sync aligned LAYOUT LAYOUT m8n8k4 rn|rz|rm|rp? f64 f64 f64 f64",
        *(f"mma sync aligned LAYOUT LAYOUT WIDE s32 {kind} {kind} s32 satfinite?" for kind in ("s8", "u8")),
        *(f"mma sync aligned row col m8n8k32 s32 {kind} {kind} s32 satfinite?" for kind in ("s4", "u4")),
        "mma xor|and popc sync aligned row col m8n8k128 s32 b1 b1 s32",
    ),
    "wgmma.fence": ("fence sync aligned",), "wgmma.commit_group": ("commit_group sync aligned",),
    "wgmma.wait_group": ("wait_group sync aligned",),
    "wgmma.mma_async": ("mma_async sync aligned m64n8k16 f32 f16|bf16 f16|bf16",),
    "wgmma.mma_async.sp": ("mma_async sp sync aligned m64n8k32 f32 f16 f16",),
    "cp.async.bulk": (
        f"async bulk shared::cluster|shared::cta global {BULK} HINT?", f"async bulk shared::cluster shared::cta {BULK}",
        "async bulk global shared::cta bulk_group HINT?",
        f"async bulk shared::cluster global {BULK} multicast::cluster",
        "async bulk global shared::cta bulk_group cp_mask",
    ),
    "cp.async.bulk.commit_group": ("async bulk commit_group",),
    "cp.async.bulk.wait_group": ("async bulk wait_group read?",),
    "cp.async.bulk.prefetch": ("async bulk prefetch L2 global",),
    "cp.async.bulk.prefetch.tensor": ("async bulk prefetch tensor 1d|2d|3d|4d|5d L2 global",),
    "cp.async.bulk.tensor": (f"{_TENSOR} shared::cluster|shared::cta global {BULK}",
                             f"{_TENSOR} global shared::cta bulk_group"),
    "cp.reduce.async.bulk": (f"reduce async bulk shared::cluster shared::cta {BULK} add u32",
                             "reduce async bulk global shared::cta bulk_group add|min|max u32|s32"),
    "cp.reduce.async.bulk.tensor": (
        "reduce async bulk tensor 1d|2d|3d global shared::cta add|min|max bulk_group",),
    "multimem.ld_reduce": ("ld_reduce weak? global add|min|max u32|s32",), "multimem.st": ("st weak? global u32|f32",),
    "multimem.red": ("red relaxed gpu global add u32|f32",), "multimem.cp": (
        "cp async bulk global shared::cta bulk_group",),
    "st.async": (f"async weak? shared::cluster? {BULK} b32|b64",), "st.bulk": ("bulk weak? shared::cta?",),
    "red.async": (f"async relaxed cluster {BULK} shared::cluster add u32",),
    "tensormap.replace": ("replace tile global_address global b1024 b64",),
    "tensormap.cp_fenceproxy": ("cp_fenceproxy global shared::cta tensormap::generic release gpu sync aligned",),
    "clusterlaunchcontrol.try_cancel": (f"try_cancel async shared::cta {BULK} b128",),
    "clusterlaunchcontrol.query_cancel": ("query_cancel is_canceled pred b128",),
    "tcgen05.alloc": (f"alloc {_TC} sync aligned b32",), "tcgen05.dealloc": (f"dealloc {_TC} sync aligned b32",),
    "tcgen05.relinquish_alloc_permit": (f"relinquish_alloc_permit {_TC} sync aligned",),
    "tcgen05.ld": ("ld sync aligned 32x32b|16x64b|16x128b|16x256b x1 b32",),
    "tcgen05.ld.red": ("ld red sync aligned 32x32b x2 min|max u32",),
    "tcgen05.st": ("st sync aligned 32x32b|16x64b|16x128b|16x256b x1 b32",),
    "tcgen05.wait::ld": ("wait::ld sync aligned",), "tcgen05.wait::st": ("wait::st sync aligned",),
    "tcgen05.cp": (f"cp {_TC} 128x256b|4x256b",),
    "tcgen05.shift": (f"shift {_TC} down",),
    "tcgen05.fence::before_thread_sync": ("fence::before_thread_sync",),
    "tcgen05.fence::after_thread_sync": ("fence::after_thread_sync",),
    "tcgen05.commit": (f"commit {_TC} mbarrier::arrive::one b64",),
    "tcgen05.mma": (f"mma {_TC} kind::f16|kind::tf32|kind::f8f6f4|kind::i8",),
}  # fmt: skip


def keys() -> list[str]:
    """Opcodes, some with their first modifiers, as the tables of forms have them, in alphabetical order."""
    return sorted(TABLE)


def patterns(key: str) -> tuple[str, ...]:
    """The patterns of a key of the tables; one empty pattern where there are no modifiers to choose."""
    forms = TABLE[key].forms
    return TYPICAL.get(key) or (("",) if isinstance(forms, Loose) else forms)


def expand(pattern: str, key: str) -> Iterator[Form]:
    """Forms of a pattern: all, or ``MOST_TRIED`` spread evenly and besides each word once, if there are more."""
    slots = [words_of(text) for text in pattern.split()]
    total = math.prod(len(words) for words in slots)
    numbers: Sequence[int] = range(total)
    if total > MOST_TRIED:
        step = round(total * 0.618)
        step += next(more for more in range(total) if math.gcd(step + more, total) == 1)
        numbers = sorted({n * step % total for n in range(MOST_TRIED)} | set(_each_word(slots)))
    for number in numbers:
        chosen = []
        for words in reversed(slots):
            number, place = divmod(number, len(words))
            chosen.append(words[place])
        yield key.split(".")[0], tuple(word for word in reversed(chosen) if word)


def words_of(text: str) -> list[str]:
    """The words that may fill a place of a pattern; empty for none."""
    found = [w for word in text.rstrip("?").split("|") for w in NAMES.get(word, word).split("|")]
    return [""] * text.endswith("?") + found


def _each_word(slots: list[list[str]]) -> Iterator[int]:
    """Numbers of forms that have each word beside the first words of the other slots."""
    weight = 1
    for words in reversed(slots):
        yield from range(0, weight * len(words), weight)
        weight *= len(words)


def spell(form: Form) -> str:
    """The opcode with its modifiers."""
    return ".".join((form[0], *form[1]))
