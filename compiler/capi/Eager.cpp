// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op at once. A kernel is compiled for an op, its attributes, and a class of shapes: dtypes, ranks, which sizes are
// 1, and which are equal. It then serves all shapes of its class. What is remembered of one exact list of shapes is
// that the op's shape rule allows it (a kernel does not check that) and the shapes that come out.
//
// Ops that only move elements are not worth a kernel while they move few: a copy by strides (Moves.h) or the evaluator
// gives the same bits.

#include "compiler/capi/EagerGradient.h"
#include "compiler/capi/EagerKernels.h"
#include "compiler/capi/JitCache.h"
#include "compiler/capi/Moves.h"
#include "compiler/capi/Public.h"
#include "ir/Dialect.h"
#include "ir/Shapes.h"
#include "ir/reference/Evaluator.h"
#include "llvm/ADT/StringMap.h"
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;
using namespace sinter::capi::eager;

/// Elements up to which ops that move elements are evaluated, and from which kernels get threads.
static constexpr int64_t kEvaluatedElements = 4096, kThreadedElements = 65536;
/// Shapes that are remembered, all forgotten when there are more (as kernels are above jitLimit).
static constexpr size_t kMaxPlans = 16384;

namespace {
/// What is known about one list of shapes.
struct Plan {
  bool exact = false;             // the kernel is for these sizes only
  bool moves = false;             // copied by strides
  std::shared_ptr<Kernel> kernel; // null: evaluated
  SmallVector<sinter_value_type> outputs;
};

/// Never destroyed: kernels may be in use by threads that outlive main.
struct Cache {
  std::shared_mutex lock;
  llvm::StringMap<std::shared_ptr<Plan>> plans;
  llvm::StringMap<std::shared_ptr<Kernel>> kernels;
  std::atomic<int64_t> hits{0};
};

/// A graph that this thread uses over and over.
struct Scratch {
  std::unique_ptr<sinter_graph> graph;
  int uses = 0;

  sinter_graph &fresh() {
    if (!graph || ++uses > 4096) { // types and attributes stay until the context goes
      graph = std::make_unique<sinter_graph>();
      uses = 0;
    }
    return *graph;
  }
};
} // namespace

static Cache &cache() {
  static Cache &instance = *new Cache();
  return instance;
}

void capi::eagerCounts(int64_t &hits, int64_t &compiles) {
  hits = cache().hits;
  compiles = Kernel::compiles();
}

//===- plans -----------------------------------------------------------------------------------------===//

/// The kernel of the call's class, which may have no code yet.
static std::shared_ptr<Kernel> kernelOfClass(const Call &call) {
  Key key = keyOfClass(call);
  std::lock_guard<std::shared_mutex> guard(cache().lock);
  if (Kernel::count() >= jitLimit() || cache().kernels.size() >= kMaxPlans) {
    cache().plans.clear(); // who runs one of them holds it
    cache().kernels.clear();
  }
  std::shared_ptr<Kernel> &kernel = cache().kernels[key];
  if (!kernel)
    kernel = std::make_shared<Kernel>();
  return kernel;
}

/// Applies the shape rule to these exact shapes and finds or adds the kernel of their class.
static sinter_status_code makePlan(const Call &call, bool reference, std::shared_ptr<Plan> &plan) {
  static thread_local Scratch scratch;
  sinter_graph &graph = scratch.fresh();
  SmallVector<sinter_value> results;
  sinter_mark outside = {};
  outside.values = 1;
  sinter_status_code status = recordOp(graph, call, results);
  int64_t elements = 0;
  bool moves = false;
  plan = std::make_shared<Plan>();
  if (!status) {
    for (sinter_value result : results) {
      sinter_value_type type = graph.typeOf(graph.values[result].value);
      int64_t count = 1;
      for (int64_t &dim : llvm::MutableArrayRef(type.dims, type.rank)) {
        dim = std::max<int64_t>(dim, -1); // a symbol of this graph says nothing later
        count = dim < 0 ? kThreadedElements : count * std::min(dim, kThreadedElements);
        count = std::min(count, kThreadedElements);
      }
      elements = std::max(elements, count);
      plan->outputs.push_back(type);
    }
    Operation *op = results.empty() ? nullptr : graph.values[results.front()].value.getDefiningOp();
    moves = op && isa<Elemental>(op);
  }
  (void)graph.truncate(outside);
  if (status)
    return status;
  for (const sinter_tensor &tensor : call.operands)
    if (tensor.dtype)
      elements = std::max(elements, countElements(ArrayRef(tensor.dims, tensor.rank)).value_or(0));
  plan->moves = !reference && !call.device && isMove(call.op) && elements < kThreadedElements;
  if (reference || plan->moves || (!call.device && moves && elements <= kEvaluatedElements))
    return SINTER_OK;
  plan->kernel = kernelOfClass(call);
  return SINTER_OK;
}

