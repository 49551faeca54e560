"""Hostile programs and listings, and what binds programs: launch files, shader configurations, networks."""

from collections.abc import Callable
from pathlib import Path

from tests.hostile.tables import text
from tests.hostile.verbs import VERBS, Case

ROOT = Path(__file__).resolve().parents[2]
HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
ENTRY = f"{HEADER}GLOBALS\n.visible .entry k(.param .u64 a, .param .u64 b) {{\n"
REGISTERS = ".reg .b64 %a, %b; .reg .b32 %r; .reg .pred %p;\n"
PAST = "ld.param.u64 %a, [a]; ld.global.u32 %r, [%a+256]; ld.param.u64 %b, [b]; st.global.u32 [%b], %r;"
LOOP = "mov.u32 %r, 0; L: add.u32 %r, %r, 1; setp.ne.u32 %p, %r, -1; @%p bra L;"
BOMB = "".join(f".func f{n}() {{ call f{n + 1}, (); call f{n + 1}, (); ret; }}\n" for n in range(40))
BOMB = ".func f40() { ret; }\n" + "".join(reversed(BOMB.splitlines(True)))
LAUNCH = """program = "a.ptx"
[buffers.from]
dtype = "uint32"
shape = [64]
[buffers.to]
dtype = "uint32"
shape = [64]
[[launch]]
entry = "k"
grid = [1]
block = [32]
parameters = [{ buffer = "from" }, { buffer = "to" }]
"""
FOR_EVER = """[buffers.one]
dtype = "uint32"
shape = [1]
generator = "ones"
[repeat.r]
while_nonzero = "one"
limit = 1000000000000
[[launch]]
repeat = "r\""""
NETWORK = """program = "a.ptx"
image = [8, 8, 3]
layers = [{ op = "dense", units = 4 }]
"""
SASS = (ROOT / "tests" / "ptx" / "data" / "sass" / "sm_75.sass").read_text()
SHADER = (ROOT / "tracer" / "programs" / "shadows.toml").read_text()
STATIC = frozenset({"static"})
RUN = frozenset({"static", "time"})
"""Verbs that refuse only what is read before a launch: one executes nothing, the other runs on a device alone."""
EXECUTED = frozenset({"launch", "trace", "analyse"})
ALL = frozenset(VERBS["launch"])
SHOWN = frozenset({"parse", "print", "cfg", "characterise"})


def entry(body: str, variables: str = "") -> str:
    """A module of one kernel."""
    return f"{ENTRY.replace('GLOBALS', variables)}{REGISTERS}{body}\nret;\n}}\n"


def launch(old: str = "\0", new: str = "", body: str = "", variables: str = "") -> Callable[[Path], object]:
    """Write a launch file, changed, and its program."""

    def make(folder: Path) -> None:
        (folder / "a.ptx").write_text(entry(body, variables))
        (folder / "a.toml").write_text(LAUNCH.replace(old, new, 1))

    return make


def from_file(head: str) -> Callable[[Path], object]:
    """Write a launch file one of whose buffers is a .npy file with this head."""

    def make(folder: Path) -> None:
        launch("shape = [64]", 'file = "a.npy"')(folder)
        (folder / "a.npy").write_bytes(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode() + bytes(256))

    return make


def program(content: str) -> Callable[[Path], object]:
    """Write a program, and a launch file beside it."""

    def make(folder: Path) -> None:
        (folder / "a.ptx").write_text(content)
        (folder / "a.toml").write_text(LAUNCH)

    return make


def shader(old: str, new: str, count: int = 1) -> Callable[[Path], object]:
    """Write the program of shadows with its configuration changed."""

    def make(folder: Path) -> None:
        (folder / "a.ptx").write_text((ROOT / "tracer" / "programs" / "shadows.ptx").read_text())
        assert old in SHADER
        (folder / "a.toml").write_text(SHADER.replace(old, new, count))

    return make


def network(old: str, new: str) -> Callable[[Path], object]:
    """Write a network, changed, and a program without its kernels."""

    def make(folder: Path) -> None:
        (folder / "a.ptx").write_text(entry(""))
        (folder / "a.toml").write_text(NETWORK.replace(old, new, 1))

    return make


def sass(old: str, new: str) -> Callable[[Path], object]:
    """Write a listing, changed."""
    assert old in SASS
    return text("a.sass", SASS.replace(old, new, 1))


