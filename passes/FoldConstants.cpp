// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference evaluation of ops on constants. A broadcast that would only make a constant longer stays an op, but its
// elements are at hand when the op that reads them folds: `(weights - zero) * scale` folds though `scale` is repeated.
//
// A file is not trusted, and one of fifty bytes can ask for a range of 2^28 numbers: the bytes that constants have
// after folding, and those that an operand takes while it is read, are limited by what the function's constants have
// before.

#include "ir/Composer.h"
#include "ir/Constants.h"
#include "ir/Contraction.h"
#include "ir/Elementwise.h"
#include "ir/Float8.h"
#include "ir/Kernel.h"
#include "ir/Shape.h"
#include "passes/Devices.h"
#include "passes/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace sinter;

namespace sinter {
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "passes/Passes.h.inc"
} // namespace sinter

/// Bytes that the constants of a function may gain, and by what factor those that it was given may grow: weights of 4
/// bits may become f32.
static constexpr int64_t kAddedBytes = int64_t(1) << 26, kSpread = 8;
/// The name of a large constant that folding made.
static constexpr llvm::StringLiteral kMade = "folded";

/// The attribute of `tensor`; a single number for one whose elements are all alike.
static ElementsAttr attributeOf(const HostTensor &tensor) {
  int64_t width = byteWidth(tensor.elementType());
  const char *data = tensor.data();
  bool uniform = tensor.numElements() > 0;
  for (int64_t i = 1; uniform && i < tensor.numElements(); ++i)
    uniform = std::memcmp(data, data + i * width, width) == 0;
  if (!uniform || tensor.numElements() == 1)
    return tensor.toAttr(kMade);
  if (tensor.elementType().isInteger(1))
    return DenseElementsAttr::get(tensor.tensorType(), data[0] != 0);
  return DenseElementsAttr::getFromRawBuffer(tensor.tensorType(), ArrayRef<char>(data, width));
}

namespace {

class FoldConstants : public sinter::impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    EvaluatorLimits limits;
    limits.maxTensorBytes = maxBytes;
    limits.steps = maxSteps;
    Evaluator evaluator(limits);
    // An op that refuses these values stays, and says so when it runs.
    ScopedDiagnosticHandler quiet(&getContext(), [](Diagnostic &) { return success(); });

