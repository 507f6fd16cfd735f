// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/LowerPrecision.h"
#include "ir/Attention.h"
#include "ir/Composer.h"
#include "ir/Contraction.h"
#include "ir/Float8.h"
#include "ir/Kernel.h"
#include "passes/Devices.h"
#include "passes/ProductOperands.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;

/// With fewer channels a group rows of a convolution are padded more than they gain, but for first layers of images,
/// whose taps along a row have so many elements together.
static constexpr int64_t kLeastChannels = 16;

/// What an op of the policy multiplies in, as the attribute has it; null for no such name.
static Attribute precisionNamed(StringRef name, MLIRContext *context) {
  if (name == "f32")
    return TypeAttr::get(Float32Type::get(context));
  if (name == "bf16")
    return TypeAttr::get(BFloat16Type::get(context));
  if (name == "f16")
    return TypeAttr::get(Float16Type::get(context));
  if (name == kTf32)
    return StringAttr::get(context, kTf32);
  return {};
}

static bool isPrecisionOp(StringRef name) { return llvm::is_contained(kPrecisionOps, name); }

bool sinter::setPrecision(ModuleOp module, StringRef text, std::string &error) {
  if (module.walk([](KernelOp) { return WalkResult::interrupt(); }).wasInterrupted()) {
    error = "has no effect on kernels, which have their types already";
    return false;
  }
  MLIRContext *context = module.getContext();
  NamedAttrList policy;
  SmallVector<StringRef> words;
  text.split(words, ',');
  for (auto [i, word] : llvm::enumerate(words)) {
    auto [op, name] = word.contains('=') ? word.split('=') : std::pair<StringRef, StringRef>("", word);
    Attribute precision = precisionNamed(name, context);
    if (!precision) {
      error = "requires f32, tf32, bf16 or f16, got '" + name.str() + "'";
      return false;
    }
    if (word.contains('=') ? !isPrecisionOp(op) : i > 0) {
      error = "requires OP=TYPE with an op of " + llvm::join(ArrayRef<StringLiteral>(kPrecisionOps), ", ") + ", got '" +
              word.str() + "'";
      return false;
    }
    for (StringRef known : kPrecisionOps) {
      bool isOfAll = op.empty() && known == kActivations;
      if (isOfAll && (name == "f16" || name == kTf32))
        policy.set(known, precisionNamed(name == "f16" ? "bf16" : "f32", context));
      else if (op.empty() || op == known)
        policy.set(known, precision);
    }
  }
  module->setAttr(kPrecisionAttr, policy.getDictionary(context));
  return true;
}

static bool isLow(Type type) { return type.isBF16() || type.isF16(); }

LogicalResult sinter::verifyPrecision(ModuleOp module) {
  Attribute attribute = module->getAttr(kPrecisionAttr);
  if (!attribute)
    return success();
  auto table = dyn_cast<DictionaryAttr>(attribute);
  if (!table)
    return module.emitError() << kPrecisionAttr << " requires a dictionary of ops and types, got " << attribute;
  for (NamedAttribute entry : table) {
    auto type = dyn_cast<TypeAttr>(entry.getValue());
    bool isKnown = type ? type.getValue().isF32() || isLow(type.getValue())
                        : entry.getValue() == StringAttr::get(module.getContext(), kTf32);
    if (!isPrecisionOp(entry.getName()) || !isKnown)
      return module.emitError() << kPrecisionAttr << " requires f32, tf32, bf16 or f16 for ops of "
                                << llvm::join(ArrayRef<StringLiteral>(kPrecisionOps), ", ") << ", got "
                                << entry.getName().getValue() << " = " << entry.getValue();
  }
  return success();
}

bool sinter::multipliesInHalf(ModuleOp module) {
  auto policy = module->getAttrOfType<DictionaryAttr>(kPrecisionAttr);
  return policy && llvm::any_of(policy, [](NamedAttribute entry) {
           auto type = dyn_cast<TypeAttr>(entry.getValue());
           return type && type.getValue().isF16();
         });
}

static bool isConstant(Value value) { return matchPattern(value, m_Constant()); }

/// True where converting an operand pays. Constants are converted when they are folded, and numbers of 8-bit floats are
/// made of their bytes in either type.
template <typename Op> static bool pays(Op op, unsigned operand) {
  bool isOfBytes = multipliesFloat8Weights(op) && hasDevices(op) && decodedNumbers(op->getOperand(operand));
  return isConstant(op->getOperand(operand)) || isOfBytes || isReadOften(readsOf(op, operand));
}

