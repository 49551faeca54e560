"""Programs that run again: linked and compiled once, with the tables of a program that never ran before."""

import numpy as np

from rayplay import ptx
from rayplay.tracer.link.launches import ComputeLaunch
from rayplay.tracer.link.programs import KEPT, link_programs
from rayplay.tracer.link.variables import place_variables
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.run import Numbering, run_compute_launch
from tests.tracer.harness.execution import HEADER

TEXT = (
    HEADER
    + """
.visible .global .u32 turns;
.func (.reg .u32 r) twice(.reg .u32 a) { add.u32 r, a, a; ret; }
.visible .entry k(.param .u64 out)
{
    .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
    ld.global.u32 %r2, [%rd1];
    setp.gt.u32 %p1, %r1, 7; @%p1 bra DONE;
    call (%r2), twice, (%r2);
DONE:
    add.u32 %r2, %r2, 1; st.global.u32 [%rd1], %r2;
    mov.u32 %r3, turns; red.global.add.u32 [turns], 1;
    ret;
}
"""
)


class Tables:
    """A sink that keeps what it gets."""

    def __init__(self) -> None:
        self.puts: list[tuple[str, dict[str, list[object]]]] = []

    def put(self, table: str, columns: dict[str, np.ndarray]) -> None:
        self.puts.append((table, {name: np.asarray(column).tolist() for name, column in columns.items()}))


def run(modules: list[ptx.ir.Module]) -> tuple[list[object], list[int]]:
    """Tables and memory of a launch of each module's kernel in turn, in one memory."""
    memory, sink, numbering = DeviceMemory(), Tables(), Numbering()
    address = memory.allocate(np.arange(32, dtype=np.uint32))
    for module in modules:
        launch = ComputeLaunch(module, "k", (1, 1, 1), (32, 1, 1), (np.uint64(address).tobytes(),), memory)
        run_compute_launch(launch, sink, "machine", False, numbering)
    return sink.puts, memory.view(address, np.uint32, 32).tolist()


def test_repeated_launches_equal_launches_of_fresh_modules() -> None:
    module = ptx.parse(TEXT, "test.ptx")
    assert run([module] * 4) == run([ptx.parse(TEXT, "test.ptx") for _ in range(4)])


def test_a_program_is_linked_once_while_it_is_among_the_latest() -> None:
    modules = [ptx.parse(TEXT, "test.ptx") for _ in range(KEPT + 1)]
    first = link_programs(((modules[0], modules[0].functions["k"]),))
    assert link_programs(((modules[0], modules[0].functions["k"]),)) is first
    for module in modules[1:]:
        assert link_programs(((module, module.functions["k"]),)) is not first
    assert link_programs(((modules[0], modules[0].functions["k"]),)) is not first


def test_an_initialiser_names_a_function_that_only_later_launches_call() -> None:
    """The address is the one of the module that defines it, whichever launch places the variable."""
    head = ".version 8.0\n.target sm_75\n.address_size 64\n"
    uses = (
        ".extern .func twice ();\n.visible .global .align 8 .u64 pointer[1] = {twice};\n.visible .entry k () { ret; }"
    )
    first = ptx.parse(head + uses, "first.ptx")
    library = ptx.parse(head + ".visible .func twice () { ret; }", "library.ptx")
    memory = DeviceMemory()
    place_variables([(first, first.functions["k"])], memory, {}, [library])
    address = memory.variables["first.ptx", "pointer"]
    assert memory.view(address, np.uint64, 1)[0] == memory.function_address(("library.ptx", "twice"))
