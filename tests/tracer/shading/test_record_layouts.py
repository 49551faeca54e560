"""Random shader binding tables against a numpy statement of OptiX's rules: strides, records, and which is chosen.

Any number of ray types, geometries per mesh, nested instances, miss records and callables; records hold random fields
at random places. Source of the rules: ``docs/sources/optix.md#shader-binding-table``.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rayplay.formats.guard.errors import UserError
from rayplay.tracer.scenes.description import Material, Picture, Scene, Texture
from tests.tracer.execution.test_optix_getters import maps, product
from tests.tracer.harness.optix_programs import SET_RAY, both, prepare, program, scene, store, trace, words_of

TYPES = {"u8": "<u1", "i16": "<i2", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "i64": "<i8", "f64": "<f8"}
HEADER, ALIGN, MOST_DATA = 32, 16, 48
KINDS = ("triangles", "textured_triangles", "alpha_triangles", "textured_alpha_triangles")
DATA_WORDS, HIT_WORD, CORNER_WORD, RAYGEN_WORD, CALLED_WORD, MISS_WORD = 12, 14, 17, 26, 40, 63


@dataclass
class Drawn:
    """A record as the file writes it, and the bytes of its data."""

    text: str
    data: bytes


@st.composite
def records(draw: st.DrawFn) -> Drawn:
    """The number of words, and constants of random types, some at offsets of their own."""
    written, data = [], bytearray(4)
    for number in range(draw(st.integers(0, 5))):
        base, count = draw(st.sampled_from(sorted(TYPES))), draw(st.integers(1, 4))
        dtype = np.dtype(TYPES[base])
        align = dtype.itemsize * (count if count in (2, 4) else 1)
        align = min(align, 16) if count > 1 else dtype.itemsize
        offset = -(-len(data) // align) * align + align * (own := draw(st.integers(0, 1)))
        if offset + dtype.itemsize * count > MOST_DATA:
            break
        values = [draw(st.integers(0, 120)) for _ in range(count)]
        data += bytes(offset - len(data)) + np.array(values, dtype).tobytes()
        kind, value = (base, values[0]) if count == 1 else (f"{base}x{count}", values)
        placed = f", offset = {offset}" * own
        written.append(f'{{ name = "f{number}", type = "{kind}", value = {value}{placed} }}')
    return record_of(written, data)


def record_of(written: list[str], data: bytearray) -> Drawn:
    """A record whose first word is the number of its words."""
    count = -(-len(data) // 4)
    data[:4] = count.to_bytes(4, "little")
    fields = [f'{{ name = "count", type = "u32", value = {count} }}', *written]
    return Drawn(f"record = [{', '.join(fields)}]\n", bytes(data).ljust(4 * count, b"\0"))


@dataclass
class Table:
    """A whole table: hit records by kind and ray type, and what trace calls say."""

    hits: list[list[Drawn]]
    misses: list[Drawn]
    callables: list[Drawn]
    raygen: Drawn
    strides: dict[str, int]
    offset: int
    stride: int
    miss: int

    def bytes_of(self, kind: str, listed: list[Drawn]) -> int:
        """Stride of a kind of record."""
        least = max(HEADER + -(-len(each.data) // ALIGN) * ALIGN for each in listed)
        return self.strides[kind] or least


@st.composite
def tables(draw: st.DrawFn) -> Table:
    types = draw(st.integers(1, 3))
    hits = [[draw(records()) for _ in range(types)] for _ in KINDS]
    misses, callables = (draw(st.lists(records(), min_size=1, max_size=3)) for _ in range(2))
    strides = {name: draw(st.sampled_from([0, 128, 144, 272])) for name in ("hit", "miss", "callable")}
    offset, stride = draw(st.integers(0, types - 1)), draw(st.integers(0, types))
    miss = draw(st.integers(0, len(misses) - 1))
    return Table(hits, misses, callables, draw(records()), strides, offset, stride, miss)


def bound(table: Table) -> str:
    """Tables of miss, hit and callable records."""
    text = table.raygen.text
    text += "".join(f'[[miss]]\nprogram = "__miss__test"\n{each.text}' for each in table.misses)
    for kind, listed in zip(KINDS, table.hits, strict=True):
        for each in listed:
            text += f'[[hit_group]]\ngeometry = "{kind}"\nclosest_hit = "__closesthit__test"\n{each.text}'
    text += "".join(f'[[callable]]\nprogram = "__direct_callable__where"\n{each.text}' for each in table.callables)
    return text + "[strides]\n" + "".join(f"{name} = {value}\n" for name, value in table.strides.items())


WHERE = "    call (%l4), _optix_get_sbt_data_ptr_64, ();\n"


def words_at(first: int) -> str:
    """Store the record's address and its words, as many as the first says."""
    loads = "".join(
        f"    setp.lt.u32 %p1, {k}, %r41; mov.b32 %r40, 0; @%p1 ld.u32 %r40, [%l4+{4 * k}];\n"
        + store(first + 2 + k, "%r40")
        for k in range(DATA_WORDS)
    )
    return WHERE + store(first, "%l4") + "    ld.u32 %r41, [%l4];\n" + loads