static bool gains(DotGeneralOp op, Type) { return pays(op, 0) && pays(op, 1); }

/// A filter that is no constant is brought into pairs of channels by a kernel of its own, of static shape. Its numbers
/// are rounded where they are moved anyway.
static bool canBeOrdered(ConvolutionOp op, Type type, int64_t channels) {
  auto filter = tensorTypeOf(op.getFilter());
  return type.isBF16() && !hasDevices(op) && filter.hasStaticShape() && channels % 2 == 0;
}

static bool gains(ConvolutionOp op, Type type) {
  auto filter = tensorTypeOf(op.getFilter());
  bool isFirst = op.getLayout() == ConvLayout::channels_first;
  int64_t channels = filter.getDimSize(isFirst ? 1 : filter.getRank() - 1);
  int64_t taps = filter.getDimSize(isFirst ? filter.getRank() - 1 : filter.getRank() - 2);
  bool isOfImage = op.getGroups() == 1 && isConstant(op.getFilter()) && channels * taps >= kLeastChannels;
  return (isConstant(op.getFilter()) || canBeOrdered(op, type, channels)) &&
         (ShapedType::isDynamic(channels) || channels >= kLeastChannels || isOfImage) && pays(op, 0);
}

namespace {

class LowerPrecision : public PassWrapper<LowerPrecision, OperationPass<func::FuncOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPrecision)

  StringRef getArgument() const override { return "sinter-lower-precision"; }
  StringRef getDescription() const override { return "products of f32 in the types of the module's policy"; }

  void runOnOperation() override {
    Attribute attribute = getOperation()->getParentOfType<ModuleOp>()->getAttr(kPrecisionAttr);
    if (!attribute)
      return;
    if (failed(read(attribute)))
      return signalPassFailure();
    SmallVector<std::pair<Operation *, Type>> products;
    auto collect = [&](auto op) {
      Type type = policy.lookup(op->getName().stripDialect());
      if (type && llvm::all_of(op->getOperandTypes(), isF32) && isF32(op.getType()) && gains(op, type))
        products.push_back({op, type});
    };
    getOperation().walk([&](DotGeneralOp op) { collect(op); });
    getOperation().walk([&](ConvolutionOp op) { collect(op); });
    OperandConversions conversions;
    for (auto [op, type] : products)
      for (OpOperand &operand : op->getOpOperands())
        operand.set(conversions.converted(operand.get(), type));
    if (Type type = policy.lookup(AttentionOp::getOperationName().split('.').second);
        type && !hasDevices(getOperation()))
      lowerAttention(type, conversions);
    policy.clear();
  }

private:
  llvm::StringMap<Type> policy; // of ops whose type is not f32

  static bool isF32(Type type) { return getElementTypeOrSelf(type).isF32(); }

  /// Attention and its backward part between conversions; the sums of rows, and a bias, stay as they are.
  void lowerAttention(Type type, OperandConversions &conversions) {
    SmallVector<Operation *> attentions;
    getOperation().walk([&](Operation *op) {
      if (isAttention(op) && isF32(op->getOperand(0).getType()))
        attentions.push_back(op);
    });
    for (Operation *op : attentions) {
      MultipliedParts parts = multipliedParts(op);
      for (OpOperand &operand : op->getOpOperands().take_front(parts.operands))
        operand.set(conversions.converted(operand.get(), type));
      OpBuilder builder(op);
      builder.setInsertionPointAfter(op);
      Composer c(op->getLoc(), builder);
      for (Value result : op->getResults().take_front(parts.results)) {
        result.setType(tensorTypeOf(result).clone(type));
        Value wide = c.convert(result, Float32Type::get(&getContext()));
        result.replaceAllUsesExcept(wide, wide.getDefiningOp());
      }
    }
  }

  LogicalResult read(Attribute attribute) {
    if (failed(verifyPrecision(getOperation()->getParentOfType<ModuleOp>())))
      return failure();
    for (NamedAttribute entry : cast<DictionaryAttr>(attribute))
      if (auto type = dyn_cast<TypeAttr>(entry.getValue()); type && isLow(type.getValue()))
        policy[entry.getName()] = type.getValue();
    return success();
  }
};

} // namespace

std::unique_ptr<Pass> sinter::createLowerPrecision() { return std::make_unique<LowerPrecision>(); }
