"""Functions that CUDA's device runtime gives to programs: printf, assert, malloc and free.

A program that calls another function without a body runs until the call, which is an error that names it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rayplay.formats.guard.errors import UserError
from rayplay.formats.guard.limits import PRINTED_BYTES
from rayplay.ptx.ir import Function
from rayplay.tracer.abi.layout import LANES
from rayplay.tracer.abi.words import ITEM, MACHINE
from rayplay.tracer.link.layout import signature_of
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.warp.arrays import LaunchState

LONGEST_TEXT_BYTES = 1 << 20
HEAP_ALIGN = 16
DEVICE_RUNTIME = re.compile(r"_*cuda(CDP2)?[A-Z]")
CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?P<precision>\.(?:\*|\d*))?"
    r"(?P<length>hh|h|ll|l|z|j|t|L)?(?P<kind>[diouxXeEfFgGaAcsp%])"
)


@dataclass(frozen=True)
class ServiceCall:
    """One call by the lanes of a warp. ``arguments`` are uint8[32, bytes] each; ``place`` is where, for messages."""

    memory: DeviceMemory
    lanes: list[int]
    arguments: list[np.ndarray]
    place: str

    def number(self, index: int, lane: int) -> int:
        """Argument ``index`` of a lane as an unsigned integer."""
        return int.from_bytes(self.arguments[index][lane].tobytes(), "little")

    def bytes_at(self, address: int, size: int) -> bytes:
        """Device memory that an argument points to. Raises ``UserError`` naming the call."""
        try:
            return self.memory.view(address, np.uint8, size).tobytes()
        except UserError as error:
            raise UserError(f"{self.place}: {error}") from None

    def text(self, address: int) -> str:
        """The text at an address, up to its 0 byte."""
        found = bytearray()
        while len(found) < LONGEST_TEXT_BYTES:
            byte = self.bytes_at(address + len(found), 1)
            if byte == b"\0":
                break
            found += byte
        return found.decode("utf-8", "replace")


def run_service(name: str, call: ServiceCall, returns: list[int]) -> list[np.ndarray]:
    """Do what the function does for the lanes in order; its results, uint8[32, bytes] each.

    Raises ``UserError`` for a function that the executor does not have, and for an assertion that failed.
    """
    service = SERVICES.get(name)
    if service is None:
        why = f"function {name} has no body, and the executor has only {', '.join(SERVICES)}"
        if DEVICE_RUNTIME.match(name):
            why = f"{name} belongs to dynamic parallelism (kernels that launch kernels), which is not executed"
        raise UserError(f"{call.place}: {why}")
    results = [np.zeros((32, size), np.uint8) for size in returns]
    for lane in call.lanes:
        value = service(call, lane)
        if results:
            size = returns[0]
            raw = (value % (1 << 8 * size)).to_bytes(size, "little")
            results[0][lane] = np.frombuffer(raw, np.uint8)
    return results


def after_printed(printed: str, text: str) -> str:
    """Text on lines of its own, behind what programs have printed."""
    return f"{printed}{'' if printed.endswith(chr(10)) or not printed else chr(10)}{text}"


def _printf(call: ServiceCall, lane: int) -> int:
    """vprintf(format, arguments): the text is kept with device memory; how many arguments were converted."""
    template, buffer = call.text(call.number(0, lane)), call.number(1, lane)
    offset = count = 0
    pieces, end = [], 0

    def take(size: int) -> bytes:
        nonlocal offset
        offset = -(-offset // size) * size
        raw = call.bytes_at(buffer + offset, size)
        offset += size
        return raw

    for found in CONVERSION.finditer(template):
        pieces.append(template[end : found.start()])
        end = found.end()
        kind = found["kind"]
        if kind == "%":
            pieces.append("%")
            continue
        width, precision = found["width"], found["precision"] or ""
        if width == "*":
            width = str(int.from_bytes(take(4), "little", signed=True))
        if precision == ".*":
            precision = f".{max(int.from_bytes(take(4), 'little', signed=True), 0)}"
        for number in (width.lstrip("-"), precision[1:]):
            PRINTED_BYTES.check(int(number or 0), f"{call.place}: a width or precision of printf")
        pieces.append(_converted(call, found, f"%{found['flags']}{width}{precision}", take))
        count += 1
    call.memory.print_text("".join((*pieces, template[end:])), call.place)
    return count


def _converted(call: ServiceCall, found: "re.Match[str]", prefix: str, take: Callable[[int], bytes]) -> str:
    """One argument of printf as text."""
    kind, length = found["kind"], found["length"] or ""
    if kind in "eEfFgGaA":
        value = float(np.frombuffer(take(8), np.float64)[0])
        return value.hex() if kind in "aA" else f"{prefix}{kind}" % value
    if kind == "s":
        address = int.from_bytes(take(8), "little")
        return f"{prefix}s" % (call.text(address) if address else "(null)")
    if kind == "p":
        return f"{prefix}s" % hex(int.from_bytes(take(8), "little"))
    size = 8 if length in ("l", "ll", "z", "j", "t") else 4
    raw = take(size)
    if kind == "c":
        return f"{prefix}s" % chr(raw[0])
    size = {"h": 2, "hh": 1}.get(length, size)
    number = int.from_bytes(raw[:size], "little", signed=kind in "di")
    if number == 0 and kind in "xXo":  # in C 0 has no prefix
        prefix = prefix.replace("#", "")
    shown = f"{prefix}{'d' if kind in 'diu' else kind}" % number
    return shown.replace("0o", "0") if kind == "o" else shown


def _assert(call: ServiceCall, lane: int) -> int:
    """__assertfail(message, file, line, function, bytes of a character)."""
    message, file, function = (call.text(call.number(index, lane)) for index in (0, 1, 3))
    raise UserError(
        f"{call.place}: lane {lane}: {file}:{call.number(2, lane)}: {function}: assertion `{message}` failed"
    )


def _malloc(call: ServiceCall, lane: int) -> int:
    """malloc(size): memory that no other lane has."""
    return call.memory.allocate(max(call.number(0, lane), 1), HEAP_ALIGN, "memory from malloc", HEAP_ALIGN)


def _free(call: ServiceCall, lane: int) -> int:
    """free(address): memory only grows."""
    return 0


SERVICES: dict[str, Callable[[ServiceCall, int], int]] = {
    "vprintf": _printf,
    "__assertfail": _assert,
    "malloc": _malloc,
    "free": _free,
}


def serve(state: LaunchState, function: Function, arguments: list[np.ndarray], place: str) -> list[np.ndarray]:
    """Run a function without a body for the lanes that call it; its results, uint8[32, bytes] each."""
    machine = state.warps.machine
    mask = int(machine[MACHINE.suspend_mask])
    lanes = [lane for lane in range(LANES) if mask >> lane & 1]
    call = ServiceCall(state.memory, lanes, arguments, place)
    results = run_service(function.name, call, [v.bytes for v in function.returns])
    for name, word in state.memory.machine_words().items():
        machine[MACHINE[name]] = word
    return results


def _callee_area(state: LaunchState, warp: int) -> np.ndarray:
    """The part of the warp's stack where the function that it calls would lie, uint8."""
    w = state.warps
    item = w.items[warp, w.depth[warp] - 1]
    start = int(item[ITEM.start]) + int(w.words[item[ITEM.function]])
    return w.stacks[warp, start:].view(np.uint8)


def external_arguments(state: LaunchState, warp: int, function: Function) -> list[np.ndarray]:
    """Arguments that the warp passes to ``function``, uint8[32, bytes] each."""
    area = _callee_area(state, warp)
    places = signature_of(function).parameters
    return [area[at : at + LANES * size].reshape(LANES, size) for at, size in places]


def write_external_results(state: LaunchState, warp: int, function: Function, results: list[np.ndarray]) -> None:
    """Copy results to the callee area of the stack, where machine code reads them."""
    area = _callee_area(state, warp)
    for (at, size), value in zip(signature_of(function).returns, results, strict=True):
        area[at : at + LANES * size] = value.reshape(-1)
