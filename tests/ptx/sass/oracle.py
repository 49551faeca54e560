"""NVIDIA's disassembler on a cubin: basic blocks (``nvdisasm -bbcfg``) and live registers (``-plr``)."""

import re
import shutil
import sysconfig
from itertools import pairwise
from pathlib import Path

from rayplay.ptx.ir import Function, Instruction, Module, Register
from rayplay.ptx.sass.cfg import build
from rayplay.ptx.sass.registers import registers
from tests.reference.sass_liveness import SassLiveness

_NODE = re.compile(
    r'subgraph "cluster_([^"]*)" \{|^"([^"]+)"\n\[label="\{((?:[^"\\]|\\.)*)\}"\]|^"([^"]+)":\w+:\w -> "([^"]+)"', re.M
)
_PORT = re.compile(r"\|?<(?:entry|exit\d+)>")
_FAMILIES = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
Graph = dict[str, tuple[list[str], list[str]]]  # node -> its instructions, the nodes behind it


def find_tool(name: str) -> str | None:
    """A CUDA tool on the path, or in one of NVIDIA's wheels."""
    folders = Path(sysconfig.get_paths()["purelib"]).glob(f"nvidia/*/bin/{name}")
    return shutil.which(name) or next((str(path) for path in sorted(folders)), None)


def read_graphs(text: str) -> dict[str, Graph]:
    """The graphs of ``nvdisasm -bbcfg`` by function."""
    graphs: dict[str, Graph] = {}
    for cluster, node, label, source, target in _NODE.findall(text):
        if cluster:
            graph = graphs.setdefault(cluster, {})
        elif node:
            lines = [re.sub(r"\\(.)", r"\1", _PORT.sub("", line)) for line in label.replace("\\l", "\n").split("\n")]
            graph.setdefault(node, ([], []))[0].extend(
                " ".join(line.split())[:-1].rstrip() for line in lines if line.endswith(";")
            )
        else:
            graph.setdefault(source, ([], []))[1].append(target)
    return graphs


def read_live(text: str) -> dict[str, dict[int, dict[str, str]]]:
    """The marks of ``nvdisasm -plr -lrm narrow`` by section, address and register: ``^`` written, ``v`` read, ``x``
    both, ``:`` live."""
    sections: dict[str, dict[int, dict[str, str]]] = {}
    rows: dict[int, dict[str, str]] = {}
    columns: list[tuple[int, str]] = []
    header: list[str] = []
    for line in text.split("\n"):
        if line.startswith("//-----"):
            rows, columns, header = sections.setdefault(line.split()[1].removeprefix(".text."), {}), [], []
            continue
        mark = line.find("// |")
        if mark < 0:
            continue
        row = line[mark + 3 :]
        if not columns:
            header.append(row)
            if "#" in row:
                columns = _columns(header)
            continue
        address = re.match(r"\s*/\*([0-9a-f]{4,})\*/", line)
        if address:
            rows[int(address[1], 16)] = {r: row[c] for c, r in columns if c < len(row) and row[c] != " "}
    return sections


def _columns(header: list[str]) -> list[tuple[int, str]]:
    names, digits = header[0], [row for row in header[1:] if re.search(r"\d", row)]
    bars = [place for place, letter in enumerate(names) if letter == "|"]
    columns = []
    for left, right in pairwise(bars):
        family = _FAMILIES[names[left + 1 : right].strip()]
        for place in range(left, right):
            number = "".join(row[place] for row in digits).strip()
            if number.isdigit():
                columns.append((place, f"{family}{int(number)}"))
    return columns


def graph_differences(module: Module, graphs: dict[str, Graph]) -> list[str]:
    """Blocks or edges that differ from the tool's; but a call through a register ends a block here only."""
    return [
        difference
        for name, function in module.functions.items()
        for difference in _graph_differences(function, _cut_at_calls(function, graphs[name]), set(module.functions))
    ]


