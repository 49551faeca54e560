"""Loops in which lanes may wait for other lanes or warps: their way on depends on memory that others write.

A lane that holds a lock can wait at the end of such a loop for the lanes that spin in it, and these wait for the lock.
From sm_70 on lanes make progress independently (CUDA C++ Programming Guide, Independent Thread Scheduling), so that
the tracer lets lanes take turns at the heads of these loops, also when these stand in a function that others have left.
"""

from dataclasses import dataclass

from rayplay.formats.guard.errors import UserError
from rayplay.ptx.flow.cfg import build
from rayplay.ptx.graph import Cfg, predecessors_of, reached
from rayplay.ptx.ir import Function, Instruction, Module
from rayplay.ptx.isa.describe import describe

INDEPENDENT_SM = 70  # from which on the lanes of a warp make progress independently
ORDERED = frozenset(("volatile", "relaxed", "acquire", "mmio"))
SHARED_SPACES = frozenset(("", "global", "shared"))
JOINING = (
    "bar",
    "barrier",
    "shfl",
    "vote",
    "match",
    "redux",
    "elect",
    "mma",
    "wmma",
    "ldmatrix",
    "stmatrix",
    "movmatrix",
)


KEPT = 16  # modules whose functions are known
_known: dict[int, "tuple[Module, Waiting]"] = {}


@dataclass(frozen=True)
class Spins:
    """Loops of one function in which lanes may wait.

    heads    per head of such a loop its number.
    entries  per block outside a loop from which control enters it the numbers of the loops.
    joins    blocks with an instruction that lanes execute together; empty where lanes take no turns.
    calls    blocks that end with a call of a function in which lanes may wait, so that they may leave it apart.
    """

    heads: dict[int, int]
    entries: dict[int, tuple[int, ...]]
    joins: frozenset[int]
    calls: frozenset[int] = frozenset()

    @property
    def takes_turns(self) -> bool:
        """Whether lanes take turns in the function."""
        return bool(self.heads or self.calls)


NONE = Spins({}, {}, frozenset())


@dataclass(frozen=True)
class Waiting:
    """Functions of a module, by name; "" for a call through a register.

    waits  in which lanes may wait, or which call such functions.
    joins  which lanes have to call together: they, or functions that they call, have instructions for that.
    """

    waits: frozenset[str]
    joins: frozenset[str]


def with_turns(module: Module, function: Function) -> tuple[Cfg, Spins]:
    """The control-flow graph of a function, and its loops in which lanes may wait.

    Where lanes take turns, an instruction that lanes execute together begins a block, so that lanes can wait for
    each other before it. Raises ``UserError`` as ``build`` does.
    """
    cfg = build(function)
    if not spins(module, function, cfg).takes_turns:
        return cfg, NONE
    joins = waiting_functions(module).joins if _calls(function) else frozenset[str]()
    cfg = build(function, [position for position, i in enumerate(function.body) if joins_lanes(i, joins)])
    return cfg, spins(module, function, cfg)


def spins(module: Module, function: Function, cfg: Cfg) -> Spins:
    """The loops of a function in which lanes may wait; none before sm_70."""
    if not _is_independent(module):
        return NONE
    heads, entries = _waiting_loops(module, function, cfg)
    known = waiting_functions(module) if _calls(function) else Waiting(frozenset(), frozenset())
    bodies = [function.body[each.first : each.first + each.count] for each in cfg.blocks]
    calls = frozenset(
        block for block, body in enumerate(bodies) if body[-1].call is not None and body[-1].callee in known.waits
    )
    if not heads and not calls:
        return NONE
    joins = frozenset(block for block, body in enumerate(bodies) if any(joins_lanes(i, known.joins) for i in body))
    return Spins(heads, entries, joins, calls)


def _waiting_loops(module: Module, function: Function, cfg: Cfg) -> tuple[dict[int, int], dict[int, tuple[int, ...]]]:
    """``Spins.heads`` and ``Spins.entries``."""
    asks = [_asks(i, module) for i in function.body]
    reads = [_reads(i) for i in function.body]
    heads: dict[int, int] = {}
    entries: dict[int, tuple[int, ...]] = {}
    if not any(asks) and not any(reads):
        return heads, entries
    bodies = _loops(cfg)
    inner = {head: [o for o in bodies if o != head and bodies[o] < bodies[head]] for head in bodies}
    for head in sorted(bodies):
        own = bodies[head].difference(*(bodies[other] for other in inner[head]))
        if _waits(function, cfg, bodies[head], own, asks, reads):
            heads[head] = len(heads)
    for block, each in enumerate(cfg.blocks):
        into = tuple(heads[t] for t in each.successors if t in heads and block not in bodies[t])
        if into:
            entries[block] = into
    return heads, entries


def waiting_functions(module: Module) -> Waiting:
    """The functions of a module in which lanes may wait, and the ones that they have to call together."""
    if id(module) not in _known:
        if len(_known) == KEPT:
            del _known[next(iter(_known))]
        _known[id(module)] = module, _found(module)  # which keeps the module, so that its id stays its own
    return _known[id(module)][1]


