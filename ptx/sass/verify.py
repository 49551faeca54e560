"""Faults of a SASS module beyond its syntax: opcodes without a class, branches to nowhere."""

from collections.abc import Iterator

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Function, Module
from rayplay.ptx.sass.cfg import INDIRECT, branch_labels
from rayplay.ptx.sass.describe import describe
from rayplay.ptx.verifier.code import Problem


def verify(module: Module) -> list[Problem]:
    """All problems of a module, in the order of its text."""
    found = (problem for function in module.functions.values() for problem in _problems(module.source_name, function))
    return sorted(found, key=lambda p: (p.position.line, p.position.column, p.message))


def _problems(source_name: str, function: Function) -> Iterator[Problem]:
    """An indirect branch without targets is no problem: the disassembler did not write them."""
    for instruction in function.body:
        for check in (describe,) if instruction.opcode in INDIRECT else (describe, branch_labels):
            try:
                check(instruction, function)
            except UserError as error:
                yield Problem(source_name, instruction.position, str(error).partition(": ")[2])
