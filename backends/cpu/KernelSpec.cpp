// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/KernelSpec.h"
#include "ir/Control.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

KernelSpec::KernelSpec(KernelOp kernel, const KernelOptions &options, ShapeAnalysis *outer)
    : kernel(kernel), options(options), sizes(std::make_unique<ShapeAnalysis>(dims)) {
  bindInputs(outer);
  unifyOperands();
  findInnerSymbols();
}

KernelSpec::~KernelSpec() = default;

Value KernelSpec::yielded(unsigned i) { return body().getTerminator()->getOperand(i); }

void KernelSpec::bindInputs(ShapeAnalysis *outer) {
  llvm::MapVector<const void *, DimExpr> local; // size outside -> symbol here
  for (auto [argument, operand] : llvm::zip(body().getArguments(), kernel.getInputs())) {
    auto type = cast<RankedTensorType>(argument.getType());
    Dims outside = outer ? outer->dims(operand) : Dims(type.getRank());
    Dims bound;
    for (auto [axis, size] : llvm::enumerate(type.getShape())) {
      DimExpr known = outside[axis];
      if (!ShapedType::isDynamic(size) || (known && known.isConstant())) {
        bound.push_back(dims.constant(ShapedType::isDynamic(size) ? known.constant() : size));
        continue;
      }
      DimExpr &symbol = local[known ? known.getOpaqueValue() : static_cast<const void *>(&type.getShape()[axis])];
      if (!known || !symbol) {
        symbol = dims.symbol({SymbolSource::Kind::Size, argument, static_cast<int64_t>(axis)});
        symbols.push_back(symbol);
      }
      bound.push_back(symbol);
    }
    sizes->bind(argument, bound);
  }
  if (!outer)
    return;
  // A small integer input whose elements are sizes that the kernel knows (the shape of a broadcast, mostly).
  for (auto [argument, operand] : llvm::zip(body().getArguments(), kernel.getInputs())) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (!type.getElementType().isInteger() || !type.hasStaticShape() || type.getNumElements() > 64)
      continue;
    std::optional<Dims> outside = outer->contents(operand);
    if (!outside)
      continue;
    Dims inside;
    for (auto [i, element] : llvm::enumerate(*outside)) {
      if (element.isConstant())
        inside.push_back(dims.constant(element.constant()));
      else if (auto found = local.find(element.getOpaqueValue()); found != local.end())
        inside.push_back(found->second);
      else
        inside.push_back(dims.symbol({SymbolSource::Kind::Content, argument, static_cast<int64_t>(i)}));
    }
    sizes->bindContents(argument, inside);
  }
}

/// What is combined element by element is of one shape. The plan knew so from ops that computed the sizes; as kernels
/// of their own they hide it.
void KernelSpec::unifyOperands() {
  for (Operation &op : body())
    if (isa<Pointwise>(op))
      for (Value operand : op.getOperands())
        for (auto [size, other] : llvm::zip(sizes->dims(operand), sizes->dims(op.getResult(0))))
          dims.unify(size, other);
}

void KernelSpec::findInnerSymbols() {
  auto add = [&](unsigned number) {
    if (llvm::none_of(symbols, [&](DimExpr known) { return known.symbol() == number; }))
      symbols.push_back(dims.symbol(dims.source(number)));
  };
  for (Operation &op : body())
    for (Value value : op.getResults())
      for (DimExpr size : sizes->dims(value))
        DimContext::forEachSymbol(size, add);
  // Ops in the region may have made sizes of inputs equal.
  llvm::SmallVector<DimExpr> distinct;
  for (DimExpr symbol : symbols)
    DimContext::forEachSymbol(dims.resolve(symbol), [&](unsigned number) {
      DimExpr resolved = dims.symbol(dims.source(number));
      if (!llvm::is_contained(distinct, resolved))
        distinct.push_back(resolved);
    });
  symbols = distinct;
}

std::string KernelSpec::signature() {
  std::string text;
  llvm::raw_string_ostream os(text);
  // Symbols by their number as arguments, so that the text does not depend on how the context names them; other parts
  // of expressions by the number of their first occurrence, as what is shared may be long when it is written out.
  llvm::DenseMap<const void *, std::string> names;
  for (auto [k, symbol] : llvm::enumerate(symbols))
    names[symbol.getOpaqueValue()] = "s" + std::to_string(k);
  auto nameOf = [&](DimExpr size) {
    SmallVector<DimExpr> pending{size};
    while (!pending.empty()) {
      DimExpr next = pending.back();
      size_t before = pending.size();
      if (!names.contains(next.getOpaqueValue()))
        for (DimExpr operand : next.operands())
          if (!names.contains(operand.getOpaqueValue()))
            pending.push_back(operand);
      if (pending.size() > before)
        continue;
      pending.pop_back();
      if (names.contains(next.getOpaqueValue()))
        continue;
      std::string name = next.operands().empty() ? dims.print(next) : "p" + std::to_string(names.size());
      if (!next.operands().empty()) {
        os << name << '=' << static_cast<int>(next.kind());
        for (DimExpr operand : next.operands())
          os << ' ' << names[operand.getOpaqueValue()];
        os << ';';
      }
      names[next.getOpaqueValue()] = std::move(name);
    }
    return names[size.getOpaqueValue()];
  };
  auto print = [&](Value value) {
    SmallVector<std::string> texts = llvm::map_to_vector(sizes->dims(value), nameOf); // defines parts
    os << '(' << llvm::join(texts, ",") << ')';
  };
  for (BlockArgument argument : body().getArguments()) {
    print(argument);
    auto type = cast<RankedTensorType>(argument.getType());
    if (!type.getElementType().isInteger() || !type.hasStaticShape() || type.getNumElements() > 64)
      continue;
    if (std::optional<Dims> elements = sizes->contents(argument)) {
      os << '=';
      for (DimExpr element : *elements) {
        auto *found = llvm::find(symbols, element);
        if (element.isConstant())
          os << element.constant() << ' ';
        else if (found != symbols.end())
          os << 's' << (found - symbols.begin()) << ' ';
        else
          os << "? ";
      }
    }
  }
  for (Value value : body().getTerminator()->getOperands())
    print(value);
  return text;
}
