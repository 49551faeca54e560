"""One instruction as PTX text for any form of the rows: operands that fit its signature, in a kernel of its own."""

from rayplay.ptx.isa.form import form_of, signature
from rayplay.ptx.isa.needs import needs_of
from rayplay.ptx.isa.patterns import ROUNDINGS
from rayplay.ptx.isa.row import Operand
from rayplay.ptx.numbers import TYPE_BYTES
from rayplay.tracer.opcodes.patterns import Form, spell

REGISTERS = """.reg .pred %p<200>; .reg .b16 %rs<200>; .reg .b32 %r<200>; .reg .f32 %f<200>; .reg .b64 %rd<200>;
.reg .f64 %fd<200>; .reg .b128 %rq<200>;"""
_BEFORE = dict.fromkeys(("addc", "subc", "madc"), "add.cc.u32 %r70, %r71, %r72;")
_CONSTANTS = {"cp.async": "16", "discard": "128", "applypriority": "128", "fence": "128"}
_LAYERED = {"a1d", "a2d", "acube"}  # the layer is an integer
_PREFIX = {"pred": "%p", "f32": "%f", "f64": "%fd"}


def header(form: Form) -> str:
    """Version and target that have a form; the early ones of forms that were dropped."""
    opcode, words = form
    if any(word.startswith("const[") for word in words):
        return "2.1\n.target sm_20"
    if opcode == "mad" and words[-1] in ("f32", "f64") and not ROUNDINGS & set(words):
        return "1.3\n.target sm_13" if words[-1] == "f64" else "2.0\n.target sm_13"
    if opcode in ("shfl", "vote") and "sync" not in words:
        return "6.3\n.target sm_60\n.address_size 64"
    targets = [need.targets for need in needs_of(opcode, frozenset(words)) if need.targets]
    shared = [target for target in ("sm_100a", "sm_90a", "sm_120a") if all(target in named for named in targets)]
    return f"9.0\n.target {shared[0]}\n.address_size 64"


def function(name: str, form: Form, key: str) -> str:
    """A kernel whose last instruction but ``ret`` is of the form."""
    registers, entry = REGISTERS, f".visible .entry {name}(.param .u64 given)"
    if not header(form).startswith("9"):  # without what early versions lack
        registers = registers.replace(" .reg .b128 %rq<200>;", "")
        entry = entry if header(form) > "1.4" else f".entry {name}()"
    targets = "targets: .branchtargets L;" if key == "brx" else ""
    return f"""{entry}
{{ {registers}
.param .align 16 .b8 passed[32]; {_BEFORE.get(form[0], "")} {targets}
{instruction(form, key)}
L: ret; }}
"""


def instruction(form: Form, key: str) -> str:
    """An instruction of the form, with the operands that must be there."""
    wanted = [operand for operand in signature(form_of(*form)) if not operand.optional]
    operands = ", ".join(_operand(operand, number, form[1], key) for number, operand in enumerate(wanted, 1))
    return f"{spell(form)} {'callee, ()' if key == 'call' else operands};"


def _operand(wanted: Operand, number: int, words: tuple[str, ...], key: str) -> str:
    match wanted.role:
        case "a" if any(word.startswith("param") for word in words):
            return "[passed]" if number == 1 else "[given]"
        case "a":
            return "[%rd1]"
        case "l":
            return "targets" if key == "brx" else "L"
        case "i":
            return _CONSTANTS.get(key, "5")
        case "n":
            return "%rd2"
        case "t":
            at = _vector(wanted.type or "b32", 20, wanted.lanes)
            return f"[%rd2, {at.replace('%f20', '%r20') if _LAYERED & set(words) else at}]"
    if wanted.lanes > 1 or wanted.role in "MT" or (wanted.role in "xX" and key.startswith(("mma", "wmma"))):
        return _vector(wanted.type or "b32", 16 * number, wanted.lanes)
    made = register(wanted.type or "b32", number)
    return f"{made}|%p7" if wanted.role == "q2" else made


def register(type_name: str, number: int) -> str:
    """A register that fits a type."""
    sized = {1: "%rs", 2: "%rs", 4: "%r", 8: "%rd", 16: "%rq"}
    return f"{_PREFIX.get(type_name) or sized[TYPE_BYTES.get(type_name, 4)]}{number}"


def _vector(type_name: str, first: int, count: int) -> str:
    return "{" + ", ".join(register(type_name, first + k) for k in range(count)) + "}"
