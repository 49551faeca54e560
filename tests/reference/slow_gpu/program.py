"""Kernels, CTAs and warps of an imported trace, as lists of executed instructions."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from rayplay.formats.dataset.reader import Trace, open_trace

SP = """FADD FADD32I FCHK FFMA FFMA32I FMNMX FMUL FMUL32I FSEL FSET FSETP FSWZADD HADD2 HADD2_32I HFMA2 HFMA2_32I
    HMUL2 HMUL2_32I HSET2 HSETP2 HMNMX2"""
HALF_RATE = "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2_32I HSET2 HSETP2"
UNIT_OF = {
    "SP": SP, "SFU": "MUFU", "DP": "DADD DFMA DMUL DSETP",
    "S1": "BMOV BPT BRA BREAK BRX BRXU BSSY BSYNC CALL JMP JMX JMXU NANOSLEEP RET RPCMOV RTT WARPSYNC YIELD",
    "S2": "TEX TLD TLD4 TMML TXD TXQ",
    "S3": "HMMA BMMA IMMA DMMA KILL",
    "S4": """R2UR REDUX S2UR UBMSK UBREV UCLEA UF2FP UFLO UIADD3 UIMAD UISETP ULDC ULEA ULOP ULOP3 ULOP32I UMOV UP2UR
        UPLOP3 UPOPC UPRMT UPSETP UR2UP USEL USGXT USHF USHL USHR VOTEU""",
    "MEM": "LD LDG LDL LDS LDSM LDGSTS ST STG STL STS ATOM ATOMS ATOMG RED MEMBAR",
}  # fmt: skip
UNITS = {opcode: unit for unit, opcodes in UNIT_OF.items() for opcode in opcodes.split()}
LOADS = ("LD", "LDG", "LDL", "LDS", "LDSM", "LDGSTS", "ATOM", "ATOMS", "ATOMG", "RED")
BYPASSING = ("LDG", "LDL", "LDGSTS")
LOCAL_BYTES = 1 << 14
ATOMICS = ("ATOM", "ATOMS", "ATOMG", "RED")


@dataclass(frozen=True)
class Instruction:
    """Static facts of an instruction (docs/sources/accel-sim.md#opcode-classes)."""

    pc: int  # from the kernel's first instruction on
    opcode: str
    unit: str
    latency: int
    initiation: int
    written: tuple[int, ...]
    read: tuple[int, ...]
    space: str  # global, shared, local, generic; '' without memory access
    bytes: int
    is_load: bool
    is_store: bool
    is_atomic: bool
    bypasses: bool
    is_exit: bool
    is_barrier: bool
    is_fence: bool
    is_copy: bool  # from global to shared memory, in a group
    is_commit: bool  # the end of a group of copies
    spared: int  # of a wait for copies: the latest groups that it does not wait for; else -1


@dataclass(frozen=True)
class Executed:
    """One execution: its lanes and their addresses (a lane without an address accesses nothing)."""

    instruction: Instruction
    mask: int
    addresses: dict[int, int] = field(default_factory=dict)


@dataclass
class Kernel:
    """A launch; ``ctas`` are lists of warps, warps lists of ``Executed``."""

    name: str
    stream: int
    threads: int
    registers: int
    shared_bytes: int
    ctas: list[list[list[Executed]]]
    is_fragment: bool = False
    tests: int = 0  # of depth


def decode(
    pc: int, opcode: str, space: str, size: int, text: str, written: tuple[int, ...], read: tuple[int, ...],
    latencies: dict, textures: bool,
):  # fmt: skip
    """The instruction of a dotted opcode, with the latency and initiation interval of its unit."""
    base = opcode.partition(".")[0]
    unit = UNITS.get(base, "INT")
    is_texture = textures and unit == "S2" and space == "texture"
    unit = "MEM" if is_texture else unit
    modifiers = opcode.split(".")
    memory = unit == "MEM" and base != "MEMBAR"
    latency, initiation = latencies["ONE" if unit == "MEM" or base in ("EXIT", "BAR") else unit]
    if base in HALF_RATE.split():
        initiation = max(1, initiation // 2)
    if base in ("ATOM", "RED"):
        space = "global"
    return Instruction(
        pc, opcode, unit, latency, initiation, written, read, space if memory else "", size,
        is_load=base in LOADS or is_texture, is_store=memory and base not in LOADS and not is_texture,
        is_atomic=base in ATOMICS,
        bypasses=base in ("ATOM", "ATOMG", "RED") or (base in BYPASSING and {"STRONG", "GPU"} <= {*modifiers}),
        is_exit=base == "EXIT", is_barrier=base == "BAR", is_fence=base == "MEMBAR",
        is_copy=base == "LDGSTS", is_commit=base == "LDGDEPBAR",
        spared=int(text.partition("/*")[0].split()[-1], 16) if base == "DEPBAR" else -1,
    )  # fmt: skip


def load(path: Path, latencies: dict, textures: bool = False) -> Iterator["Kernel | tuple[int, int]"]:
    """The commands of a trace in order: kernels, and copies to the GPU as (address, bytes).

    textures  whether texture instructions access memory.
    """
    trace = open_trace(path)
    kernels, copies = trace.read("kernels"), trace.read("copies")
    copy = 0
    for kernel in range(len(kernels["kernel_id"]) + 1):
        while copy < len(copies["kernel_id"]) and copies["kernel_id"][copy] == kernel:
            yield int(copies["address"][copy]), int(copies["bytes"][copy])
            copy += 1
        if kernel < len(kernels["kernel_id"]):
            yield _kernel(trace, kernels, kernel, latencies, textures)


def _kernel(trace: Trace, kernels: dict, kernel: int, latencies: dict, textures: bool) -> Kernel:
    x, y, z = (int(kernels[f"block_{axis}"][kernel]) for axis in "xyz")
    shared_base, local_base = int(kernels["shared_base"][kernel]), int(kernels["local_base"][kernel])
    ctas: dict[int, list] = {}
    for cta, place, executed in _warps(trace, kernel, latencies, textures):
        warps = ctas.setdefault(cta, [])
        warps += [[] for _ in range(place + 1 - len(warps))]
        warps[place] = [resolved(one, shared_base, local_base) for one in executed]
    return Kernel(
        str(kernels["name"][kernel]), int(kernels["stream"][kernel]), x * y * z,
        int(kernels["registers_per_thread"][kernel]), int(kernels["shared_bytes"][kernel]),
        [ctas[cta] for cta in sorted(ctas)], *_raster(trace, kernel),
    )  # fmt: skip


def _raster(trace: Trace, kernel: int) -> tuple[bool, int]:
    """Whether a kernel is a fragment shader, and the pixels whose depth is tested before it."""
    stages = trace.read("stages", ["kernel_id", "stage", "covered"])
    rows = zip(*(stages[name].tolist() for name in ("kernel_id", "stage", "covered")), strict=True)
    found = [covered for number, stage, covered in rows if number == kernel and stage == "fragment"]
    return bool(found), sum(found)


def resolved(executed: Executed, shared_base: int, local_base: int) -> Executed:
    """A generic access is to the space of its first address; without known bases it is to shared memory."""
    if executed.instruction.space != "generic":
        return executed
    address = next(iter(executed.addresses.values()), 0)
    space = "global"
    if not shared_base or not local_base or shared_base <= address < local_base:
        space = "shared"
    elif local_base <= address < local_base + LOCAL_BYTES:
        space = "local"
    return replace(executed, instruction=replace(executed.instruction, space=space))


def _warps(trace: Trace, kernel: int, latencies: dict, textures: bool) -> Iterator[tuple[int, int, list[Executed]]]:
    """(cta, warp in the CTA, what it executed) of each warp of a kernel."""
    instructions, blocks = _instructions(trace, latencies, textures), _blocks(trace)
    warps = trace.read("warps")
    for first, last, tables in trace.warp_batches(4096, ("visits", "accesses", "predicates")):
        rows: dict[int, list[tuple[int, int]]] = {}
        visits = tables["visits"]
        for warp, block, mask in zip(visits["warp_id"], visits["block_id"], visits["active_mask"], strict=True):
            rows.setdefault(int(warp), []).append((int(block), int(mask)))
        masks = {
            key: int(mask)
            for key, mask in zip(_keys(tables["predicates"]), tables["predicates"]["lane_mask"], strict=True)
        }
        addresses = _addresses(tables["accesses"])
        for warp in range(first, last):
            if warps["kernel_id"][warp] != kernel:
                continue
            executed = [
                Executed(instructions[number], masks.get(key, mask), addresses.get(key, {}))
                for visit, (block, mask) in enumerate(rows.get(warp, []))
                for number in blocks[block]
                for key in [(warp, visit, number)]
            ]
            yield int(warps["cta_id"][warp]), int(warps["warp_in_cta"][warp]), executed


def _keys(table: dict) -> Iterator[tuple[int, int, int]]:
    columns = (table[name].tolist() for name in ("warp_id", "visit", "instruction_id"))
    return zip(*columns, strict=True)


def _addresses(table: dict) -> dict[tuple[int, int, int], dict[int, int]]:
    """Lane -> address by (warp, visit, instruction); further sectors of a texture have numbers from 32 on."""
    found = {}
    values, offsets = table["address"].tolist(), table["address_offset"].tolist()
    for row, (key, mask) in enumerate(zip(_keys(table), table["lane_mask"].tolist(), strict=True)):
        lanes = [lane for lane in range(32) if mask >> lane & 1]
        of_row = values[offsets[row] : offsets[row + 1]]
        further = range(32, 32 + len(of_row) - len(lanes))
        found[key] = dict(zip((*lanes, *further), of_row, strict=True))
    return found


def _instructions(trace: Trace, latencies: dict, textures: bool) -> dict[int, Instruction]:
    table = trace.read("instructions")
    found: dict[int, Instruction] = {}
    kernel, pc = -1, 0
    for row, number in enumerate(table["instruction_id"].tolist()):
        registers = []
        for name in ("destination_registers", "source_registers"):
            begin, end = table[f"{name}_offset"][row : row + 2]
            registers.append(tuple(table[name][int(begin) : int(end)].tolist()))
        opcode, space, text = (str(table[name][row]) for name in ("opcode", "memory_space", "text"))
        pc = pc + 16 if table["kernel_id"][row] == kernel else 0
        pc, kernel = int(text.partition("/* PC ")[2].partition(" ")[0] or hex(pc), 16), table["kernel_id"][row]
        size = int(table["access_bytes"][row])
        found[number] = decode(pc, opcode, space, size, text, *registers, latencies, textures)
    return found


def _blocks(trace: Trace) -> dict[int, range]:
    """Instruction numbers by block."""
    table = trace.read("blocks")
    return {
        int(block): range(int(first), int(first + count))
        for block, first, count in zip(
            table["block_id"], table["first_instruction"], table["instruction_count"], strict=True
        )
    }
