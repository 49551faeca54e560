"""A ray against the children of a 6- or 8-wide node, all at once, from the quantised bytes.

Written as vector instructions because this is where a traversal spends its time; ``tests/reference`` holds the same
test as plain arithmetic.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rayplay.tracer.bvh import layout
from rayplay.tracer.bvh.layout import NodeFields
from rayplay.tracer.rays.geometry import FAR_SLACK

LANES = 8
"""For whole registers: of a 6-wide node the last two read bytes of the next field and are dropped."""
_I8, _I32, _I64, _F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()
_BYTES, _FLOATS = ir.VectorType(_I8, LANES), ir.VectorType(_F32, LANES)
EXPONENT_BIAS = 127 - 8
INTERNAL_SHIFT, INSTANCE_SHIFT = 8, 16


def _against(fields: NodeFields) -> Callable[..., Any]:
    """The test against nodes with these fields."""

    def hit_children(
        typing_context: Any, node: Any, origin: Any, inverse: Any, t_min: Any, t_max: Any, entry: Any
    ) -> Any:
        """Which children of a node may be hit within t_min and t_max: bit i of the low byte for slot i. Bits 8 and up
        say which slots hold an internal node, bits 16 and up which hold an instance.

        node: int64, address of the record. origin, inverse: float32 triples, the ray and 1 / direction (finite).
        entry: int64, address of float32[8] that receives the entry distance of each child.
        """
        triple = types.UniTuple(types.float32, 3)
        signature = types.int64(types.int64, triple, triple, types.float32, types.float32, types.int64)
        return signature, partial(_generate, fields)

    return cast(Callable[..., Any], intrinsic(hit_children))


def _generate(fields: NodeFields, context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
    node, origin, inverse, t_min, t_max, entry = arguments
    near, far = _splat(builder, t_min), None
    for axis in range(3):
        reciprocal = builder.extract_value(inverse, axis)
        start = builder.extract_value(origin, axis)
        backwards = builder.fcmp_ordered("<", reciprocal, ir.Constant(_F32, 0.0))
        low, high = (ir.Constant(_I64, first) for first in fields.corners(axis))
        ends = (builder.select(backwards, high, low), builder.select(backwards, low, high))
        step = fields.exponent_bytes + axis
        first, last = (_distance(builder, node, axis, step, end, start, reciprocal) for end in ends)
        near = _pick(builder, ">", first, near)
        far = last if far is None else _pick(builder, "<", last, far)
    assert far is not None
    far = builder.fmul(far, _splat(builder, ir.Constant(_F32, float(FAR_SLACK))))
    far = _pick(builder, "<", far, _splat(builder, t_max))
    builder.store(near, builder.inttoptr(entry, _FLOATS.as_pointer()), align=4)
    codes = _load(builder, node, ir.Constant(_I64, fields.child_bytes), _BYTES)
    kinds = builder.lshr(codes, ir.Constant(_BYTES, [4] * LANES))
    hit = builder.and_(builder.fcmp_ordered("<=", near, far), _compare(builder, "!=", codes, 0))
    result = builder.and_(_mask(builder, hit), ir.Constant(_I64, (1 << fields.width) - 1))
    for shift, kind in ((INTERNAL_SHIFT, layout.INTERNAL), (INSTANCE_SHIFT, layout.INSTANCE)):
        of_kind = _mask(builder, _compare(builder, "==", kinds, kind))
        result = builder.or_(result, builder.shl(of_kind, ir.Constant(_I64, shift)))
    return result


def _compare(builder: ir.IRBuilder, operator: str, codes: ir.Value, value: int) -> ir.Value:
    return builder.icmp_unsigned(operator, codes, ir.Constant(_BYTES, [value] * LANES))


def _mask(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    return builder.zext(builder.bitcast(bits, _I8), _I64)


def _distance(
    builder: ir.IRBuilder, node: ir.Value, axis: int, at: int, offset: ir.Value, start: ir.Value, reciprocal: ir.Value
) -> ir.Value:
    """((node origin + q * 2^(exponent - 8)) - ray origin) / direction, for each child. at: of the exponent's byte."""
    exponent = builder.sext(_load(builder, node, ir.Constant(_I64, at), _I8), _I32)
    biased = builder.add(exponent, ir.Constant(_I32, EXPONENT_BIAS))
    step = builder.bitcast(builder.shl(biased, ir.Constant(_I32, 23)), _F32)
    base = _load(builder, node, ir.Constant(_I64, 4 * (layout.NODE_ORIGIN + axis)), _F32)
    quantised = builder.uitofp(_load(builder, node, offset, _BYTES), _FLOATS)
    bound = builder.fadd(_splat(builder, base), builder.fmul(quantised, _splat(builder, step)))
    return builder.fmul(builder.fsub(bound, _splat(builder, start)), _splat(builder, reciprocal))


def _load(builder: ir.IRBuilder, node: ir.Value, offset: ir.Value, kind: ir.Type) -> ir.Value:
    return builder.load(builder.inttoptr(builder.add(node, offset), kind.as_pointer()), align=1)


def _splat(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    vector = ir.Constant(_FLOATS, ir.Undefined)
    first = builder.insert_element(vector, value, ir.Constant(_I32, 0))
    zeros = ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES)
    return builder.shuffle_vector(first, vector, zeros)


def _pick(builder: ir.IRBuilder, operator: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return builder.select(builder.fcmp_ordered(operator, left, right), left, right)


hit_six, hit_eight = _against(layout.SIX), _against(layout.EIGHT)
