"""Small random Accel-Sim traces: a few CTAs, every kind of instruction, masks, barriers and shapes of addresses."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

FULL = (1 << 32) - 1
MOST_SECTORS = 600  # of a trace; what its loads and stores access beyond them is one sector each
ARITHMETIC = (
    "FFMA", "FADD", "HFMA2", "IADD3", "IMAD", "MOV", "S2R", "MUFU.RCP", "DADD", "BRA", "TEX", "HMMA", "ULDC", "SHF",
)  # fmt: skip
WIDTHS = {"": 4, ".U8": 1, ".64": 8, ".128": 16}
MEMORY = (
    "LDG.E",
    "LDG.E",
    "LDG.E.STRONG.GPU",
    "STG.E",
    "STG.E",
    "LDS",
    "STS",
    "LDL",
    "STL",
    "ATOMG.E.ADD",
    "RED.E.ADD",
    "LDGSTS.E",
    "TEX",
)
HEAD = """-kernel name = k{number}
-kernel id = {number}
-grid dim = ({ctas},1,1)
-block dim = ({threads},1,1)
-shmem = {shared}
-nregs = {registers}
-binary version = 75
-cuda stream id = 0
-accelsim tracer version = 5
#traces format = as in docs/sources/accel-sim.md#instruction-line
"""


@dataclass(frozen=True)
class Line:
    """A static instruction; ``kind`` is arithmetic, memory, barrier, fence, group or exit."""

    kind: str
    opcode: str
    written: tuple[int, ...]
    read: tuple[int, ...]
    bytes: int = 0
    immediate: int = 0


class Room:
    """Remaining budget of sectors of a trace, so that the twin takes at most a second."""

    def __init__(self, sectors: int) -> None:
        self.sectors = sectors

    def take(self, addresses: list[int]) -> list[int]:
        """The addresses, or the first one for every lane."""
        if self.sectors <= 0:
            return [addresses[0]] * len(addresses)
        self.sectors -= len({address // 32 for address in addresses})
        return addresses


def write(
    folder: Path, random: Random, max_threads: int, with_memory: bool = True, shape: tuple[int, int] | None = None
) -> Path:
    """A folder with ``kernelslist.g``; every CTA has at most ``max_threads`` threads. shape: CTAs of each kernel and
    threads of each CTA, instead of random ones."""
    commands, room = [], Room(MOST_SECTORS)
    base = random.choice((0x10000000, 0x7F0000000000))
    for number in range(1, random.choice((1, 1, 2, 3)) + 1):
        if random.random() < 0.3:
            commands.append(f"MemcpyHtoD,{base + 32 * random.randrange(64):#x},{32 * random.randrange(1, 65)}")
        name = f"kernel-{number}.traceg"
        (folder / name).write_text(_kernel(number, random, max_threads, base, with_memory, room, shape))
        commands.append(name)
    (folder / "kernelslist.g").write_text("".join(f"{command}\n" for command in commands))
    return folder / "kernelslist.g"


def _kernel(
    number: int, random: Random, max_threads: int, base: int, with_memory: bool, room: Room,
    shape: tuple[int, int] | None,
) -> str:  # fmt: skip
    threads = random.randint(1, max_threads) if random.random() < 0.3 else 32 * random.randint(1, max_threads // 32)
    ctas = random.choice((1, 1, 2, 3, 5, 8))
    ctas, threads = shape or (ctas, threads)
    code = _program(random, with_memory)
    span = random.choice((1 << 9, 1 << 12, 1 << 16))
    text = [
        HEAD.format(
            number=number, ctas=ctas, threads=threads, shared=0 if shape else random.choice((0, 0, 256, 1024, 4096)),
            registers=random.choice((8, 16, 32)),
        )
    ]  # fmt: skip
    for cta in range(ctas):
        text.append(f"#BEGIN_TB\n\nthread block = {cta},0,0\n")
        for warp in range(-(-threads // 32)):
            lanes = (1 << min(32, threads - 32 * warp)) - 1
            executed = _warp(code, random, lanes, base, span, room)
            text.append(f"\nwarp = {warp}\ninsts = {len(executed)}\n" + "".join(f"{one}\n" for one in executed))
        text.append("\n#END_TB\n")
    return "\n".join(text)


def _program(random: Random, with_memory: bool) -> list[Line]:
    """Straight code with an exit at its end; registers are few, so that instructions depend on each other."""
    registers = random.choice((3, 6, 24))
    memory = random.choice((0.0, 0.3, 0.3, 0.8)) * with_memory
    copies = memory > 0 and random.random() < 0.3
    code = []
    for _ in range(random.randint(1, 24)):
        written = (random.randrange(registers),) if random.random() < 0.8 else ()
        written = (255,) if written and random.random() < 0.05 else written
        read = tuple(random.choice((*range(registers), 255)) for _ in range(random.randint(0, 3)))
        if random.random() < 0.05:
            is_fence = with_memory and random.random() < 0.5
            code.append(Line(*(("fence", "MEMBAR.SC.GPU") if is_fence else ("barrier", "BAR.SYNC")), (), ()))
        elif copies and random.random() < 0.2:
            opcode = random.choice(("LDGDEPBAR", "LDGDEPBAR", "DEPBAR.LE"))
            code.append(Line("group", opcode, (), (), 0, random.randrange(3) if opcode == "DEPBAR.LE" else 0))
        elif random.random() < memory:
            code.append(_access(random, written, read))
        else:
            code.append(Line("arithmetic", random.choice(ARITHMETIC), written, read))
    return [*code, Line("exit", "EXIT", (), ())]


def _access(random: Random, written: tuple[int, ...], read: tuple[int, ...]) -> Line:
    opcode = random.choice(MEMORY)
    width = "" if opcode.startswith(("ATOM", "RED", "TEX")) else random.choice(("", "", *WIDTHS))
    written = () if opcode.startswith(("ST", "RED", "LDGSTS")) else written or (255,)
    opcode = opcode.replace(".STRONG", f"{width}.STRONG") if "STRONG" in opcode else opcode + width
    return Line("memory", opcode, written, read or (0,), WIDTHS[width])


def _warp(code: list[Line], random: Random, lanes: int, base: int, span: int, room: Room) -> list[str]:
    """Execution of the code by a warp: some instructions are skipped, lanes are off, some exit early."""
    executed, live = [], lanes
    divergence = random.choice((0.0, 0.0, 0.3, 0.9))
    for place, line in enumerate(code):
        if line.kind == "arithmetic" and random.random() < 0.1 * divergence:
            continue
        mask = live
        if line.kind in ("arithmetic", "memory") and random.random() < divergence:
            mask = live & random.choice((random.getrandbits(32), 1 << random.randrange(32), 0, 0xFFFF, 0x55555555))
        executed.append(_line(16 * place, line, mask, random, base, span, room))
    if random.random() < 0.2:
        early = live & random.getrandbits(32)
        if early and live & ~early:
            executed.insert(-1, f"{16 * len(code):04x} {early:08x} 0 EXIT 0 0 0")
            executed[-1] = f"{16 * (len(code) - 1):04x} {live & ~early:08x} 0 EXIT 0 0 0"
    return executed


def _line(pc: int, line: Line, mask: int, random: Random, base: int, span: int, room: Room) -> str:
    registers = "".join(f" R{number}" for number in line.written), "".join(f" R{number}" for number in line.read)
    text = f"{pc:04x} {mask:08x} {len(line.written)}{registers[0]} {line.opcode} {len(line.read)}{registers[1]}"
    if line.kind != "memory":
        return f"{text} 0 {line.immediate}"
    addresses = _addresses(line, mask.bit_count(), random, base, span)
    if not addresses:
        return f"{text} {line.bytes} 1 0x0 0 0"
    addresses = room.take(addresses)
    return f"{text} {line.bytes} 0 {' '.join(f'{address:#x}' for address in addresses)} 0"


def _addresses(line: Line, count: int, random: Random, base: int, span: int) -> list[int]:
    """One address a lane, aligned to the width of the access."""
    size = line.bytes
    if line.opcode.startswith(("LDS", "STS")):
        base, span = 0, 4096
    elif line.opcode.startswith(("LDL", "STL")):
        base, span = 16, 64
    first = random.randrange(span) // size * size
    shape = random.choice(("together", "together", "same", "lines", "columns", "random", "random"))
    step = {"together": size, "same": 0, "lines": 128, "columns": random.choice((32, 64, 256, 512))}.get(shape)
    if step is None:
        offsets = [random.randrange(span) // size * size for _ in range(count)]
    else:
        offsets = [first + lane * step for lane in range(count)]
    if base == 16:
        offsets = [offset % 256 // max(size, 4) * max(size, 4) for offset in offsets]
    return [base + offset for offset in offsets]
