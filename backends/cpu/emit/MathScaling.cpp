// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two instructions of AVX-512 that MLIR has no op for: vscalef and vrange.

#include "backends/cpu/emit/MathLanes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

constexpr int64_t kWidest = 512, kNarrowest = 128; // bits

static int64_t bitsOf(VectorType type) { return type.getNumElements() * type.getElementTypeBitWidth(); }

bool cpu::canScale(const MathLanes &m) {
  auto vector = dyn_cast<VectorType>(m.type);
  return m.has.scales && vector && vector.getRank() == 1 && !vector.isScalable() && bitsOf(vector) >= kNarrowest &&
         llvm::isPowerOf2_64(vector.getNumElements());
}

/// `count` lanes from `first` on.
static Value buildPart(MathLanes &m, Value x, int64_t first, int64_t count) {
  return vector::ShuffleOp::create(m.b, x, x, llvm::to_vector(llvm::seq(first, first + count)));
}

/// The instruction that LLVM calls x86.avx512.mask.NAME.{ps,pd}.WIDTH, on all lanes, in as many parts as it takes.
/// `control` is its operand behind x and y, if it has one.
static Value buildInstruction(MathLanes &m, StringRef name, Value x, Value y, std::optional<int> control) {
  auto type = cast<VectorType>(x.getType());
  int64_t width = bitsOf(type), lanes = type.getNumElements();
  if (width > kWidest) {
    Value parts[2];
    for (int64_t i : {0, 1})
      parts[i] = buildInstruction(m, name, buildPart(m, x, i * lanes / 2, lanes / 2),
                                  buildPart(m, y, i * lanes / 2, lanes / 2), control);
    return vector::ShuffleOp::create(m.b, parts[0], parts[1], llvm::to_vector(llvm::seq<int64_t>(0, lanes)));
  }
  auto integer = [&](int bits, int64_t value) -> Value {
    return LLVM::ConstantOp::create(m.b, m.b.getIntegerType(bits), value);
  };
  SmallVector<Value> operands{x, y};
  if (control)
    operands.push_back(integer(32, *control));
  operands.push_back(x); // what lanes outside of the mask would be
  operands.push_back(integer(lanes == 16 ? 16 : 8, -1));
  if (width == kWidest)
    operands.push_back(integer(32, 4)); // rounds as the machine is set to
  std::string full = ("llvm.x86.avx512.mask." + name + (m.isDouble() ? ".pd." : ".ps.") + Twine(width)).str();
  return LLVM::CallIntrinsicOp::create(m.b, type, m.b.getStringAttr(full), operands).getResult(0);
}

Value cpu::buildScaled(MathLanes &m, Value x, Value n) { return buildInstruction(m, "scalef", x, n, std::nullopt); }

Value cpu::buildBounded(MathLanes &m, Value x, double most) {
  // 2: of the two the one that is nearer to 0, with the sign of the first (Intel's manual, volume 2, VRANGEPS).
  return buildInstruction(m, "range", x, m.number(most), 2);
}
