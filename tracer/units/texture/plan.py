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
HANDLE, SAMPLER, COORDINATE, LAYER, OFFSET = 0, 1, 2, 5, 6
"""Input slots; coordinates and offsets have three each."""


TEXTURE = Settings(
    "TEXTURE",
    "action[2] geometry[3] result[3] integer component[2] has_sampler indirect sampler_indirect has_offset query[4] "
    "kept[40]",
)
"""``indirect``: the handle is at the address, in the parameter buffer, that the slot holds.
``kept``: 1 and the number of the instruction, whose row of ``MACHINE.bounds`` takes the rows of the records that a warp
shares."""


def plan_tex(i: Instruction, place: Place) -> UnitCall:
    """``tex{.base,.level,.grad}.GEOMETRY.v4.RESULT.COORDINATE``: textures have one level, which is what all read."""
    levels = {"level": 1, "grad": 2}.get(i.form.level, 0)
    targets, source, rest = _parts(i)
    if len(rest) - levels not in (0, 1):
        raise UnknownFormError(f"{i.full_opcode} with a comparison, or without a level")
    integer = i.form.type == "s32"
    return _call(i, place, targets, source, rest[levels:], action=SAMPLE, integer=integer)


def plan_tld4(i: Instruction, place: Place) -> UnitCall:
    """``tld4.COMPONENT.{2d,a2d}.v4.RESULT.f32``."""
    targets, source, rest = _parts(i)
    if len(rest) > 1:
        raise UnknownFormError
    component = number_of(i.form.variant, COMPONENTS)
    return _call(i, place, targets, source, rest, action=GATHER, component=component)


def plan_txq(i: Instruction, place: Place) -> UnitCall:
    """``txq.QUERY.b32`` of a texture or of a sampler; a texture has one level."""
    query = i.form.variant
    action, queries = (QUERY_SAMPLER, SAMPLER_QUERIES) if query in SAMPLER_QUERIES else (QUERY_TEXTURE, TEXTURE_QUERIES)
    handle = queried(i.operands[1])
    settings = TEXTURE.pack(action=action, query=number_of(query, queries), indirect=indirect(handle, place))
    return UnitCall("texture", settings, ((handle, 64),), ((i.operands[0], 32),), False)


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
    inputs: Inputs = [None] * (OFFSET + 3)
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


def _call(
    i: Instruction, place: Place, targets: list[Operand | None], source: Texture, extra: list[Operand], **fields: int
) -> UnitCall:
    """The call of a tex or tld4; ``extra`` has the vector of offsets or nothing."""
    geometry, result, sampler = i.form.geometry, i.form.types[0], source.sampler
    inputs = coordinates(source, geometry)
    _offsets(inputs, extra, geometry, i)
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
