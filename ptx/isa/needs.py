"""Features of instructions, and the PTX version and target from which on each is there.

A line of ``FEATURES`` has a version, a target, opcodes and groups of words. It holds for an instruction that has one of
the opcodes (``*``: any) and one word of each group; of all lines that hold the highest version and target count. ``-``
asks for nothing, ``!`` for the absence of a word, capitals are ``patterns.WORDS``, a list of targets is complete. Words
are modifiers and what ``words_of`` adds; the last lines name declarations, directives and special registers. Source:
PTX ISA 9.0, the "PTX ISA Notes" and "Target ISA Notes" of each instruction, directive and register; where ``ptxas``
12.9 or 13.5 takes more, what these take.
"""

from functools import lru_cache
from typing import NamedTuple

from rayplay.ptx import ir
from rayplay.ptx.isa.patterns import WORDS

_HALVES = "add|sub|mul|fma|ex2|tanh|min|max|abs|neg|set|setp"
_ONE_FAMILY = "sm_100a,sm_101a,sm_103a,sm_110a"
_FAMILIES = f"{_ONE_FAMILY},sm_120a,sm_121a"

FEATURES = f"""
1.2 -      add|sub|addc cc
1.2 -      addc
1.3 -      sub cc
1.3 -      subc
3.0 sm_20  mad cc
3.0 sm_20  madc
4.3 sm_20  add|sub|mad|addc|subc|madc cc u64|s64
1.4 -      * ftz|approx|full
1.5 -      cvt ftz from:f32 to:s64|to:u64|to:f64
1.5 -      cvt ftz to:f32 from:s8|from:u8
1.2 sm_13  add|sub|mul|fma|mad rm|rp
2.0 sm_20  add|sub|mul rm|rp f32
2.0 sm_20  mad RND f32
2.0 sm_20  fma f32
1.4 -      fma f64
2.0 sm_20  div|rcp|sqrt rz|rm|rp
2.0 sm_20  div|rcp|sqrt rn f32
2.0 -      rcp rn
2.1 sm_20  rcp approx f64
4.0 sm_20  rsqrt ftz f64
2.0 sm_20  popc|clz|bfind|brev|bfe|bfi|prmt|copysign|testp
3.1 sm_32  shf
4.3 sm_50  lop3
8.2 sm_70  lop3 BOOL
5.0 sm_61  dp4a|dp2a
6.0 sm_30  fns
7.6 sm_70  szext|bmsk
8.0 sm_90  * u16x2|s16x2
8.0 sm_90  min|max relu s32
8.8 sm_100 min|max f32 #4
7.0 sm_80  min|max NaN|f16|f16x2
7.2 sm_86  * xorsign
4.2 sm_53  {_HALVES} f16|f16x2
6.0 sm_53  neg f16|f16x2
6.5 sm_53  abs f16|f16x2
6.5 sm_53  set from:f16|from:f16x2 u16|s16|u32|s32
7.0 sm_75  ex2 f16|f16x2
7.0 sm_75  tanh
7.0 sm_80  fma relu
7.0 sm_80  {_HALVES} bf16|bf16x2
7.8 sm_90  add|sub|mul|set|setp|ex2|tanh bf16|bf16x2
8.6 sm_100 add|sub|mul|fma f32x2
8.6 sm_100 add|sub|fma f32 f16|bf16
2.0 sm_20  vadd|vsub|vabsdiff|vmin|vmax|vshl|vshr|vmad|vset
3.0 sm_30  vadd2|vsub2|vavrg2|vabsdiff2|vmin2|vmax2|vset2
3.0 sm_30  vadd4|vsub4|vavrg4|vabsdiff4|vmin4|vmax4|vset4
6.5 sm_72  cvt pack
6.5 sm_75  cvt pack u4|s4|u2|s2
7.0 sm_80  cvt bf16|bf16x2|tf32|relu
7.0 sm_80  cvt to:f16x2
7.1 sm_80  cvt from:bf16
7.8 sm_90  cvt from:bf16 INT8|to:f16|to:f64|to:bf16
7.8 sm_90  cvt to:bf16 INT8|from:f16|from:f64
7.8 sm_90  cvt tf32 rn|rz
8.1 sm_70  cvt satfinite to:f16|to:f16x2|to:bf16|to:bf16x2|to:tf32
8.6 sm_100 cvt satfinite tf32 rn|rz
7.8 sm_89  cvt e4m3x2|e5m2x2
8.6 {_FAMILIES} cvt e2m1x2|e2m3x2|e3m2x2|ue8m0x2
8.3 sm_70  mov b128

2.0 sm_20  ld|st|atom|red|prefetch|cvta generic
1.1 -      ld|st volatile
2.0 sm_20  ld|st CACHED|WRITTEN
2.0 sm_20  st param|param::func
2.0 sm_20  ldu|prefetch|prefetchu|cvta|isspacep
3.1 sm_32  ld nc
6.0 sm_70  ld|st|atom|red|fence weak|relaxed|acquire|release|acq_rel
7.4 sm_70  ld|st EVICT
7.4 sm_75  * L2::64B|L2::128B
7.4 sm_80  * L2::256B|L2::cache_hint
7.4 sm_80  prefetch L2::evict_last|L2::evict_normal
7.4 sm_80  createpolicy|discard|applypriority
7.8 -      ld|st|atom|red|cvta|isspacep|mbarrier|ldmatrix|wmma shared::cta
7.8 sm_80  cp mbarrier shared::cta
7.8 sm_90  * shared::cluster|cluster
8.0 sm_90  prefetch tensormap
8.2 sm_70  * mmio
8.3 -      * param::entry|param::func
8.3 sm_70  ld|ldu|st b128
8.4 sm_70  ld|st|atom b128 sys
8.8 sm_100 ld|st v8
8.8 sm_100 ld|st v4 WORD64
1.0 sm_11  atom|brkpt
1.2 sm_11  red
1.2 sm_12  atom|red SHARED
1.2 sm_12  atom|red b64|u64|s64
2.0 sm_20  atom|red SHARED b64|u64
2.0 sm_20  atom|red f32
3.1 sm_32  atom|red and|or|xor|min|max b64|u64|s64
5.0 sm_60  atom|red f64|cta|gpu|sys
6.2 sm_60  atom|red f16x2
6.3 sm_70  atom|red f16|b16
7.8 sm_90  atom|red bf16|bf16x2
8.1 sm_90  atom|red v2|v4|v8
8.3 sm_90  atom b128
3.1 -      cvta|isspacep const
7.7 sm_70  cvta|isspacep param|param::entry
7.8 sm_90  mapa|getctarank
4.0 sm_30  istypep
7.3 sm_52  alloca|stacksave|stackrestore

1.5 -      txq|suld|sust|suq
7.1 sm_60  tex pair
2.0 sm_20  sured
3.1 sm_20  tex|tld4|txq|suld|sust|suq|sured indirect
2.3 -      tex a1d|a2d
3.0 sm_20  tex cube|acube
3.1 sm_20  tex base
3.2 sm_30  tex 2dms|a2dms
4.2 sm_53  tex f16x2
4.3 sm_30  tex !level !grad #3|#4
4.3 sm_30  tex level #4|#5
4.3 sm_30  tex grad #5|#6
4.3 sm_20  tex grad cube|acube
4.3 sm_30  tld4 a2d|cube|acube
3.0 sm_20  suld|sust a1d|a2d|3d
2.0 sm_20  suld|sust clamp|zero
2.0 sm_20  suld|sust 3d
2.0 sm_20  sust p
4.1 sm_30  sust p a1d|a2d
8.1 sm_50  sured b64|u64|s64 min|max
4.1 sm_20  txq|suq array_size|num_mipmap_levels
4.1 sm_30  txq num_samples
4.2 sm_20  suq memory_layout
4.3 sm_30  txq level

1.2 sm_12  vote
2.0 sm_20  vote ballot
3.0 sm_30  shfl
6.0 sm_30  vote|shfl sync
6.0 sm_70  match
6.2 sm_30  activemask
6.2 sm_70  nanosleep
7.0 sm_80  redux
8.6 {_ONE_FAMILY} redux f32
8.0 sm_90  elect
1.4 -      membar|pmevent
2.0 sm_20  membar sys
3.0 sm_20  pmevent mask
7.5 sm_60  membar proxy
2.0 sm_20  bar arrive|red
6.0 sm_30  bar warp
7.8 sm_20  bar cta
6.0 sm_30  barrier
7.8 sm_30  barrier cta
8.0 sm_90  barrier acquire|release|relaxed
6.0 sm_70  fence
7.5 sm_70  fence alias
8.0 sm_90  fence async|mbarrier_init
8.3 sm_90  fence tensormap::generic
8.6 sm_90  fence sync_restrict::shared::cta|sync_restrict::shared::cluster
7.0 sm_80  mbarrier
7.1 sm_80  mbarrier parity
7.8 sm_90  mbarrier try_wait
7.8 sm_90  mbarrier arrive|arrive_drop !noComplete #3
8.0 sm_80  mbarrier cta|cluster
8.0 sm_90  mbarrier expect_tx|complete_tx
8.6 sm_90  mbarrier arrive|arrive_drop|test_wait|try_wait relaxed
7.8 sm_90  griddepcontrol
8.0 sm_90a,{_FAMILIES} setmaxnreg

7.0 sm_80  cp async
8.0 sm_90  cp bulk
8.6 sm_90  cp bulk global mbarrier::complete_tx::bytes shared::cta
8.6 sm_100 cp cp_mask
8.1 sm_90  st|red async
8.6 sm_100 st bulk
8.1 sm_90  multimem
8.3 sm_90  tensormap
8.6 sm_100 clusterlaunchcontrol
6.5 sm_75  ldmatrix
7.8 sm_75  movmatrix
7.8 sm_90  stmatrix
8.6 {_FAMILIES} ldmatrix m16n16|m8n16
8.6 {_FAMILIES} stmatrix m16n8
6.0 sm_70  wmma
6.1 sm_70  wmma m8n32k16|m32n8k16
6.3 sm_70  wmma aligned
6.3 sm_72  wmma s8|u8|s32
6.3 sm_75  wmma s4|u4|b1|m8n8k32|m8n8k128
7.0 sm_80  wmma bf16|tf32|f64|m16n16k8|m8n8k4
7.1 sm_80  wmma and
6.4 sm_70  mma
6.5 sm_75  mma m16n8k8|s8|u8|s4|u4
7.0 sm_75  mma b1
7.0 sm_80  mma bf16|tf32|f64|m16n8k4|m16n8k16|m16n8k32|m16n8k64|m16n8k128|m16n8k256
7.1 sm_80  mma sp
7.1 sm_80  mma and
7.8 sm_90  mma f64 m16n8k4|m16n8k8|m16n8k16
8.4 sm_89  mma e4m3|e5m2
8.5 sm_80  mma sp::ordered_metadata
8.7 sm_89  mma e4m3|e5m2 m16n8k16|to:f16
8.6 {_FAMILIES} mma kind::f8f6f4
8.7 sm_120a,sm_121a mma e3m2|e2m3|e2m1|block_scale
8.0 sm_90a wgmma
8.6 {_ONE_FAMILY} tcgen05

1.5 -      texmode_independent|.texref|.samplerref|.surfref
1.4 -      parameters|call
1.3 -      .maxntid|.maxnreg|.maxnctapersm
2.0 -      .minnctapersm|.pragma|.section
2.1 -      .reqntid|address
2.2 -      .ptr
2.0 sm_20  .param|.func.param
2.1 sm_20  .callprototype|.calltargets
3.0 -      declaration
3.1 -      .weak|generic()
4.0 sm_30  .managed
5.0 -      .common
6.0 sm_30  .branchtargets|variadic
6.3 sm_30  .alias
6.4 sm_30  .noreturn
7.1 -      mask
3.0 -      debug
3.1 sm_35  kernel
7.8 sm_90  .explicitcluster|.reqnctapercluster|.maxclusterrank
9.0 sm_90  .blocksareclusters|.unified
9.0 sm_80  .abi_preserve|.abi_preserve_control
4.2 sm_53  .f16x2
8.3 sm_70  .b128
2.0 sm_20  %nwarpid|%nsmid|%lanemask_eq|%lanemask_le|%lanemask_lt|%lanemask_ge|%lanemask_gt|%clock64
3.0 sm_20  {"|".join(f"%pm{number}" for number in range(4, 8))}
4.0 sm_50  {"|".join(f"%pm{number}_64" for number in range(8))}
3.1 sm_30  %globaltimer|%globaltimer_lo|%globaltimer_hi
4.1 sm_20  %dynamic_smem_size|%total_smem_size
5.0 sm_20  %clock_hi
7.6 sm_80  {"|".join(f"%reserved_smem_offset_{word}" for word in ("begin", "end", "cap", 0, 1))}
7.8 sm_90  %clusterid|%nclusterid|%cluster_ctaid|%cluster_nctaid|%cluster_ctarank|%cluster_nctarank
7.8 sm_90  %is_explicit_cluster
8.0 sm_50  %current_graph_exec
8.1 sm_90  %aggr_smem_size
"""
_WITHOUT_SPACE = frozenset(("ld", "ldu", "st", "atom", "red", "prefetch"))


