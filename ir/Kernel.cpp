// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Kernel.h"
#include "ir/Leaves.h"
#include "ir/Shape.h"
#include "ir/Storage.h"

using namespace mlir;
using namespace sinter;

#define GET_OP_CLASSES
#include "ir/Kernel.cpp.inc"

void SinterDialect::registerKernel() {
  addOperations<
#define GET_OP_LIST
#include "ir/Kernel.cpp.inc"
      >();
}

static bool shapesLoops(Operation &op) {
  return !isa<Pointwise, Elemental>(op) && !op.hasTrait<OpTrait::ConstantLike>() &&
         !op.hasTrait<OpTrait::IsTerminator>();
}

Operation *KernelOp::getRoot() {
  for (Operation &op : getBody().front())
    if (shapesLoops(op))
      return &op;
  return nullptr;
}

ArrayRef<int64_t> KernelOp::stridesOf(unsigned value) {
  ArrayAttr lists = getStridesAttr();
  return lists ? cast<DenseI64ArrayAttr>(lists[value]).asArrayRef() : ArrayRef<int64_t>();
}

void KernelOp::setStridesOf(unsigned value, ArrayRef<int64_t> strides) {
  unsigned count = getInputs().size() + getNumResults();
  SmallVector<Attribute> lists(count, DenseI64ArrayAttr::get(getContext(), {}));
  if (ArrayAttr known = getStridesAttr())
    lists.assign(known.begin(), known.end());
  lists[value] = DenseI64ArrayAttr::get(getContext(), strides);
  bool any = llvm::any_of(lists, [](Attribute list) { return !cast<DenseI64ArrayAttr>(list).empty(); });
  setStridesAttr(any ? ArrayAttr::get(getContext(), lists) : ArrayAttr());
}

//===- shape ---------------------------------------------------------------------------------===//

static LogicalResult checkStrides(KernelOp kernel) { // C6
  ArrayAttr lists = kernel.getStridesAttr();
  if (!lists)
    return success();
  SmallVector<Type> types(kernel.getOperandTypes());
  llvm::append_range(types, kernel.getResultTypes());
  if (lists.size() != types.size())
    return kernel.emitOpError() << "requires a list of strides for each of " << types.size()
                                << " inputs and results, got " << lists.size();
  for (auto [i, type] : llvm::enumerate(types)) {
    ArrayRef<int64_t> strides = kernel.stridesOf(static_cast<unsigned>(i));
    int64_t rank = cast<RankedTensorType>(type).getRank();
    bool fits = static_cast<int64_t>(strides.size()) == rank &&
                llvm::all_of(strides, [](int64_t stride) { return stride >= -1; }) &&
                (rank == 0 || strides.back() == -1 || strides.back() == 1);
    if (!strides.empty() && !fits)
      return kernel.emitOpError() << "requires strides of -1 or more for " << rank
                                  << " axes, -1 or 1 for the last, got [" << ArrayRef(strides) << "]";
  }
  return success();
}

/// True for a concatenation of all inputs, each the result of another kernel beside this one.
static bool joinsResults(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  auto join = dyn_cast<ConcatenateOp>(body.front());
  llvm::SmallDenseSet<Value> parts(kernel.getInputs().begin(), kernel.getInputs().end());
  return join && llvm::equal(join.getOperands(), body.getArguments()) && parts.size() == kernel.getInputs().size() &&
         llvm::all_of(parts, [&](Value part) {
           auto producer = viewed(part).getDefiningOp<KernelOp>();
           return producer && producer->getBlock() == kernel->getBlock();
         });
}

static LogicalResult checkInPlace(KernelOp kernel) { // C7
  if (!kernel.getInPlace())
    return success();
  Block &body = kernel.getBody().front();
  auto slice = dyn_cast<SliceOp>(body.front());
  bool takesSlice = slice && kernel.getInputs().size() == 1 && slice.getOperand() == body.getArgument(0) &&
                    llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
  bool isAll = llvm::hasNItems(body, 2) && kernel.getNumResults() == 1 &&
               body.getTerminator()->getOperand(0) == body.front().getResult(0);
  if (!isAll || kernel.getSchedule() || !(takesSlice || joinsResults(kernel)))
    return kernel.emitOpError("requires a concatenation of what kernels beside it compute, or a slice of steps of 1, "
                              "and no schedule, to be in place");
  return success();
}

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  if (failed(checkLeaves(*this, "argument", block.getArgumentTypes(), "input", getInputs().getTypes())) || // C1
      failed(checkLeaves(*this, "yield", yieldedTypes(getBody()), "result", getResultTypes())))            // C2
    return failure();
  Operation *root = nullptr;
  for (Operation &op : block) {
    if (!shapesLoops(op))
      continue;
    if (root) // C3
      return (emitOpError() << "requires at most one op that shapes the loop nest, got " << root->getName() << " and "
                            << op.getName())
                 .attachNote(op.getLoc())
             << "the second one is here";
    root = &op;
  }
  if (root && getKernelTemplate() == KernelTemplate::map) // C4
    return emitOpError() << "of template map requires pointwise and elemental ops only, got " << root->getName();
  ScheduleAttr schedule = getScheduleAttr();
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {
      {"zeros", getZeros().value_or(ArrayRef<int64_t>())},
      {"the schedule's packing", schedule ? schedule.getPacking() : ArrayRef<int64_t>()},
      {"the schedule's zeros", schedule ? schedule.getZeros() : ArrayRef<int64_t>()}};
  for (auto [name, inputs] : lists)
    for (int64_t input : inputs)
      if (input < 0 || input >= static_cast<int64_t>(getInputs().size())) // C5
        return emitOpError() << "requires " << name << " to name inputs 0 to "
                             << static_cast<int64_t>(getInputs().size()) - 1 << ", got " << input;
  return success(succeeded(checkStrides(*this)) && succeeded(checkInPlace(*this)));
}

//===- sizes ---------------------------------------------------------------------------------===//

SmallVector<Dims> KernelOp::resultDims(ShapeQuery &shapes) {
  SmallVector<Dims> results;
  for (Value value : getBody().front().getTerminator()->getOperands())
    results.push_back(shapes.dims(value));
  return results;
}

//===- evaluate ------------------------------------------------------------------------------===//

FailureOr<SmallVector<HostTensor>> KernelOp::evaluate(ArrayRef<HostTensor> operands, Evaluator &evaluator) {
  return evaluator.run(getBody(), operands);
}
