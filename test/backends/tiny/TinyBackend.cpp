// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TinyBackend.h"
#include "PrintC.h"
#include "compiler/Link.h"
#include "ir/Elements.h"
#include "ir/Ops.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "ir/SizeArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstdio>
#include <map>

using namespace mlir;
using namespace sinter;
using namespace sinter::tiny;

namespace {
Type storageOf(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : signless(element);
}

/// Plain loops over each result, every element computed by itself.
class Loops final : public ElementBuilder {
public:
  Loops(OpBuilder &b, Location loc, schedule::KernelSpec &spec, StringRef name)
      : ElementBuilder(b, loc, /*lanes=*/1), spec(spec) {
    SmallVector<Type> types;
    auto addBuffer = [&](Type type) {
      Type element = storageOf(cast<RankedTensorType>(type).getElementType());
      types.push_back(MemRefType::get({ShapedType::kDynamic}, element));
    };
    for (Value input : spec.body().getArguments())
      addBuffer(input.getType());
    for (Value result : spec.body().getTerminator()->getOperands())
      addBuffer(result.getType());
    types.append(spec.numSymbols(), b.getIndexType());
    function = func::FuncOp::create(b, loc, name, b.getFunctionType(types, b.getI32Type()));
    b.setInsertionPointToStart(function.addEntryBlock());
  }

  func::FuncOp write() {
    for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
      writeResult(i);
    func::ReturnOp::create(b, loc, intConstant(b.getI32Type(), 0));
    return function;
  }

  Value size(Value tensor, int64_t axis) override { return number(spec.sizes->dims(tensor)[axis]); }

  Value load(Value tensor, ArrayRef<LaneIndex> index) override {
    std::vector<const void *> key{tensor.getAsOpaquePointer()};
    for (const LaneIndex &i : index)
      key.push_back(i.base.getAsOpaquePointer());
    Value &known = memo[key];
    if (known && known.getParentRegion()->isAncestor(b.getInsertionBlock()->getParent()))
      return known;
    Value value = compute(tensor, index);
    return memo[key] = value;
  }

private:
  Value number(DimExpr expr) {
    ArithSizes arith(b, loc);
    DenseMap<const void *, Value> made;
    auto leaf = [&](DimExpr part) -> Value {
      if (part.isConstant())
        return arith.constant(part.constant());
      unsigned buffers = spec.kernel.getNumOperands() + spec.kernel.getNumResults(), k = 0;
      while (spec.argument(k) != part)
        ++k;
      return function.getArgument(buffers + k);
    };
    return buildSize<Value>(
        spec.dims, spec.dims.resolve(expr), [&](DimExpr part) { return made.lookup(part.getOpaqueValue()); },
        [&](DimExpr part, Value value) { made[part.getOpaqueValue()] = value; }, leaf,
        [&](DimExpr::Kind kind, ArithSizes::Number x, ArithSizes::Number y) {
          return SizeArithmetic<ArithSizes>(arith).combine(kind, x, y);
        });
  }

  Value flat(ArrayRef<LaneIndex> index, Value tensor) {
    Value offset = arith::ConstantIndexOp::create(b, loc, 0);
    for (auto [axis, i] : llvm::enumerate(index)) {
      offset = arith::MulIOp::create(b, loc, offset, size(tensor, static_cast<int64_t>(axis)));
      offset = arith::AddIOp::create(b, loc, offset, toValue(i));
    }
    return offset;
  }

  Value compute(Value tensor, ArrayRef<LaneIndex> index) {
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    if (auto argument = dyn_cast<BlockArgument>(tensor)) {
      Value stored = memref::LoadOp::create(b, loc, function.getArgument(argument.getArgNumber()), flat(index, tensor));
      if (!element.isInteger(1))
        return stored;
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored, intConstant(b.getI8Type(), 0));
    }
    Operation *op = tensor.getDefiningOp();
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      auto dense = cast<DenseElementsAttr>(constant.getValue());
      TypedAttr splat;
      if (isa<FloatType>(element))
        splat = b.getFloatAttr(element, dense.getSplatValue<APFloat>());
      else
        splat = b.getIntegerAttr(signless(element), dense.getSplatValue<APInt>());
      return arith::ConstantOp::create(b, loc, splat);
    }
    if (auto pointwise = dyn_cast<Pointwise>(op)) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(load(operand, index));
      return pointwise.buildBody(b, loc, operands);
    }
    return cast<Elemental>(op).buildElement(*this, cast<OpResult>(tensor).getResultNumber(), index);
  }

  void writeResult(unsigned i) {
    OpBuilder::InsertionGuard guard(b);
    Value yielded = spec.yielded(i);
    Value zero = arith::ConstantIndexOp::create(b, loc, 0), one = arith::ConstantIndexOp::create(b, loc, 1);
    SmallVector<LaneIndex> index;
    SmallVector<Value> sizes;
    for (int64_t axis = 0, e = cast<RankedTensorType>(yielded.getType()).getRank(); axis < e; ++axis)
      sizes.push_back(size(yielded, axis));
    for (Value size : sizes) {
      auto loop = scf::ForOp::create(b, loc, zero, size, one);
      b.setInsertionPointToStart(loop.getBody());
      index.push_back(uniform(loop.getInductionVar()));
    }
    Value value = load(yielded, index);
    if (value.getType().isInteger(1))
      value = arith::ExtUIOp::create(b, loc, b.getI8Type(), value);
    Value at = zero;
    for (auto [position, size] : llvm::zip(index, sizes)) {
      at = arith::MulIOp::create(b, loc, at, size);
      at = arith::AddIOp::create(b, loc, at, position.base);
    }
    memref::StoreOp::create(b, loc, value, function.getArgument(spec.kernel.getNumOperands() + i), at);
  }

  schedule::KernelSpec &spec;
  func::FuncOp function;
  std::map<std::vector<const void *>, Value> memo;
};
} // namespace

