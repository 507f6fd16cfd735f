// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/ZeroSearch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

void ZeroSearch::prefetch(Value buffer, Value at) {
  memref::PrefetchOp::create(b, buffer, ValueRange{at}, /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
}

/// True when all bits but the signs' are zero.
Value ZeroSearch::isZero(Value bits) {
  auto type = cast<VectorType>(bits.getType());
  Value magnitude = arith::ShLIOp::create(
      b, bits, arith::ConstantOp::create(b, DenseElementsAttr::get(type, b.getIntegerAttr(type.getElementType(), 1))));
  Value any = vector::ReductionOp::create(b, vector::CombiningKind::OR, magnitude);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(any.getType()));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, any, zero);
}

/// What `bitsOf` starts from.
Value ZeroSearch::noBits() {
  auto integer = b.getIntegerType(vectorType.getElementTypeBitWidth());
  return arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({lanes}, integer)));
}

/// The bits of a vector in memory, joined to those of `others`.
Value ZeroSearch::bitsOf(Value buffer, Value at, Value mask, Value others) {
  Value elements;
  if (mask) {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(vectorType));
    elements = vector::MaskedLoadOp::create(b, vectorType, buffer, ValueRange{at}, mask, zero);
  } else {
    elements = vector::LoadOp::create(b, vectorType, buffer, ValueRange{at});
  }
  return arith::OrIOp::create(b, vector::BitCastOp::create(b, others.getType(), elements), others);
}

/// The part of k outside of which the tile's rows of lhs are zero.
std::pair<Value, Value> ZeroSearch::nonzeroRange(const MicroOperands &operands, DimExpr rowStride, DimExpr k) {
  Value none = noBits();
  auto rows = static_cast<int64_t>(operands.aRows.size());
  auto isZeroFrom = [&](Value first) {
    if (!operands.aStride) {
      Value bits = none;
      for (Value row : operands.aRows)
        for (int64_t at = 0; at < kZeroBlock; at += lanes) {
          Value from = add(add(row, first), fn.index(at));
          bits = bitsOf(operands.a, from, nullptr, bits);
          prefetch(operands.a, add(from, mul(fn.index(rows), fn.materialize(rowStride))));
        }
      return isZero(bits);
    }
    SmallVector<Value> bits =
        fn.loop(first, add(first, fn.index(kZeroBlock)), 1, none, [&](Value at, ValueRange carried) {
          Value bits = carried[0], from = add(operands.aRows.front(), mul(at, operands.aStride));
          for (int64_t i = 0; i < rows; i += lanes) {
            Value mask;
            if (rows - i < lanes)
              mask = vector::CreateMaskOp::create(b, VectorType::get({lanes}, b.getI1Type()),
                                                  ValueRange{fn.index(rows - i)});
            bits = bitsOf(operands.a, add(from, fn.index(i)), mask, bits);
          }
          prefetch(operands.a, add(from, mul(fn.index(kZeroBlock), operands.aStride)));
          return SmallVector<Value>{bits};
        });
    return isZero(bits[0]);
  };
  // Steps over blocks of zeros from `from` on until `end`.
  auto skip = [&](Value from, Value end, arith::CmpIPredicate before, int64_t step, int64_t blockAt) -> Value {
    auto loop = scf::WhileOp::create(
        b, TypeRange{b.getIndexType()}, ValueRange{from},
        [&](OpBuilder &, Location, ValueRange at) {
          Value more = arith::CmpIOp::create(b, before, at[0], end);
          auto zero = scf::IfOp::create(b, TypeRange{b.getI1Type()}, more, /*withElseRegion=*/true);
          {
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(zero.thenBlock());
            scf::YieldOp::create(b, isZeroFrom(add(at[0], fn.index(blockAt))));
            b.setInsertionPointToStart(zero.elseBlock());
            scf::YieldOp::create(b, more);
          }
          scf::ConditionOp::create(b, zero.getResult(0), at);
        },
        [&](OpBuilder &, Location, ValueRange at) { scf::YieldOp::create(b, add(at[0], fn.index(step))); });
    return loop.getResult(0);
  };
  Value end = skip(fn.materialize(k), fn.index(0), arith::CmpIPredicate::sgt, -kZeroBlock, -kZeroBlock);
  return {skip(fn.index(0), end, arith::CmpIPredicate::slt, kZeroBlock, 0), end};
}

Value ZeroSearch::isZeroTile(const RegisterTile &tile, Value source, Value first, Value columns) {
  Value bits = noBits();
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.vectors; ++j) {
      Value at = add(first, add(mul(fn.index(i), columns), fn.index(j * lanes)));
      bits = bitsOf(source, at, nullptr, bits);
      // Nothing hides the time that it takes to come, so the next tile's is asked for.
      prefetch(source, add(at, mul(fn.index(tile.rows), columns)));
    }
  return isZero(bits);
}
