// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products by schedules that are forced, against formulas in f64 (or integers modulo 2^n).

#ifndef SINTER_TEST_BACKENDS_CUDA_PRODUCTCASE_H
#define SINTER_TEST_BACKENDS_CUDA_PRODUCTCASE_H

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <cmath>
#include <random>

namespace sinter::cuda {

struct Types {
  std::string a, b, result;
};

/// One product: batch x (m x k) * (k x n), either operand as its transpose, with a bias, a residual and an absolute
/// value behind.
struct Case {
  Types types;
  int64_t batch, m, n, k;
  bool transposesA = false, transposesB = false, isFused = false;
  std::string schedule = "";
  bool isDynamic = false; // sizes are told when it runs
};

/// The schedule of a product by wgmma: a tile of `rows` by `columns`, slabs of `slab` elements of k.
inline std::string warpgroupsOf(int64_t rows, int64_t columns, int64_t slab, int64_t stages, int64_t parts = 1) {
  return "wgmma_product, lanes = " + std::to_string(128 * (1 + rows / 64)) + ", tile = [" + std::to_string(rows) +
         ", " + std::to_string(columns) + ", " + std::to_string(slab) + ", 64, " + std::to_string(columns) + ", " +
         std::to_string(stages) + ", " + std::to_string(parts) + "]";
}

/// The same where two blocks, one above the other, share slabs of b.
inline std::string clustersOf(int64_t rows, int64_t columns, int64_t slab, int64_t stages, int64_t parts = 1) {
  return "cluster" + warpgroupsOf(rows, columns, slab, stages, parts).substr(5);
}

inline bool isFloat(const std::string &type) { return type.find('f') != std::string::npos; }

inline std::string textOf(const Case &c) {
  auto [batch, m, n, k] = std::tuple(c.batch, c.m, c.n, c.k);
  bool any = c.isDynamic;
  std::string a =
      c.transposesA ? tensorText({batch, k, m}, c.types.a, !any) : tensorText({batch, m, k}, c.types.a, !any);
  std::string b =
      c.transposesB ? tensorText({batch, n, k}, c.types.b, !any) : tensorText({batch, k, n}, c.types.b, !any);
  std::string result = tensorText({batch, m, n}, c.types.result, !any), bias = tensorText({n}, c.types.result, !any);
  auto contract = [](bool isFirst) { return std::string("array<i64: ") + (isFirst ? "1" : "2") + ">"; };
  std::string text = "func.func @f(%x: " + a + ", %y: " + b + ", %z: " + bias + ", %r: " + result + ") -> " + result +
                     " {\n  %0 = sinter.kernel contraction(%x, %y, %z, %r)";
  if (!c.schedule.empty())
    text += " {schedule = #sinter.schedule<" + c.schedule + ">}";
  text += " : (" + a + ", " + b + ", " + bias + ", " + result + ") -> " + result + " {\n  ^bb0(%p: " + a +
          ", %q: " + b + ", %s: " + bias + ", %t: " + result +
          "):\n    %d = sinter.dot_general %p, %q {lhs_batch = array<i64: 0>, " +
          "rhs_batch = array<i64: 0>, lhs_contract = " + contract(c.transposesA) +
          ", rhs_contract = " + contract(!c.transposesB) + ", element_type = " + c.types.result + "} : (" + a + ", " +
          b + ") -> " + result + "\n";
  if (c.isFused)
    text += "    %w = sinter.broadcast %s axes = [2] {type = " + result + "} : (" + bias + ") -> " + result +
            "\n    %u = sinter.add %d, %w : (" + result + ", " + result + ") -> " + result +
            "\n    %v = sinter.add %u, %t : (" + result + ", " + result + ") -> " + result +
            "\n    %e = sinter.abs %v : (" + result + ") -> " + result + "\n";
  text += std::string("    sinter.yield(") + (c.isFused ? "%e" : "%d") + ") : " + result +
          "\n  }\n  return %0 : " + result + "\n}\n";
  return text;
}

inline std::vector<double> drawn(std::mt19937 &random, const HostTensor &tensor, const std::string &type) {
  std::vector<double> values(size_t(tensor.numElements()));
  for (double &value : values)
    value = isFloat(type) ? double(int(random() % 65) - 32) / 16
                          : double(random() % (type[0] == 'u' ? 200 : 100)) - (type[0] == 'u' ? 0 : 50);
  return values;
}

inline double epsilonOf(const std::string &type) {
  return type == "f64" ? 0x1p-52 : type == "f32" ? 0x1p-23 : type == "f16" ? 0x1p-10 : type == "bf16" ? 0x1p-7 : 0;
}

inline void expectRight(const Case &c, const char *form) {
  std::string text = textOf(c);
  SCOPED_TRACE(text);
  test::Program program(text, 2);
  ASSERT_EQ(program.error, "");
  ASSERT_NE(cuda::lastCode().find(form), std::string::npos) << cuda::lastCode().substr(0, 300);
  std::mt19937 random(uint32_t(c.m * 31 + c.n * 7 + c.k));
  std::vector<HostTensor> inputs;
  std::vector<std::vector<double>> values;
  const std::string types[] = {c.types.a, c.types.b, c.types.result, c.types.result};
  for (auto [i, type] : llvm::enumerate(program.function().getArgumentTypes())) {
    auto tensor = mlir::cast<mlir::RankedTensorType>(type);
    const std::vector<int64_t> shapes[] = {
        c.transposesA ? std::vector{c.batch, c.k, c.m} : std::vector{c.batch, c.m, c.k},
        c.transposesB ? std::vector{c.batch, c.n, c.k} : std::vector{c.batch, c.k, c.n},
        {c.n},
        {c.batch, c.m, c.n}};
    inputs.emplace_back(tensor.getElementType(), shapes[i]);
    values.push_back(drawn(random, inputs.back(), types[i]));
    if (isFloat(types[i]))
      inputs.back().assignFloats(values.back());
    else
      for (int64_t k = 0; k < inputs.back().numElements(); ++k)
        inputs.back().setInt(k, int64_t(values.back()[size_t(k)]));
  }
  auto first = program.run(inputs), second = program.run(inputs);
  ASSERT_TRUE(first && second) << program.error << cuda::report();
  const HostTensor &result = (*first)[0];
  EXPECT_EQ(std::memcmp(result.data(), (*second)[0].data(), result.numBytes()), 0); // the same bits each time
  double epsilon = epsilonOf(c.types.result);
  for (int64_t batch = 0, at = 0; batch < c.batch; ++batch)
    for (int64_t i = 0; i < c.m; ++i)
      for (int64_t j = 0; j < c.n; ++j, ++at) {
        double sum = 0, magnitude = 0;
        for (int64_t k = 0; k < c.k; ++k) {
          double x = values[0][size_t(batch * c.m * c.k + (c.transposesA ? k * c.m + i : i * c.k + k))];
          double y = values[1][size_t(batch * c.n * c.k + (c.transposesB ? j * c.k + k : k * c.n + j))];
          sum += x * y;
          magnitude += std::fabs(x * y);
        }
        double rounded = std::fabs(sum); // to the result's type, one time each
        if (c.isFused) {
          sum += values[2][size_t(j)];
          rounded += std::fabs(sum);
          sum = std::fabs(sum + values[3][size_t(at)]);
          rounded += sum;
        }
        if (!isFloat(c.types.result))
          ASSERT_EQ(result.getInt(at), int64_t(sum)) << batch << " " << i << " " << j;
        else
          ASSERT_NEAR(result.getFloat(at), sum, rounded * epsilon + magnitude * 1e-6) << batch << " " << i << " " << j;
      }
}

inline std::string threadSchedule(const std::string &tile, int64_t lanes) {
  return "product, lanes = " + std::to_string(lanes) + ", tile = [" + tile + "]";
}
inline std::string warpSchedule(const std::string &tile, int64_t lanes) { return "mma_" + threadSchedule(tile, lanes); }

/// Programs for sm_90 as long as it lives.
struct OnHopper {
  decltype(test::openProgram) before =
      std::exchange(test::openProgram, [](mlir::ModuleOp fused, int, std::string &error) -> sinter_module * {
        Compiled compiled;
        return cuda::compile(fused, compiled, error, "cpu+cuda:sm_90") ? cuda::open(compiled, error) : nullptr;
      });
  ~OnHopper() { test::openProgram = before; }
};

inline const Types kF32{"f32", "f32", "f32"}, kF64{"f64", "f64", "f64"}, kI32{"i32", "i32", "i32"},
    kI64{"i64", "i64", "i64"};
inline const Types kBF16{"bf16", "bf16", "bf16"}, kF16{"f16", "f16", "f16"}, kF16F32{"f16", "f16", "f32"};

} // namespace sinter::cuda

#endif
