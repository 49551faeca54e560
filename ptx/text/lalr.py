"""Text to reductions: runs the LALR(1) table that lark makes of ``grammar.lark`` or ``sass.lark``.

lark's own driver costs about six times as much per instruction as the loop below, so lark only makes the table; the
table is kept as JSON in the user's cache, and lark is not even imported when it is there. ``reduce_text`` calls one
method of the builder per reduction, with the values of its children and the part of the text they cover.
"""

import bisect
import hashlib
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from rayplay.formats.guard import sealed
from rayplay.formats.guard.errors import UserError
from rayplay.ptx.ir import Position

GRAMMAR = Path(__file__).with_name("grammar.lark")

# Names of the terminals in error messages.
SPELLING = {
    "WORD": "a name or opcode", "REGISTER": "a register", "NUMBER": "a number", "STRING": "a string",
    "COMMA": "','", "SEMICOLON": "';'", "COLON": "':'", "LPAR": "'('", "RPAR": "')'", "LBRACE": "'{'", "RBRACE": "'}'",
    "LSQB": "'['", "RSQB": "']'", "PLUS": "'+'", "BANG": "'!'", "VBAR": "'|'", "AT": "'@'", "EQUAL": "'='",
    "LESSTHAN": "'<'", "MORETHAN": "'>'", "TYPE": "a type such as .u32", "SPACE": "a state space such as .global",
    "VERSION": ".version", "TARGET": ".target", "ADDRESS_SIZE": ".address_size", "LINKAGE": ".visible or .extern",
    "DIRECTIVE": "a directive such as .maxntid", "ENTRY": ".entry", "FUNC": ".func", "REG": ".reg", "ALIGN": ".align",
    "PTR": ".ptr", "PRAGMA": ".pragma", "ALIAS": ".alias", "VECTOR": ".v2 or .v4", "ATTRIBUTE": ".attribute(...)",
    "BRANCH_TARGETS": ".branchtargets", "CALL_PROTOTYPE": ".callprototype", "$END": "the end of the file",
    "ADDRESS": "an instruction address such as /*0010*/", "ENCODING": "an encoding such as /* 0x0000000000007918 */",
    "LABEL": "a label such as .L_x_1:", "SASS_DIRECTIVE": "a directive such as .section", "HEADING": "a heading",
    "SASS_WORD": "an opcode or register", "SASS_NUMBER": "a number", "SASS_TARGET": "a target such as `(.L_x_1)",
    "TARGETS": "(*...*)", "RELOCATION": "a relocation such as 32@lo(name)", "SUFFIX": "a suffix such as .reuse",
    "ARCHITECTURE": ".target", "OPERATOR": "an operator", "QMARK": "'?'", "WARP_SZ": "WARP_SZ", "FILE": ".file",
    "LOC": ".loc", "SECTION": ".section", "DWARF": "@@DWARF", "DOTTED": "a word that begins with '.'",
    "ANNOTATION": "an annotation such as &wr=0x1", "MINUS": "'-'", "TILDE": "'~'",
}  # fmt: skip
# Terminals that one word says better when all of them could come.
GROUPS = (
    (
        ("REGISTER", "WORD", "NUMBER", "WARP_SZ", "LPAR", "PLUS", "MINUS", "BANG", "TILDE", "LSQB", "LBRACE"),
        "an operand",
    ),
    (("REGISTER", "WORD", "NUMBER", "WARP_SZ", "LPAR", "PLUS", "MINUS", "BANG", "TILDE"), "a name or a number"),
    (("NUMBER", "WARP_SZ", "LPAR", "PLUS", "MINUS", "BANG", "TILDE"), "a number"),
    (("OPERATOR", "PLUS", "MINUS", "VBAR", "LESSTHAN", "MORETHAN", "QMARK", "COLON"), "an operator"),
    (("DOTTED", "TYPE", "SPACE", "VECTOR"), "a modifier"),
)
MOST_EXPECTATIONS = 6


class Table(NamedTuple):
    """An LALR(1) table. ``actions[state][terminal]`` >= 0 is the state after shifting, -1 - rule a reduction."""

    start: int
    end: int
    actions: list[dict[str, int]]
    gotos: list[dict[str, int]]
    rules: list[tuple[str, str, int]]  # left side, method of the builder, number of children
    scanner: str  # one regular expression: skipped text, then one group per terminal
    skipped: str  # one regular expression: white space and comments


