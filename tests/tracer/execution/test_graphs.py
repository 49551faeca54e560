"""Random programs of any shape, with calls: every thread does what it does alone, and both backends do the same.

Each function is a graph of blocks whose branches lead anywhere (irreducible loops included); a thread carries a value
and fuel, which every block takes one of, so that all programs end. What a thread does is told by a few lines of Python.
"""

import random
from dataclasses import dataclass, field

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tracer.harness.execution import both

FUEL = 24
FUNCTIONS = 4
MASK = (1 << 32) - 1
KINDS = ("jump", "branch", "branch", "branch", "table", "call", "indirect", "return", "leave", "exit")


@dataclass
class Block:
    """value = value * factor + add; then what ``kind`` says, on bits of the value."""

    kind: str
    factor: int
    add: int
    shift: int
    targets: list[int]
    callees: list[int] = field(default_factory=list)


class EndedError(Exception):
    """The thread has ended."""


class Program:
    """Functions of blocks; function 0 is the entry. Functions call ones of a higher number."""

    def __init__(self, seed: int) -> None:
        r = random.Random(seed)
        self.functions = [
            [self._block(r, f, r.randint(3, 7)) for _ in range(8)][: r.randint(3, 7)] for f in range(FUNCTIONS)
        ]
        for blocks in self.functions:
            for block in blocks:
                block.targets = [target % len(blocks) for target in block.targets]

    @staticmethod
    def _block(r: random.Random, function: int, size: int) -> Block:
        kind = r.choice(KINDS)
        callees = [r.randint(function + 1, FUNCTIONS - 1) for _ in range(2)] if function < FUNCTIONS - 1 else []
        if not callees and kind in ("call", "indirect"):
            kind = "branch"
        return Block(kind, r.randrange(3, 1 << 16, 2), r.randrange(1 << 16), r.randint(0, 6),
                     [r.randrange(size) for _ in range(4)], callees)  # fmt: skip

    def run(self, value: int) -> int:
        """Final value of the thread that begins with ``value``."""
        state = [value, FUEL]
        try:
            self._run(0, state)
        except EndedError:
            return state[0] ^ MASK
        return state[0]

    def _run(self, function: int, state: list[int]) -> None:
        index = 0
        while True:
            block = self.functions[function][index]
            if state[1] == 0:
                return
            state[1] -= 1
            state[0] = (state[0] * block.factor + block.add) & MASK
            bits = state[0] >> block.shift
            following = (index + 1) % len(self.functions[function])
            if block.kind == "jump":
                index = block.targets[0]
            elif block.kind == "branch":
                index = block.targets[0] if bits & 1 else following
            elif block.kind == "table":
                index = block.targets[bits & 3]
            elif block.kind == "call" or block.kind == "indirect":
                self._run(block.callees[bits & 1 if block.kind == "indirect" else 0], state)
                index = following
            elif block.kind == "return" and bits & 3 == 0:
                return
            elif block.kind == "exit" and bits & 7 == 0:
                raise EndedError
            elif block.kind == "leave":
                return
            else:
                index = following

    def text(self) -> str:
        """The program as PTX."""
        functions = [self._function(number) for number in reversed(range(1, FUNCTIONS))]
        table = ", ".join(f"f{number}" for number in range(1, FUNCTIONS))
        names = "\n".join(
            f".func (.reg .u32 v, .reg .u32 u) f{n}(.reg .u32 %v, .reg .u32 %u, .reg .u64 %o);"
            for n in range(1, FUNCTIONS)
        )
        entry = f"""
.visible .entry test(.param .u64 out)
{{
    .reg .u32 %v; .reg .u32 %u; .reg .u64 %o;
    {self._registers()}
    ld.param.u64 %o, [out];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %v, %r1, %r2, %r3;
    mul.wide.u32 %l1, %v, 4; add.u64 %o, %o, %l1;
    mov.u32 %u, {FUEL};
    {self._blocks(0)}
end:
    st.global.u32 [%o], %v;
    ret;
}}"""
        return "\n".join((names, *functions, f".global .u64 table[] = {{{table}}};", entry))

    @staticmethod
    def _registers() -> str:
        return ".reg .b32 %r<8>; .reg .b64 %l<4>; .reg .pred %p<4>;"

    def _function(self, number: int) -> str:
        return f"""
.func (.reg .u32 v, .reg .u32 u) f{number}(.reg .u32 %v, .reg .u32 %u, .reg .u64 %o)
{{
    {self._registers()}
    {self._blocks(number)}
end:
    mov.u32 v, %v; mov.u32 u, %u;
    ret;
}}"""

    def _blocks(self, number: int) -> str:
        blocks = self.functions[number]
        return "\n    ".join(line for index in range(len(blocks)) for line in self._lines(number, index))

    def _lines(self, number: int, index: int) -> list[str]:
        block, size = self.functions[number][index], len(self.functions[number])
        made = [
            f"b{index}: setp.eq.u32 %p1, %u, 0;", "@%p1 bra end;", "sub.u32 %u, %u, 1;",
            f"mad.lo.u32 %v, %v, {block.factor}, {block.add};", f"shr.u32 %r1, %v, {block.shift};",
        ]  # fmt: skip
        if block.kind == "jump":
            made += [f"bra b{block.targets[0]};"]
        elif block.kind == "branch":
            made += ["and.b32 %r2, %r1, 1;", "setp.ne.u32 %p2, %r2, 0;", f"@%p2 bra b{block.targets[0]};"]
        elif block.kind == "table":
            labels = ", ".join(f"b{target}" for target in block.targets)
            made += [f"t{index}: .branchtargets {labels};", "and.b32 %r2, %r1, 3;", f"brx.idx %r2, t{index};"]
        elif block.kind == "call":
            made += [f"call (%v, %u), f{block.callees[0]}, (%v, %u, %o);"]
        elif block.kind == "indirect":
            made += self._indirect(block, index)
        elif block.kind == "return":
            made += ["and.b32 %r2, %r1, 3;", "setp.eq.u32 %p2, %r2, 0;", "@%p2 bra end;"]
        elif block.kind == "exit":
            made += ["and.b32 %r2, %r1, 7;", "setp.eq.u32 %p2, %r2, 0;", "not.b32 %r3, %v;",
                     "@%p2 st.global.u32 [%o], %r3;", "@%p2 exit;"]  # fmt: skip
        elif block.kind == "leave":
            made += ["bra end;"]
        return [*made, f"bra b{(index + 1) % size};"] if index == size - 1 else made

    @staticmethod
    def _indirect(block: Block, index: int) -> list[str]:
        one, other = (8 * (callee - 1) for callee in block.callees)
        return [
            "and.b32 %r2, %r1, 1;", "setp.ne.u32 %p2, %r2, 0;", f"selp.u64 %l1, {other}, {one}, %p2;",
            "mov.u64 %l2, table;", "add.u64 %l2, %l2, %l1;", "ld.global.u64 %l3, [%l2];",
            f"c{index}: .callprototype (.reg .u32 _, .reg .u32 _) _ (.reg .u32 _, .reg .u32 _, .reg .u64 _);",
            f"call (%v, %u), %l3, (%v, %u, %o), c{index};",
        ]  # fmt: skip


@settings(max_examples=16, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 1 << 30))
def test_every_thread_does_what_it_does_alone(seed: int) -> None:
    program = Program(seed)
    out = both(program.text(), [np.zeros(80, np.uint32)], grid=(2, 1, 1), block=(40, 1, 1)).buffers[0]
    assert out.tolist() == [program.run(thread) for thread in range(80)]
