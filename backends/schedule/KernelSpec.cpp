// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Backend.h"
#include "backends/schedule/Dialect.h"
#include "ir/Control.h"
#include "ir/Shape.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

KernelSpec::KernelSpec(KernelOp kernel, ShapeAnalysis *outer)
    : kernel(kernel), sizes(std::make_unique<ShapeAnalysis>(dims)) {
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
    boundSizes.push_back(bound);
    sizes->bind(argument, bound);
  }
  boundElements.resize(boundSizes.size());
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
    boundElements[argument.getArgNumber()] = inside;
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

bool KernelSpec::isConstant(unsigned input) {
  Value value = kernel.getInputs()[input];
  if (value.getDefiningOp<ConstantOp>())
    return true;
  auto code = dyn_cast<CodeOp>(value.getParentBlock()->getParentOp());
  return code && llvm::is_contained(code.getConstants().value_or(ArrayRef<int64_t>()), input);
}

//===- kernels by themselves -----------------------------------------------------------------------===//

void KernelSpec::write(ModuleOp module, StringRef symbol, StringRef backend) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  llvm::MapVector<const void *, unsigned> numbers;
  auto print = [&](const Dims &list) {
    std::string text;
    for (DimExpr size : list) {
      bool isContent = !size.isConstant() && dims.source(size.symbol()).kind == SymbolSource::Kind::Content;
      if (!text.empty())
        text += ' ';
      if (size.isConstant())
        text += std::to_string(size.constant());
      else if (isContent)
        text += '?';
      else
        text += "s" + std::to_string(numbers.try_emplace(size.getOpaqueValue(), numbers.size()).first->second);
    }
    return text;
  };
  SmallVector<std::string> sizeTexts = llvm::map_to_vector(boundSizes, print);
  SmallVector<std::string> elementTexts = llvm::map_to_vector(boundElements, print);
  auto strings = [&](ArrayRef<std::string> texts) {
    return b.getStrArrayAttr(SmallVector<StringRef>(texts.begin(), texts.end()));
  };
  bool knowsElements = llvm::any_of(elementTexts, [](const std::string &text) { return !text.empty(); });
  SmallVector<int64_t> constants;
  for (unsigned i = 0; i < boundSizes.size(); ++i)
    if (isConstant(i))
      constants.push_back(i);
  auto code = CodeOp::create(b, kernel.getLoc(), symbol, backend, strings(sizeTexts),
                             knowsElements ? strings(elementTexts) : ArrayAttr(),
                             constants.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(constants));
  Block &block = code.getBody().emplaceBlock();
  auto copy = kernel.clone();
  for (auto [i, input] : llvm::enumerate(kernel.getInputs()))
    copy->setOperand(i, block.addArgument(input.getType(), input.getLoc()));
  block.push_back(copy);
}

CodeSizes::CodeSizes(CodeOp code, DimContext &context) : ShapeAnalysis(context) {
  llvm::StringMap<DimExpr> symbols;
  auto read = [&](StringRef text, BlockArgument argument, SymbolSource::Kind kind) {
    Dims list;
    SmallVector<StringRef> words;
    text.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (auto [i, word] : llvm::enumerate(words)) {
      int64_t number;
      SymbolSource source{kind, argument, static_cast<int64_t>(i)};
      if (!word.getAsInteger(10, number)) {
        list.push_back(context.constant(number));
      } else if (word == "?") {
        list.push_back(context.symbol(source));
      } else {
        DimExpr &symbol = symbols[word];
        list.push_back(symbol ? symbol : symbol = context.symbol(source));
      }
    }
    return list;
  };
  Block &block = code.getBody().front();
  for (BlockArgument argument : block.getArguments())
    bind(argument, read(cast<StringAttr>(code.getSizes()[argument.getArgNumber()]).getValue(), argument,
                        SymbolSource::Kind::Size));
  if (code.getElements())
    for (BlockArgument argument : block.getArguments())
      if (StringRef text = cast<StringAttr>((*code.getElements())[argument.getArgNumber()]).getValue(); !text.empty())
        bindContents(argument, read(text, argument, SymbolSource::Kind::Content));
}
