"""Random programs that merge bits of floats: masks, truth tables, signs, choices by NaN tests, branches and loops.

Every register is a container of bits that floats and integers share. A kernel has many programs, one after the other:
each begins with the words of its thread and ends with a digest of what it left; every loop ends, since its counter is
its own.
"""

import random

WORDS, DOUBLES = 4, 2  # registers of 32 and of 64 bits
BYTES = 4 * WORDS + 8 * DOUBLES  # that a thread begins with
PREDICATES = 3
MASKS = {
    32: (0x80000000, 0x007FFFFF, 0x7F800000, 0x0000FFFF, 0x00FF00FF, 0x00000001, 0xFF000000),
    64: (1 << 63, (1 << 52) - 1, 0x7FF << 52, 0xFFFFFFFF, 0xFFFF0000FFFF),
}
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne", "ltu", "geu", "equ", "neu", "num", "nan", "nan", "nan")
NUMBERS = ("0f00000000", "0f3F800000", "0fBF000000", "0f7F800000", "0f4B000001")


SCOPE = f"""    {{
    .reg .pred %p<{PREDICATES}>; .reg .pred %q<2>; .reg .b32 %r<{WORDS}>; .reg .b64 %d<{DOUBLES}>;
    .reg .b32 %c<4>; .reg .b32 %u<3>; .reg .b64 %v<3>;"""