HIT = program(
    "closesthit",
    words_at(0)
    + "".join(
        f"    call (%r{10 + k}), _optix_{name}, ();\n" + store(HIT_WORD + k, f"%r{10 + k}")
        for k, name in enumerate(("read_instance_idx", "read_sbt_gas_idx", "read_primitive_idx"))
    )
    + f"    call ({', '.join(f'%f{10 + k}' for k in range(9))}), _optix_get_triangle_vertex_data_current_hit, ();\n"
    + "".join(store(CORNER_WORD + k, f"%f{10 + k}") for k in range(9)),
)
MISS = program("miss", words_at(0) + "    mov.u32 %r4, 1;\n" + store(MISS_WORD, "%r4"))
CALLED = """
.visible .func (.param .b64 func_retval0) __direct_callable__where()
{
    .reg .b64 %l<4>;
    call (%l1), _optix_get_sbt_data_ptr_64, ();
    st.param.b64 [func_retval0], %l1;
    ret;
}
"""


def raygen(table: Table) -> str:
    """Its own record, a callable's by the pixel, and a trace call."""
    called = f"""
    rem.u32 %r4, %r1, {len(table.callables)};
    call (%l4), _optix_call_direct_callable, (%r4);
    {{
        .param .b64 retval0;
        prototype_0: .callprototype (.param .b64 _) _ ();
        call (retval0), %l4, (), prototype_0;
        ld.param.b64 %l5, [retval0];
    }}
    ld.u32 %r41, [%l5];
"""
    own = words_at(RAYGEN_WORD)
    ray = trace(offset=str(table.offset), stride=str(table.stride), miss=str(table.miss))
    return program("raygen", own + called + store(CALLED_WORD, "%l5") + store(CALLED_WORD + 2, "%r41") + SET_RAY + ray)


def built(chains: list[list[np.ndarray]], kinds: list[tuple[int, int]]) -> Scene:
    """Instances of two meshes, whose triangles are of the kinds drawn."""
    what = scene([product(chain) for chain in chains], [tuple(chain[:-1]) for chain in chains])
    materials = [
        Material(name, base_color=0 if k & 1 else -1, alpha_texture=0 if k & 2 else -1) for k, name in enumerate(KINDS)
    ]
    meshes = [replace(mesh, material=np.array(each, np.uint16)) for mesh, each in zip(what.meshes, kinds, strict=True)]
    white = np.full((1, 1, 4), 255, np.uint8)
    textures, pictures = [Texture("full", white[..., 3])], [Picture("white", white)]
    return replace(what, meshes=meshes, materials=materials, textures=textures, pictures=pictures)


