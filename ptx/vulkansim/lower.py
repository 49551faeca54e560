"""One shader to the instructions that the tracer runs: ordinary ones as they are, the dialect's by their meaning."""

import re
from collections.abc import Callable, Mapping

from rayplay.ptx.vulkansim.code import BLOCK, IMAGE_WIDTH, LANE, PARAMETERS, Code
from rayplay.ptx.vulkansim.images import load_texel, sample, store_texel
from rayplay.ptx.vulkansim.layout import HIT_ATTRIBUTES, RAY_STATE, TOGETHER, VARIABLE_ALIGN_BYTES, Layout
from rayplay.ptx.vulkansim.layout import PARAMETERS as OFFSETS
from rayplay.ptx.vulkansim.opcodes import DISPATCH, GETTERS, MATRICES, OBJECT_SPACE, VECTORS, check, is_of_dialect
from rayplay.ptx.vulkansim.pointers import Pointers
from rayplay.ptx.vulkansim.reader import Shader, Statement
from rayplay.ptx.vulkansim.regions import find_regions

TRIANGLE_KINDS = 254
"""Hit kinds of triangles begin here."""
MATRIX_BYTES, COLUMN_BYTES = 64, 16
_HIT_KINDS = ("closesthit", "anyhit")
_LOADED = re.compile(r"\[\s*(%[\w$]+)\s*(?:\+\s*(\d{1,2})\s*)?\]")
_IS_LOAD = re.compile(r"ld\.global\.[bfsu]32")
_NAME = re.compile(r"%[\w$]+")
_USES_BLOCK = {"rt_alloc_mem", "report_ray_intersection.pred", *VECTORS}
_USES_WIDTH = {"image_deref_store", "image_deref_load"}


def lower(shader: Shader, layout: Layout, pointers: Pointers) -> Code:
    """The instructions of one shader. Raises ``UserError`` for a statement that has no meaning."""
    return _Lowering(shader, layout, pointers).run()


