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

TEST(Execute, InputAndConstantReturned) {
  expectMatches(R"(
    func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2x2xi64>, tensor<3xf32>) {
      %c = sinter.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>
      %r = sinter.kernel map(%x) : (tensor<3xf32>) -> tensor<3xf32> {
      ^bb0(%a: tensor<3xf32>):
        %s = sinter.add %a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
        sinter.yield(%s) : tensor<3xf32>
      }
      return %x, %c, %r : tensor<3xf32>, tensor<2x2xi64>, tensor<3xf32>
    })",
                {{{{3}, {}}}});
}

TEST(Execute, OneResultReturnedTwiceUnderTwoShapes) {
  expectMatches(R"(
    func.func @f(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<6xf32>) {
      %r = sinter.kernel map(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
      ^bb0(%a: tensor<2x3xf32>):
        %s = sinter.neg %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
        sinter.yield(%s) : tensor<2x3xf32>
      }
      %v = "sinter.reshape"(%r) <{type = tensor<6xf32>}> : (tensor<2x3xf32>) -> tensor<6xf32>
      return %r, %v : tensor<2x3xf32>, tensor<6xf32>
    })",
                {{{{2, 3}, {}}}});
}

TEST(Execute, ShapeAndDimOfDynamicTensor) {
  expectMatches(R"(
    func.func @f(%x: tensor<?x3x?xf32>) -> (tensor<3xi64>, tensor<i64>) {
      %s = sinter.shape %x : (tensor<?x3x?xf32>) -> tensor<3xi64>
      %d = sinter.dim %x {axis = 2 : i64} : (tensor<?x3x?xf32>) -> tensor<i64>
      return %s, %d : tensor<3xi64>, tensor<i64>
    })",
                {{{{4, 3, 5}, {}}}, {{{0, 3, 1}, {}}}});
}

TEST(Execute, CondTakesOneBranch) {
  expectMatches(R"(
    func.func @f(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
      %r = sinter.cond %p(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
      ^bb0(%a: tensor<4xf32>):
        %k = sinter.kernel map(%a) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%b: tensor<4xf32>):
          %s = sinter.add %b, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          sinter.yield(%s) : tensor<4xf32>
        }
        sinter.yield(%k) : tensor<4xf32>
      } else {
      ^bb0(%a: tensor<4xf32>):
        sinter.yield(%a) : tensor<4xf32>
      }
      return %r : tensor<4xf32>
    })",
                {{{{}, {1}}, {{4}, {}}}, {{{}, {0}}, {{4}, {}}}});
}

TEST(Execute, CondWithBranchesOfDifferentSizes) {
  expectMatches(R"(
    func.func @f(%p: tensor<i1>, %x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<?xf32> {
      %r = sinter.cond %p(%x, %y) : (tensor<i1>, tensor<4xf32>, tensor<2xf32>) -> tensor<?xf32> then {
      ^bb0(%a: tensor<4xf32>, %b: tensor<2xf32>):
        %k = sinter.kernel map(%a) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%c: tensor<4xf32>):
          %s = sinter.mul %c, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
          sinter.yield(%s) : tensor<4xf32>
        }
        sinter.yield(%k) : tensor<4xf32>
      } else {
      ^bb0(%a: tensor<4xf32>, %b: tensor<2xf32>):
        sinter.yield(%b) : tensor<2xf32>
      }
      %t = sinter.kernel map(%r) : (tensor<?xf32>) -> tensor<?xf32> {
      ^bb0(%c: tensor<?xf32>):
        %s = sinter.neg %c : (tensor<?xf32>) -> tensor<?xf32>
        sinter.yield(%s) : tensor<?xf32>
      }
      return %t : tensor<?xf32>
    })",
                {{{{}, {1}}, {{4}, {}}, {{2}, {}}}, {{{}, {0}}, {{4}, {}}, {{2}, {}}}});
}

TEST(Execute, SwitchOutOfRangeTakesTheLast) {
  expectMatches(R"(
    func.func @f(%i: tensor<i64>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> tensor<2xf32> {
      %r = sinter.switch %i(%x, %y) : (tensor<i64>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
      ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
        sinter.yield(%a) : tensor<2xf32>
      }, {
      ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
        sinter.yield(%b) : tensor<2xf32>
      }
      return %r : tensor<2xf32>
    })",
                {{{{}, {0}}, {{2}, {1, 2}}, {{2}, {3, 4}}},
                 {{{}, {1}}, {{2}, {1, 2}}, {{2}, {3, 4}}},
                 {{{}, {7}}, {{2}, {1, 2}}, {{2}, {3, 4}}},
                 {{{}, {-1}}, {{2}, {1, 2}}, {{2}, {3, 4}}}});
}

