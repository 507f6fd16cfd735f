// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Execute.h"

using sinter::test::expectMatches;

TEST(Execute, OneMapKernel) {
  expectMatches(R"(
    func.func @f(%x: tensor<4x5xf32>, %y: tensor<4x5xf32>) -> tensor<4x5xf32> {
      %0 = sinter.kernel map(%x, %y) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32> {
      ^bb0(%a: tensor<4x5xf32>, %b: tensor<4x5xf32>):
        %s = sinter.add %a, %b : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
        %t = sinter.mul %s, %b : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
        sinter.yield(%t) : tensor<4x5xf32>
      }
      return %0 : tensor<4x5xf32>
    })",
                {{{{4, 5}, {}}, {{4, 5}, {1, 2, 3}}}});
}

TEST(Execute, DynamicSizesPlannedPerSize) {
  expectMatches(R"(
    func.func @f(%x: tensor<?x3xf32> {sinter.dims = ["n", 3]}) -> tensor<?x3xf32> {
      %0 = sinter.kernel map(%x) : (tensor<?x3xf32>) -> tensor<?x3xf32> {
      ^bb0(%a: tensor<?x3xf32>):
        %s = sinter.mul %a, %a : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
        sinter.yield(%s) : tensor<?x3xf32>
      }
      %1 = sinter.kernel map(%0, %x) : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32> {
      ^bb0(%a: tensor<?x3xf32>, %b: tensor<?x3xf32>):
        %s = sinter.add %a, %b : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
        sinter.yield(%s) : tensor<?x3xf32>
      }
      return %1 : tensor<?x3xf32>
    })",
                {{{{2, 3}, {}}}, {{{7, 3}, {}}}, {{{0, 3}, {}}}, {{{1, 3}, {}}}});
}
