"""Which registers hold a value that is still needed, and how many that are at most.

Backward data flow over the blocks; sets of registers are the bits of one integer. A predicated write does not end the
life of the value before, because lanes that are predicated off keep it.
"""

from rayplay.ptx.flow.language import describe
from rayplay.ptx.graph import Cfg, predecessors_of, settle
from rayplay.ptx.ir import NO_FORM, Address, Function, Immediate, Instruction, Operand, Register, Symbol
from rayplay.ptx.isa.describe import collect_registers, operand_uses
from rayplay.ptx.sass import registers as sass_registers

WORDS = {"b64": 2, "u64": 2, "s64": 2, "f64": 2, "b128": 4}  # 32-bit registers of a type; 1 for all others

# Registers that ptxas takes beyond the live values, for addresses and its schedule: the median over 36 kernels of
# nvcc 13 (CUB's sort, reduce and scan, our own); half of them lie within -1 and +12.
ALLOCATOR_REGISTERS = 4


class Liveness:
    """Registers as bits: ``index[name]`` is the bit; ``reads`` and ``writes`` per instruction; ``live_in`` and
    ``live_out`` per block. ``writes_all`` has the writes that surely happen."""

    def __init__(self, function: Function, cfg: Cfg) -> None:
        self.index: dict[str, int] = {}
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.writes_all: list[int] = []
        known: dict[str, int] = {}
        for instruction in function.body:
            reads, writes = self._uses(instruction, function, known)
            self.reads.append(reads)
            self.writes.append(writes)
            self.writes_all.append(0 if instruction.guard else writes)
        returned = self._bits(tuple(v.name for v in function.returns if v.space == "reg"))
        at_end = [returned if block.leaves else 0 for block in cfg.blocks]
        self.live_in, self.live_out = solve(cfg, self.reads, self.writes_all, at_end)

    def _uses(self, i: Instruction, function: Function, known: dict[str, int]) -> tuple[int, int]:
        """Registers that an instruction reads and writes, as ``describe`` has them, without its names and its time.

        ``known`` remembers the bits of names; names of vector registers stand for other bits each time.
        """
        if i.form is NO_FORM or i.call is not None:
            description = describe(i, function)
            return self._bits(description.sources), self._bits(description.destinations)
        uses = operand_uses(i.form.key, len(i.operands))
        reads = writes = 0
        if i.guard is not None:
            reads = self._bits((i.guard.register.name,))
        for operand, (read, written) in zip(i.operands, uses, strict=True):
            if type(operand) is Address:
                operand, read, written = operand.base, True, False
            if type(operand) is Register:
                bits = known.get(operand.name)
                if bits is None:
                    bits = self._operand_bits(operand, function)[0]
                    if not function.registers.get(operand.name, "").startswith("v"):
                        known[operand.name] = bits
                if written:
                    writes |= bits
                if read:
                    reads |= bits
            elif type(operand) is not Immediate and type(operand) is not Symbol:
                itself, addressed = self._operand_bits(operand, function)
                reads |= addressed | (itself if read else 0)
                writes |= itself if written else 0
        return reads, writes

    def _operand_bits(self, operand: Operand, function: Function) -> tuple[int, int]:
        """Registers that an operand itself is, and the ones that its addresses and negations read."""
        itself: list[str] = []
        addressed: list[str] = []
        collect_registers(operand, function, itself, addressed)
        return self._bits(tuple(itself)), self._bits(tuple(addressed))

    def _bits(self, names: tuple[str, ...]) -> int:
        bits = 0
        for name in names:
            bits |= 1 << self.index.setdefault(name, len(self.index))
        return bits

    def names(self, bits: int) -> frozenset[str]:
        """The registers of a set of bits."""
        return frozenset(name for name, bit in self.index.items() if bits >> bit & 1)


def solve(cfg: Cfg, reads: list[int], writes_all: list[int], at_end: list[int]) -> tuple[list[int], list[int]]:
    """Registers live at the top and at the bottom of each block, as bits.

    ``reads`` and ``writes_all`` are per instruction; ``at_end`` per block the registers needed after the function.
    """
    size = len(cfg.blocks)
    needs, kills = [0] * size, [0] * size
    predecessors = predecessors_of([list(block.successors) for block in cfg.blocks])
    for number, block in enumerate(cfg.blocks):
        for position in reversed(range(block.first, block.first + block.count)):
            needs[number] = needs[number] & ~writes_all[position] | reads[position]
            kills[number] |= writes_all[position]
    live_in, live_out = [0] * size, list(at_end)

    def update(number: int) -> list[int]:
        for successor in cfg.blocks[number].successors:
            live_out[number] |= live_in[successor]
        before, live_in[number] = live_in[number], needs[number] | live_out[number] & ~kills[number]
        return predecessors[number] if before != live_in[number] else []

    settle(range(size), update)
    return live_in, live_out


def register_count(function: Function, cfg: Cfg) -> int:
    """32-bit registers a thread needs: the most that are live at once, 64-bit ones counted twice, predicates not,
    and what an allocator adds. SASS is allocated already: what the listing says, or its highest register.

    Registers that are never written need none (unused payload words of a trace call), nor do results never read.
    """
    if function.language == "sass":
        return sass_registers.register_count(function)
    solved = Liveness(function, cfg)
    masks: dict[int, int] = {}
    for name, bit in solved.index.items():
        declared = function.registers.get(name.partition(".")[0], "b32")
        words = 0 if declared == "pred" else WORDS.get(declared.rpartition(".")[2], 1)
        masks[words] = masks.get(words, 0) | 1 << bit
    written = 0
    for bits in solved.writes:
        written |= bits
    masks = {words: mask & written for words, mask in masks.items() if words}
    most = 0
    for number, block in enumerate(cfg.blocks):
        live = solved.live_out[number]
        for position in reversed(range(block.first, block.first + block.count)):
            most = max(most, _words(live, masks))
            live = live & ~solved.writes_all[position] | solved.reads[position]
        most = max(most, _words(live, masks))
    return most + ALLOCATOR_REGISTERS


def _words(live: int, masks: dict[int, int]) -> int:
    return sum(words * (live & mask).bit_count() for words, mask in masks.items())
