"""tex, tld4 and txq as calls of the texture unit. Source: PTX ISA 9.0, 9.7.10 (texture instructions)."""

from rayplay.ptx.ir import Address, Instruction, Operand, Pair, Register, Symbol, Texture, Vector
from rayplay.ptx.isa.types import elements
from rayplay.tracer.memory.image_record import DIMENSIONS, GEOMETRIES
from rayplay.tracer.units.call import Inputs, Place, UnitCall, UnknownFormError, given, number_of
from rayplay.tracer.units.settings import Settings

SAMPLE, GATHER, QUERY_TEXTURE, QUERY_SAMPLER = range(4)
RESULTS = ("f32", "u32", "s32", "f16", "f16x2")
COMPONENTS = ("r", "g", "b", "a")
TEXTURE_QUERIES = (
    "width", "height", "depth", "channel_data_type", "channel_order", "normalized_coords", "array_size",
    "num_mipmap_levels",
)  # fmt: skip
SAMPLER_QUERIES = ("filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2", "force_unnormalized_coords")
HANDLE, SAMPLER, COORDINATE, LAYER, OFFSET, LEVEL = 0, 1, 2, 5, 6, 9
"""Input slots; coordinates and offsets have three each. A level of detail, or the derivatives along x and along y."""
BASE_LEVEL, GIVEN_LEVEL, GRADIENTS = range(3)
DETAIL = {"level": GIVEN_LEVEL, "grad": GRADIENTS}
"""Where the level of detail comes from, and how many operands say it."""


TEXTURE = Settings(
    "TEXTURE",
    "action[2] geometry[3] result[3] integer component[2] has_sampler indirect sampler_indirect has_offset query[4] "
    "detail[2] sectors kept[40]",
)
"""``indirect``: the handle is at the address, in the parameter buffer, that the slot holds.
``sectors``: whether sectors of the texels are noted (``units.texture.sectors``).
``kept``: 1 and the number of the instruction, whose row of ``MACHINE.bounds`` takes the rows of the records that a warp
shares."""


def plan_tex(i: Instruction, place: Place) -> UnitCall:
    """``tex{.base,.level,.grad}.GEOMETRY.v4.RESULT.COORDINATE``; without a word for the level it is the base."""
    detail = DETAIL.get(i.form.level, BASE_LEVEL)
    targets, source, rest = _parts(i)
    if len(rest) - detail not in (0, 1):
        raise UnknownFormError(f"{i.full_opcode} with a comparison, or without a level")
    integer = i.form.type == "s32"
    fields = {"action": SAMPLE, "integer": integer, "detail": detail}
    return _call(i, place, targets, source, rest[detail:], rest[:detail], **fields)


def plan_tld4(i: Instruction, place: Place) -> UnitCall:
    """``tld4.COMPONENT.{2d,a2d}.v4.RESULT.f32``."""
    targets, source, rest = _parts(i)
    if len(rest) > 1:
        raise UnknownFormError
    component = number_of(i.form.variant, COMPONENTS)
    return _call(i, place, targets, source, rest, [], action=GATHER, component=component)


def plan_txq(i: Instruction, place: Place) -> UnitCall:
    """``txq.QUERY.b32`` of a texture or of a sampler, ``txq.level.QUERY.b32`` of a level."""
    query = i.form.variant
    action, queries = (QUERY_SAMPLER, SAMPLER_QUERIES) if query in SAMPLER_QUERIES else (QUERY_TEXTURE, TEXTURE_QUERIES)
    handle = queried(i.operands[1])
    number, detail = number_of(query, queries), DETAIL.get(i.form.level, BASE_LEVEL)
    settings = TEXTURE.pack(action=action, query=number, indirect=indirect(handle, place), detail=detail)
    inputs: Inputs = [None] * (LEVEL + 1)
    inputs[HANDLE] = (handle, 64)
    inputs[LEVEL : LEVEL + detail] = given(i.operands[2 : 2 + detail], 32)
    return UnitCall("texture", settings, tuple(inputs), ((i.operands[0], 32),), False)


def queried(operand: Operand) -> Operand:
    """The handle in ``[a]``."""
    if isinstance(operand, Address) and operand.offset == 0:
        return operand.base
    raise UnknownFormError