/// Doubles x until its first element passes 100; carries swap roles, one stays; each trip's x is stacked.
static const char whileText[] = R"(
    func.func @f(%x: tensor<3xf32>, %y: tensor<3xf32>, %limit: tensor<f32>) -> (tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3xf32>) {
      %n, %a, %b, %c, %s = sinter.while(%x, %y, %y) captures(%limit) {max_trip = 6 : i64}
          : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<f32>) -> (tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3xf32>) cond {
      ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>, %r: tensor<3xf32>, %l: tensor<f32>):
        %k = sinter.kernel map(%p, %l) : (tensor<3xf32>, tensor<f32>) -> tensor<i1> {
        ^bb0(%e: tensor<3xf32>, %m: tensor<f32>):
          %f = sinter.slice %e {starts = array<i64: 0>, limits = array<i64: 1>, steps = array<i64: 1>} : (tensor<3xf32>) -> tensor<1xf32>
          %g = "sinter.reshape"(%f) <{type = tensor<f32>}> : (tensor<1xf32>) -> tensor<f32>
          %h = sinter.compare lt %g, %m : (tensor<f32>, tensor<f32>) -> tensor<i1>
          sinter.yield(%h) : tensor<i1>
        }
        sinter.yield(%k) : tensor<i1>
      } body {
      ^bb0(%p: tensor<3xf32>, %q: tensor<3xf32>, %r: tensor<3xf32>, %l: tensor<f32>):
        %k = sinter.kernel map(%p, %q) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
        ^bb0(%e: tensor<3xf32>, %g: tensor<3xf32>):
          %h = sinter.add %e, %g : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
          sinter.yield(%h) : tensor<3xf32>
        }
        sinter.yield(%k, %p, %r, %p) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
      }
      return %n, %a, %b, %c, %s : tensor<i64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3xf32>
    })";

TEST(Execute, WhileWithSwappedCarriesAndStack) {
  expectMatches(whileText, {{{{3}, {1, 2, 3}}, {{3}, {1, 1, 1}}, {{}, {10}}}});
}
TEST(Execute, WhileOfZeroTrips) { expectMatches(whileText, {{{{3}, {11, 2, 3}}, {{3}, {1, 1, 1}}, {{}, {10}}}}); }
TEST(Execute, WhileStopsAtMaxTrip) { expectMatches(whileText, {{{{3}, {0, 0, 0}}, {{3}, {0, 0, 0}}, {{}, {10}}}}); }

TEST(Execute, PerTripOutputsHaveALimitInBytes) {
  if (sinter::test::openProgram)
    GTEST_SKIP() << "the limit is one of the host's memory";
  const char text[] = R"(
    func.func @f(%n: tensor<i64>) -> tensor<?xi64> {
      %zero = sinter.constant dense<0> : tensor<i64>
      %c:3 = sinter.while(%zero) captures(%n) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>, tensor<?xi64>) cond {
      ^bb0(%a: tensor<i64>, %m: tensor<i64>):
        %g = sinter.compare lt %a, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
        sinter.yield(%g) : tensor<i1>
      } body {
      ^bb0(%a: tensor<i64>, %m: tensor<i64>):
        %one = sinter.constant dense<1> : tensor<i64>
        %h = sinter.add %a, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
        sinter.yield(%h, %a) : tensor<i64>, tensor<i64>
      }
      return %c#2 : tensor<?xi64>
    })";
  for (int level : {0, 2}) {
    sinter::test::Program program(text, level, 1, /*isGraph=*/true, /*maxTapeBytes=*/80000);
    ASSERT_EQ(program.error, "");
    mlir::Type type = mlir::getElementTypeOrSelf(program.function().getArgumentTypes()[0]);
    auto trips = [&](double n) { return sinter::test::makeInput(type, {{}, {n}}); };
    auto result = program.run({trips(10000)}); // exactly as much as is allowed
    ASSERT_TRUE(result) << program.error;
    EXPECT_EQ((*result)[0].getFloat(9999), 9999);
    EXPECT_FALSE(program.run({trips(10001)}));
    EXPECT_EQ(program.error,
              "function 'f' requires more than its max_tape_bytes of 80000 for what loops store of their trips, "
              "asked for 80008");
    EXPECT_TRUE(program.run({trips(100)})); // the session may be used again
  }
}

TEST(Execute, ForCountsDownAndStacks) {
  expectMatches(R"(
    func.func @f(%lower: tensor<i64>, %upper: tensor<i64>, %step: tensor<i64>, %x: tensor<i64>) -> (tensor<i64>, tensor<?xi64>) {
      %c, %s = sinter.for %lower to %upper step %step(%x) captures()
          : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<?xi64>) body {
      ^bb0(%i: tensor<i64>, %a: tensor<i64>):
        %k = sinter.kernel map(%a, %i) : (tensor<i64>, tensor<i64>) -> tensor<i64> {
        ^bb0(%e: tensor<i64>, %g: tensor<i64>):
          %h = sinter.add %e, %g : (tensor<i64>, tensor<i64>) -> tensor<i64>
          sinter.yield(%h) : tensor<i64>
        }
        sinter.yield(%k, %i) : tensor<i64>, tensor<i64>
      }
      return %c, %s : tensor<i64>, tensor<?xi64>
    })",
                {{{{}, {0}}, {{}, {5}}, {{}, {1}}, {{}, {100}}},
                 {{{}, {7}}, {{}, {-2}}, {{}, {-3}}, {{}, {100}}},
                 {{{}, {7}}, {{}, {-2}}, {{}, {0}}, {{}, {100}}},
                 {{{}, {5}}, {{}, {2}}, {{}, {1}}, {{}, {100}}}});
}

