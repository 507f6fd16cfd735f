// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/backends/cpu/KernelCase.h"
#include <limits>

using sinter::test::expectKernel;

static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Single, ScatterElements) {
  for (const char *combiner : {"set", "add", "mul", "max", "min"})
    expectKernel("single", {"tensor<4x3xf32>", "tensor<2x3xi64>", "tensor<2x3xf32>"}, {"tensor<4x3xf32>"},
                 std::string("%r0 = sinter.scatter_elements %a, %b, %c {axis = 0, combiner = #sinter<combiner ") +
                     combiner + ">} : (tensor<4x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<4x3xf32>",
                 {{{{4, 3}, {}}, {{2, 3}, {1, -1, 9, 1, 0, -9}}, {{2, 3}, {5, 6, 7, 8, 9, 10}}}});
}

TEST(Single, ScatterOfSlices) {
  expectKernel(
      "single", {"tensor<?x3xf32>", "tensor<4x1xi64>", "tensor<4x3xf32>"}, {"tensor<?x3xf32>"},
      "%r0 = sinter.scatter_nd %a, %b, %c {combiner = #sinter<combiner add>} : (tensor<?x3xf32>, tensor<4x1xi64>, "
      "tensor<4x3xf32>) -> tensor<?x3xf32>",
      {{{{5, 3}, {}}, {{4, 1}, {0, -1, 0, 7}}, {{4, 3}, {1, 2, 3, 4}}},
       {{{0, 3}, {}}, {{4, 1}, {0, -1}}, {{4, 3}, {}}}});
}

TEST(Single, Cumulative) {
  for (const char *how : {"", ", exclusive = true", ", reverse = true", ", exclusive = true, reverse = true"})
    expectKernel("single", {"tensor<3x7x2xf32>"}, {"tensor<3x7x2xf32>"},
                 std::string("%r0 = sinter.cumulative add %a {axis = 1") + how +
                     "} : (tensor<3x7x2xf32>) -> tensor<3x7x2xf32>",
                 {{{{3, 7, 2}, {}}}});
}

TEST(Single, SortIsStable) {
  for (const char *order : {"false", "true"})
    expectKernel("single", {"tensor<3x?x2xf32>"}, {"tensor<3x?x2xf32>", "tensor<3x?x2xi64>"},
                 std::string("%r0, %r1 = sinter.sort %a {axis = 1, descending = ") + order +
                     "} : (tensor<3x?x2xf32>) -> (tensor<3x?x2xf32>, tensor<3x?x2xi64>)",
                 {{{{3, 37, 2}, {3, 1, 2, 1, 5, 3, 0}}}, {{{3, 1, 2}, {}}}, {{{3, 0, 2}, {}}}, {{{3, 64, 2}, {}}}});
}

TEST(Single, SortPutsNanLast) {
  // Positions only: NaN does not compare equal to itself.
  for (const char *order : {"false", "true"})
    expectKernel("single", {"tensor<6xf32>"}, {"tensor<6xi64>"},
                 std::string("%v, %r0 = sinter.sort %a {axis = 0, descending = ") + order +
                     "} : (tensor<6xf32>) -> (tensor<6xf32>, tensor<6xi64>)",
                 {{{{6}, {kNan, 1, kNan, -1, 0, 1}}}});
}

TEST(Single, TopKOfKnownAndUnknownCounts) {
  expectKernel("single", {"tensor<4x50xf32>"}, {"tensor<4x5xf32>", "tensor<4x5xi64>"}, R"(
    %k = sinter.constant dense<5> : tensor<i64>
    %r0, %r1 = sinter.top_k %a, %k {axis = 1} : (tensor<4x50xf32>, tensor<i64>) -> (tensor<4x5xf32>, tensor<4x5xi64>))",
               {{{{4, 50}, {}}}});
  for (const char *largest : {"false", "true"})
    expectKernel(
        "single", {"tensor<4x50xi32>", "tensor<i64>"}, {"tensor<4x?xi32>", "tensor<4x?xi64>"},
        std::string("%r0, %r1 = sinter.top_k %a, %b {axis = 1, largest = ") + largest +
            "} : (tensor<4x50xi32>, tensor<i64>) -> (tensor<4x?xi32>, tensor<4x?xi64>)",
        {{{{4, 50}, {3, 1, 4, 1, 5, 9, 2, 6}}, {{}, {20}}}, {{{4, 50}, {}}, {{}, {0}}}, {{{4, 50}, {}}, {{}, {99}}}});
}

