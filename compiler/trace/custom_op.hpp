// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C function of the program as an op: at once, in traced functions with their loops and branches, and in code that is
// compiled ahead of time, which refers to the function by its name.
//
//   extern "C" int32_t my_softplus(int32_t, const sinter_tensor *x, int32_t, const sinter_tensor *y, char *message);
//   sn::CustomOp softplus = sn::custom_op({
//       .name = "my_softplus",
//       .function = my_softplus,
//       .vjp = [](auto x, auto, auto dy) -> std::vector<sn::Tensor> { return {dy[0] * sn::sigmoid(x[0])}; }});
//   auto slope = sn::jit(sn::grad([&](sn::Tensor x) { return sn::sum(softplus(x)); }));
//
// Not part of sinter.hpp. <sinter/sinter.h> (sinter_op_fn) says what the function may do, and on which threads it runs.

#ifndef SINTER_TRACE_CUSTOM_OP_HPP
#define SINTER_TRACE_CUSTOM_OP_HPP

#include "gradient.hpp"
#include <functional>

namespace sinter::inline SINTER_HOST {

/// What a result of an op looks like.
struct ResultType {
  DType dtype;
  Sizes sizes;
};

struct CustomOpOptions {
  /// Of the function in the program, a C identifier: what code that is compiled ahead of time calls.
  std::string name;
  /// Null for an op that is only compiled ahead of time.
  sinter_op_fn function = nullptr;
  /// What the reference evaluator calls; null: `function`.
  sinter_op_fn reference = nullptr;
  /// The types of the results, from operands, of which it may ask types and sizes; in traces with named sizes these are
  /// computed. None: one result with the type of the first operand.
  std::function<std::vector<ResultType>(std::span<const Tensor> operands)> results = {};
  /// A cotangent for each operand, of its type, from operands, results, and the results' cotangents; those of operands
  /// and results that are no floats are Tensor(). It is a function of tensors as any other, which may call ops like
  /// this one: second derivatives are its own, and there are no third ones. Forward mode (jvp) transposes it, as it is
  /// linear in the cotangents. None: asking for a gradient, or a tangent, is an error.
  std::function<std::vector<Tensor>(std::span<const Tensor> operands, std::span<const Tensor> results,
                                    std::span<const Tensor> cotangents)>
      vjp = {};
};

/// Made by custom_op. Copies are the same op.
class CustomOp {
public:
  explicit CustomOp(std::shared_ptr<const CustomOpOptions> options, Where where)
      : options(std::move(options)), where(where) {}

  /// The first result.
  ///
  /// Errors: the function's own, with its message and status; no such function (code in memory); more than 64
  /// operands and results; a gradient without a vjp.
  template <class... T>
    requires(std::is_convertible_v<const T &, Tensor> && ...)
  Tensor operator()(const T &...operands) const {
    return all({Tensor(operands)...}).front();
  }
  /// All results.
  std::vector<Tensor> all(const std::vector<Tensor> &operands) const;

private:
  std::shared_ptr<const CustomOpOptions> options;
  Where where;
};

/// Enters the function under its name in the table of this process, from which code in memory takes it: one name, one
/// function. A name that is known with another function, or is none of C, is an error, here or (without exceptions) of
/// each call.
CustomOp custom_op(CustomOpOptions options, Where where = Where::current());

} // namespace sinter::inline SINTER_HOST

#endif