def _graph_differences(function: Function, graph: Graph, functions: set[str]) -> list[str]:
    """Walk both graphs from the entry: edges with labels go together by label, the others in their order."""
    cfg = build(function)
    labels: dict[int, set[str]] = {}
    for label, index in function.labels.items():
        labels.setdefault(index, set()).add(label)
    matched = {0: function.name}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        block, node = cfg.blocks[number], matched[number]
        texts = [i.text.rstrip(";").rstrip() for i in function.body[block.first : block.first + block.count]]
        lines, targets = graph[node]
        left = [target for target in dict.fromkeys(targets) if target not in functions]
        if texts != lines or len(left) != len(block.successors):
            return [f"{function.name} {node}: {texts} -> {block.successors} instead of {lines} -> {left}"]
        pairs, rest = {}, []
        for successor in block.successors:
            own = labels.get(cfg.blocks[successor].first, set()) & set(left)
            if own:
                pairs[successor] = min(own)
            else:
                rest.append(successor)
        pairs.update(zip(rest, [target for target in left if target not in pairs.values()], strict=True))
        for successor, target in pairs.items():
            if successor not in matched:
                matched[successor] = target
                waiting.append(successor)
            elif matched[successor] != target:
                return [f"{function.name}: block {successor} is both {matched[successor]} and {target}"]
    if not len(matched) == len(graph) == len(cfg.blocks):
        return [f"{function.name}: {len(matched)} blocks matched of {len(cfg.blocks)} and {len(graph)}"]
    return []


def _cut_at_calls(function: Function, graph: Graph) -> Graph:
    """The tool's graph, cut behind calls through registers as ours is."""
    calls = {i.text.rstrip(";").rstrip() for i in function.body if i.opcode == "CALL" and is_indirect(i)}
    made: Graph = {}
    for node, (lines, targets) in graph.items():
        cuts = [index + 1 for index, line in enumerate(lines[:-1]) if line in calls]
        names = [node, *(f"{node} behind {cut}" for cut in cuts)]
        for part, (first, stop) in enumerate(pairwise([0, *cuts, len(lines)])):
            made[names[part]] = (lines[first:stop], targets if stop == len(lines) else [names[part + 1]])
    return made


def is_indirect(call: Instruction) -> bool:
    """Whether a call goes through a register."""
    return isinstance(call.operands[0], Register)


def mark_differences(module: Module, sections: dict[str, dict[int, dict[str, str]]]) -> tuple[int, list[str]]:
    """How many instructions were compared, and where the registers written and read differ from the tool's marks.

    Left out: calls, for which it assumes a convention, and the predicates of P2R and R2P, which it does not mark.
    """
    compared, found = 0, []
    for _, function, rows in _functions(module, sections):
        for instruction in function.body:
            if instruction.opcode in ("CALL", "P2R", "R2P"):
                continue
            row = rows[instruction.address or 0]
            written, read = (set(filter(_is_shown, names)) for names in registers(instruction))
            theirs = {r for r, m in row.items() if m in "^x"}, {r for r, m in row.items() if m in "vx"}
            compared += 1
            if (written, read) != theirs:
                found.append(f"{function.name} {instruction.text} writes {written}, reads {read}; {theirs}")
    return compared, found


def live_differences(
    module: Module, sections: dict[str, dict[int, dict[str, str]]]
) -> tuple[int, list[str], list[str]]:
    """How many instructions of functions without calls were compared; where the tool has more live registers than we;
    and where we have more. The predicates of P2R and R2P, which it does not mark, are left out."""
    compared, fewer, more = 0, [], []
    solved = SassLiveness(module)
    for calls, function, rows in _functions(module, sections):
        if calls:
            continue
        unmarked = {name for i in function.body if i.opcode in ("P2R", "R2P") for g in registers(i) for name in g}
        for instruction, live in zip(function.body, solved.live(function.name), strict=True):
            ours, theirs = set(filter(_is_shown, live)) - unmarked, set(rows[instruction.address or 0]) - unmarked
            compared += 1
            if theirs - ours:
                fewer.append(f"{function.name} {instruction.text}: {theirs - ours}")
            if ours - theirs:
                more.append(f"{function.name} {instruction.text}: {ours - theirs}")
    return compared, fewer, more


def _functions(
    module: Module, sections: dict[str, dict[int, dict[str, str]]]
) -> list[tuple[bool, Function, dict[int, dict[str, str]]]]:
    """Whether a function's section has calls, the function, and the rows of its section."""
    made: list[tuple[str, Function]] = []
    for name, function in module.functions.items():
        made.append((name if name in sections else made[-1][0], function))
    calls = {section for section, f in made if any(i.opcode == "CALL" for i in f.body)}
    return [(section in calls, function, sections[section]) for section, function in made]


def _is_shown(name: str) -> bool:
    return name[0] != "B"