def npy(shape: str, dtype: str = "<u4") -> Callable[[Path], object]:
    """Write a launch file with a .npy file of this shape."""
    return from_file(f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n")


BLOCKS = "\n".join(f'[block.b{n}]\nlayers = [{{ block = "b{n + 1}", repeat = 1000 }}]' for n in range(6))
BLOCKS += '\n[block.b6]\nlayers = [{ op = "dense", units = 4 }]\n'
CASES = (
    Case("launch key of 100,000 parts", "launch", text("a.toml", "a" + ".a" * 100_000 + " = 1"),
         "--limit key-parts|no such|There is no|No such"),
    Case("launch file of 5 MB", "launch", launch("program", "#" * 5_000_000 + "\nprogram"), "--limit text-bytes"),
    Case("launch file of 10^5 brackets", "launch", launch("program", "a = " + "[" * 100_000 + "\nprogram"),
         "must be TOML"),
    Case("buffer of 2^40 bytes", "launch", launch("[64]", f"[{1 << 38}]"), "at most"),
    Case("buffer of 1 GiB", "launch", launch("[64]", f"[{1 << 28}]"), "--limit buffer-bytes", STATIC),
    Case("buffer of 100 axes", "launch", launch("[64]", f"{[1] * 100}"), "at most 32 lengths"),
    Case("buffer of NaN", "launch", launch("shape = [64]", "values = [nan]"), "must be a whole number"),
    Case(".npy of 2^60 values", "launch", npy(f"({1 << 60},)"), "must be a .npy file", STATIC),
    Case(".npy of 2^63 - 1 rows", "launch", npy(f"({(1 << 63) - 1}, 4)"), "must be a .npy file", STATIC),
    Case(".npy of negative length", "launch", npy("(-1,)"), ".npy|must be", STATIC),
    Case(".npy of objects", "launch", npy("(64,)", "|O"), "must be a .npy file", STATIC),
    Case(".npy nested deep", "launch", from_file("(" * 60_000), "must be a .npy file", STATIC),
    Case("largest grid", "launch", launch("grid = [1]", "grid = [2147483647, 65535, 65535]"), "--limit warps|2\\^63",
         frozenset({"time"})),
    Case("shared memory of 2 GB", "launch", launch("[32]", "[32]\ndynamic_shared_bytes = 2000000000"),
         "at most 232448"),
    Case("10^18 rounds", "launch", launch("[[launch]]",
         '[repeat.r]\ntimes = 1000000000000000000\n[[launch]]\nrepeat = "r"'),
         "--limit launches"),
    Case("rounds without an end", "launch", launch("[[launch]]", FOR_EVER), "--limit launches|must be 0", RUN),
    Case("program of another folder", "launch", launch("a.ptx", "../../a.ptx"), "in the folder of the launch file",
         verbs=frozenset({"launch", "trace"})),
    Case("program that is a device", "launch", launch("a.ptx", "/dev/zero"), "in the folder of the launch file",
         verbs=frozenset({"launch", "trace"})),
    Case("entry with escapes", "launch", launch('"k"', '"\\u001b[31m\\n"'), "entry|kernel|k"),
    Case("an access past a buffer", "launch", launch(body=PAST), r"lane 0 .*4 bytes past the end of buffer 'from'",
         RUN | {"analyse"}),
    Case("a loop without an end", "launch", launch(body=LOOP.replace("-1", "0")), "--max-instructions", RUN),
    Case("calls as a bomb", "launch", launch(body="call f0, ();", variables=BOMB), "--max-instructions", RUN),
    Case("calls without an end", "launch", launch(
        body="call f, ();", variables=".func f();\n.func f() { call f, (); ret; }"), "deep|stack|recurs|call", RUN),
    Case(".const of 8 GB", "launch", launch(variables=".const .b8 c[8589934592];"), "--limit constant-bytes", RUN),
    Case(".global of 2^37 bytes", "launch", launch(variables=".global .b8 g[137438953472];"), "--limit variable-bytes",
         RUN),
    Case(".shared of 2 GB", "launch", launch(body=".shared .b8 s[2147483647]; st.shared.b8 [s], 0;"),
         "--limit shared-bytes", RUN),
    Case(".local of 2^40 bytes", "launch", launch(body=".local .b8 s[1099511627776]; st.local.b8 [s], 0;"),
         "local|bytes", RUN),
    Case("PTX that is a device", "ptx", lambda folder: (text("a.toml", LAUNCH)(folder),
         (folder / "a.ptx").symlink_to("/dev/zero")), "--limit list-bytes|in the folder of the launch file"),
    Case("PTX of 70 MB", "ptx", program(entry("") + "//" + "x" * 70_000_000), "--limit list-bytes"),
    Case("PTX of NUL bytes", "ptx", program("\0" * 1_000_000), "a.ptx"),
    Case("PTX that is no UTF-8", "ptx", lambda folder: (text("a.toml", LAUNCH)(folder),
         (folder / "a.ptx").write_bytes(b"\xff\xfe" * 100)), "a.ptx"),
    Case("empty PTX", "ptx", program(""), "a.ptx"),
    Case("a comment without an end", "ptx", program("/*" * 1_000_000), "a.ptx"),
    Case("a text without an end", "ptx", program(entry('.pragma "' + "x" * 1_000_000)), "a.ptx"),
    Case("100,000 scopes", "ptx", program(entry("{" * 100_000 + "}" * 100_000)), "a.ptx|nest"),
    Case("an expression of 100,000 brackets", "ptx", program(entry("mov.u32 %r, " + "(" * 100_000 + "1;")), "a.ptx"),
    Case("a sum of 100,000 terms", "ptx", program(entry("mov.u32 %r, 1" + "+1" * 100_000 + ";")), "string-bytes",
         SHOWN),
    Case("a number of 100,000 digits", "ptx", program(entry("mov.u32 %r, " + "9" * 100_000 + ";")), "a.ptx"),
    Case("2^31 registers", "ptx", program(entry(".reg .b32 %x<2147483647>; mov.u32 %x2147483646, 1;")), "a.ptx",
         SHOWN | {"launch", "capture"}),
    Case("a vector of 100,000 registers", "ptx", program(entry("mov.b64 %a, {" + "%r," * 100_000 + "%r};")), "a.ptx",
         SHOWN - {"parse"}),
    Case("alignment of 2^63", "ptx", program(entry("", f".global .align {1 << 63} .b8 g;")), "align", SHOWN),
    Case("version of 30 digits", "ptx", program(entry("").replace("7.8", "9" * 30 + ".0")), "version", SHOWN),
    Case("name of 1 MB", "ptx", program(entry(f"bra {'x' * 1_000_000};")), "a.ptx",
         frozenset({"print"})),
    Case("escapes in a name", "ptx", program(entry("bra \x1b[31m;")), "a.ptx"),
    Case("branch to nothing", "ptx", program(entry("bra nowhere;")), "nowhere", frozenset({"print"})),
    Case("SASS of 70 MB", "sass", text("a.sass", SASS + "#" * 70_000_000), "--limit list-bytes"),
    Case("SASS without instructions", "sass", text("a.sass", "\t.section .text.k\n.text.k:\n" * 10), "a.sass"),
    Case("SASS of NUL bytes", "sass", text("a.sass", "\t.target sm_75\n" + "\0" * 1_000_000), "a.sass"),
    Case("SASS at address 2^64", "sass", sass("/*0010*/", "/*ffffffffffffffffffff*/"), "a.sass", SHOWN),
    Case("SASS operand of 100,000 brackets", "sass", sass("[UR4]", "[" * 100_000 + "UR4]"), "a.sass"),
    Case("SASS of 2^40 registers", "sass", sass("REGISTERS=22", f"REGISTERS={1 << 40}"), "a.sass", SHOWN),
    Case("no PTX beside its configuration", "shader", text("a.toml", SHADER), "a.ptx"),
    Case("field at offset 2^40", "shader", shader('type = "u64"', f'type = "u64", offset = {1 << 40}'), "do not fit",
         frozenset({"inject"})),
    Case("field at offset -8", "shader", shader('type = "u64"', 'type = "u64", offset = -8'), "offset",
         frozenset({"inject"})),
    Case("2^40 bytes a pixel", "shader", shader(
        'type = "pointer" }', f'type = "pointer", bytes_per_pixel = {1 << 40} }}'), "bytes_per_pixel|bytes",
         frozenset({"inject"})),
    Case("NaN in a whole number", "shader", shader("value = 2", "value = nan"), r"params\[10\].value",
         frozenset({"inject"})),
    Case("2^64 in a field of 4 bytes", "shader", shader("value = 2", f"value = {1 << 64}"), r"params\[10\].value",
         frozenset({"inject"})),
    Case("program that the PTX lacks", "shader", shader("__raygen__shadows", "__raygen__nothing"), "__raygen__nothing",
         frozenset({"inject"})),
    Case("100,000 miss programs", "shader", shader("[[hit_group]]", '[[miss]]\nprogram = "__miss__sky"\n' * 100_000
         + "[[hit_group]]"), "miss", frozenset({"inject", "render"})),
    Case("network of 2^40 units", "network", network("units = 4", f"units = {1 << 40}"), "units"),
    Case("image of 2^40 rows", "network", network("[8, 8, 3]", f"[{1 << 40}, 8, 3]"), "image"),
    Case("image of a million rows and columns", "network", network("[8, 8, 3]", "[1000000, 1000000, 3]"), "a.toml"),
    Case("blocks as a bomb", "network", network('{ op = "dense", units = 4 }]', f'{{ block = "b0" }}]\n{BLOCKS}'),
         "at most"),
    Case("a block in itself", "network", network('{ op = "dense", units = 4 }]',
         '{ block = "b" }]\n[block.b]\nlayers = [{ block = "b" }]\n'), "block"),
    Case("network without its kernels", "network", network("[8, 8, 3]", "[1, 1, 3]"), "a.ptx|vector"),
)  # fmt: skip
