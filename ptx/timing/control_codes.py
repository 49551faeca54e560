"""The control codes of Volta and later: what the compiler tells the scheduler in the upper word of each encoding.

Bits 41 and up of the upper 64-bit word: 4 of stall cycles, 1 that is 0 where the warp shall yield, 3 of the barrier
that the result sets (7: none), 3 of the barrier that reading the sources sets (7: none), 6 of barriers to wait for, 4
of operands to keep for reuse. Source: docs/sources/ptx-sass.md#control-codes.
"""

from dataclasses import dataclass

from rayplay.ptx.flow.language import describe
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Function
from rayplay.ptx.sass.describe import architecture
from rayplay.ptx.timing.characterise import NO_SLOT, SLOTS, Characterisation, characterise
from rayplay.ptx.timing.pipelines import Pipeline
from rayplay.ptx.timing.sass_pipelines import sass_pipeline

_FIRST_BIT = 64 + 41


@dataclass(frozen=True, slots=True)
class Control:
    """One control code. Barriers are 0 to 5, -1 for none; ``wait_mask`` has a bit for each, ``reuse`` per operand."""

    stall_cycles: int
    yields: bool
    write_barrier: int
    read_barrier: int
    wait_mask: int
    reuse: int

    def __str__(self) -> str:
        """``wait:yield:stall`` and barriers, as assemblers write them: ``B01----:R-:W2:Y:S04``."""
        waits = "".join(str(bit) if self.wait_mask >> bit & 1 else "-" for bit in range(6))
        read = "-" if self.read_barrier < 0 else self.read_barrier
        write = "-" if self.write_barrier < 0 else self.write_barrier
        return f"B{waits}:R{read}:W{write}:{'Y' if self.yields else '-'}:S{self.stall_cycles:02d}"


def control(encoding: int) -> Control:
    """The control code of a 128-bit encoding."""
    bits = encoding >> _FIRST_BIT
    write, read = bits >> 5 & 7, bits >> 8 & 7
    return Control(
        bits & 0xF,
        not bits >> 4 & 1,
        write if write < SLOTS else NO_SLOT,
        read if read < SLOTS else NO_SLOT,
        bits >> 11 & 0x3F,
        bits >> 17 & 0xF,
    )


def characterise_function(
    function: Function, cfg: Cfg, pipeline: Pipeline, entered_by_trace: bool = False
) -> Characterisation:
    """Characterise a function: SASS with encodings by its control codes, SASS without by latencies of its architecture
    (``sass_pipelines``), PTX by ``pipeline``.

    A slot is the barrier that the result sets; barriers that only guard sources (stores) have no column, and waiting
    for one costs nothing. The unit and the cycles it is busy always come from the latency table.
    Raises UserError for an opcode without a row in its language's table.
    """
    if function.language != "sass":
        return characterise(function, cfg, pipeline, entered_by_trace)
    table = sass_pipeline(architecture(function))
    codes = control_codes(function)
    if codes is None:
        return characterise(function, cfg, table)
    kinds = [describe(instruction, function).operation_class for instruction in function.body]
    timings = [table.timing(kind, i.opcode, "") for kind, i in zip(kinds, function.body, strict=True)]
    return Characterisation(
        [timing.unit for timing in timings],
        [max(1, code.stall_cycles) for code in codes],
        [timing.initiation_cycles for timing in timings],
        [code.write_barrier for code in codes],
        [code.wait_mask for code in codes],
    )


def control_codes(function: Function) -> list[Control] | None:
    """The control code of each instruction; None for a listing without encodings."""
    codes = [control(i.encoding) for i in function.body if i.encoding is not None]
    return codes if len(codes) == len(function.body) else None
