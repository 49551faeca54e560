"""A program without the instructions that a slice leaves out, with the blocks of the whole program."""

import hashlib
from dataclasses import replace

from rayplay.hypa.slicing.slice import Slice
from rayplay.ptx.flow.cfg import build, ends_block
from rayplay.ptx.flow.spin import joins_lanes
from rayplay.ptx.graph import Cfg
from rayplay.ptx.ir import Function, Instruction, Module, Symbol
from rayplay.ptx.isa.form import instruction

_LABEL = "%slice.{}"


def reduced_module(cut: Slice) -> Module:
    """The module of a launch with every function of the launch reduced to its slice.

    Block ``b`` of a function is block ``b`` of the reduced one and leads to the same blocks, so that visits of one are
    visits of the other. Its text has a last line that names the slice, so that compiled code is kept apart.
    """
    program = cut.program
    module = program.modules[0]
    functions = dict(module.functions)
    for function, cfg, base in zip(program.functions, program.cfgs, program.instruction_base, strict=True):
        kept = cut.kept[base : base + len(function.body)].tolist()
        made = _reduced(function, cfg, kept)
        same = [(block.successors, block.leaves) for block in build(made).blocks]
        assert same == [(block.successors, block.leaves) for block in cfg.blocks], function.name
        functions[function.name] = made
    name = hashlib.sha256(cut.kept.tobytes()).hexdigest()
    return replace(module, functions=functions, source_lines=(*module.source_lines, f"// slice {name}"))


def _reduced(function: Function, cfg: Cfg, kept: list[bool]) -> Function:
    body: list[Instruction] = []
    moved: dict[int, int] = {}  # index of an instruction -> where it, or what follows it, is now
    labels: dict[str, int] = {}
    for number, block in enumerate(cfg.blocks):
        start = len(body)
        labels[_LABEL.format(number)] = start
        for index in range(block.first, block.first + block.count):
            moved[index] = len(body)
            if kept[index]:
                body.append(function.body[index])
        last = function.body[block.first + block.count - 1]
        following = number + 1 < len(cfg.blocks)
        falls = not ends_block(last) and following and _may_begin(function.body[block.first + block.count])
        if falls or (ends_block(last) and not kept[block.first + block.count - 1] and following):
            body.append(_made(last, "bra", (), _LABEL.format(number + 1)))
        elif len(body) == start:
            body.append(_made(last, "membar", ("cta",)))
    moved[len(function.body)] = len(body)
    labels |= {label: moved[index] for label, index in function.labels.items()}
    return replace(function, body=tuple(body), labels=labels)


def _may_begin(i: Instruction) -> bool:
    """Whether an instruction may begin a block without a label before it."""
    return i.call is not None or joins_lanes(i)


def _made(at: Instruction, opcode: str, modifiers: tuple[str, ...], label: str | None = None) -> Instruction:
    """An instruction that stands for one that was left out: one that computes nothing, or goes on to a block."""
    operands = () if label is None else (Symbol(label),)
    return instruction(opcode, modifiers, operands, None, at.position, " ".join((opcode, *modifiers, label or "")))
