// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the program in graphs, and how the evaluator reaches them and the log.

#include "ir/External.h"
#include "backends/schedule/Signature.h"
#include "compiler/capi/Public.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

//===- the evaluator ---------------------------------------------------------------------------------===//

/// A view of `tensor`.
static sinter_tensor viewOf(const HostTensor &tensor, const char *data) {
  sinter_tensor view = {};
  view.data = const_cast<char *>(data);
  view.dtype = schedule::dtypeOf(tensor.elementType());
  view.rank = static_cast<int32_t>(tensor.rank());
  llvm::copy(tensor.shape(), view.dims);
  return view;
}

static SmallVector<sinter_tensor> viewsOf(ArrayRef<HostTensor> tensors) {
  return llvm::map_to_vector(tensors, [](const HostTensor &tensor) { return viewOf(tensor, tensor.data()); });
}

static std::string callReference(StringRef symbol, ArrayRef<HostTensor> operands, MutableArrayRef<HostTensor> results) {
  std::string name = symbol.str();
  sinter_op_fn function = sinter_op_find(name.c_str(), /*reference=*/1);
  if (!function)
    return "op '" + name + "' requires a function of the program, which is not registered (sinter_op_register)";
  SmallVector<sinter_tensor> inputs = viewsOf(operands), outputs;
  for (HostTensor &result : results)
    outputs.push_back(viewOf(result, result.data()));
  bool failed = sinter_op_call(name.c_str(), function, static_cast<int32_t>(inputs.size()), inputs.data(),
                               static_cast<int32_t>(outputs.size()), outputs.data()) != SINTER_OK;
  return failed ? sinter_last_error() : "";
}

static std::string printText(StringRef format, ArrayRef<HostTensor> operands) {
  SmallVector<sinter_tensor> inputs = viewsOf(operands);
  bool failed =
      sinter_debug_print(format.str().c_str(), static_cast<int32_t>(inputs.size()), inputs.data()) != SINTER_OK;
  return failed ? sinter_last_error() : "";
}

void capi::setHostCalls() {
  static const bool once = [] {
    hostCalls() = {callReference, printText};
    return true;
  }();
  (void)once;
}

//===- graphs ----------------------------------------------------------------------------------------===//

sinter_status_code sinter_graph_external(sinter_graph *graph, const char *name, int32_t numOperands,
                                         const sinter_value *operands, int32_t numSizes, const sinter_value *sizes,
                                         int32_t numResults, const sinter_value_type *types, sinter_value *results) {
  if (!graph || !name || numOperands < 0 || (numOperands && !operands) || numSizes < 0 || (numSizes && !sizes) ||
      numResults < 1 || !types || !results)
    return invalid("external op requires a graph, a name, operands, sizes and results, got null or a wrong count");
  if (sinter_status_code status = graph->requireFrame("external op"))
    return status;
  std::string what = (Twine("op '") + name + "'").str();
  SmallVector<Value> given, open;
  if (sinter_status_code status = graph->resolveAll(ArrayRef(operands, numOperands), what + ": operand", given))
    return status;
  if (sinter_status_code status = graph->resolveAll(ArrayRef(sizes, numSizes), what + ": size", open))
    return status;
  SmallVector<Type> made;
  SmallVector<int64_t> dims;
  for (int32_t k = 0; k < numResults; ++k) {
    if (sinter_status_code status = checkType(&types[k], what + ": result " + Twine(k), graph->symbols.size()))
      return status;
    made.push_back(tensorTypeOf(graph->context.get(), types[k]));
    for (int64_t size : ArrayRef(types[k].dims, static_cast<size_t>(types[k].rank))) {
      if (size < 0 && size != SINTER_DIM_UNKNOWN)
        return invalid(what + " requires sizes of results as numbers or operands, got a symbol");
      dims.push_back(size < 0 ? -1 : size);
    }
  }
  OpBuilder b(graph->context.get());
  OperationState state(graph->location, CallExternalOp::getOperationName());
  CallExternalOp::build(b, state, made, b.getStringAttr(name), given, open, b.getDenseI64ArrayAttr(dims));
  Operation *op = graph->insert(state);
  if (!op)
    return graph->failWithDiagnostic(what + " is not possible with these operands");
  int32_t count = 0;
  graph->numberAll(op->getResults(), results, &count);
  return SINTER_OK;
}