class Writer:
    """Writes one program; the same seed gives the same text."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.lines: list[str] = []
        self.labels = 0

    def text(self) -> str:
        """The program in a scope: registers that no loop uses stay in memory, from where instructions take them."""
        self.lines = [SCOPE]
        for bits, kind, count in ((32, "r", WORDS), (64, "d", DOUBLES)):
            first = self.random.randrange(count)
            for number in range(count):
                self.put(f"mov.b{bits} %{kind}{number}, %i{kind}{(first + number) % count};")
        for predicate in range(PREDICATES):
            self.test(predicate)
        self.statements(self.random.randint(2, 4), 0)
        self.fold([f"%r{number}" for number in range(WORDS)])
        for number in range(DOUBLES):
            self.put(f"mov.b64 {{%c2, %c3}}, %d{number};")
            self.fold(["%c2", "%c3"])
        return "\n".join((*self.lines, "    }"))

    def fold(self, words: list[str]) -> None:
        """Turn the digest and add a word, so that a word that differs changes it."""
        for word in words:
            self.put(f"shf.l.wrap.b32 %x, %x, %x, 5; add.u32 %x, %x, {word};")

    def put(self, line: str) -> None:
        self.lines.append("    " + line)

    def label(self) -> str:
        self.labels += 1
        return f"L{self.seed}_{self.labels}"

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def bits(self) -> int:
        return self.random.choice((32, 32, 32, 32, 64))

    def r(self, bits: int = 32) -> str:
        return f"%r{self.random.randrange(WORDS)}" if bits == 32 else f"%d{self.random.randrange(DOUBLES)}"

    def p(self) -> str:
        return f"%p{self.random.randrange(PREDICATES)}"

    def mask(self, bits: int) -> int:
        """A mask or its complement."""
        return self.random.choice(MASKS[bits]) ^ self.random.choice((0, (1 << bits) - 1))

    def operand(self, bits: int) -> str:
        return self.one(self.r(bits), self.r(bits), hex(self.mask(bits)))

    def guard(self) -> str:
        return self.one("", "", f"@{self.p()} ", f"@!{self.p()} ")

    def test(self, predicate: int) -> None:
        if self.random.random() < 0.15:
            word = self.one("finite", "infinite", "number", "notanumber", "normal", "subnormal")
            self.put(f"testp.{word}.f32 %p{predicate}, {self.r()};")
        elif self.random.random() < 0.2:
            self.put(f"setp.{self.one('lt', 'ge', 'eq')}.s32 %p{predicate}, {self.r()}, {self.operand(32)};")
        else:
            bits, x = self.bits(), self.random.random()
            left = self.r(bits)
            right = left if x < 0.4 else self.r(bits) if x < 0.8 or bits == 64 else self.one(*NUMBERS)
            self.put(f"setp.{self.one(*COMPARE)}.f{bits} %p{predicate}, {left}, {right};")

    def statements(self, count: int, depth: int) -> None:
        simple = (self.merge, self.merge, self.merge, self.choose, self.choose, self.logic, self.lop3, self.sign,
                  self.field, self.arithmetic, self.shift, self.predicate)  # fmt: skip
        for _ in range(count):
            if depth < 2 and self.random.random() < 0.25:
                self.random.choice((self.branch, self.branch, self.branch, self.loop))(depth)
            else:
                self.random.choice(simple)()

    def result(self, bits: int, sources: tuple[str, ...], line: str) -> None:
        """Write ``line`` with its target for TO, and let a test choose between what it gives and what it came from."""
        way = self.random.random()
        if way < 0.25:
            self.put(self.guard() + line.replace("TO", self.r(bits)))
        elif way < 0.5:
            self.put(f"@{self.one('', '!')}{self.p()} {line.replace('TO', self.one(*sources))}")
        else:
            temporary = "%u2" if bits == 32 else "%v2"
            self.put(line.replace("TO", temporary))
            left, right = self.random.sample((self.one(*sources), temporary), 2)
            self.put(f"selp.b{bits} {self.r(bits)}, {left}, {right}, {self.p()};")

    def merge(self) -> None:
        """Some bits of one register and the others of another."""
        bits = self.bits()
        mask, one, other = self.mask(bits), self.r(bits), self.r(bits)
        low, high = ("%u0", "%u1") if bits == 32 else ("%v0", "%v1")
        join = self.one(f"or.b{bits}", f"or.b{bits}", f"xor.b{bits}", f"add.u{bits}")
        self.put(f"and.b{bits} {low}, {one}, {mask:#x};")
        self.put(f"and.b{bits} {high}, {other}, {mask ^ (1 << bits) - 1:#x};")
        self.result(bits, (one, other), f"{join} TO, {low}, {high};")

    def choose(self) -> None:
        bits = self.bits()
        if self.random.random() < 0.8:
            self.put(f"{self.guard()}selp.b{bits} {self.r(bits)}, {self.operand(bits)}, {self.r(bits)}, {self.p()};")
        else:
            self.put(f"slct.b{bits}.f32 {self.r(bits)}, {self.r(bits)}, {self.r(bits)}, {self.r()};")

    def logic(self) -> None:
        bits, word = self.bits(), self.one("and", "or", "xor", "not")
        source, right = self.r(bits), "" if word == "not" else f", {self.operand(bits)}"
        self.result(bits, (source,), f"{word}.b{bits} TO, {source}{right};")

    def lop3(self) -> None:
        """A function of three registers, or of two and a mask, which is then often a choice of bits."""
        words = [self.r(), self.r(), self.one(self.r(), hex(self.mask(32)), hex(self.mask(32)))]
        sources = tuple(word for word in words if word[0] == "%")
        self.random.shuffle(words)
        table = self.random.choice((0xCA, 0xD8, 0xE4, 0xB8, 0xAC, 0xE2, self.random.randrange(256)))
        self.result(32, sources, f"lop3.b32 TO, {', '.join(words)}, {table:#x};")

    def sign(self) -> None:
        bits, word = self.bits(), self.one("copysign", "copysign", "copysign", "neg", "abs")
        sources = (self.r(bits), self.r(bits)) if word == "copysign" else (self.r(bits),)
        self.result(bits, sources, f"{word}.f{bits} TO, {', '.join(sources)};")

    def field(self) -> None:
        if self.random.random() < 0.5:
            bits = self.bits()
            start, length = self.random.choice(((0, bits - 1), (0, bits // 2), (bits // 2, bits // 2), (8, 15)))
            sources = (self.r(bits), self.r(bits))
            self.result(bits, sources, f"bfi.b{bits} TO, {', '.join(sources)}, {start}, {length};")
        else:
            sources = (self.r(), self.r())
            self.result(32, sources, f"prmt.b32 TO, {', '.join(sources)}, {self.selector()};")

    def selector(self) -> str:
        """Bytes that mostly stay where they are, of either register."""
        nibbles = [self.random.choice((place, place, place + 4, self.random.randrange(16))) for place in range(4)]
        return hex(sum(nibble << 4 * place for place, nibble in enumerate(nibbles)))

    def arithmetic(self) -> None:
        bits = self.bits()
        one, two, three = self.r(bits), self.r(bits), self.r(bits)
        word = self.one("add.f", "mul.f", "fma.rn.f", "min.f", "max.f", "add.u", "sub.u", "cvt", "pack")
        if word == "cvt":
            self.put(f"{self.guard()}cvt.{self.one('rni', 'rzi', 'rmi')}.f{bits}.f{bits} {one}, {two};")
        elif word == "pack":
            self.put(f"mov.b64 {self.r(64)}, {{{self.r()}, {self.r()}}};")
            self.put(f"mov.b64 {{{self.r()}, _}}, {self.r(64)};")
        else:
            last = f", {self.r(bits)}" if word[:3] == "fma" else ""
            self.put(f"{self.guard()}{word}{bits} {one}, {two}, {three}{last};")

    def shift(self) -> None:
        bits, amount = self.bits(), self.random.choice((1, 8, 16, 31))
        if self.random.random() < 0.3:
            self.put(f"shf.{self.one('l', 'r')}.wrap.b32 {self.r()}, {self.r()}, {self.r()}, {amount};")
        else:
            self.put(
                f"{self.guard()}{self.one('shl.b', 'shr.u', 'shr.s')}{bits} {self.r(bits)}, {self.r(bits)}, {amount};"
            )

    def predicate(self) -> None:
        self.test(self.random.randrange(PREDICATES))

    def branch(self, depth: int) -> None:
        other, end = self.label(), self.label()
        self.put(f"@{self.one('', '!')}{self.p()} bra {other};")
        self.statements(self.random.randint(0, 2), depth + 1)
        if self.random.random() < 0.5:
            self.put(f"bra {end};")
            self.lines.append(f"{other}:")
            self.statements(self.random.randint(1, 2), depth + 1)
        else:
            self.lines.append(f"{other}:")
        self.lines.append(f"{end}:")

    def loop(self, depth: int) -> None:
        """Up to four rounds; each level of loops has a counter and a predicate."""
        top, end = self.label(), self.label()
        self.put(f"and.b32 %c{depth}, {self.r()}, 3;")
        self.lines.append(f"{top}:")
        self.statements(self.random.randint(1, 2), depth + 1)
        if self.random.random() < 0.3:
            self.put(f"@{self.p()} bra {end};")
        self.put(f"setp.ne.u32 %q{depth}, %c{depth}, 0;")
        self.put(f"sub.u32 %c{depth}, %c{depth}, 1;")
        self.put(f"@%q{depth} bra {top};")
        self.lines.append(f"{end}:")


HEAD = f"""
.visible .entry k(.param .u64 given, .param .u64 found)
{{
    .reg .b32 %ir<{WORDS}>; .reg .b64 %id<{DOUBLES}>; .reg .b32 %t; .reg .b32 %x;
    .reg .b64 %o; .reg .b64 %g; .reg .b64 %f;
    ld.param.u64 %g, [given];
    ld.param.u64 %f, [found];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %o, %t, {BYTES};
    add.u64 %g, %g, %o;
    mul.wide.u32 %o, %t, 4;
    add.u64 %f, %f, %o;
    mov.u32 %x, 0;
"""


def random_kernel(seeds: range) -> str:
    """A kernel of a program for each seed; it takes ``BYTES`` a thread and gives a digest of 4 bytes a thread."""
    loads = [f"    ld.global.b32 %ir{n}, [%g+{4 * n}];\n" for n in range(WORDS)]
    loads += [f"    ld.global.b64 %id{n}, [%g+{4 * WORDS + 8 * n}];\n" for n in range(DOUBLES)]
    programs = [Writer(seed).text() for seed in seeds]
    return "".join((HEAD, *loads, "\n".join(programs), "\n    st.global.b32 [%f], %x;\n    ret;\n}\n"))
