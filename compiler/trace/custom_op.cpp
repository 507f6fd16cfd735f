// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "custom_op.hpp"
#include "Build.h"
#include "Frames.h"
#include "There.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

static Tensor failWith(sinter_status_code code, Where where) {
  Error error(sinter_last_error(), where, StatusCode(code));
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  return errorTensor(error);
#endif
}

/// What the op's results look like.
static std::vector<ResultType> resultTypes(Build &b, const CustomOpOptions &op, std::span<const Tensor> operands) {
  if (op.results)
    return op.results(operands);
  if (operands.empty()) {
    b.fail("a rule for its results or an operand, got neither");
    return {};
  }
  return {{operands[0].dtype(), operands[0].shape()}};
}

static std::vector<Tensor> callNow(Build &b, const CustomOpOptions &op, std::span<const Tensor> operands,
                                   const std::vector<ResultType> &types) {
  std::vector<Tensor> results;
  std::vector<sinter_tensor> inputs, outputs;
  for (const Tensor &operand : operands)
    inputs.push_back(operand.view());
  for (const ResultType &type : types) {
    results.push_back(Tensor::empty(type.dtype, b.shapeOf(type.sizes), b.where));
    if (b.failed() || results.back().error())
      return {b.failed() ? b.error() : results.back()};
    outputs.push_back(results.back().view());
  }
  if (!op.function)
    return {b.fail("a function to run at once, got none")};
  if (sinter_status_code code = sinter_op_call(op.name.c_str(), op.function, int32_t(inputs.size()), inputs.data(),
                                               int32_t(outputs.size()), outputs.data()))
    return {failWith(code, b.where)};
  for (const Tensor &operand : operands)
    for (Tensor &result : results)
      if (deviceOf(operand))
        result = moved(result, deviceOf(operand), b.where);
  return results;
}

static std::vector<Tensor> record(Build &b, const CustomOpOptions &op, std::span<const Tensor> operands,
                                  const std::vector<ResultType> &types) {
  Trace &trace = *Trace::current();
  std::vector<Tensor> sizes;
  std::vector<sinter_value_type> lowered;
  uint64_t hash = hashText(83, op.name.c_str());
  for (const ResultType &type : types) {
    TensorType known{type.dtype, b.shapeOf(type.sizes)};
    for (const Size &size : type.sizes.list)
      if (!size.isKnown())
        sizes.push_back(b.astype(b.sizeTensor(size), DType::i64));
    if (b.failed())
      return {b.error()};
    lowered.push_back(valueType(known));
    hash = hashBytes(hash, known.shape.data(), size_t(known.shape.size()) * 8) * 31 + uint64_t(type.dtype);
  }
  std::vector<uint32_t> ids;
  for (std::span<const Tensor> list : {operands, std::span<const Tensor>(sizes)})
    for (const Tensor &tensor : list) {
      Tensor problem;
      ids.push_back(trace.use(tensor, b.where, problem));
      if (problem.defined())
        return {problem};
    }
  Trace::Step *step;
  if (Tensor problem; trace.replay(hash, ids, b.where, step, problem))
    return step ? step->results : std::vector<Tensor>{problem};
  std::vector<uint32_t> made(lowered.size());
  int32_t count = 0;
  std::span<const uint32_t> all(ids);
  if (!trace.ask(externalCall(op.name, all.first(operands.size()), all.subspan(operands.size()), lowered), made.data(),
                 count, b.where))
    return {trace.failGraph(b.where)};
  std::vector<Tensor> results;
  for (uint32_t id : made)
    results.push_back(trace.wrap(id, b.where));
  trace.append(hash, ids, b.where).results = results;
  return results;
}

/// The results without a gradient, or one tensor with the error.
static std::vector<Tensor> results(const CustomOpOptions &op, std::span<const Tensor> operands, Where where) {
  Build b(op.name.c_str(), where);
  std::vector<ResultType> types = resultTypes(b, op, operands);
  if (!b.failed() && types.empty())
    b.fail("a result, got none");
  if (b.failed())
    return {b.error()};
  return tracing() ? record(b, op, operands, types) : callNow(b, op, operands, types);
}

/// On the tape: a backward walk that comes by is an error.
static void refuseGradient(const CustomOpOptions &op, std::vector<Tensor> operands, std::vector<Tensor> &results,
                           Where where) {
  struct State {
    std::string name;
    Where where;
  };
  auto backward = [](void *held, std::span<const Tensor>, bool) -> std::vector<Tensor> {
    const State &state = *static_cast<const State *>(held);
    return {
        fail(state.where, "op '" + state.name + "' has no gradient: it is a function of the program without a vjp")};
  };
  recordCall(op.name.c_str(), anyTree(operands), anyTree(results), {std::make_shared<State>(op.name, where), backward},
             where);
}

/// The op with derivatives up to `order`: the forward function of each is the op with one less.
static std::vector<Tensor> withGradient(const std::shared_ptr<const CustomOpOptions> &op, Where where,
                                        const std::vector<Tensor> &operands, int order) {
  using List = std::vector<Tensor>;
  if (order == 0)
    return results(*op, operands, where);
  auto call = [op, where](const List &list) { return results(*op, list, where); };
  auto forward = [op, where, order](const List &list) {
    List made = withGradient(op, where, list, order - 1);
    return std::pair(made, std::pair(list, made));
  };
  auto backward = [op](const std::pair<List, List> &kept, const List &cotangents) {
    return op->vjp(kept.first, kept.second, cotangents);
  };
  return custom_vjp(call, forward, backward, where)(operands);
}

} // namespace detail

/// Derivatives of derivatives that an op has: each is one more copy of it in the graph that is recorded.
static constexpr int kOrders = 2;

std::vector<Tensor> CustomOp::all(const std::vector<Tensor> &given) const {
  const CustomOpOptions &op = *options;
  detail::Build b(op.name.c_str(), where);
  if (op.function && sinter_op_register(op.name.c_str(), op.function, op.reference))
    return {detail::fail(where, sinter_last_error())};
  std::vector<Tensor> operands;
  bool anyFloat = false;
  for (const Tensor &tensor : given) {
    operands.push_back(b.strong(tensor));
    if (b.failed())
      return {b.error()};
    if (!detail::tracing() && tensor.traced())
      return {detail::fail(where, detail::leakMessage(tensor))};
    anyFloat |= is_float(tensor.dtype());
  }
  if (op.vjp && anyFloat)
    return detail::withGradient(options, where, operands, kOrders);
  std::vector<Tensor> made = detail::results(op, operands, where);
  if (!detail::tracing() && detail::isRecorded(std::span<const Tensor>(operands)) && !made.front().error())
    detail::refuseGradient(op, operands, made, where);
  return made;
}

CustomOp custom_op(CustomOpOptions options, Where where) {
  if (options.function && sinter_op_register(options.name.c_str(), options.function, options.reference))
    (void)detail::fail(where, sinter_last_error());
  return CustomOp(std::make_shared<const CustomOpOptions>(std::move(options)), where);
}

} // namespace sinter::inline SINTER_HOST
