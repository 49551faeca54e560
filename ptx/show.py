"""Output of ``python -m ptx``: modules, control-flow graphs and latencies as text a person reads."""

from collections import Counter
from collections.abc import Iterator

from rayplay.formats.guard.answer import Record
from rayplay.ptx.flow.language import build
from rayplay.ptx.flow.liveness import register_count
from rayplay.ptx.graph import END, Cfg
from rayplay.ptx.ir import NO_FORM, Function, Module
from rayplay.ptx.sass import registers as sass_registers
from rayplay.ptx.sass.describe import architecture
from rayplay.ptx.timing.characterise import NO_SLOT, SLOTS
from rayplay.ptx.timing.control_codes import characterise_function, control_codes
from rayplay.ptx.timing.pipelines import Pipeline


def module_lines(module: Module) -> Iterator[str]:
    """The parts of a module, one line each."""
    if module.language == "sass":
        yield from _sass_module_lines(module)
        return
    version, target = ".".join(map(str, module.version)), ", ".join(module.target)
    yield f"PTX {version}  {target}  {module.address_size}-bit addresses"
    for v in module.variables.values():
        yield f"  .{v.space:<6} {v.name}: {v.bytes} bytes, align {v.align}, .{v.type}"
    for function in module.functions.values():
        kind = "entry" if function.is_entry else "func"
        if function.is_declaration:
            yield f"  .{kind:<6} {function.name}: declared only"
            continue
        registers = Counter(function.registers.values())
        shown = ", ".join(f"{count} .{name}" for name, count in sorted(registers.items()))
        yield (
            f"  .{kind:<6} {function.name}: {len(function.body)} instructions from line {function.position.line}, "
            f"{len(function.parameters)} parameters; registers: {shown or 'none'}"
        )


def _sass_module_lines(module: Module) -> Iterator[str]:
    yield f"SASS  {', '.join(module.target) or 'of an architecture that the listing does not name'}"
    for function in module.functions.values():
        codes = "with" if control_codes(function) is not None else "without"
        yield (
            f"  .{'entry' if function.is_entry else 'func':<6} {function.name}: {len(function.body)} instructions from "
            f"line {function.position.line}, {sass_registers.register_count(function)} registers, {codes} encodings"
        )


def cfg_lines(function: Function) -> Iterator[str]:
    """The basic blocks of a function: extent, labels, successors, and where diverged lanes meet again."""
    cfg = build(function)
    head = f"{function.name}: {len(cfg.blocks)} blocks, {len(function.body)} instructions"
    if function.language == "sass":
        head += f", {sass_registers.register_count(function)} registers"
    elif all(i.form is not NO_FORM for i in function.body):
        head += f", {register_count(function, cfg)} registers live at most"
    yield head
    labels: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        labels.setdefault(index, []).append(label)
    for number, block in enumerate(cfg.blocks):
        last = function.body[block.first + block.count - 1]
        targets = [str(successor) for successor in block.successors] + ["end"] * block.leaves
        meets = cfg.reconvergence[number]
        yield (
            f"  block {number}: instructions {block.first}-{block.first + block.count - 1}, line "
            f"{function.body[block.first].position.line}, -> {', '.join(targets)}; lanes meet at "
            f"{'the end' if meets == END else meets}  [{last.text[:60]}]"
            + "".join(f"  {label}:" for label in labels.get(block.first, ()))
        )


def cfg_dot(function: Function) -> Iterator[str]:
    """The graph in Graphviz's language: edges solid, reconvergence dashed."""
    cfg: Cfg = build(function)
    yield f'digraph "{function.name}" {{'
    yield "  node [shape=box, fontname=monospace];"
    yield "  end [shape=oval];"
    for number, block in enumerate(cfg.blocks):
        yield f'  {number} [label="{number}: {block.count} instructions"];'
        for successor in [*map(str, block.successors), *["end"] * block.leaves]:
            yield f"  {number} -> {successor};"
        meets = cfg.reconvergence[number]
        yield f"  {number} -> {'end' if meets == END else meets} [style=dashed, constraint=false];"
    yield "}"


def characterisation_lines(function: Function, pipeline: Pipeline, entered_by_trace: bool) -> Iterator[str]:
    """Per instruction its unit, stall, initiation, slot set and slots waited for, as control codes are written."""
    cfg = build(function)
    made = characterise_function(function, cfg, pipeline, entered_by_trace)
    codes = control_codes(function) if function.language == "sass" else None
    name = pipeline.name if function.language == "ptx" else f"sm_{architecture(function)}"
    how = (
        "" if function.language == "ptx" else " by control codes" if codes else " by latencies, as encodings are absent"
    )
    yield f"{function.name} on {name}{how}: unit, stall and initiation cycles, slot set, slots waited for"
    starts = {block.first: number for number, block in enumerate(cfg.blocks)}
    for index, instruction in enumerate(function.body):
        if index in starts:
            yield f"block {starts[index]}:"
        slot, mask = made.scoreboard_slot[index], made.wait_mask[index]
        waits = "".join(str(s) if mask >> s & 1 else "-" for s in range(SLOTS))
        sets = "-" if slot == NO_SLOT else slot
        yield (
            f"  {index:4d}  {made.unit[index]:<7} stall {made.stall_cycles[index]:3d}  busy "
            f"{made.initiation_cycles[index]:3d}  set {sets}  wait {waits}  "
            f"{f'{codes[index]}  ' if codes else ''}{instruction.text}"
        )


def module_records(module: Module) -> Iterator[Record]:
    """A record per function of a module."""
    for function in module.functions.values():
        kind = {"function": function.name, "is_entry": function.is_entry, "is_declaration": function.is_declaration}
        yield kind | {"instructions": len(function.body), "line": function.position.line}


def cfg_records(function: Function) -> Iterator[Record]:
    """A record per basic block; successors are numbers of blocks, ``end`` where a path leaves, joined by spaces."""
    cfg = build(function)
    for number, block in enumerate(cfg.blocks):
        targets = [str(successor) for successor in block.successors] + ["end"] * block.leaves
        meets = cfg.reconvergence[number]
        extent = {"function": function.name, "block": number, "first": block.first, "count": block.count}
        yield extent | {"successors": " ".join(targets), "reconverges": None if meets == END else int(meets)}


def characterisation_records(function: Function, pipeline: Pipeline, entered_by_trace: bool) -> Iterator[Record]:
    """A record per instruction, with the columns of ``characterisation_lines``."""
    made = characterise_function(function, build(function), pipeline, entered_by_trace)
    for index, instruction in enumerate(function.body):
        slot = int(made.scoreboard_slot[index])
        cycles = {
            "stall_cycles": int(made.stall_cycles[index]),
            "initiation_cycles": int(made.initiation_cycles[index]),
        }
        slots = {"set_slot": None if slot == NO_SLOT else slot, "wait_mask": int(made.wait_mask[index])}
        place = {"function": function.name, "instruction": index, "unit": str(made.unit[index])}
        yield place | cycles | slots | {"text": instruction.text}