/// Gradients have the types of what they are gradients of.
static std::shared_ptr<Plan> planDerivative(const Call &call) {
  auto plan = std::make_shared<Plan>();
  SmallVector<const sinter_tensor *> present;
  for (const sinter_tensor &tensor : call.operands)
    if (tensor.dtype)
      present.push_back(&tensor);
  for (int32_t k : call.levels.back()) {
    sinter_value_type type = {present[static_cast<size_t>(k)]->dtype, present[static_cast<size_t>(k)]->rank, {}};
    llvm::copy(ArrayRef(present[static_cast<size_t>(k)]->dims, type.rank), type.dims);
    plan->outputs.push_back(type);
  }
  plan->kernel = kernelOfClass(call);
  return plan;
}

//===- running ---------------------------------------------------------------------------------------===//

/// Whether everything is evaluated: SINTER_EAGER=reference.
static bool isReference() {
  static const bool reference = [] {
    const char *choice = std::getenv("SINTER_EAGER");
    return choice && StringRef(choice) == "reference";
  }();
  return reference;
}

static sinter_status_code evaluateDerivative(const Call &call, std::span<sinter_tensor> outputs) {
  sinter_graph graph;
  int32_t function = 0, count = 0;
  if (sinter_status_code status = recordFunction(graph, call, function))
    return status;
  SmallVector<sinter_tensor> present;
  for (const sinter_tensor &tensor : call.operands)
    if (tensor.dtype)
      present.push_back(tensor);
  return sinter_graph_evaluate(&graph, function, static_cast<int32_t>(present.size()), present.data(),
                               static_cast<int32_t>(outputs.size()), outputs.data(), &count);
}

static sinter_status_code evaluate(const Call &call, sinter_tensor *outputs) {
  static thread_local Scratch scratch;
  sinter_graph &graph = scratch.fresh();
  SmallVector<sinter_value> results;
  sinter_mark outside = {};
  outside.values = 1;
  sinter_status_code status = recordOp(graph, call, results);
  if (!status) {
    SmallVector<HostTensor> operands;
    for (const sinter_tensor &tensor : call.operands)
      if (tensor.dtype)
        operands.push_back(hostTensorOf(graph.context.get(), tensor));
    Evaluator evaluator;
    FailureOr<SmallVector<HostTensor>> values =
        evaluator.run(graph.values[results.front()].value.getDefiningOp(), operands);
    status = failed(values) ? fail(SINTER_RUNTIME_ERROR,
                                   graph.message.empty() ? call.op + " cannot be evaluated" : Twine(graph.message))
                            : copyOutputs(*values, outputs);
  }
  (void)graph.truncate(outside);
  return status;
}

int64_t capi::eagerKernels() { return Kernel::count(); }

void capi::clearEager() {
  llvm::StringMap<std::shared_ptr<Plan>> plans;
  llvm::StringMap<std::shared_ptr<Kernel>> kernels;
  std::lock_guard<std::shared_mutex> guard(cache().lock);
  std::swap(plans, cache().plans); // who runs one of them holds it
  std::swap(kernels, cache().kernels);
}

/// Bytes of `count` elements, two in one where they have 4 bits.
static size_t bytesOf(int32_t dtype, int64_t count) {
  return static_cast<size_t>(sinter_dtype_bytes(dtype) ? count * sinter_dtype_bytes(dtype) : count / 2 + count % 2);
}

