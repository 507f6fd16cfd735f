// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/EagerKernels.h"
#include "compiler/capi/Public.h"
#include "ir/Dialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <atomic>

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;
using namespace sinter::capi::eager;

/// Sessions with threads that are kept.
static constexpr size_t kMaxThreadedSessions = 8;
/// Kernels that have code, and how often code was made.
static std::atomic<int64_t> numKernels{0}, numCompiles{0};
/// Sessions with threads that lie idle, of all kernels.
static std::atomic<size_t> idleThreadedSessions{0};

/// The size that a kernel is made for where a call has one.
using SizeOf = function_ref<int64_t(int64_t)>;
static int64_t itself(int64_t size) { return size; }

//===- keys ------------------------------------------------------------------------------------------===//

static void addBytes(Key &key, const void *bytes, size_t count) {
  key.append(StringRef(static_cast<const char *>(bytes), count));
}
template <typename T> static void addNumber(Key &key, T value) { addBytes(key, &value, sizeof value); }
static void addText(Key &key, StringRef text) {
  addNumber(key, static_cast<uint32_t>(text.size()));
  key += text;
}

/// Everything about a call but its operands. Attributes that have no valid form give a key that no call is stored
/// under.
static void addOp(Key &key, const Call &call) {
  if (call.device)
    addText(key, (call.op + " on " + call.device->name).str());
  else
    addText(key, call.op);
  addNumber(key, static_cast<uint32_t>(call.attrs.size()));
  addNumber(key, static_cast<uint32_t>(call.levels.size()));
  for (const std::vector<int32_t> &level : call.levels) {
    addNumber(key, static_cast<uint32_t>(level.size()));
    addBytes(key, level.data(), level.size() * sizeof(int32_t));
  }
  for (const sinter_attr &attr : call.attrs) {
    addText(key, attr.name ? attr.name : "");
    addNumber(key, attr.kind);
    auto count = static_cast<size_t>(std::max(attr.count, 0));
    switch (attr.kind) {
    case SINTER_ATTR_STRING:
      addText(key, attr.string ? attr.string : "");
      break;
    case SINTER_ATTR_I64S:
    case SINTER_ATTR_F64S:
      addNumber(key, attr.count);
      if (attr.i64s)
        addBytes(key, attr.i64s, count * 8);
      break;
    case SINTER_ATTR_BOOLS:
      addNumber(key, attr.count);
      if (attr.bools)
        addBytes(key, attr.bools, count);
      break;
    case SINTER_ATTR_STRINGS:
      addNumber(key, attr.count);
      for (size_t k = 0; attr.strings && k < count; ++k)
        addText(key, attr.strings[k] ? attr.strings[k] : "");
      break;
    case SINTER_ATTR_TYPE:
      if (attr.type) {
        addNumber(key, attr.type->dtype);
        addNumber(key, attr.type->rank);
        if (attr.type->rank >= 0 && attr.type->rank <= SINTER_MAX_RANK)
          addBytes(key, attr.type->dims, static_cast<size_t>(attr.type->rank) * sizeof(int64_t));
      }
      break;
    default:
      addNumber(key, attr.i64);
    }
  }
}

/// Each operand's dtype and, by `size(operand, axis)`, its sizes.
static void addOperands(Key &key, const Call &call, SizeOf size) {
  for (const sinter_tensor &tensor : call.operands) {
    addNumber(key, tensor.dtype);
    if (!tensor.dtype)
      continue;
    addNumber(key, tensor.rank);
    for (int32_t axis = 0; axis < tensor.rank; ++axis)
      addNumber(key, size(tensor.dims[axis]));
  }
}

namespace {
/// The sizes of a class: 1 is itself, equal others are one symbol.
struct SizeClass {
  SmallVector<int64_t> seen;
  int64_t operator()(int64_t size) {
    if (size == 1)
      return 1;
    auto it = llvm::find(seen, size);
    if (it == seen.end()) {
      seen.push_back(size);
      return -static_cast<int64_t>(seen.size());
    }
    return -1 - static_cast<int64_t>(it - seen.begin());
  }
};
} // namespace