class _Lowering:
    """A shader while it is lowered."""

    def __init__(self, shader: Shader, layout: Layout, pointers: Pointers) -> None:
        self.shader, self.layout, self.pointers = shader, layout, pointers
        self.vectors = _loaded_vectors(shader)
        self.code = Code(shader)

    def run(self) -> Code:
        regions = find_regions(self.shader)
        dropped = {index for region in regions for index in range(region.first + 1, region.last + 1)}
        labels: dict[int, list[str]] = {}
        for name, index in self.shader.labels.items():
            if index not in dropped:
                labels.setdefault(index, []).append(name)
        self._prologue()
        for index, statement in enumerate(self.shader.body):
            for name in labels.get(index, ()):
                self.code.label(name)
            if index not in dropped:
                self.code.at = statement.position
                self._statement(statement)
        for name in labels.get(len(self.shader.body), ()):
            self.code.label(name)
        if not self.shader.body or self.shader.body[-1].opcode != "ret" or len(self.shader.body) in labels:
            self.code.emit("ret")
        return self.code

    def _prologue(self) -> None:
        """The address of the thread's first variable and the width of images, where the shader uses them."""
        opcodes = {statement.opcode for statement in self.shader.body}
        code = self.code
        if not opcodes & (_USES_BLOCK | _USES_WIDTH):
            return
        code.at = self.shader.position
        code.registers[IMAGE_WIDTH] = "b32"
        code.emit(f"ld.const.u32 {IMAGE_WIDTH}, [{PARAMETERS}+{OFFSETS['width']}]")
        if not opcodes & _USES_BLOCK:
            return
        code.registers[BLOCK] = "b64"
        x, y = code.call("get_launch_index_x"), code.call("get_launch_index_y")
        thread, base = code.new("b32"), code.new("b64")
        code.emit(f"mad.lo.u32 {thread}, {y}, {IMAGE_WIDTH}, {x}")
        code.emit(f"ld.const.u64 {base}, [{PARAMETERS}+{OFFSETS['variables']}]")
        near, group = code.new("b64"), code.new("b32")
        further = TOGETHER * (self.layout.block_bytes - VARIABLE_ALIGN_BYTES)
        code.emit(f"mad.wide.u32 {near}, {thread}, {VARIABLE_ALIGN_BYTES}, {base}")
        code.emit(f"shr.u32 {group}, {thread}, {TOGETHER.bit_length() - 1}")
        code.emit(f"mad.wide.u32 {BLOCK}, {group}, {further}, {near}")
        if any(self.layout.bytes_of(name) > VARIABLE_ALIGN_BYTES for name in self.layout.variables):
            code.registers[LANE] = "b32"
            code.emit(f"and.b32 {LANE}, {thread}, {TOGETHER - 1}")

    def _place(self, variable: str) -> tuple[str, int]:
        """Register and offset that make the address of a variable."""
        offset, wider = (
            TOGETHER * self.layout.variables[variable],
            self.layout.bytes_of(variable) - VARIABLE_ALIGN_BYTES,
        )
        if not wider:
            return BLOCK, offset
        base = self.code.new("b64")
        self.code.emit(f"mad.wide.u32 {base}, {LANE}, {wider}, {BLOCK}")
        return base, offset

    def _statement(self, statement: Statement) -> None:
        if not is_of_dialect(statement):
            for operand in statement.operands:
                self._require_declared(statement, operand)
            self.code.plain(statement)
            self._loaded(statement)
            return
        if statement.opcode in DISPATCH:
            raise self.shader.refuse(statement, f"'{statement.opcode}' must stand between trace_ray and end_trace_ray")
        signature = check(self.shader, statement)
        if statement.opcode in GETTERS:
            self.code.emit(f"call ({statement.operands[0]}), _optix_{GETTERS[statement.opcode]}, ()")
        else:
            _LOWERED[statement.opcode](self, statement, signature)

    def _loaded(self, statement: Statement) -> None:
        """After a load from a vector of the ray, which nothing stored: its value."""
        loaded = _LOADED.fullmatch(statement.operands[-1]) if statement.opcode.startswith("ld.global.") else None
        if loaded is None or loaded[1] not in self.vectors or int(loaded[2] or 0) >= 12:
            return
        axis = "xyz"[int(loaded[2] or 0) // 4]
        call = VECTORS[self.vectors[loaded[1]]]
        self.code.emit(f"call ({statement.operands[0]}), _optix_get_{call}_{axis}, ()")

    def _require_declared(self, statement: Statement, operand: str) -> None:
        name = operand.strip("![] ").partition("+")[0].strip()
        if not name.startswith("%"):
            return
        width = self.shader.registers.get(name)
        if width is None:
            raise self.shader.refuse(statement, f"register '{name}' must be declared")
        if operand.startswith("[") and width != "b64":
            raise self.shader.refuse(statement, f"the address '{name}' must have the width b64, found {width}")

    # --- launch and memory --------------------------------------------------------------------------------------
    def launch_id(self, statement: Statement, signature: str) -> None:
        what = "index" if statement.opcode.endswith("id") else "dimension"
        for axis, target in zip("xyz", statement.operands, strict=True):
            self.code.emit(f"call ({target}), _optix_get_launch_{what}_{axis}, ()")

    def allocate(self, statement: Statement, signature: str) -> None:
        """The address of a thread variable; of hit attributes, which are written there first."""
        target = statement.operands[0]
        name = self.layout.name(self.shader, statement)
        base, offset = self._place(name)
        self.code.emit(f"add.u64 {target}, {base}, {offset}")
        if name == HIT_ATTRIBUTES and self.shader.kind in _HIT_KINDS:
            self._write_attributes(target)

    def _write_attributes(self, address: str) -> None:
        """A triangle's are the weights of its vertices 1, 2 and 0, others are the ones that were reported."""
        code, words = self.code, self.layout.attribute_words
        kinds = self.layout.hits.get(self.shader.number, frozenset({"triangles"}))
        is_triangle, weights = "", []
        if "triangles" in kinds:
            weights = [code.new("b32") for _ in range(3)]
            code.emit(f"call ({weights[0]}, {weights[1]}), _optix_get_triangle_barycentrics, ()")
            if words > 2:
                code.emit(f"sub.f32 {weights[2]}, 0f3F800000, {weights[0]}")
                code.emit(f"sub.f32 {weights[2]}, {weights[2]}, {weights[1]}")
            if "procedural" in kinds:
                is_triangle, kind = code.new("pred"), code.call("get_hit_kind")
                code.emit(f"setp.ge.u32 {is_triangle}, {kind}, {TRIANGLE_KINDS}")
        for word in range(words):
            value = weights[word] if word < len(weights) else ""
            if "procedural" in kinds:
                reported = code.call(f"get_attribute_{word}")
                if value:
                    code.emit(f"selp.b32 {reported}, {value}, {reported}, {is_triangle}")
                value = reported
            if value:
                code.emit(f"st.global.b32 [{address}+{4 * word}], {value}")

    def descriptor(self, statement: Statement, signature: str) -> None:
        key = (int(statement.operands[1]), int(statement.operands[2]))
        place = self.layout.descriptors[key].offset
        self.code.emit(f"ld.const.u64 {statement.operands[0]}, [{PARAMETERS}+{place}]")

    # --- rays ---------------------------------------------------------------------------------------------------
    def trace(self, statement: Statement, signature: str) -> None:
        """The programs of a hit follow from the geometry alone, as in Vulkan-Sim: offset 0, a record each."""
        scene, flags, mask, _, _, miss, *ray = statement.operands
        ox, oy, oz, tmin, dx, dy, dz, tmax = ray[:8]
        arguments = (scene, ox, oy, oz, dx, dy, dz, tmin, tmax, "0f00000000", mask, flags, "0", "1", miss)
        self.code.emit(f"call (), _optix_trace_0, ({', '.join(arguments)})")

    def ray_vector(self, statement: Statement, signature: str) -> None:
        """Origin or direction of the ray: its floats, or in the thread's block, and its address."""
        if statement.opcode in OBJECT_SPACE and self.shader.kind not in ("intersection", "anyhit"):
            raise self.shader.refuse(statement, f"'{statement.opcode}' must stand in an intersection or any-hit shader")
        if signature == "ooo":
            for axis, target in zip("xyz", statement.operands, strict=True):
                self.code.emit(f"call ({target}), _optix_get_{VECTORS[statement.opcode]}_{axis}, ()")
            return
        base, place = self._place(RAY_STATE)
        place += COLUMN_BYTES * list(VECTORS).index(statement.opcode)
        for number, axis in enumerate("xyz" if statement.operands[0] not in self.vectors else ""):
            value = self.code.call(f"get_{VECTORS[statement.opcode]}_{axis}")
            self.code.emit(f"st.global.b32 [{base}+{place + 4 * number}], {value}")
        self.code.emit(f"add.u64 {statement.operands[0]}, {base}, {place}")

    def matrix(self, statement: Statement, signature: str) -> None:
        """A column of the instance's matrix: its address, or its three floats."""
        *targets, column = statement.operands
        if not 0 <= int(column) <= 3:
            raise self.shader.refuse(statement, "the column must be 0 to 3")
        code = self.code
        table, address = code.new("b64"), code.new("b64")
        instance = code.call("read_instance_idx")
        place = OFFSETS[MATRICES[statement.opcode]]
        code.emit(f"ld.const.u64 {table}, [{PARAMETERS}+{place}]")
        code.emit(f"mad.wide.u32 {address}, {instance}, {MATRIX_BYTES}, {table}")
        if len(targets) == 1:
            code.emit(f"add.u64 {targets[0]}, {address}, {COLUMN_BYTES * int(column)}")
            return
        for number, target in enumerate(targets):
            code.emit(f"ld.global.b32 {target}, [{address}+{COLUMN_BYTES * int(column) + 4 * number}]")

    def report(self, statement: Statement, signature: str) -> None:
        accepted, t, kind = statement.operands
        code = self.code
        base, place = self._place(HIT_ATTRIBUTES) if HIT_ATTRIBUTES in self.layout.variables else (BLOCK, 0)
        words = [code.new("b32") for _ in range(self.layout.attribute_words)]
        for number, word in enumerate(words):
            code.emit(f"ld.global.b32 {word}, [{base}+{place + 4 * number}]")
        answer = code.new("b32")
        arguments = ", ".join((t, kind, *words))
        code.emit(f"call ({answer}), _optix_report_intersection_{len(words)}, ({arguments})")
        code.emit(f"setp.ne.u32 {accepted}, {answer}, 0")

    def verdict(self, statement: Statement, signature: str) -> None:
        name = "ignore_intersection" if statement.opcode.startswith("ignore") else "terminate_ray"
        self.code.emit(f"call (), _optix_{name}, ()")

    # --- the rest -----------------------------------------------------------------------------------------------
    def store_image(self, statement: Statement, signature: str) -> None:
        store_texel(self.code, statement, self._image_format(statement))

    def load_image(self, statement: Statement, signature: str) -> None:
        load_texel(self.code, statement, self._image_format(statement))

    def _image_format(self, statement: Statement) -> str:
        """The format of the image that a statement's handle stands for."""
        found = {
            self.layout.formats.get((int(base.key[0]), int(base.key[1])), "rgba32f")
            for base in self.pointers.bases(statement.operands[0]) if base.kind == "descriptor"
        }  # fmt: skip
        if len(found) != 1:
            raise self.shader.refuse(statement, "the image must be one descriptor of the shader, or all of one format")
        return found.pop()

    def sample_texture(self, statement: Statement, signature: str) -> None:
        sample(self.code, statement)

    def clock(self, statement: Statement, signature: str) -> None:
        low, high = statement.operands
        both = self.code.new("b64")
        self.code.emit(f"mov.u64 {both}, %clock64")
        self.code.emit(f"mov.b64 {{{low}, {high}}}, {both}")

    def copy_sign(self, statement: Statement, signature: str) -> None:
        """The size of the result's own value with the sign of the source (Vulkan-Sim keeps the value: DEVIATIONS)."""
        target, source = statement.operands
        self.code.emit(f"copysign.f32 {target}, {source}, {target}")


def _loaded_vectors(shader: Shader) -> dict[str, str]:
    """Registers that hold the address of one vector of the ray and serve for loads of its words alone, with its opcode.

    Vulkan-Sim writes that state without taking time, so that a store would be traffic that is not there.
    """
    found: dict[str, str] = {}
    others: set[str] = set()
    for statement in shader.body:
        first, *rest = statement.operands or ("",)
        if statement.opcode in VECTORS and not rest:
            others |= {first} & found.keys()
            found[first] = statement.opcode
            continue
        loaded = _LOADED.fullmatch(rest[-1]) if rest and _IS_LOAD.fullmatch(statement.opcode) else None
        if loaded is not None and not statement.guard and int(loaded[2] or 0) in range(0, 16, 4):
            others |= {first}
        else:
            others |= {name for operand in statement.operands for name in _NAME.findall(operand)}
    return {name: opcode for name, opcode in found.items() if name not in others}


_LOWERED: Mapping[str, Callable[[_Lowering, Statement, str], None]] = {
    "load_ray_launch_id": _Lowering.launch_id, "load_ray_launch_size": _Lowering.launch_id,
    "rt_alloc_mem": _Lowering.allocate, "load_vulkan_descriptor": _Lowering.descriptor,
    "trace_ray": _Lowering.trace, "report_ray_intersection.pred": _Lowering.report,
    "ignore_ray_intersection": _Lowering.verdict, "terminate_ray": _Lowering.verdict,
    "txl": _Lowering.sample_texture, "image_deref_store": _Lowering.store_image,
    "image_deref_load": _Lowering.load_image, "shader_clock": _Lowering.clock, "copysignf": _Lowering.copy_sign,
    **dict.fromkeys(VECTORS, _Lowering.ray_vector), **dict.fromkeys(MATRICES, _Lowering.matrix),
}  # fmt: skip