static sinter_status_code runKernel(Kernel &kernel, const Plan &plan, const Call &call, sinter_tensor *outputs) {
  SmallVector<sinter_tensor, 8> inputs;
  int64_t elements = 0;
  for (const sinter_tensor &tensor : call.operands)
    if (tensor.dtype) {
      inputs.push_back(tensor);
      elements = std::max(elements, countElements(ArrayRef(tensor.dims, tensor.rank)).value_or(0));
    }
  size_t count = plan.outputs.size();
  SmallVector<bool> owned(count, false);
  sinter_status_code status = SINTER_OK;
  for (size_t k = 0; k < count; ++k) {
    const sinter_value_type &type = plan.outputs[k];
    ArrayRef<int64_t> dims(type.dims, type.rank);
    outputs[k] = {};
    if (llvm::any_of(dims, [](int64_t size) { return size < 0; }))
      continue;
    int64_t size = countElements(dims).value_or(0);
    elements = std::max(elements, size);
    outputs[k].data = std::aligned_alloc(64, std::max<size_t>((bytesOf(type.dtype, size) + 63) / 64 * 64, 64));
    if (!outputs[k].data)
      status = fail(SINTER_OUT_OF_MEMORY, call.op + " has no memory for its result");
    owned[k] = true;
    outputs[k].dtype = type.dtype;
    outputs[k].rank = type.rank;
    llvm::copy(dims, outputs[k].dims);
  }
  bool threaded = elements >= kThreadedElements;
  sinter_session *session = nullptr;
  if (!status)
    status = kernel.take(threaded, &session);
  if (!status)
    status = sinter_session_call(session, static_cast<int32_t>(inputs.size()), inputs.data(),
                                 static_cast<int32_t>(count), outputs);
  for (size_t k = 0; !status && k < count; ++k) {
    if (owned[k])
      continue; // else in the session's memory
    size_t bytes = bytesOf(outputs[k].dtype, countElements(ArrayRef(outputs[k].dims, outputs[k].rank)).value_or(0));
    void *copy = std::aligned_alloc(64, std::max<size_t>((bytes + 63) / 64 * 64, 64));
    if (!copy)
      status = fail(SINTER_OUT_OF_MEMORY, call.op + " has no memory for its result");
    else if (bytes)
      std::memcpy(copy, outputs[k].data, bytes);
    outputs[k].data = copy;
    owned[k] = true;
  }
  if (session)
    kernel.give(threaded, session);
  if (!status)
    return SINTER_OK;
  for (size_t k = 0; k < count; ++k) {
    if (owned[k])
      std::free(outputs[k].data);
    outputs[k] = {};
  }
  return status;
}

/// What is remembered of these exact shapes, null for nothing; `key` becomes their key.
static std::shared_ptr<Plan> findPlan(const Call &call, Key &key) {
  key = keyOfSizes(call);
  std::shared_lock<std::shared_mutex> guard(cache().lock);
  auto it = cache().plans.find(key);
  if (it == cache().plans.end())
    return nullptr;
  ++cache().hits;
  return it->second;
}

static void keepPlan(const Key &key, std::shared_ptr<Plan> plan) {
  std::lock_guard<std::shared_mutex> guard(cache().lock);
  if (cache().plans.size() >= kMaxPlans)
    cache().plans.clear();
  cache().plans[key] = std::move(plan);
}

/// Compiles the plan's kernel where it has no code yet.
static sinter_status_code settleKernel(const Call &call, const Key &key, std::shared_ptr<Plan> &plan) {
  sinter_status_code status = plan->kernel->make(call, plan->exact);
  if (!status || plan->exact)
    return status;
  // some ops want sizes that a class leaves open (a filter's, a tuple's length)
  auto own = std::make_shared<Plan>(*plan);
  own->kernel = std::make_shared<Kernel>();
  own->exact = true;
  if ((status = own->kernel->make(call, true)))
    return status;
  plan = own;
  std::lock_guard<std::shared_mutex> guard(cache().lock);
  cache().plans[key] = plan;
  return SINTER_OK;
}