static Key keyOf(const Call &call, SizeOf size) {
  Key key;
  addOp(key, call);
  addOperands(key, call, size);
  return key;
}

Key eager::keyOfSizes(const Call &call) { return keyOf(call, itself); }

Key eager::keyOfClass(const Call &call) {
  SizeClass sizes;
  return keyOf(call, sizes);
}

//===- functions -------------------------------------------------------------------------------------===//

/// Records the op in `graph` on arguments of the sizes that `size` gives; on success the function is still open.
static sinter_status_code recordOp(sinter_graph &graph, const Call &call, SizeOf size,
                                   SmallVectorImpl<sinter_value> &results) {
  SmallVector<sinter_value_type> types;
  ArrayRef<sinter_tensor> own = call.operands.take_front(call.own);
  for (const sinter_tensor &tensor : own) {
    if (!tensor.dtype)
      continue;
    sinter_value_type type = {tensor.dtype, tensor.rank, {}};
    for (int32_t axis = 0; axis < tensor.rank; ++axis)
      type.dims[axis] = size(tensor.dims[axis]);
    types.push_back(type);
  }
  SmallVector<sinter_value> arguments(types.size()), operands;
  if (sinter_status_code status = graph.begin(call.op.str().c_str(), static_cast<int32_t>(types.size()), types.data(),
                                              nullptr, arguments.data()))
    return status;
  size_t next = 0;
  for (const sinter_tensor &tensor : own)
    operands.push_back(tensor.dtype ? arguments[next++] : 0);
  results.assign(16, 0);
  int32_t count = 0;
  sinter_status_code status = graph.record(call.op, operands, call.attrs, 16, results.data(), &count);
  results.resize(status ? 0 : static_cast<size_t>(count));
  return status;
}