def whole(data: bytes) -> np.ndarray:
    """A record's words, and zeros behind them."""
    return np.frombuffer(data.ljust(4 * DATA_WORDS, b"\0"), "<u4")


def address(words: np.ndarray, first: int) -> int:
    return int(words[first : first + 2].copy().view(np.uint64)[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


pairs = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: tuple(sorted(pair)))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    tables(),
    st.lists(st.lists(maps(), min_size=1, max_size=3), min_size=1, max_size=4),
    st.lists(pairs, min_size=2, max_size=2),
)
def test_records_stand_and_are_chosen_by_the_rules(
    folder: Path, table: Table, chains: list[list[np.ndarray]], kinds: list[tuple[int, int]]
) -> None:
    what = built(chains, kinds)
    prepared = prepare(folder, raygen(table) + HIT + MISS + CALLED, bound(table), what)
    launch = prepared.launch
    types = len(table.hits[0])
    geometries = [(mesh, kind) for mesh in range(2) for kind in sorted(set(kinds[mesh]))]
    first = [sum(mesh < each for mesh, _ in geometries) for each in range(2)]
    hit_stride = table.bytes_of("hit", [each for _, kind in geometries for each in table.hits[kind]])
    listed = launch.hit_record_addresses.astype(np.int64)
    assert listed[0] % ALIGN == 0
    assert len(listed) == types * len(geometries)
    for x, row in enumerate(both(prepared)):
        assert address(row, RAYGEN_WORD) == launch.raygen_record_address + HEADER
        assert np.array_equal(row[RAYGEN_WORD + 2 :][:DATA_WORDS], whole(table.raygen.data))
        called = table.callables[x % len(table.callables)]
        step = table.bytes_of("callable", table.callables)
        begin = int(launch.callable_record_addresses[0]) + HEADER
        assert address(row, CALLED_WORD) == begin + step * (x % len(table.callables))
        assert row[CALLED_WORD + 2] == whole(called.data)[0]
        if row[MISS_WORD]:
            step = table.bytes_of("miss", table.misses)
            assert address(row, 0) == int(launch.miss_record_addresses[0]) + HEADER + step * table.miss
            assert np.array_equal(row[2:][:DATA_WORDS], whole(table.misses[table.miss].data))
            continue
        instance, geometry, primitive = (int(value) for value in row[HIT_WORD : HIT_WORD + 3])
        mesh = what.instances[instance].mesh
        number = types * first[mesh] + geometry * table.stride + table.offset
        assert address(row, 0) == listed[0] + HEADER + hit_stride * number
        found = table.hits[geometries[number // types][1]][number % types]
        assert np.array_equal(row[2:][:DATA_WORDS], whole(found.data))
        of_kind = [k for k in range(2) if kinds[mesh][k] == sorted(set(kinds[mesh]))[geometry]]
        corners = what.meshes[mesh].vertices[what.meshes[mesh].triangles[of_kind[primitive]]]
        assert np.array_equal(row[CORNER_WORD : CORNER_WORD + 9].copy().view(np.float32), corners.ravel())


def test_a_record_beyond_the_table_ends_the_launch(folder: Path) -> None:
    """An offset past the last hit record, and a miss index past the last miss record."""
    none = record_of([], bytearray(4))
    table = Table([[none]] * 4, [none], [none], none, dict.fromkeys(("hit", "miss", "callable"), 0), 0, 1, 0)
    what = built([[np.eye(3, 4, dtype=np.float32)]], [(2, 2), (2, 2)])
    for wrong in (replace(table, offset=40), replace(table, miss=7)):
        tested = bound(wrong).replace('"alpha_triangles"\n', '"alpha_triangles"\nany_hit = "__anyhit__test"\n')
        prepared = prepare(folder, raygen(wrong) + HIT + MISS + CALLED + program("anyhit", ""), tested, what)
        for backend in ("machine", "interpreter"):
            with pytest.raises(UserError, match="record"):
                words_of(prepared, backend)