/// Computes on copies of the operands on the host, and copies results to the device.
static sinter_status_code onHost(const Call &call, size_t count,
                                 function_ref<sinter_status_code(const Call &host, sinter_tensor *outputs)> compute,
                                 std::vector<ThereTensor> &results) {
  SmallVector<sinter_tensor> operands(call.operands), outputs(count);
  std::vector<std::unique_ptr<void, decltype(&std::free)>> copies;
  for (auto [k, there] : llvm::enumerate(call.there)) {
    if (!there)
      continue;
    size_t bytes = bytesOf(operands[k].dtype, countElements(ArrayRef(operands[k].dims, operands[k].rank)).value_or(0));
    copies.emplace_back(std::aligned_alloc(64, std::max<size_t>((bytes + 63) / 64 * 64, 64)), &std::free);
    operands[k].data = copies.back().get();
    if (!operands[k].data)
      return fail(SINTER_OUT_OF_MEMORY, call.op + " has no memory for copies of its operands");
    if (sinter_status_code status = copyToHost(*call.device, *there, operands[k].data))
      return status;
  }
  Call host = call;
  host.operands = operands;
  host.there = {};
  if (sinter_status_code status = compute(host, outputs.data()))
    return status;
  results.resize(count);
  sinter_status_code status = SINTER_OK;
  for (auto [output, result] : llvm::zip(outputs, results)) {
    if (!status)
      status = copyToDevice(*call.device, output, result);
    sinter_tensor_free(&output);
  }
  return status;
}

static sinter_status_code runThere(Kernel &kernel, const Plan &plan, const Call &call,
                                   std::vector<ThereTensor> &results) {
  if (!kernel.runsThere()) // the device has no form of any kernel
    return onHost(
        call, plan.outputs.size(),
        [&](const Call &host, sinter_tensor *outputs) { return runKernel(kernel, plan, host, outputs); }, results);
  SmallVector<EagerOperand, 8> inputs;
  for (auto [tensor, there] : llvm::zip(call.operands, call.there))
    if (tensor.dtype)
      inputs.push_back({tensor, there});
  results.assign(plan.outputs.size(), {});
  for (auto [type, result] : llvm::zip(plan.outputs, results))
    if (llvm::all_of(ArrayRef(type.dims, type.rank), [](int64_t size) { return size >= 0; }))
      if (sinter_status_code status = makeRoom(*call.device, type, result))
        return status;
  sinter_session *session = nullptr;
  if (sinter_status_code status = kernel.take(/*threaded=*/false, &session))
    return status;
  sinter_status_code status = callThere(session, std::span(inputs.data(), inputs.size()), results);
  kernel.give(/*threaded=*/false, session);
  return status;
}

static sinter_status_code checkOperands(const Call &call) {
  for (auto [k, tensor] : llvm::enumerate(call.operands))
    if (tensor.dtype)
      if (sinter_status_code status = checkTensor(&tensor, call.op + ": operand " + Twine(k)))
        return status;
  return SINTER_OK;
}

/// What is known about the shapes of an op's call, whose operands are checked.
static sinter_status_code findOrMakePlan(const Call &call, Key &key, std::shared_ptr<Plan> &plan) {
  if (sinter_status_code status = checkOperands(call))
    return status;
  if ((plan = findPlan(call, key)))
    return SINTER_OK;
  if (sinter_status_code status = makePlan(call, isReference(), plan))
    return status;
  keepPlan(key, plan);
  return SINTER_OK;
}

sinter_status_code sinter_eager(const char *op, int32_t num_operands, const sinter_tensor *operands, int32_t num_attrs,
                                const sinter_attr *attrs, int32_t room, sinter_tensor *outputs, int32_t *count) {
  if (!op || !count || num_operands < 0 || num_attrs < 0 || (num_operands && !operands) || (num_attrs && !attrs))
    return invalid("eager requires an op, operands, attributes and a place for the number of results, got null");
  Call call{op, ArrayRef(operands, static_cast<size_t>(num_operands)), ArrayRef(attrs, static_cast<size_t>(num_attrs))};
  Key key;
  std::shared_ptr<Plan> plan;
  if (sinter_status_code status = findOrMakePlan(call, key, plan))
    return status;
  *count = static_cast<int32_t>(plan->outputs.size());
  if (room < *count || (*count && !outputs))
    return invalid(call.op + " requires room for " + Twine(*count) + " results, got " + Twine(outputs ? room : 0));
  if (plan->moves && move(call.op, call.operands[0], call.attrs, plan->outputs[0], outputs[0]))
    return SINTER_OK;
  if (!plan->kernel)
    return evaluate(call, outputs);
  if (sinter_status_code status = settleKernel(call, key, plan))
    return status;
  return runKernel(*plan->kernel, *plan, call, outputs);
}

