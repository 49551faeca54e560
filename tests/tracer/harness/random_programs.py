"""Random kernels whose control flow depends on everything it can: registers, guards, memory, other lanes, calls.

Every loop ends (its counter is its own), every address is in its buffer, and barriers stand where all threads come.
"""

import random

WORDS = 64
DATA, PREDICATES = 10, 5
BINARY = ("add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "and.b32", "or.b32", "min.u32", "max.u32")
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")

HEAD = """
.version 7.8
.target sm_75
.address_size 64
.func (.param .b32 result) helper(.param .b32 one, .param .b32 two)
{
    .reg .b32 %r<9>; .reg .pred %p<3>;
    ld.param.u32 %r1, [one];
    ld.param.u32 %r2, [two];
    and.b32 %r3, %r1, 7;
    mov.u32 %r4, 0;
AGAIN:
    add.u32 %r2, %r2, %r1;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, %r3;
    @%p1 bra AGAIN;
    st.param.b32 [result], %r{returned};
    ret;
}
.visible .entry k(.param .u64 a, .param .u64 b)
{
    .reg .pred %p<8>; .reg .b32 %r<12>; .reg .b32 %c<12>; .reg .b32 %t<4>; .reg .b64 %g<4>; .reg .b64 %x<4>;
    .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[256];
    .local .align 4 .b8 frame[256];
    ld.param.u64 %g0, [a];
    ld.param.u64 %g1, [b];
    mov.u32 %t0, %tid.x;
    mov.u32 %t1, %ctaid.x;
"""


class Writer:
    """Writes one program; the same seed gives the same text."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.labels = 0
        self.deciding = self.random.randint(2, DATA)  # conditions look at the registers below this one
        self.mixing = self.random.choice((0.1, 1.0))  # how often these are written

    def text(self) -> str:
        self.lines = [HEAD.replace("{returned}", str(self.random.choice((1, 2, 4))))]
        for register in range(DATA):
            self.put(f"mad.lo.u32 %r{register}, %t0, {self.random.randrange(9)}, {self.random.randrange(99)};")
        for predicate in range(PREDICATES):
            self.compare(predicate)
        for _ in range(self.random.randint(2, 4)):
            self.statements(self.random.randint(2, 5), 0)
            if self.random.random() < 0.6:
                self.put("bar.sync 0;")
        self.statements(2, 1, may_leave=True)
        self.lines.append("    ret;\n}\n")
        return "\n".join(self.lines)

    def put(self, line: str) -> None:
        self.lines.append("    " + line)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def r(self) -> str:
        return f"%r{self.random.randrange(DATA)}"

    def d(self) -> str:
        """A destination."""
        low = 0 if self.random.random() < self.mixing else self.deciding % DATA
        return f"%r{self.random.randrange(low, DATA)}"

    def c(self) -> str:
        """A register that decides."""
        return f"%r{self.random.randrange(self.deciding)}"

    def p(self) -> str:
        return f"%p{self.random.randrange(PREDICATES)}"

    def guard(self) -> str:
        return self.random.choice(("", "", f"@{self.p()} ", f"@!{self.p()} "))

    def compare(self, predicate: int) -> None:
        other = self.random.choice((self.c(), str(self.random.randrange(60))))
        self.put(f"setp.{self.random.choice(COMPARE)}.u32 %p{predicate}, {self.c()}, {other};")

    def statements(self, count: int, depth: int, may_leave: bool = False) -> None:
        simple = (self.compute, self.compute, self.predicate, self.load, self.store, self.atomic, self.exchange,
                  self.carry, self.number, self.call)  # fmt: skip
        nested = (self.branch, self.loop, self.switch)
        for _ in range(count):
            if depth < 3 and self.random.random() < 0.45:
                self.random.choice(nested)(depth)
            else:
                self.random.choice(simple)()
            if may_leave and self.random.random() < 0.3:
                self.put(f"{self.guard() or '@%p1 '}{self.random.choice(('exit', 'ret'))};")

    def compute(self) -> None:
        other = self.random.choice((self.r(), self.r(), str(self.random.randrange(40))))
        self.put(f"{self.guard()}{self.random.choice(BINARY)} {self.d()}, {self.r()}, {other};")

    def predicate(self) -> None:
        self.compare(self.random.randrange(PREDICATES))

    def number(self) -> None:
        """Arithmetic that hardly ever decides anything."""
        self.put(f"cvt.rn.f32.u32 %f1, {self.r()};")
        self.put("fma.rn.f32 %f2, %f1, %f2, %f1;")
        if self.random.random() < 0.2:
            self.put(f"cvt.rzi.u32.f32 {self.d()}, %f1;")

    def place(self) -> tuple[str, str]:
        """A state space, and an address in it that has been computed."""
        self.put(f"and.b32 %t2, {self.r()}, {WORDS - 1};")
        space = self.random.choice(("global a", "global b", "shared", "local", "generic"))
        if space in ("shared", "local"):
            name = "tile" if space == "shared" else "frame"
            if self.random.random() < 0.3:
                return space, f"[{name}+{4 * self.random.randrange(WORDS)}]"
            self.put("shl.b32 %t2, %t2, 2;")
            self.put(f"mov.u32 %t3, {name};" if space == "shared" else f"mov.u64 %x1, {name};")
            if space == "shared":
                self.put("add.u32 %t3, %t3, %t2;")
                return space, "[%t3]"
            self.put("cvt.u64.u32 %x2, %t2;")
            self.put("add.u64 %x1, %x1, %x2;")
            return space, "[%x1]"
        base = "%g0" if space == "global a" else "%g1" if space == "global b" else "%x3"
        if space == "generic":
            self.put(f"selp.b64 %x3, %g0, %g1, {self.p()};")
        self.put("mul.wide.u32 %x2, %t2, 4;")
        self.put(f"add.u64 %x1, {base}, %x2;")
        return "global", "[%x1]"

    def load(self) -> None:
        space, address = self.place()
        self.put(f"{self.guard()}ld.{space}.u32 {self.d()}, {address};")

    def store(self) -> None:
        space, address = self.place()
        self.put(f"{self.guard()}st.{space}.u32 {address}, {self.r()};")

    def atomic(self) -> None:
        space, address = self.place()
        if space == "local":
            return
        operation = self.random.choice(("add.u32", "max.u32", "exch.b32", "xor.b32"))
        if operation != "exch.b32" and self.random.random() < 0.5:
            self.put(f"{self.guard()}red.{space}.{operation} {address}, {self.r()};")
        else:
            self.put(f"{self.guard()}atom.{space}.{operation} {self.d()}, {address}, {self.r()};")

    def exchange(self) -> None:
        if self.random.random() < 0.5:
            self.put(f"shfl.sync.bfly.b32 {self.d()}, {self.r()}, {self.random.choice((1, 3, 16))}, 31, -1;")
        else:
            self.put(f"vote.sync.ballot.b32 {self.d()}, {self.p()}, -1;")

    def carry(self) -> None:
        self.put(f"add.cc.u32 {self.d()}, {self.r()}, {self.r()};")
        self.put(f"addc.u32 {self.d()}, {self.r()}, {self.r()};")

    def call(self) -> None:
        name = self.label()
        self.put("{")
        self.put(f".param .b32 x{name}; .param .b32 y{name}; .param .b32 z{name};")
        self.put(f"st.param.b32 [x{name}], {self.r()};")
        self.put(f"st.param.b32 [y{name}], {self.r()};")
        self.put(f"{self.guard()}call (z{name}), helper, (x{name}, y{name});")
        self.put(f"ld.param.b32 {self.d()}, [z{name}];")
        self.put("}")

    def branch(self, depth: int) -> None:
        other, end = self.label(), self.label()
        self.put(f"@{self.random.choice(('', '!'))}{self.p()} bra {other};")
        self.statements(self.random.randint(1, 3), depth + 1)
        if self.random.random() < 0.6:
            self.put(f"bra{self.random.choice(('', '.uni'))} {end};")
            self.lines.append(f"{other}:")
            self.statements(self.random.randint(1, 3), depth + 1)
        else:
            self.lines.append(f"{other}:")
        self.lines.append(f"{end}:")

    def loop(self, depth: int) -> None:
        top, end = self.label(), self.label()
        self.put(f"and.b32 %c{2 * depth}, {self.c()}, {self.random.choice((1, 3, 7))};")
        self.put(f"mov.u32 %c{2 * depth + 1}, 0;")
        self.lines.append(f"{top}:")
        self.statements(self.random.randint(1, 3), depth + 1)
        if self.random.random() < 0.3:
            self.put(f"@{self.p()} bra {end};")
        self.put(f"add.u32 %c{2 * depth + 1}, %c{2 * depth + 1}, 1;")
        self.put(f"setp.le.u32 %p{5 + depth % 3}, %c{2 * depth + 1}, %c{2 * depth};")
        self.put(f"@%p{5 + depth % 3} bra {top};")
        self.lines.append(f"{end}:")

    def switch(self, depth: int) -> None:
        table, end = self.label(), self.label()
        cases = [self.label() for _ in range(3)]
        self.put(f"and.b32 %t2, {self.c()}, 3;")
        self.put(f"{table}: .branchtargets {', '.join(cases)};")
        self.put(f"brx.idx %t2, {table};")
        for case in cases:
            self.lines.append(f"{case}:")
            self.statements(1, depth + 1)
            if self.random.random() < 0.7:
                self.put(f"bra {end};")
        self.lines.append(f"{end}:")


def random_program(seed: int) -> str:
    """The text of a module with the entry ``k``, which takes the addresses of two buffers of 64 words."""
    return Writer(seed).text()
