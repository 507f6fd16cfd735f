// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/Shuffles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace sinter;

/// In words of 32 bits.
static Value shuffle(ImplicitLocOpBuilder &b, Value value, Value from, NVVM::ShflKind kind) {
  Type type = value.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  unsigned width = type.getIntOrFloatBitWidth();
  Type bitsType = b.getIntegerType(width);
  auto integer = [&](int64_t number) { return arith::ConstantIntOp::create(b, i32, number).getResult(); };
  auto send = [&](Value word) -> Value {
    return NVVM::ShflOp::create(b, i32, integer(-1), word, from, integer(31), kind, UnitAttr());
  };
  Value bits = type == bitsType ? value : arith::BitcastOp::create(b, bitsType, value).getResult();
  if (width == 64) {
    Value shift = arith::ConstantIntOp::create(b, i64, 32);
    Value low = send(arith::TruncIOp::create(b, i32, bits));
    Value high = send(arith::TruncIOp::create(b, i32, arith::ShRUIOp::create(b, bits, shift)));
    Value above = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, i64, high), shift);
    bits = arith::OrIOp::create(b, arith::ExtUIOp::create(b, i64, low), above);
  } else if (width == 32) {
    bits = send(bits);
  } else {
    bits = arith::TruncIOp::create(b, bitsType, send(arith::ExtUIOp::create(b, i32, bits)));
  }
  return type == bitsType ? bits : arith::BitcastOp::create(b, type, bits).getResult();
}

Value cuda::exchange(ImplicitLocOpBuilder &b, Value value, int64_t mask) {
  return shuffle(b, value, arith::ConstantIntOp::create(b, b.getI32Type(), mask), NVVM::ShflKind::bfly);
}

Value cuda::fromLane(ImplicitLocOpBuilder &b, Value value, Value lane) {
  return shuffle(b, value, arith::IndexCastOp::create(b, b.getI32Type(), lane), NVVM::ShflKind::idx);
}