def indirect(handle: Operand, place: Place) -> bool:
    """Whether a handle is an entry parameter, named directly: then the operand is its address."""
    if isinstance(handle, Symbol):
        if handle.name in place.layout.lane_variables:
            raise UnknownFormError(f"the parameter {handle.name} of a function as a texture or surface")
        return handle.name in place.layout.entry_params
    if not isinstance(handle, Register):
        raise UnknownFormError
    return False


def _parts(i: Instruction) -> tuple[list[Operand | None], Texture, list[Operand]]:
    """Destinations, the texture operand, and what follows; old PTX leaves the brackets out."""
    target, source, *rest = i.operands
    if isinstance(source, Symbol | Register) and rest:
        source, rest = Texture(source, None, rest[0]), rest[1:]
    if not isinstance(source, Texture):
        raise UnknownFormError
    if isinstance(target, Pair):
        return [*elements(target.first), target.second], source, rest
    return list(elements(target)), source, rest


def coordinates(source: Texture, geometry: str) -> Inputs:
    """Handle and coordinates in their slots; vectors may be longer than the geometry needs."""
    vector = elements(source.coordinates)
    layered = geometry in ("a1d", "a2d", "acube")
    count = 3 if geometry.endswith("cube") else DIMENSIONS[number_of(geometry, GEOMETRIES)]
    if not count + layered <= len(vector) <= 4 or None in vector:
        raise UnknownFormError(f"{geometry} with {len(vector)} coordinates")
    inputs: Inputs = [None] * (LEVEL + 6)
    inputs[HANDLE] = (source.name, 64)
    inputs[LAYER : LAYER + layered] = given(vector[:layered], 32)
    inputs[COORDINATE : COORDINATE + count] = given(vector[layered : layered + count], 32)
    return inputs


def _offsets(inputs: Inputs, extra: list[Operand], geometry: str, i: Instruction) -> None:
    if not extra:
        return
    vector = elements(extra[0])
    count = DIMENSIONS[GEOMETRIES.index(geometry)]
    if not isinstance(extra[0], Vector) or len(vector) < count or geometry.endswith("cube"):
        raise UnknownFormError(f"{i.full_opcode} with a comparison or without all offsets")
    inputs[OFFSET : OFFSET + count] = given(vector[:count], 32)


def _detail(inputs: Inputs, said: list[Operand], geometry: str, i: Instruction) -> None:
    """A level of detail, or two vectors of derivatives."""
    count = 3 if geometry.endswith("cube") else DIMENSIONS[GEOMETRIES.index(geometry)]
    for number, operand in enumerate(said):
        vector = elements(operand)
        wanted = count if len(said) > 1 else 1
        if len(vector) < wanted:
            raise UnknownFormError(f"{i.full_opcode} with {len(vector)} derivatives")
        inputs[LEVEL + 3 * number : LEVEL + 3 * number + wanted] = given(vector[:wanted], 32)


def _call(
    i: Instruction, place: Place, targets: list[Operand | None], source: Texture, extra: list[Operand],
    said: list[Operand], **fields: int,
) -> UnitCall:  # fmt: skip
    """The call of a tex or tld4; ``extra`` has the vector of offsets or nothing, ``said`` what gives the level."""
    geometry, result, sampler = i.form.geometry, i.form.types[0], source.sampler
    inputs = coordinates(source, geometry)
    _offsets(inputs, extra, geometry, i)
    _detail(inputs, said, geometry, i)
    wanted = 2 if result == "f16x2" else 4
    if len(targets) not in (wanted, wanted + 1):
        raise UnknownFormError(f"{i.full_opcode} with {len(targets)} destinations")
    settings = TEXTURE.pack(
        geometry=GEOMETRIES.index(geometry), result=RESULTS.index(result), has_sampler=sampler is not None,
        indirect=indirect(source.name, place), has_offset=bool(extra),
        sampler_indirect=sampler is not None and indirect(sampler, place), **fields,
    )  # fmt: skip
    if sampler is not None:
        inputs[SAMPLER] = (sampler, 64)
    return UnitCall("texture", settings, tuple(inputs), tuple((t, 32) for t in targets), True)
