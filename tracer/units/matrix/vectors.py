"""Vector operations of the matrix unit at plain addresses: elements to float64, and products of a row.

numba does not make vectors of loops this short; each of these is a handful of vector instructions.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

COLUMNS = 8
I8, I16, I32, F32, F64 = ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.FloatType(), ir.DoubleType()


def _splat(kind: ir.Type, value: float, count: int) -> ir.Constant:
    return ir.Constant(ir.VectorType(kind, count), [value] * count)


def _load(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, count: int) -> ir.Value:
    return builder.load(builder.inttoptr(address, ir.VectorType(kind, count).as_pointer()), align=1)


def _store(builder: ir.IRBuilder, value: ir.Value, address: ir.Value) -> None:
    builder.store(value, builder.inttoptr(address, value.type.as_pointer()), align=8)


def _halves(builder: ir.IRBuilder, source: ir.Value, target: ir.Value) -> None:
    words, floats = ir.VectorType(I32, 8), ir.VectorType(F32, 8)
    bits = builder.zext(_load(builder, source, I16, 8), words)
    magnitude = builder.shl(builder.and_(bits, _splat(I32, 0x7FFF, 8)), _splat(I32, 13, 8))
    scaled = builder.fmul(builder.bitcast(magnitude, floats), _splat(F32, 2.0**112, 8))
    number = builder.bitcast(scaled, words)
    exponent = builder.and_(bits, _splat(I32, 0x7C00, 8))
    special = builder.icmp_unsigned("==", exponent, _splat(I32, 0x7C00, 8))
    number = builder.select(special, builder.or_(number, _splat(I32, 0x7F800000, 8)), number)
    sign = builder.shl(builder.and_(bits, _splat(I32, 0x8000, 8)), _splat(I32, 16, 8))
    value = builder.bitcast(builder.or_(number, sign), floats)
    _store(builder, builder.fpext(value, ir.VectorType(F64, 8)), target)


def _bf16(builder: ir.IRBuilder, source: ir.Value, target: ir.Value) -> None:
    bits = builder.zext(_load(builder, source, I16, 8), ir.VectorType(I32, 8))
    value = builder.bitcast(builder.shl(bits, _splat(I32, 16, 8)), ir.VectorType(F32, 8))
    _store(builder, builder.fpext(value, ir.VectorType(F64, 8)), target)


def _signed(builder: ir.IRBuilder, source: ir.Value, target: ir.Value) -> None:
    number = builder.sext(_load(builder, source, I8, 16), ir.VectorType(I32, 16))
    _store(builder, builder.sitofp(number, ir.VectorType(F64, 16)), target)


def _unsigned(builder: ir.IRBuilder, source: ir.Value, target: ir.Value) -> None:
    number = builder.zext(_load(builder, source, I8, 16), ir.VectorType(I32, 16))
    _store(builder, builder.sitofp(number, ir.VectorType(F64, 16)), target)


def _reader(generate_code: Callable[[ir.IRBuilder, ir.Value, ir.Value], None]) -> Callable[..., Any]:
    def read(typing_context: Any, source: Any, target: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
            generate_code(builder, *arguments)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return intrinsic(read)


read_halves, read_bf16 = _reader(_halves), _reader(_bf16)
"""(source, target): eight elements of f16 or bf16 to float64."""
read_signed, read_unsigned = _reader(_signed), _reader(_unsigned)
"""(source, target): sixteen elements of s8 or u8 to float64."""


def _row_product(typing_context: Any, a: Any, b: Any, c: Any, k: Any, pitch: Any) -> Any:
    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> ir.Value:
        a, b, c, k, pitch = arguments
        vector = ir.VectorType(F64, COLUMNS)
        kind = ir.FunctionType(vector, [vector] * 3)
        name = f"llvm.fma.v{COLUMNS}f64"
        fused = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        before, start = builder.block, _load(builder, c, F64, COLUMNS)
        loop, done = builder.append_basic_block("products"), builder.append_basic_block("row")
        builder.cbranch(builder.icmp_signed(">", k, k.type(0)), loop, done)
        builder.position_at_end(loop)
        index, total = builder.phi(k.type), builder.phi(vector)
        place = builder.add(a, builder.shl(index, k.type(3)))
        factor = builder.load(builder.inttoptr(place, F64.as_pointer()))
        one = builder.insert_element(_splat(F64, 0.0, COLUMNS), factor, I32(0))
        factors = builder.shuffle_vector(one, one, _splat(I32, 0, COLUMNS))
        row = _load(builder, builder.add(b, builder.mul(index, pitch)), F64, COLUMNS)
        following, added = builder.add(index, k.type(1)), builder.call(fused, [factors, row, total])
        builder.cbranch(builder.icmp_signed("<", following, k), loop, done)
        for value, first, next_ in ((index, k.type(0), following), (total, start, added)):
            value.add_incoming(first, before)
            value.add_incoming(next_, loop)
        builder.position_at_end(done)
        final = builder.phi(vector)
        final.add_incoming(start, before)
        final.add_incoming(added, loop)
        _store(builder, final, c)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), generate


row_product: Callable[..., Any] = intrinsic(_row_product)
"""(a, b, c, k, pitch): eight elements at ``c`` take ``k`` products of those at ``a`` with rows ``pitch`` bytes apart at
``b``, in order, each by a fused multiply-add of float64."""