TEST(Single, TopKOfLongRows) {
  // Rows of many values, of two in turn, and of one.
  for (const char *largest : {"false", "true"})
    expectKernel("single", {"tensor<2x?xf32>", "tensor<i64>"}, {"tensor<2x?xf32>", "tensor<2x?xi64>"},
                 std::string("%r0, %r1 = sinter.top_k %a, %b {axis = 1, largest = ") + largest +
                     "} : (tensor<2x?xf32>, tensor<i64>) -> (tensor<2x?xf32>, tensor<2x?xi64>)",
                 {{{{2, 1003}, {}}, {{}, {7}}}, {{{2, 1003}, {2, 1}}, {{}, {1}}}, {{{2, 1003}, {5}}, {{}, {40}}}});
}

TEST(Single, Nonzero) {
  expectKernel("single", {"tensor<3x?xf32>"}, {"tensor<2x?xi64>"},
               "%r0 = sinter.nonzero %a : (tensor<3x?xf32>) -> tensor<2x?xi64>",
               {{{{3, 5}, {0, 1, 0, kNan, 0, 0, -2}}}, {{{3, 5}, {0}}}, {{{3, 0}, {}}}});
}

TEST(Single, Compress) {
  expectKernel("single", {"tensor<3x?xf32>", "tensor<?xi1>"}, {"tensor<3x?xf32>"},
               "%r0 = sinter.compress %a, %b {axis = 1} : (tensor<3x?xf32>, tensor<?xi1>) -> tensor<3x?xf32>",
               {{{{3, 6}, {}}, {{4}, {0, 1, 1, 0}}}, {{{3, 6}, {}}, {{6}, {0}}}});
}

TEST(Single, Unique) {
  for (const char *sorted : {"false", "true"}) {
    expectKernel("single", {"tensor<9xf32>"}, {"tensor<?xf32>", "tensor<?xi64>", "tensor<9xi64>", "tensor<?xi64>"},
                 std::string("%r0, %r1, %r2, %r3 = sinter.unique %a {axis = 0, sorted = ") + sorted +
                     "} : (tensor<9xf32>) -> (tensor<?xf32>, tensor<?xi64>, tensor<9xi64>, tensor<?xi64>)",
                 {{{{9}, {2, 1, 2, 3, 1, 7, 0, 0, 3}}}});
    expectKernel("single", {"tensor<2x5x2xi32>"}, {"tensor<2x?x2xi32>", "tensor<5xi64>"},
                 std::string("%r0, %x, %r1, %y = sinter.unique %a {axis = 1, sorted = ") + sorted +
                     "} : (tensor<2x5x2xi32>) -> (tensor<2x?x2xi32>, tensor<?xi64>, tensor<5xi64>, tensor<?xi64>)",
                 {{{{2, 5, 2}, {1, 2, 0, 1, 1, 2, 0, 1, 3, 3}}}});
  }
}

TEST(Single, NonMaxSuppression) {
  for (const char *center : {"false", "true"})
    expectKernel(
        "single", {"tensor<2x6x4xf32>", "tensor<2x2x6xf32>", "tensor<i64>", "tensor<f32>", "tensor<f32>"},
        {"tensor<?x3xi64>"},
        std::string("%r0 = sinter.non_max_suppression %a, %b, %c, %d, %e {center_point_box = ") + center +
            "} : (tensor<2x6x4xf32>, tensor<2x2x6xf32>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<?x3xi64>",
        {{{{2, 6, 4}, {0, 0, 1, 1, 0, 0.125, 1, 1.125, 0, 10, 1, 11, 0, 10.125, 1, 11.125}},
          {{2, 2, 6}, {0.5, 0.75, 0.25, 0.875, 0.0625, 0.75, 0.375}},
          {{}, {3}},
          {{}, {0.5}},
          {{}, {0.125}}},
         {{{2, 6, 4}, {}}, {{2, 2, 6}, {1}}, {{}, {0}}, {{}, {0.5}}, {{}, {0}}}});
}

TEST(Single, Determinant) {
  expectKernel("single", {"tensor<3x4x4xf32>"}, {"tensor<3xf32>"},
               "%r0 = sinter.det %a : (tensor<3x4x4xf32>) -> tensor<3xf32>",
               {{{{3, 4, 4}, {0, 2, 1, 5, -1, 3, 0.5, 0.25, 4}}}, {{{3, 4, 4}, {1}}}});
}

TEST(Single, ArgReduceWindow) {
  expectKernel("single", {"tensor<2x7x7xf32>"}, {"tensor<2x4x3xi64>"}, R"(
    %r0 = sinter.arg_reduce_window %a {window = array<i64: 1, 2, 3>, strides = array<i64: 1, 2, 2>, low = array<i64: 0, 1, 0>, high = array<i64: 0, 0, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<2x7x7xf32>) -> tensor<2x4x3xi64>)",
               {{{{2, 7, 7}, {3, 1, 2, 8, 2, 8, 5, -1, 0, 4, 4}}}});
}