TEST(Execute, ScanAlongBothAxesReversed) {
  expectMatches(R"(
    func.func @f(%init: tensor<3xf32>, %xs: tensor<4x3xf32>, %ys: tensor<3x4xf32>) -> (tensor<3xf32>, tensor<4x3xf32>, tensor<3x4xf32>) {
      %c, %s, %t = sinter.scan(%init) over(%xs, %ys) captures()
          {axes = array<i64: 0, 1>, reverse = array<i1: false, true>, out_axes = array<i64: 0, 1>, out_reverse = array<i1: true, false>}
          : (tensor<3xf32>, tensor<4x3xf32>, tensor<3x4xf32>) -> (tensor<3xf32>, tensor<4x3xf32>, tensor<3x4xf32>) body {
      ^bb0(%a: tensor<3xf32>, %x: tensor<3xf32>, %y: tensor<3xf32>):
        %k = sinter.kernel map(%a, %x, %y) : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32> {
        ^bb0(%e: tensor<3xf32>, %g: tensor<3xf32>, %h: tensor<3xf32>):
          %i = sinter.mul %g, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
          %j = sinter.add %e, %i : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
          sinter.yield(%j) : tensor<3xf32>
        }
        sinter.yield(%k, %k, %x) : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
      }
      return %c, %s, %t : tensor<3xf32>, tensor<4x3xf32>, tensor<3x4xf32>
    })",
                {{{{3}, {}}, {{4, 3}, {}}, {{3, 4}, {}}}});
}

TEST(Execute, ScanOverDynamicLengthWithAlignedSlices) {
  expectMatches(R"(
    func.func @f(%init: tensor<16xf32>, %xs: tensor<?x16xf32> {sinter.dims = ["t", 16]}) -> (tensor<16xf32>, tensor<?x16xf32>) {
      %c, %s = sinter.scan(%init) over(%xs) captures()
          {axes = array<i64: 0>, reverse = array<i1: false>, out_axes = array<i64: 0>, out_reverse = array<i1: false>}
          : (tensor<16xf32>, tensor<?x16xf32>) -> (tensor<16xf32>, tensor<?x16xf32>) body {
      ^bb0(%a: tensor<16xf32>, %x: tensor<16xf32>):
        %k = sinter.kernel map(%a, %x) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
        ^bb0(%e: tensor<16xf32>, %g: tensor<16xf32>):
          %j = sinter.add %e, %g : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
          sinter.yield(%j) : tensor<16xf32>
        }
        %m = sinter.kernel map(%k) : (tensor<16xf32>) -> tensor<16xf32> {
        ^bb0(%e: tensor<16xf32>):
          %j = sinter.neg %e : (tensor<16xf32>) -> tensor<16xf32>
          sinter.yield(%j) : tensor<16xf32>
        }
        sinter.yield(%k, %m) : tensor<16xf32>, tensor<16xf32>
      }
      return %c, %s : tensor<16xf32>, tensor<?x16xf32>
    })",
                {{{{16}, {}}, {{5, 16}, {}}}, {{{16}, {}}, {{0, 16}, {}}}, {{{16}, {}}, {{1, 16}, {}}}});
}

TEST(Execute, CarryThatGrows) {
  expectMatches(R"(
    func.func @f(%x: tensor<?xf32>, %lower: tensor<i64>, %upper: tensor<i64>, %step: tensor<i64>) -> tensor<?xf32> {
      %c = sinter.for %lower to %upper step %step(%x) captures()
          : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<?xf32>) -> tensor<?xf32> body {
      ^bb0(%i: tensor<i64>, %a: tensor<?xf32>):
        %k = sinter.kernel map(%a) : (tensor<?xf32>) -> tensor<?xf32> {
        ^bb0(%e: tensor<?xf32>):
          %j = sinter.concatenate %e, %e {axis = 0 : i64} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          sinter.yield(%j) : tensor<?xf32>
        }
        sinter.yield(%k) : tensor<?xf32>
      }
      return %c : tensor<?xf32>
    })",
                {{{{2}, {}}, {{}, {0}}, {{}, {4}}, {{}, {1}}}, {{{3}, {}}, {{}, {0}}, {{}, {0}}, {{}, {1}}}});
}

TEST(Execute, SizeFromContents) {
  expectMatches(R"(
    func.func @f(%x: tensor<f32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
      %k = sinter.kernel map(%x, %s) : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32> {
      ^bb0(%e: tensor<f32>, %t: tensor<2xi64>):
        %j = sinter.broadcast %e shape(%t) axes = [] {type = tensor<?x?xf32>} : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
        sinter.yield(%j) : tensor<?x?xf32>
      }
      return %k : tensor<?x?xf32>
    })",
                {{{{}, {3}}, {{2}, {2, 5}}}, {{{}, {3}}, {{2}, {0, 5}}}});
}