class Need(NamedTuple):
    """The version and target of a feature. ``targets`` are the only ones; empty: ``target`` and all later ones."""

    shown: str
    version: tuple[int, int]
    target: int
    targets: tuple[str, ...]


class _Line(NamedTuple):
    """A line of ``FEATURES`` without its opcodes. ``absent`` words must not be there."""

    groups: tuple[frozenset[str], ...]
    absent: frozenset[str]
    need: Need


def _parsed() -> dict[str, list[_Line]]:
    made: dict[str, list[_Line]] = {}
    for line in filter(None, FEATURES.split("\n")):
        version, target, opcodes, *words = line.split()
        major, _, minor = version.partition(".")
        targets = tuple(target.split(",")) if "a" in target else ()
        least = 0 if targets or target == "-" else int(target.removeprefix("sm_"))
        groups = tuple(frozenset(w for one in g.split("|") for w in _spelled(one)) for g in words if g[0] != "!")
        absent = frozenset(g[1:] for g in words if g[0] == "!")
        for opcode in opcodes.split("|"):
            made.setdefault(opcode, []).append(
                _Line(groups, absent, Need("", (int(major), int(minor)), least, targets))
            )
    return made


def _spelled(word: str) -> list[str]:
    """The words of a name of ``WORDS``, with what stands before it (``from:INT8``)."""
    before, colon, name = word.rpartition(":") if word.startswith(("from:", "to:")) else ("", "", word)
    return [f"{before}{colon}{one}" for one in WORDS.get(name, name).split("|")]


