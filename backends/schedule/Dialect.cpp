// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Dialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

#include "backends/schedule/ScheduleDialect.cpp.inc"
#include "backends/schedule/ScheduleEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "backends/schedule/ScheduleAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "backends/schedule/ScheduleTypes.cpp.inc"

#define GET_OP_CLASSES
#include "backends/schedule/ScheduleOps.cpp.inc"

void ScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "backends/schedule/ScheduleAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "backends/schedule/ScheduleTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "backends/schedule/ScheduleOps.cpp.inc"
      >();
}

LogicalResult FunctionOp::verifyRegions() {
  llvm::SmallVector<bool> asked(getOutputs(), false);
  auto checked = walk([&](Operation *op) {
    if (auto input = dyn_cast<InputOp>(op); input && input.getIndex() >= getInputs()) // C2
      return input.emitOpError("requires an input below ") << getInputs() << ", got " << input.getIndex(),
             WalkResult::interrupt();
    if (auto size = dyn_cast<InputSizeOp>(op); size && size.getInput() >= getInputs()) // C2
      return size.emitOpError("requires an input below ") << getInputs() << ", got " << size.getInput(),
             WalkResult::interrupt();
    if (auto output = dyn_cast<OutputOp>(op)) {
      if (output.getIndex() >= getOutputs()) // C2
        return output.emitOpError("requires an output below ") << getOutputs() << ", got " << output.getIndex(),
               WalkResult::interrupt();
      asked[output.getIndex()] = true;
    }
    return WalkResult::advance();
  });
  if (checked.wasInterrupted())
    return failure();
  if (auto *missing = llvm::find(asked, false); missing != asked.end()) // C1
    return emitOpError("requires memory for each output, found none for output ") << missing - asked.begin();
  return success();
}

LogicalResult ArenaOp::verify() {
  size_t count = getBuffers().size();
  if (getSizes().size() != count || getLives().size() != 2 * count) // C1
    return emitOpError("requires a size and a life (two positions) for each of ")
           << count << " buffers, got " << getSizes().size() << " sizes and " << getLives().size() << " positions";
  for (size_t i = 0; i < count; ++i)
    if (getLives()[2 * i] > getLives()[2 * i + 1]) // C2
      return emitOpError("requires lives that begin before they end, got ")
             << getLives()[2 * i] << " to " << getLives()[2 * i + 1] << " for buffer " << i;
  return success();
}

LogicalResult LaunchOp::verify() {
  int64_t before = -1;
  for (int64_t number : getWrites()) { // C1
    bool isBuffer = number >= 0 && number < static_cast<int64_t>(getArguments().size()) &&
                    isa<BufferType>(getArguments()[number].getType());
    if (!isBuffer || number <= before)
      return emitOpError("requires ascending numbers of buffers in 'writes', got ") << number;
    before = number;
  }
  return success();
}

LogicalResult PollOp::verify() {
  if (!llvm::isPowerOf2_64(getEvery()))
    return emitOpError("requires a power of two of trips, got ") << getEvery();
  return success();
}