def _found(module: Module) -> Waiting:
    callees: dict[str, set[str]] = {}
    waits: set[str] = set()
    joins: set[str] = set()
    for name, function in module.functions.items():
        if function.is_entry or function.is_declaration:
            continue
        callees[name] = _calls(function)
        if any(joins_lanes(i) for i in function.body):
            joins.add(name)
        try:
            if _waiting_loops(module, function, build(function))[0]:
                waits.add(name)
        except UserError:  # a branch to nowhere, which is an error where the function is linked
            continue
    callees[""] = set(callees)
    return Waiting(frozenset(_with_callers(waits, callees)), frozenset(_with_callers(joins, callees)))


def _with_callers(names: set[str], callees: dict[str, set[str]]) -> set[str]:
    """Functions of these names, and all that may call them."""
    callers: dict[str, list[str]] = {}
    for name, called in callees.items():
        for each in called:
            callers.setdefault(each, []).append(name)
    return names | set(reached(sorted(names), lambda name: callers.get(name, ())))


def _calls(function: Function) -> set[str]:
    """Names of the functions that one calls; "" stands for a call through a register."""
    return {i.callee for i in function.body if i.call is not None and not i.callee.startswith("_optix_")}


def _is_independent(module: Module) -> bool:
    number = "".join(c for c in (module.target or ("",))[0] if c.isdigit())
    return bool(number) and int(number) >= INDEPENDENT_SM


def joins_lanes(i: Instruction, functions: frozenset[str] = frozenset()) -> bool:
    """Whether the lanes of a warp execute an instruction together, or call one of these functions together."""
    if i.call is not None:
        return i.callee in functions
    return i.opcode in JOINING and (i.opcode in ("bar", "barrier", "ldmatrix") or "sync" in i.modifiers)


def _asks(i: Instruction, module: Module, depth: int = 0) -> bool:
    """Whether an instruction's result is what others may write while it waits: an atomic, an ordered load, a wait."""
    if i.call is not None:
        callee = module.functions.get(i.callee)
        return callee is not None and depth < 2 and any(_asks(c, module, depth + 1) for c in callee.body)
    if i.opcode == "mbarrier":
        return "test_wait" in i.modifiers or "try_wait" in i.modifiers
    return i.opcode == "atom" or (i.opcode == "ld" and not ORDERED.isdisjoint(i.modifiers))


def _reads(i: Instruction) -> bool:
    """Whether an instruction is a plain load of memory that others may write."""
    return i.opcode == "ld" and (i.form.spaces or ("",))[0].split("::")[0] in SHARED_SPACES


def _loops(cfg: Cfg) -> dict[int, frozenset[int]]:
    """Per block that is entered by a jump backwards the blocks of its loop."""
    before = predecessors_of([list(block.successors) for block in cfg.blocks])
    tails: dict[int, list[int]] = {}
    for block, each in enumerate(cfg.blocks):
        for target in each.successors:
            if target <= block:
                tails.setdefault(target, []).append(block)
    return {
        head: frozenset((head, *reached([t for t in blocks if t != head], before.__getitem__, (head,))))
        for head, blocks in tails.items()
    }


def _waits(
    function: Function, cfg: Cfg, body: frozenset[int], own: frozenset[int], asks: list[bool], reads: list[bool]
) -> bool:
    """Whether a branch of the loop's own blocks depends on such a result, or on nothing but plain loads of one place.

    A counter that is compared with memory does not count: the loop makes progress by itself.
    """
    positions = [p for b in sorted(body) for p in range(cfg.blocks[b].first, cfg.blocks[b].first + cfg.blocks[b].count)]
    if not any(asks[p] or reads[p] for p in positions):
        return False
    described = {p: describe(function.body[p], function) for p in positions}
    writes: dict[str, int] = {}
    for p in positions:
        for name in described[p].destinations:
            writes[name] = writes.get(name, 0) + 1
    fixed = {name for p in positions for name in described[p].sources if name not in writes}
    asked: set[str] = set()
    loaded: set[str] = set()
    changed = True
    while changed:
        before = len(fixed) + len(asked) + len(loaded)
        for p in positions:
            made, sources = described[p].destinations, set(described[p].sources)
            if asks[p] or sources & asked:
                asked.update(made)
            if sources <= fixed if reads[p] else sources & loaded and sources <= fixed | loaded:
                loaded.update(n for n in made if writes[n] == 1)
            elif sources <= fixed and not asks[p] and function.body[p].opcode != "ld" and function.body[p].call is None:
                fixed.update(n for n in made if writes[n] == 1)
        changed = before != len(fixed) + len(asked) + len(loaded)
    ends = [cfg.blocks[b].first + cfg.blocks[b].count - 1 for b in sorted(own)]
    guards = [{i.guard.register.name} for i in (function.body[p] for p in ends) if i.guard is not None]
    indices = [set(described[p].sources) for p in ends if function.body[p].opcode == "brx"]
    return any(names & (asked | loaded) for names in guards + indices)