_LINES = _parsed()
NAMES = frozenset(_LINES)
"""Opcodes, special registers, directives and other features of ``FEATURES``."""


def words_of(instruction: ir.Instruction) -> frozenset[str]:
    """The words of an instruction.

    The modifiers; ``from:`` and ``to:`` with the types of source and destination; ``indirect`` where a register names
    an image or an address, ``generic`` where such an access has no state space; ``pair`` for ``d|p``; ``#4`` for four
    operands.
    """
    form = instruction.form
    found = {word for word in instruction.modifiers if f".{word}" in instruction.text}  # not what early PTX implies
    found.add(f"#{len(instruction.operands)}")
    if form.types:
        found |= {f"to:{form.types[0]}", f"from:{form.types[-1]}"}
    for operand in instruction.operands:
        if isinstance(operand, ir.Pair):
            found.add("pair")
        named = operand.name if isinstance(operand, ir.Texture) else getattr(operand, "base", None)
        if isinstance(named, ir.Register):
            found.add("indirect")
    if not form.spaces and instruction.opcode in _WITHOUT_SPACE and "indirect" in found:
        found.add("generic")
    return frozenset(found)


@lru_cache(maxsize=4096)
def needs_of(opcode: str, words: frozenset[str] = frozenset()) -> tuple[Need, ...]:
    """The needs of an opcode with its words, or of another name, each with the feature that has it."""
    made = []
    for groups, absent, need in (*_LINES.get(opcode, ()), *_LINES["*"]):
        if absent.isdisjoint(words) and all(not group.isdisjoint(words) for group in groups):
            shown = "".join(f".{min(group & words)}" for group in groups if not min(group & words).startswith("#"))
            made.append(need._replace(shown=f"'{shown}' of {opcode}" if shown else f"'{opcode}'"))
    return tuple(made)