/// Replaces a function by its derivative with respect to `wrt`, which gives gradients only.
static sinter_status_code differentiate(sinter_graph &graph, ArrayRef<int32_t> wrt, int32_t &function) {
  sinter_gradient_options options = {};
  options.struct_size = sizeof options;
  options.mode = SINTER_VJP;
  int32_t made = 0;
  if (sinter_status_code status =
          sinter_graph_gradient(&graph, function, static_cast<int32_t>(wrt.size()), wrt.data(), &options, &made))
    return status;
  graph.functions[static_cast<size_t>(function)].op.setPrivate();
  sinter_graph::Function &derivative = graph.functions[static_cast<size_t>(made)];
  func::FuncOp op = derivative.op;
  Block &block = op.getBody().front();
  auto values = static_cast<unsigned>(derivative.outputs.size() - wrt.size());
  block.getTerminator()->eraseOperands(0, values);
  derivative.outputs.erase(derivative.outputs.begin(), derivative.outputs.begin() + values);
  derivative.outputNames.erase(derivative.outputNames.begin(), derivative.outputNames.begin() + values);
  SmallVector<DictionaryAttr> attributes;
  op.getAllResultAttrs(attributes);
  op.setFunctionType(
      FunctionType::get(op.getContext(), block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  op.setAllResultAttrs(ArrayRef(attributes).drop_front(values));
  SmallVector<Operation *> ops;
  for (Operation &inner : block.without_terminator())
    ops.push_back(&inner);
  for (Operation *inner : llvm::reverse(ops))
    if (isOpTriviallyDead(inner))
      graph.bury(inner);
  function = made;
  return SINTER_OK;
}

/// Records the op, or its derivative, as function `function` of `graph`.
static sinter_status_code recordFunction(sinter_graph &graph, const Call &call, SizeOf size, int32_t &function) {
  SmallVector<sinter_value> results;
  if (sinter_status_code status = recordOp(graph, call, size, results))
    return status;
  if (sinter_status_code status = graph.end(static_cast<int32_t>(results.size()), results.data(), nullptr, &function))
    return status;
  for (const std::vector<int32_t> &wrt : call.levels)
    if (sinter_status_code status = differentiate(graph, wrt, function))
      return status;
  return SINTER_OK;
}

sinter_status_code eager::recordOp(sinter_graph &graph, const Call &call, SmallVectorImpl<sinter_value> &results) {
  return ::recordOp(graph, call, itself, results);
}

sinter_status_code eager::recordFunction(sinter_graph &graph, const Call &call, int32_t &function) {
  return ::recordFunction(graph, call, itself, function);
}

//===- kernels ---------------------------------------------------------------------------------------===//

/// Compiles the op, or its derivative, for the sizes that `size` gives, of which `numSymbols` are symbols; `reads`
/// becomes what a derivative reads.
static sinter_status_code compileKernel(const Call &call, SizeOf size, unsigned numSymbols, sinter_module *&module,
                                        SmallVectorImpl<bool> &reads) {
  sinter_graph graph;
  for (unsigned k = 0; k < numSymbols; ++k) {
    sinter_dim dim;
    sinter_graph_symbol(&graph, ("n" + std::to_string(k)).c_str(), &dim);
  }
  int32_t function = 0;
  if (sinter_status_code status = recordFunction(graph, call, size, function))
    return status;
  reads.clear();
  if (!call.levels.empty())
    for (Value argument : graph.functions[static_cast<size_t>(function)].op.getArguments())
      reads.push_back(!argument.use_empty());
  sinter_compile_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  options.device = call.device ? call.device->name.c_str() : nullptr;
  return sinter_graph_compile(&graph, &options, &module);
}

sinter_status_code Kernel::make(const Call &call, bool exact) {
  std::lock_guard<std::mutex> guard(making);
  if (made)
    return status ? fail(status, error) : SINTER_OK;
  SizeClass classOf, all;
  for (const sinter_tensor &tensor : call.operands)
    for (int32_t axis = 0; tensor.dtype && axis < tensor.rank; ++axis)
      all(tensor.dims[axis]);
  ++numCompiles;
  sinter_status_code result =
      exact ? compileKernel(call, itself, 0, module, readOperands)
            : compileKernel(call, classOf, static_cast<unsigned>(all.seen.size()), module, readOperands);
  // What memory, files or descriptors did not allow may go well the next time.
  if (result != SINTER_OK && result != SINTER_INVALID_ARGUMENT && result != SINTER_UNSUPPORTED &&
      result != SINTER_INTERNAL)
    return result;
  status = result;
  error = status ? sinter_last_error() : "";
  made = true;
  numKernels += !status;
  return status;
}

Kernel::~Kernel() {
  for (sinter_session *session : idle)
    sinter_session_destroy(session);
  for (sinter_session *session : idleThreaded) {
    sinter_session_destroy(session);
    --idleThreadedSessions;
  }
  numKernels -= module != nullptr;
  sinter_module_close(module);
}

int64_t Kernel::count() { return numKernels; }
int64_t Kernel::compiles() { return numCompiles; }

sinter_status_code Kernel::take(bool threaded, sinter_session **session) {
  {
    std::lock_guard<std::mutex> guard(lock);
    auto &sessions = threaded ? idleThreaded : idle;
    if (!sessions.empty()) {
      *session = sessions.back();
      sessions.pop_back();
      idleThreadedSessions -= threaded;
      return SINTER_OK;
    }
  }
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = threaded ? 0 : 1;
  return sinter_session_create(module, 0, &options, session);
}

void Kernel::give(bool threaded, sinter_session *session) {
  if (threaded && idleThreadedSessions >= kMaxThreadedSessions)
    return sinter_session_destroy(session);
  std::lock_guard<std::mutex> guard(lock);
  (threaded ? idleThreaded : idle).push_back(session);
  idleThreadedSessions += threaded;
}
