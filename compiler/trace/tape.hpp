// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of programs that run: ops on tensors that require a gradient, and on what comes of those, are recorded as
// they run, and `backward` walks back from a result. Loops, branches and recursion are those of C++.
//
//   Tensor w = Tensor({1., 2.}).requires_grad();
//   Tensor y = sum(w * w);
//   while (y < 100) // as often as the numbers say
//     y = y * sum(w);
//   backward(y);
//   Tensor slope = w.grad();
//
// Backward ops are those of `grad`, each compiled once for a class of shapes. What was recorded is given back by
// `backward`, unless it is asked to keep it, and when the last tensor that was computed by it goes.

#ifndef SINTER_TRACE_TAPE_HPP
#define SINTER_TRACE_TAPE_HPP

#include "anytree.hpp"

namespace sinter::inline SINTER_HOST {

/// While one is alive, its thread records nothing. They nest.
class NoGrad {
public:
  NoGrad();
  NoGrad(const NoGrad &) = delete;
  ~NoGrad();

private:
  bool before;
};

/// While one is alive, its thread records again, within a NoGrad.
class EnableGrad {
public:
  EnableGrad();
  EnableGrad(const EnableGrad &) = delete;
  ~EnableGrad();

private:
  bool before;
};

/// `f()`, of which nothing is recorded.
template <class F> decltype(auto) no_grad(F &&f) {
  NoGrad off;
  return f();
}

/// Whether this thread records ops on tensors that require gradients.
bool grad_enabled();

struct BackwardOptions {
  /// Keeps what was recorded, so that it can be walked again.
  bool retain_graph = false;
  /// Records the backward ops, so that gradients can be differentiated; keeps what was recorded.
  bool create_graph = false;
  /// That run backward ops which do not depend on each other, when they are large; 0: all cores, 1: the calling one.
  int threads = 0;
};

/// Adds the gradients of `output` to `grad()` of the tensors with requires_grad that it was computed from. `seed` is
/// the cotangent of `output`, of its type; none for a tensor of one element means 1. Gradients have the bits that
/// `grad` of the same ops has where no op is fused, whatever the number of threads.
///
/// Errors: `output` requires no gradient; it has several elements and no seed; its ops were walked before without
/// retain_graph; a tensor that a gradient needs was changed in place; an op has no gradient (it is named).
Status backward(const Tensor &output, const Tensor &seed = {}, const BackwardOptions &options = {},
                Where where = Where::current());
/// The same for several outputs at once; `seeds` is empty or has one for each.
Status backward(std::span<const Tensor> outputs, std::span<const Tensor> seeds, const BackwardOptions &options = {},
                Where where = Where::current());

/// The gradients of `outputs` by `inputs`, any tensors that were recorded, of their types; zeros where an output does
/// not depend on an input. No `grad()` is changed. Errors as those of backward; after one, error tensors.
std::vector<Tensor> gradients(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                              const std::vector<Tensor> &seeds = {}, const BackwardOptions &options = {},
                              Where where = Where::current());

/// Ops that are recorded and not given back yet, in this process.
int64_t recorded_ops();

namespace detail {
/// A function of a program that the library keeps.
struct HookCall {
  std::shared_ptr<void> function;
  Tensor (*call)(void *function, const Tensor &gradient);
};
int64_t addHook(const Tensor &tensor, HookCall hook, Where where);
/// Keeps the gradient of `tensor`, which was computed, as that of a leaf is kept.
void retainGradient(const Tensor &tensor, Where where);

/// A function with a gradient of its own, on the tape: from cotangents of its results (undefined: zero) to those of its
/// operands.
struct TapeCall {
  std::shared_ptr<void> state;
  std::vector<Tensor> (*backward)(void *state, std::span<const Tensor> cotangents, bool create);
};
/// Whether an op on `tree` would be recorded.
bool isRecorded(AnyTree tree);
/// Records that `results` come of `operands`.
void recordCall(const char *name, AnyTree operands, AnyTree results, TapeCall call, Where where);
} // namespace detail

/// Calls `f(gradient)` whenever `backward` has the whole gradient of `tensor`; the tensor that it returns, if it is
/// defined, takes the gradient's place. Several are called in the order in which they were added. On a tensor with
/// requires_grad it is called before the gradient is added. Hooks may be called by other threads, one at a time.
/// Returns a number for remove_hook.
template <class F> int64_t hook(const Tensor &tensor, F &&f, Where where = Where::current()) {
  using Plain = std::decay_t<F>;
  return detail::addHook(tensor,
                         {std::make_shared<Plain>(std::forward<F>(f)),
                          [](void *function, const Tensor &gradient) -> Tensor {
                            Plain &call = *static_cast<Plain *>(function);
                            if constexpr (std::is_void_v<std::invoke_result_t<Plain &, const Tensor &>>)
                              return call(gradient), Tensor();
                            else
                              return call(gradient);
                          }},
                         where);
}
/// False when there is no such hook.
bool remove_hook(const Tensor &tensor, int64_t number);

} // namespace sinter::inline SINTER_HOST

#endif
