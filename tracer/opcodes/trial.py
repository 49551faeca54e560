"""Which forms of PTX instructions are executed: each is written in a kernel of its own, verified, linked and lowered.

No form is called executed or not by hand: what lowering a form says, which is what a launch says, is the answer.
"""

from collections import defaultdict
from dataclasses import dataclass

from tqdm import tqdm

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Module
from rayplay.ptx.isa.table import TABLE
from rayplay.ptx.text.parser import parse
from rayplay.ptx.verifier.code import verify
from rayplay.tracer.link.link import link_launch
from rayplay.tracer.lower.program import lower_program
from rayplay.tracer.memory.arena import DeviceMemory
from rayplay.tracer.opcodes.patterns import Form, expand
from rayplay.tracer.opcodes.specimens import function, header

BATCH = 400  # kernels of one module


@dataclass(frozen=True)
class Trial:
    """A pattern of an opcode: the forms tried, and the forms that the executor refuses."""

    key: str
    pattern: str
    tried: tuple[Form, ...]
    refused: tuple[Form, ...]


def try_all(chosen: list[str]) -> list[Trial]:
    """A trial of every pattern of these keys, in order."""
    forms = {(key, pattern): tuple(expand(pattern, key)) for key in chosen for pattern in TABLE[key].patterns}
    wanted = dict.fromkeys((form, key) for (key, _), made in forms.items() for form in made)
    refused = refused_forms(list(wanted))
    return [
        Trial(key, pattern, made, tuple(form for form in made if (form, key) in refused))
        for (key, pattern), made in forms.items()
    ]


def refused_forms(wanted: list[tuple[Form, str]]) -> set[tuple[Form, str]]:
    """Forms, each with its key, that cannot be executed."""
    by_header: dict[str, list[tuple[Form, str]]] = defaultdict(list)
    for form, key in wanted:
        by_header[header(form)].append((form, key))
    refused: set[tuple[Form, str]] = set()
    with tqdm(total=len(wanted), desc="forms", disable=None) as progress:
        for head, members in by_header.items():
            for start in range(0, len(members), BATCH):
                batch = members[start : start + BATCH]
                refused |= _refused_of(head, batch)
                progress.update(len(batch))
    return refused


def _refused_of(head: str, members: list[tuple[Form, str]]) -> set[tuple[Form, str]]:
    texts = [function(f"k{number}", form, key) for number, (form, key) in enumerate(members)]
    module = parse(f".version {head}\n.func callee() {{ ret; }}\n" + "".join(texts), "forms.ptx")
    problems = verify(module)
    assert not problems, f"a form of the tables is not one that the verifier takes: {problems[0]}"
    return {member for number, member in enumerate(members) if not executes(module, f"k{number}")}


def executes(module: Module, name: str) -> bool:
    """Whether the instructions of an entry can be lowered."""
    try:
        linked = link_launch(((module, module.functions[name]),), DeviceMemory(), {})
        lower_program(linked.functions, linked.symbols)
    except UserError:
        return False
    return True
