"""Requests of a program, without one: answers, refusals, and whatever bytes may come."""

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rayplay import ptx
from rayplay.cuda.card import Card
from rayplay.cuda.device import Device, code_of, launching_call
from rayplay.cuda.fatbin import PTX
from rayplay.cuda.messages import Ask, Error, Fields
from rayplay.formats.dataset.writer import TraceWriter
from rayplay.formats.guard.errors import UserError
from rayplay.replay.gpu.description import load
from rayplay.tracer.memory.arena import FIRST_ADDRESS, GUARD_BYTES, DeviceMemory
from tests.cuda.programs import DATA, binary_request, fatbin, image, ptx_fatbin

KERNELS = (DATA / "kernels.ptx").read_text()
WORD = struct.Struct("<Q")


def fresh() -> Iterator[Device]:
    file = os.memfd_create("test")

    def no_writer() -> TraceWriter:
        raise AssertionError("nothing is launched")

    made = Device("program", Card(load("rtx2060")), file, no_writer, True)
    os.close(file)
    made.answer(Ask.BINARY, Fields("binary", binary_request(ptx_fatbin(KERNELS))))
    yield made


@pytest.fixture
def device() -> Iterator[Device]:
    yield from fresh()


def ask(device: Device, what: Ask, data: bytes) -> tuple[int, bytes]:
    return device.answer(what, Fields(what.name.lower(), data))


def test_a_function_has_its_parameters_and_figures(device: Device) -> None:
    code, data = ask(device, Ask.FUNCTION, struct.pack("<I", 0) + b"sum")
    number, count, *figures = struct.unpack_from("<II8Q", data)
    assert (code, number, count) == (Error.NONE, 0, 3)
    assert struct.unpack_from("<3I", data, 72) == (8, 16, 1)
    assert figures[0] == 0
    assert figures[3] == 1024
    assert figures[5:7] == [75, 75]


def test_names_that_no_binary_has_are_refused(device: Device) -> None:
    assert ask(device, Ask.FUNCTION, struct.pack("<I", 0) + b"nothing")[0] == Error.INVALID_FUNCTION
    assert ask(device, Ask.VARIABLE, struct.pack("<I", 0) + b"nothing")[0] == Error.INVALID_SYMBOL
    with pytest.raises(UserError, match="must name one of 1 binaries, found 5"):
        ask(device, Ask.FUNCTION, struct.pack("<I", 5) + b"sum")


def test_variables_have_an_address_before_a_launch_and_keep_it(device: Device) -> None:
    found = [ask(device, Ask.VARIABLE, struct.pack("<I", 0) + b"managed") for _ in range(2)]
    assert found[0] == found[1]
    address, size = struct.unpack("<QQ", found[0][1])
    assert size == 4
    assert device.memory.view(address, "int32", 1)[0] == 7  # its initial value


CALLS = """.version 8.0
.target sm_75
.address_size 64
.extern .func twice ();
.visible .global .align 8 .u64 pointers[2] = {twice, kernel};
.visible .entry kernel () { ret; }
"""
CALLED = """.version 8.0
.target sm_90
.address_size 64
.visible .func twice () { ret; }
"""


def test_a_variable_holds_the_address_of_another_modules_function(device: Device) -> None:
    images = fatbin(image(PTX, 75, CALLS.encode())), fatbin(image(PTX, 90, CALLED.encode()))
    _, data = ask(device, Ask.BINARY, binary_request(*images))
    code, data = ask(device, Ask.VARIABLE, data + b"pointers")
    address, size = struct.unpack("<QQ", data)
    assert (code, size) == (Error.NONE, 16)
    owner, kernel = device.memory.view(address, "uint64", 2).tolist()
    assert owner == device.memory.function_address(("program-1.1.ptx", "twice"))
    assert kernel != owner
    major, minor = struct.unpack_from("<2Q", ask(device, Ask.CARD, b"")[1], 80)
    assert (major, minor) == (7, 5)  # nvcc links libraries of newer architectures into a program


def test_memory_that_was_freed_is_zero_and_gone(device: Device) -> None:
    _, data = ask(device, Ask.MEMORY, struct.pack("<QQ", 3 << 20, 256))
    (address,) = WORD.unpack(data)
    device.memory.view(address, "uint8", 3 << 20)[:] = 1
    assert ask(device, Ask.FREE, data) == (Error.NONE, b"")
    assert not device.memory.whole()[GUARD_BYTES + address - FIRST_ADDRESS :].any()
    with pytest.raises(UserError, match="not allocated"):
        device.memory.view(address, "uint8", 1)
    assert ask(device, Ask.FREE, data)[0] == Error.INVALID_VALUE
    assert WORD.unpack(ask(device, Ask.MEMORY, struct.pack("<QQ", 16, 256))[1])[0] > address
    assert ask(device, Ask.MEMORY, struct.pack("<QQ", 1 << 60, 256))[0] == Error.NO_MEMORY


def test_two_processes_see_one_memory(tmp_path: Path) -> None:
    file = os.memfd_create("test")
    memory = DeviceMemory(file=file)
    address = memory.allocate(b"seen by both")
    assert os.pread(file, 12, GUARD_BYTES + address - FIRST_ADDRESS) == b"seen by both"
    os.pwrite(file, b"SEEN", GUARD_BYTES + address - FIRST_ADDRESS)
    assert memory.view(address, "uint8", 12).tobytes() == b"SEEN by both"
    assert memory.reserved_bytes == os.fstat(file).st_size
    os.close(file)


def test_codes_of_errors() -> None:
    assert code_of("k: a.ptx:1: lane 0: a.cu:2: k: assertion `x` failed") == Error.ASSERT
    assert code_of("k: lane 7 accesses 0x10, which is not allocated or not aligned") == Error.ILLEGAL_ADDRESS
    assert code_of("k: stops the program") == Error.LAUNCH_FAILURE


SHARED = next(fresh())


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(list(Ask)), st.one_of(st.binary(max_size=64), st.lists(st.integers(0, 40)).map(
    lambda words: struct.pack(f"<{len(words)}Q", *words))))  # fmt: skip
def test_whatever_bytes_come_are_answered_or_refused(what: Ask, data: bytes) -> None:
    with contextlib.suppress(UserError):
        code, reply = ask(SHARED, what, data)
        assert code in set(Error)
        assert isinstance(reply, bytes)


NESTED = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b32 r) cudaLaunchDeviceV2 (.param .b64 buffer, .param .b64 stream);
.func inner () {
  .param .b64 a; .param .b64 b; .param .b32 c;
  st.param.b64 [a], 0; st.param.b64 [b], 0;
  call.uni (c), cudaLaunchDeviceV2, (a, b);
  ret;
}
.visible .entry outer () { call.uni inner; ret; }
.visible .entry plain () { ret; }
"""


def test_a_kernel_that_launches_kernels_is_named() -> None:
    module = ptx.parse(NESTED, "nested.ptx")
    outer, plain = (module.functions[name] for name in ("outer", "plain"))
    assert launching_call(module, outer, ()) == "cudaLaunchDeviceV2"
    assert launching_call(module, plain, ()) == ""