std::unique_ptr<schedule::KernelSpec> TinyBackend::specify(KernelOp kernel, ShapeAnalysis *outer) {
  return std::make_unique<schedule::KernelSpec>(kernel, outer);
}

static std::optional<std::string> writeKernel(schedule::KernelSpec &spec, StringRef name, std::string &unknown) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(spec.kernel.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  return printC(Loops(b, spec.kernel.getLoc(), spec, name).write(), unknown);
}

std::string TinyBackend::refusal(schedule::KernelSpec &spec) {
  for (Operation &op : spec.body().without_terminator()) {
    auto constant = dyn_cast<ConstantOp>(op);
    auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
    if (constant ? !dense || !dense.isSplat() : !isa<Pointwise, Elemental>(op))
      return op.getName().getStringRef().str() + " is not computed element by element";
  }
  for (unsigned k = 0; k < spec.numSymbols(); ++k)
    if (!isa<BlockArgument>(spec.source(k).value))
      return "a size that only running tells";
  std::string unknown;
  return writeKernel(spec, "kernel", unknown) ? "" : unknown + " has no form in C";
}

LogicalResult TinyBackend::settle(schedule::KernelSpec &spec, Refused) {
  if (!spec.schedule())
    return success();
  return spec.kernel.emitOpError("requires no schedule for back end 'tiny', got ") << spec.schedule();
}

schedule::KernelTraits TinyBackend::describe(schedule::KernelSpec &spec, StringRef symbol) {
  std::string unknown;
  source += *writeKernel(spec, symbol, unknown);
  schedule::KernelTraits traits;
  traits.chunks = spec.dims.constant(1);
  // As a collective would say: several results must come in one order everywhere.
  traits.isOrdered = spec.kernel.getNumResults() > 1;
  return traits;
}

std::optional<std::string> tiny::runCommand(const std::string &command) {
  std::FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  for (int c; pipe && (c = std::fgetc(pipe)) != EOF;)
    text += static_cast<char>(c);
  if (!pipe || pclose(pipe) != 0)
    return command + ": " + text;
  return std::nullopt;
}

std::optional<std::string> tiny::compileC(const std::string &functions, std::string &error) {
  TemporaryFolder folder;
  std::string from = folder.file("kernels.c"), to = folder.file("kernels.so");
  if (!folder.write(from, kPrelude + functions, error))
    return std::nullopt;
  // No product and sum are one rounding, as the rounding of each op is part of its meaning.
  if (auto failed = runCommand("cc -O0 -ffp-contract=off -fwrapv -fPIC -shared -w -o " + to + " " + from + " -lm")) {
    error = *failed;
    return std::nullopt;
  }
  return readFile(to, error);
}

FailureOr<schedule::CodeObject> TinyBackend::code(Location loc) {
  std::string error;
  schedule::CodeObject object{name().str(), requirements, ""};
  std::optional<std::string> bytes = compileC(source, error);
  if (!bytes)
    return emitError(loc, error);
  // The system's loader trusts what it gets, so the driver compares the length first.
  object.payload = llvm::formatv("tiny{0,-12}", bytes->size()).str() + *bytes;
  return object;
}

//===- In the compiler -----------------------------------------------------------------------------===//

namespace {
class TinyMachine final : public schedule::Machine {
public:
  TinyMachine(StringRef given) : version(given) {
    name = "tiny" + (given.empty() ? "" : ":" + given.str());
    requirements = code = key = "tiny-" + (given.empty() ? "1" : given.str());
    demands = {1};
  }
  const schedule::BackendKind &kind() const override { return *schedule::findBackend("tiny"); }
  Attribute attribute(MLIRContext *context) const override { return StringAttr::get(context, version); }

  const std::string version;
};
} // namespace

static schedule::RegisterBackend<TinyKind> registered;

std::shared_ptr<const schedule::Machine> TinyKind::parse(StringRef text, std::string &error) const {
  if (text.empty() || (text.size() == 1 && llvm::isDigit(text[0])))
    return std::make_shared<TinyMachine>(text);
  error = ("tiny requires a digit, got '" + text + "'").str();
  return nullptr;
}

std::shared_ptr<const schedule::Machine> TinyKind::read(Attribute attribute, std::string &error) const {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return parse(text, error);
  error = "sinter.devices does not fit: tiny requires text";
  return nullptr;
}

/// The host has a form for it, which the tests want to see used.
bool TinyKind::keepsComposite(Operation *op) const { return isa<SoftmaxOp>(op); }

bool TinyKind::takesKernel(KernelOp kernel, ShapeAnalysis &sizes) const {
  TinyBackend backend;
  return backend.refusal(*backend.specify(kernel, &sizes)).empty();
}

std::unique_ptr<schedule::Backend> TinyKind::create(const schedule::Machine &machine, int) const {
  return std::make_unique<TinyBackend>(machine.requirements);
}