    SmallVector<Operation *> ops;
    held = 0;
    int64_t given = 0;
    getOperation()->walk([&](Operation *op) {
      if (op->hasTrait<OpTrait::ConstantLike>()) {
        held += storedBytes(op->getResult(0));
        given += isMade(op->getResult(0)) ? 0 : storedBytes(op->getResult(0));
      }
      if (isa<KernelOp>(op))
        return WalkResult::skip();
      if (isa<Evaluable>(op) && op->getNumRegions() == 0 && isPure(op) && !op->hasTrait<OpTrait::ConstantLike>())
        ops.push_back(op);
      return WalkResult::advance();
    });
    mostHeld = std::max(kAddedBytes + kSpread * given, held);
    // Passes leave what nothing reads any more: weights as floats, say, where bytes are multiplied.
    for (Operation *&op : llvm::reverse(ops))
      if (isOpTriviallyDead(op)) {
        op->erase();
        op = nullptr;
      }
    for (Operation *op : ops)
      if (op)
        fold(op, evaluator);
    virtuals.clear();
  }

  /// The elements of a constant, or of an op that stayed one for its size.
  std::optional<HostTensor> valueOf(Value value, Evaluator &evaluator) {
    if (matchPattern(value, m_Constant()))
      return constantTensor(value);
    Operation *op = value.getDefiningOp();
    if (!op || !virtuals.contains(op))
      return std::nullopt;
    std::optional<SmallVector<HostTensor>> results = evaluate(op, evaluator);
    if (!results)
      return std::nullopt;
    return (*results)[cast<OpResult>(value).getResultNumber()];
  }

  std::optional<SmallVector<HostTensor>> evaluate(Operation *op, Evaluator &evaluator) {
    SmallVector<HostTensor> operands;
    for (Value operand : op->getOperands()) {
      std::optional<HostTensor> tensor = valueOf(operand, evaluator);
      if (!tensor)
        return std::nullopt;
      operands.push_back(std::move(*tensor));
    }
    FailureOr<SmallVector<HostTensor>> results = evaluator.run(op, operands);
    return succeeded(results) ? std::optional(std::move(*results)) : std::nullopt;
  }

  /// Whether folding made the constant, rather than who wrote the graph.
  static bool isMade(Value value) {
    DenseResourceElementsAttr attr;
    return matchPattern(value, m_Constant(&attr)) && attr.getRawHandle().getKey().starts_with(kMade);
  }

  /// The bytes that hold the elements of a constant: one element for a number repeated; none for an op that stayed one.
  static int64_t storedBytes(Value value) {
    ElementsAttr attr;
    if (!matchPattern(value, m_Constant(&attr)))
      return 0;
    return attr.isSplat() ? byteWidth(attr.getElementType()) : bytesOf(value.getType()).value_or(0);
  }

  /// Whether all that reads `op`, scales and moves between as well, are products that read bytes.
  static bool isOfFloat8Products(Operation *op) {
    return llvm::all_of(op->getUsers(), [](Operation *user) {
      return multipliesFloat8(user) || multipliesFloat8Weights(user) ||
             (user->getNumResults() == 1 && decodedNumbers(user->getResult(0)) && isOfFloat8Products(user));
    });
  }

  /// Bytes that products of floats read: a matrix of floats would take four times as long to come from memory.
  static bool isReadAsBytes(Operation *op) {
    if (isa<DecodeFloat8Op>(op) && hasDevices(op))
      return isOfFloat8Products(op);
    return isa<ConvertOp>(op) && tensorTypeOf(op->getOperand(0)).getElementType().isInteger(8) &&
           llvm::all_of(op->getUses(), [](OpOperand &use) {
             auto dot = dyn_cast<DotGeneralOp>(use.getOwner());
             return dot && use.getOperandNumber() == 1 && !matchPattern(dot.getLhs(), m_Constant());
           });
  }

  bool isKnown(Value value) {
    Operation *op = value.getDefiningOp();
    return op && (op->hasTrait<OpTrait::ConstantLike>() || virtuals.contains(op));
  }

  static std::optional<int64_t> bytesOf(TypeRange types) {
    int64_t total = 0;
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      std::optional<int64_t> count = tensor ? countElements(tensor.getShape()) : std::nullopt;
      if (!count || __builtin_mul_overflow(*count, byteWidth(tensor.getElementType()), &*count) ||
          __builtin_add_overflow(total, *count, &total))
        return std::nullopt;
    }
    return total;
  }

  void fold(Operation *op, Evaluator &evaluator) {
    if (!llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand); }) || isReadAsBytes(op))
      return;
    std::optional<int64_t> before = bytesOf(op->getOperandTypes()), after = bytesOf(op->getResultTypes());
    if (after && *after > maxBytes)
      return;

    // One number repeated stays one number.
    if (isa<Elemental>(op) && op->getNumOperands() > 0 &&
        isa<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, TileOp>(op)) {
      DenseElementsAttr splat;
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      if (type.hasStaticShape() && matchPattern(op->getOperand(0), m_Constant(&splat)) && splat.isSplat()) {
        replace(op, {splat.resizeSplat(type)});
        return;
      }
    }
    // More elements for nothing: only known, not stored.
    if (isa<Elemental>(op) && after && *after > before.value_or(0) + growthBytes) {
      virtuals.insert(op);
      return;
    }
    int64_t freed = 0; // by what nothing else reads
    for (Value operand : op->getOperands())
      freed += operand.hasOneUse() ? storedBytes(operand) : 0;
    int64_t most = mostHeld - held + freed;
    if (!before || *before > mostHeld || after.value_or(0) > most)
      return;
    std::optional<SmallVector<HostTensor>> results = evaluate(op, evaluator);
    if (!results)
      return;
    SmallVector<ElementsAttr> values;
    int64_t made = 0;
    for (const HostTensor &tensor : *results) {
      if (tensor.numBytes() > maxBytes)
        return;
      values.push_back(attributeOf(tensor));
      made += values.back().isSplat() ? byteWidth(tensor.elementType()) : tensor.numBytes();
    }
    // A terminator's types are those of what is around it.
    auto isTerminated = [&](OpResult result) {
      return result.getType() != values[result.getResultNumber()].getType() &&
             llvm::any_of(result.getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    };
    if (made > most || llvm::any_of(op->getResults(), isTerminated))
      return;
    held += made - freed;
    replace(op, values);
  }

  void replace(Operation *op, ArrayRef<ElementsAttr> values) {
    OpBuilder b(op);
    for (auto [result, value] : llvm::zip(op->getResults(), values)) {
      if (result.use_empty())
        continue;
      auto type = cast<RankedTensorType>(value.getType());
      result.replaceAllUsesWith(ConstantOp::create(b, op->getLoc(), type, value));
    }
    op->erase();
  }

  llvm::DenseSet<Operation *> virtuals;
  int64_t held = 0, mostHeld = 0; // bytes of the function's constants
};

} // namespace