sinter_status_code capi::eagerOn(const EagerDevice &device, const char *op, std::span<const EagerOperand> operands,
                                 std::span<const sinter_attr> attrs, std::vector<ThereTensor> &results) {
  SmallVector<sinter_tensor, 8> tensors;
  SmallVector<const ThereTensor *, 8> there;
  for (const EagerOperand &operand : operands) {
    tensors.push_back(operand.tensor);
    there.push_back(operand.there);
  }
  Call call{op, tensors, ArrayRef(attrs.data(), attrs.size())};
  call.device = &device;
  call.there = there;
  Key key;
  std::shared_ptr<Plan> plan;
  if (sinter_status_code status = findOrMakePlan(call, key, plan))
    return status;
  if (!plan->kernel)
    return onHost(call, plan->outputs.size(), evaluate, results);
  if (sinter_status_code status = settleKernel(call, key, plan))
    return status;
  return runThere(*plan->kernel, *plan, call, results);
}

static Call derivativeCall(const EagerDerivative &derivative) {
  return {derivative.op, ArrayRef(derivative.operands.data(), derivative.operands.size()),
          ArrayRef(derivative.attrs.data(), derivative.attrs.size()),
          ArrayRef(derivative.levels.data(), derivative.levels.size()), derivative.own};
}

/// The plan of a derivative, whose kernel has code.
static sinter_status_code settleDerivative(const EagerDerivative &derivative, const Call &call,
                                           std::shared_ptr<Plan> &plan, bool &needsChanged) {
  Key key;
  plan = findPlan(call, key);
  if (!plan) {
    plan = planDerivative(call);
    keepPlan(key, plan);
  }
  if (sinter_status_code status = settleKernel(call, key, plan))
    return status;
  size_t present = 0;
  for (auto [k, tensor] : llvm::enumerate(call.operands))
    if (tensor.dtype && plan->kernel->reads(present++) && k < derivative.changed.size() && derivative.changed[k]) {
      needsChanged = true;
      return invalid("the gradient of " + call.op + " needs operand " + Twine(k) + ", which was changed in place");
    }
  return SINTER_OK;
}

sinter_status_code capi::eagerDerivative(const EagerDerivative &derivative, std::span<sinter_tensor> outputs,
                                         bool &needsChanged) {
  needsChanged = false;
  Call call = derivativeCall(derivative);
  assert(!call.levels.empty() && outputs.size() == call.levels.back().size() &&
         "a derivative gives its last gradients");
  if (isReference())
    return evaluateDerivative(call, outputs);
  std::shared_ptr<Plan> plan;
  if (sinter_status_code status = settleDerivative(derivative, call, plan, needsChanged))
    return status;
  return runKernel(*plan->kernel, *plan, call, outputs.data());
}

sinter_status_code capi::eagerDerivativeOn(const EagerDevice &device, const EagerDerivative &derivative,
                                           std::span<const ThereTensor *const> there, std::vector<ThereTensor> &results,
                                           bool &needsChanged) {
  needsChanged = false;
  Call call = derivativeCall(derivative);
  call.device = &device;
  call.there = ArrayRef(there.data(), there.size());
  size_t count = call.levels.back().size();
  if (isReference())
    return onHost(
        call, count,
        [&](const Call &host, sinter_tensor *outputs) { return evaluateDerivative(host, std::span(outputs, count)); },
        results);
  std::shared_ptr<Plan> plan;
  if (sinter_status_code status = settleDerivative(derivative, call, plan, needsChanged))
    return status;
  return runThere(*plan->kernel, *plan, call, results);
}
