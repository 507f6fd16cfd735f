// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a function in every way that the tracer knows and compares: eager, jitted, by the reference evaluator.

#ifndef SINTER_TEST_COMPILER_TRACE_AGREE_H
#define SINTER_TEST_COMPILER_TRACE_AGREE_H

#include <cmath>
#include <gtest/gtest.h>
#include <ostream>
#include <sinter/sinter.hpp>

namespace sinter::test {

/// Equal types, equal bits for integers and booleans, close floats (NaN equals NaN).
inline ::testing::AssertionResult close(const Tensor &a, const Tensor &b, double tolerance) {
  if (!(a.type() == b.type()))
    return ::testing::AssertionFailure() << "types " << a.type().str() << " and " << b.type().str();
  std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (size_t k = 0; k < x.size(); ++k) {
    double scale = is_float(a.dtype()) ? tolerance * (1 + std::abs(y[k])) : 0;
    bool same = x[k] == y[k] || (std::isnan(x[k]) && std::isnan(y[k])) || std::abs(x[k] - y[k]) <= scale;
    if (!same)
      return ::testing::AssertionFailure() << "element " << k << ": " << to_string(a) << " and " << to_string(b);
  }
  return ::testing::AssertionSuccess();
}

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(Tensors)>;

/// The results of `f`, which are the same eager, jitted and evaluated.
inline Tensors agree(const Function &f, const Tensors &inputs, double tolerance = 1e-5) {
  Tensors eager = f(inputs);
  Tensors jitted = jit(f)(inputs);
  EXPECT_EQ(eager.size(), jitted.size());
  for (size_t k = 0; k < eager.size() && k < jitted.size(); ++k)
    EXPECT_TRUE(close(eager[k], jitted[k], tolerance)) << "eager and jitted, result " << k;
  std::vector<Spec> specs;
  for (const Tensor &input : inputs)
    specs.push_back(spec_of(input));
  Graph graph = traceWith(f, std::tuple{inputs}, std::span<const Spec>(specs), "main", {}, {}, Where::current());
  Tensors evaluated = graph.evaluate(inputs);
  EXPECT_EQ(eager.size(), evaluated.size());
  for (size_t k = 0; k < eager.size() && k < evaluated.size(); ++k)
    EXPECT_TRUE(close(eager[k], evaluated[k], tolerance)) << "eager and evaluated, result " << k;
  return jitted;
}

/// The message that `f` throws, without the place; "" when it throws nothing.
template <class F> std::string messageOf(F &&f) {
  try {
    f();
  } catch (const Error &error) {
    return error.message();
  }
  return "";
}

/// The line that `f`'s error names.
template <class F> int lineOf(F &&f) {
  try {
    f();
  } catch (const Error &error) {
    return error.line();
  }
  return 0;
}

} // namespace sinter::test

#endif