class Source:
    """The text being parsed, for positions and messages."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> Position:
        """Line and column, from 1, of a character of the text."""
        line = bisect.bisect_right(self.starts, offset)
        return Position(line, offset - self.starts[line - 1] + 1)

    def error(self, offset: int, message: str) -> UserError:
        """``file:line:column: message``, and the source line it is about."""
        place = self.position(offset)
        start = self.starts[place.line - 1]
        line = self.text[start : start + 200].split("\n", 1)[0].strip(" \t\r\0")
        where = f", in: {line}" if line else ""
        return UserError(f"{self.name}:{place.line}:{place.column}: {message}{where}")


def table(path: Path = GRAMMAR) -> Table:
    """The table of a grammar, from the cache when the grammar and lark are the ones it was made with."""
    grammar = path.read_text()
    key = hashlib.sha256(f"{version('lark')}\n{grammar}\n{Path(__file__).read_text()}".encode()).hexdigest()[:16]
    name = f"ptx-{path.stem}-{key}.json"
    data = sealed.load(name)
    if data is None:
        data = json.dumps(_make_table(grammar)._asdict()).encode()
        sealed.keep(name, data)
    raw = json.loads(data)
    raw["rules"] = [tuple(rule) for rule in raw["rules"]]
    return Table(**raw)


def _make_table(grammar: str) -> Table:
    """Ask lark for the table and renumber it."""
    import lark

    parser = lark.Lark(grammar, parser="lalr", lexer="basic", keep_all_tokens=True, maybe_placeholders=False)
    made = parser.parse_interactive("").parser_state.parse_conf.parse_table
    rules: dict[int, int] = {}
    rows: list[tuple[str, str, int]] = []
    terminals = {terminal.name for terminal in parser.terminals} | {"$END"}
    actions: list[dict[str, int]] = [{} for _ in range(max(made.states) + 1)]
    gotos: list[dict[str, int]] = [{} for _ in actions]
    for state, entries in made.states.items():
        for symbol, (action, argument) in entries.items():
            if action.name == "Reduce":
                if id(argument) not in rules:
                    rules[id(argument)] = len(rows)
                    rows.append((str(argument.origin.name), str(argument.alias or "start"), len(argument.expansion)))
                actions[state][symbol] = -1 - rules[id(argument)]
            else:
                (actions if symbol in terminals else gotos)[state][symbol] = argument
    skipped = "|".join(t.pattern.to_regexp() for t in parser.terminals if t.name in parser.ignore_tokens)
    scanner = _scanner(parser, skipped)
    return Table(made.start_states["start"], made.end_states["start"], actions, gotos, rows, scanner, skipped)


def _scanner(parser: Any, skipped: str) -> str:
    """Skipped text, then the terminals: the higher priority first, then the longer pattern, as lark's lexer does."""
    kept = [t for t in parser.terminals if t.name not in parser.ignore_tokens]
    kept.sort(key=lambda t: (-t.priority, -len(t.pattern.value), t.name))
    groups = "|".join(f"(?P<{t.name}>{t.pattern.to_regexp()})" for t in kept)
    return f"(?:{skipped})*+(?:{groups}|(?P<END>\\Z))"


def reduce_text(made: Table, source: Source, builder: Any) -> Any:
    """Run the table over the text, in time linear in its length.

    Each reduction calls ``builder.METHOD(children, start, end)``; children are terminals as text or what earlier
    reductions returned, ``text[start:end]`` is what they cover. Returns the value of the last reduction.

    Raises UserError at the first token that no PTX could have there, naming the expected ones.
    """
    rules = [(getattr(builder, method), left, size) for left, method, size in made.rules]
    actions, gotos = made.actions, made.gotos
    states = [made.start]
    values: list[Any] = []
    starts: list[int] = []
    pattern: Any = re.compile(made.scanner)  # typeshed does not know Pattern.scanner
    scan = pattern.scanner(source.text).match
    end = 0
    while True:
        match = scan()
        if match is None:
            raise _unexpected_character(source, end, made.skipped, _accepted(made, states))
        token = match.lastgroup
        begin, kind = (end, "$END") if token == "END" else (match.start(token), token)
        while True:
            action = actions[states[-1]].get(kind)
            if action is None:
                raise _unexpected(source, begin, match.group(token), _accepted(made, states))
            if action >= 0:
                break
            method, left, size = rules[-1 - action]
            if size:
                value = method(values[-size:], starts[-size], end)
                del states[-size:], values[-size:], starts[len(starts) - size + 1 :]
            else:
                value = method([], begin, end)
                starts.append(begin)
            values.append(value)
            states.append(gotos[states[-1]][left])
            if kind == "$END" and states[-1] == made.end:
                return value
        states.append(action)
        values.append(match.group(kind))
        starts.append(begin)
        end = match.end()


def _accepted(made: Table, states: list[int]) -> list[str]:
    """The terminals that could have come: some reductions lead to a shift of them."""
    accepted = []
    for terminal in made.actions[states[-1]]:
        stack = list(states)
        while True:
            action = made.actions[stack[-1]].get(terminal)
            if action is None or action >= 0:
                break
            left, _, size = made.rules[-1 - action]
            del stack[len(stack) - size :]
            stack.append(made.gotos[stack[-1]][left])
            if stack[-1] == made.end:
                action = 0
                break
        if action is not None:
            accepted.append(terminal)
    return accepted


def _unexpected(source: Source, offset: int, found: str, accepted: list[str]) -> UserError:
    if found == "":
        return source.error(offset, f"expected {_expectations(accepted)}, found the end of the file")
    shown = found if len(found) <= 40 else f"{found[:40]}..."
    return source.error(offset, f"expected {_expectations(accepted)}, found '{shown}'")


def _unexpected_character(source: Source, offset: int, skipped: str, accepted: list[str]) -> UserError:
    """Nothing in the language begins like this; skip what may be skipped, to point at the character itself."""
    text = source.text
    rest = re.compile(f"(?:{skipped})*+").match(text, offset)
    offset = rest.end() if rest else offset
    if text.startswith("/*", offset):
        return source.error(offset, "expected '*/' after this '/*', found the end of the file")
    word = re.compile(r"\.?[\w$:]+|.").match(text, offset)
    found = word.group() if word else text[offset]
    return source.error(offset, f"expected {_expectations(accepted)}, found '{found[:40]}'")


def _expectations(accepted: list[str]) -> str:
    left, said = set(accepted), set()
    for terminals, word in GROUPS:
        if left.issuperset(terminals):
            left.difference_update(terminals)
            said.add(word)
    said |= {SPELLING.get(name, name) for name in left}
    names = sorted(said, key=lambda name: (name[0] != "'", name))
    shown = names[:MOST_EXPECTATIONS]
    if len(names) > len(shown):
        shown.append("...")
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
