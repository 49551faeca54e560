"""Divergence: machine code equals the interpreter, and a subset of lanes does what it does in the whole."""

import random

import numpy as np
import pytest

from tests.tracer.harness.execution import both, execute

HEAD = """
.visible .entry test(.param .u64 out, .param .u32 lanes)
{
    .reg .pred %p<40>;
    .reg .b32 %r<40>;
    .reg .b64 %l<8>;
    ld.param.u64 %l1, [out];
    ld.param.u32 %r1, [lanes];
    mov.u32 %r2, %tid.x;
    mov.u32 %r20, %ctaid.x;
    mov.u32 %r21, %ntid.x;
    mad.lo.u32 %r2, %r20, %r21, %r2;
    mul.wide.u32 %l2, %r2, 4;
    add.u64 %l1, %l1, %l2;
    mov.u32 %r3, %laneid;
    mov.u32 %r4, %r2;
    shr.u32 %r5, %r1, %r3;
    and.b32 %r5, %r5, 1;
    setp.eq.u32 %p1, %r5, 0;
    @%p1 bra done;
"""
TAIL = """
    st.global.u32 [%l1], %r4;
done:
    ret;
}
"""


class Generator:
    """Random nested control flow over the running value %r4; loops end after at most five rounds."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.labels = 0
        self.depth = 0

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def block(self) -> list[str]:
        return [line for _ in range(self.random.randint(1, 3)) for line in self.statement()]

    def statement(self) -> list[str]:
        kind = self.random.choice(("work", "work", "store", "if", "ifelse", "loop", "leave", "indexed"))
        if self.depth >= 4 and kind not in ("work", "store"):
            kind = "work"
        self.depth += 1
        made = getattr(self, f"make_{kind}")()
        self.depth -= 1
        return made

    def condition(self) -> list[str]:
        bit, value = self.random.randint(0, 6), self.random.choice(("%r4", "%r3", "%r2"))
        return [f"shr.u32 %r6, {value}, {bit};", "and.b32 %r6, %r6, 1;", "setp.eq.u32 %p2, %r6, 1;"]

    def make_work(self) -> list[str]:
        return [f"mad.lo.u32 %r4, %r4, {self.random.randrange(3, 99999, 2)}, {self.random.randrange(1000)};"]

    def make_store(self) -> list[str]:
        guard = self.random.choice(("", "@%p2 ", "@!%p2 "))
        return [
            *self.condition(),
            f"{guard}st.global.u32 [%l1], %r4;",
            "ld.global.u32 %r7, [%l1];",
            "xor.b32 %r4, %r4, %r7;",
        ]

    def make_if(self) -> list[str]:
        end = self.label()
        return [*self.condition(), f"@%p2 bra {end};", *self.block(), f"{end}:"]

    def make_ifelse(self) -> list[str]:
        other, end = self.label(), self.label()
        return [
            *self.condition(),
            f"@!%p2 bra {other};",
            *self.block(),
            f"bra {end};",
            f"{other}:",
            *self.block(),
            f"{end}:",
        ]

    def make_loop(self) -> list[str]:
        count, top, end = f"%r{8 + self.depth}", self.label(), self.label()
        body = [*self.condition(), f"@%p2 bra {end};"] if self.random.random() < 0.4 else []
        return [
            f"and.b32 {count}, %r4, 3;", f"{top}:", *self.block(), *body, f"sub.u32 {count}, {count}, 1;",
            f"setp.gt.s32 %p3, {count}, 0;", f"@%p3 bra {top};", f"{end}:",
        ]  # fmt: skip

    def make_leave(self) -> list[str]:
        word = self.random.choice(("@%p4 exit;", "@%p4 ret;", "@%p4 bra done;"))
        return ["and.b32 %r6, %r4, 31;", "setp.eq.u32 %p4, %r6, 7;", "@%p4 st.global.u32 [%l1], %r6;", word]

    def make_indexed(self) -> list[str]:
        table, end = self.label(), self.label()
        cases = [self.label() for _ in range(3)]
        made = ["and.b32 %r6, %r4, 3;", f"{table}: .branchtargets {', '.join(cases)};", f"brx.idx %r6, {table};"]
        for case in cases:
            made += [f"{case}:", *self.block(), f"bra {end};"]
        return [*made, f"{end}:"]


def random_program(seed: int) -> str:
    generator = Generator(seed)
    return HEAD + "\n".join(line for _ in range(4) for line in generator.block()) + TAIL


@pytest.mark.parametrize("seed", range(16))
def test_random_control_flow(seed: int) -> None:
    both(random_program(seed), [np.zeros(128, np.uint32), 0xFFFFFFFF], grid=(2, 1, 1), block=(64, 1, 1))


@pytest.mark.parametrize("seed", range(16, 28))
@pytest.mark.parametrize("lanes", [0x0000FFFF, 0x5A5A1234, 0x80000000])
def test_a_subset_of_lanes_leaves_the_rows_of_the_whole_with_masks_reduced(seed: int, lanes: int) -> None:
    # as the injected filter does: every way out leads to one last block, where all launched lanes meet
    text = random_program(seed).replace("@%p4 ret;", "@%p4 bra done;").replace("@%p4 exit;", "@%p4 bra done;")
    whole = execute(text, [np.zeros(32, np.uint32), 0xFFFFFFFF])
    part = execute(text, [np.zeros(32, np.uint32), lanes])
    assert np.array_equal(part.buffers[0], np.where(lanes >> np.arange(32) & 1, whole.buffers[0], 0))
    rows, visits = whole.sink.table("visits"), part.sink.table("visits")
    masks = rows["active_mask"] & np.uint32(lanes)
    masks[[0, -1]] = 0xFFFFFFFF  # prologue and last block
    kept = masks != 0
    assert np.array_equal(visits["block_id"], rows["block_id"][kept])
    assert np.array_equal(visits["active_mask"], masks[kept])
    ordinal = np.cumsum(kept) - 1
    rows, accesses = whole.sink.table("accesses"), part.sink.table("accesses")
    lane_masks = rows["lane_mask"] & np.uint32(lanes)
    assert np.array_equal(accesses["lane_mask"], lane_masks[lane_masks != 0])
    assert np.array_equal(accesses["visit"], ordinal[rows["visit"]][lane_masks != 0])


def test_lower_target_runs_first_and_both_sides_meet_at_the_post_dominator() -> None:
    text = (
        HEAD
        + """
    setp.lt.u32 %p2, %r3, 8;
    @%p2 bra low;
    add.u32 %r4, %r4, 100;
    bra join;
low:
    add.u32 %r4, %r4, 200;
join:
    add.u32 %r4, %r4, 1000;
"""
        + TAIL
    )
    out = both(text, [np.zeros(32, np.uint32), 0xFFFFFFFF])
    visits = out.sink.table("visits")
    assert visits["block_id"].tolist() == [0, 1, 2, 3, 4, 5]
    assert [hex(m) for m in visits["active_mask"]] == [*["0xffffffff"] * 2, "0xffffff00", "0xff", *["0xffffffff"] * 2]
    assert out.buffers[0].tolist() == [i + 1000 + (200 if i < 8 else 100) for i in range(32)]
