"""Which registers of a function are in LLVM's registers while it runs, and which in the activation."""

from rayplay import ptx
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.flow.liveness import Liveness
from rayplay.ptx.graph import cycling
from rayplay.tracer.emit.hot import hot_code

KERNEL = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u32 n)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<8>;
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
    mov.u32 %r3, 5;
loop:
    add.u32 %r2, %r2, 1;
    {middle}
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra loop;
    add.u32 %r4, %r2, %r3;
    ret;
}}
"""


def hot(middle: str) -> frozenset[str]:
    """Names of the hot registers of the kernel with these instructions in its loop."""
    function = ptx.parse(KERNEL.format(middle=middle), "k.ptx").functions["k"]
    cfg = build(function)
    liveness = Liveness(function, cfg)
    return liveness.names(hot_code(function, cfg, liveness).registers)


def test_blocks_on_a_cycle_can_be_reached_from_themselves() -> None:
    assert cycling([[1], [2, 3], [1], []]) == [1, 2]
    assert cycling([[0, 1], [2], []]) == [0]
    assert cycling([[1], [2], [3], []]) == []
    assert cycling([[2], [], [3, 1], [4], [2, 5], [6], [5]]) == [2, 3, 4, 5, 6]
    assert cycling([[1], [0], [2]]) == [0, 1, 2]


def test_registers_of_a_loop_are_hot_others_stay_in_the_activation() -> None:
    assert hot("") == {"%r1", "%r2", "%p1"}


def test_a_loop_that_suspends_in_each_round_has_no_hot_registers() -> None:
    assert hot("bar.sync 0;") == frozenset()


def test_a_way_round_beside_a_suspension_is_hot() -> None:
    beside = "setp.eq.u32 %p2, %r2, 7; @%p2 bra on; mov.u32 %r5, 1; bar.sync 0; mov.u32 %r6, 1; on:"
    assert hot(beside) == {"%r1", "%r2", "%p1", "%p2"}
