// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each root op as graph, compiled at -O0 (plain loops, composites decomposed) and -O2 (templates), against the
// evaluator. Sizes are below, at and beyond a vector, static and `?`, and 0.

#include "test/backends/cpu/Execute.h"

using sinter::test::Feed;

static void expectGraphMatches(llvm::StringRef arguments, llvm::StringRef results, llvm::StringRef body,
                               llvm::ArrayRef<std::vector<Feed>> feeds, double tolerance = 2e-5) {
  std::string text = ("func.func @f(" + arguments + ") -> (" + results + ") {\n" + body + "\n}").str();
  SCOPED_TRACE(text);
  sinter::test::expectMatches(text, feeds, tolerance, /*isGraph=*/true);
}

TEST(Roots, ReduceInnermostAxis) {
  expectGraphMatches("%x: tensor<5x?xf32>", "tensor<5xf32>, tensor<5xf32>", R"(
    %0 = sinter.reduce add %x axes = [1] : (tensor<5x?xf32>) -> tensor<5xf32>
    %e = sinter.exp %x : (tensor<5x?xf32>) -> tensor<5x?xf32>
    %1 = sinter.reduce max %e axes = [1] : (tensor<5x?xf32>) -> tensor<5xf32>
    %2 = sinter.neg %1 : (tensor<5xf32>) -> tensor<5xf32>
    return %0, %2 : tensor<5xf32>, tensor<5xf32>)",
                     {{{{5, 1}, {}}}, {{{5, 16}, {}}}, {{{5, 37}, {}}}, {{{5, 200}, {}}}});
}

TEST(Roots, ReduceOuterAxis) {
  expectGraphMatches("%x: tensor<?x3x19xf32>", "tensor<3x19xf32>, tensor<?x19xf32>", R"(
    %0 = sinter.reduce add %x axes = [0] : (tensor<?x3x19xf32>) -> tensor<3x19xf32>
    %1 = sinter.reduce min %x axes = [1] : (tensor<?x3x19xf32>) -> tensor<?x19xf32>
    return %0, %1 : tensor<3x19xf32>, tensor<?x19xf32>)",
                     {{{{4, 3, 19}, {}}}, {{{0, 3, 19}, {}}}, {{{1, 3, 19}, {}}}});
}

// Several vectors side by side, rows in blocks, what is left of both, and factors that repeat along rows.
TEST(Roots, ReduceRowsInBlocks) {
  expectGraphMatches("%x: tensor<?x70xf32>, %y: tensor<2x150x3x64xf32>, %c: tensor<64xf32>",
                     "tensor<70xf32>, tensor<70xf32>, tensor<64xf32>, tensor<2x64xf32>", R"(
    %0 = sinter.reduce add %x axes = [0] : (tensor<?x70xf32>) -> tensor<70xf32>
    %1 = sinter.reduce max %x axes = [0] : (tensor<?x70xf32>) -> tensor<70xf32>
    %b = sinter.broadcast %c axes = [3] {type = tensor<2x150x3x64xf32>} : (tensor<64xf32>) -> tensor<2x150x3x64xf32>
    %d = sinter.sub %y, %b : (tensor<2x150x3x64xf32>, tensor<2x150x3x64xf32>) -> tensor<2x150x3x64xf32>
    %s = sinter.mul %d, %y : (tensor<2x150x3x64xf32>, tensor<2x150x3x64xf32>) -> tensor<2x150x3x64xf32>
    %2 = sinter.reduce add %s axes = [0, 1, 2] : (tensor<2x150x3x64xf32>) -> tensor<64xf32>
    %3 = sinter.reduce add %y axes = [1, 2] : (tensor<2x150x3x64xf32>) -> tensor<2x64xf32>
    return %0, %1, %2, %3 : tensor<70xf32>, tensor<70xf32>, tensor<64xf32>, tensor<2x64xf32>)",
                     {{{{261, 70}, {}}, {{2, 150, 3, 64}, {}}, {{64}, {}}},
                      {{{5, 70}, {}}, {{2, 150, 3, 64}, {}}, {{64}, {}}},
                      {{{1, 70}, {}}, {{2, 150, 3, 64}, {}}, {{64}, {}}}},
                     2e-4);
}

TEST(Roots, ReduceSeveralAxes) {
  expectGraphMatches("%x: tensor<2x3x7x7xf32>", "tensor<2x3xf32>, tensor<3x7xf32>, tensor<f32>", R"(
    %0 = sinter.reduce add %x axes = [2, 3] : (tensor<2x3x7x7xf32>) -> tensor<2x3xf32>
    %1 = sinter.reduce add %x axes = [3, 0] : (tensor<2x3x7x7xf32>) -> tensor<3x7xf32>
    %2 = sinter.reduce max %x axes = [0, 1, 2, 3] : (tensor<2x3x7x7xf32>) -> tensor<f32>
    return %0, %1, %2 : tensor<2x3xf32>, tensor<3x7xf32>, tensor<f32>)",
                     {{{{2, 3, 7, 7}, {}}}});
}

TEST(Roots, ReduceIntegersAndBooleans) {
  expectGraphMatches("%x: tensor<3x21xi32>, %u: tensor<3x21xui8>, %b: tensor<3x21xi1>",
                     "tensor<3xi32>, tensor<3xui8>, tensor<21xi1>, tensor<3xi1>", R"(
    %0 = sinter.reduce mul %x axes = [1] : (tensor<3x21xi32>) -> tensor<3xi32>
    %1 = sinter.reduce max %u axes = [1] : (tensor<3x21xui8>) -> tensor<3xui8>
    %2 = sinter.reduce and %b axes = [0] : (tensor<3x21xi1>) -> tensor<21xi1>
    %3 = sinter.reduce or %b axes = [1] : (tensor<3x21xi1>) -> tensor<3xi1>
    return %0, %1, %2, %3 : tensor<3xi32>, tensor<3xui8>, tensor<21xi1>, tensor<3xi1>)",
                     {{{{3, 21}, {1, -1, 2, 3}}, {{3, 21}, {5, 200, 7}}, {{3, 21}, {1, 1, 0, 1, 1}}}});
}

TEST(Roots, ReduceHalfInSingle) {
  expectGraphMatches("%x: tensor<3x40xf16>", "tensor<3xf16>", R"(
    %0 = sinter.reduce add %x axes = [1] : (tensor<3x40xf16>) -> tensor<3xf16>
    return %0 : tensor<3xf16>)",
                     {{{{3, 40}, {}}}}, 2e-3);
}

TEST(Roots, ArgReduce) {
  expectGraphMatches("%x: tensor<3x?x4xf32>, %i: tensor<6xui8>", "tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>", R"(
    %0 = sinter.arg_reduce max %x {axis = 1 : i64} : (tensor<3x?x4xf32>) -> tensor<3x4xi64>
    %1 = sinter.arg_reduce min %x {axis = 1 : i64, last = true} : (tensor<3x?x4xf32>) -> tensor<3x4xi64>
    %2 = sinter.arg_reduce max %i {axis = 0 : i64} : (tensor<6xui8>) -> tensor<i64>
    return %0, %1, %2 : tensor<3x4xi64>, tensor<3x4xi64>, tensor<i64>)",
                     {{{{3, 9, 4}, {1, 3, 2, 3}}, {{6}, {1, 200, 7, 200}}},
                      {{{3, 5, 4}, {1, 3, NAN, 2, 7}}, {{6}, {1, 200, 7, 200}}}});
}

TEST(Roots, Convolution) {
  expectGraphMatches("%x: tensor<2x4x9x?xf32>, %w: tensor<6x2x3x2xf32>", "tensor<2x6x5x?xf32>", R"(
    %0 = sinter.convolution %x, %w {strides = array<i64: 2, 1>, low = array<i64: 1, 0>, high = array<i64: 1, 2>, input_dilation = array<i64: 1, 1>,
         dilation = array<i64: 1, 2>, groups = 2 : i64, element_type = f32} : (tensor<2x4x9x?xf32>, tensor<6x2x3x2xf32>) -> tensor<2x6x5x?xf32>
    return %0 : tensor<2x6x5x?xf32>)",
                     {{{{2, 4, 9, 8}, {}}, {{6, 2, 3, 2}, {}}}, {{{2, 4, 9, 1}, {}}, {{6, 2, 3, 2}, {}}}});
}

// Filters that are not constants are read with their taps first: whole and partial panels, groups, one channel a group.
TEST(Roots, ConvolutionByAnArgument) {
  struct Form {
    const char *input, *filter, *result, *groups;
    llvm::SmallVector<int64_t> inputShape, filterShape;
  };
  for (const Form &form : {Form{"2x7x6x5", "64x3x3x5", "2x7x6x64", "1", {2, 7, 6, 5}, {64, 3, 3, 5}},
                           Form{"1x9x9x16", "40x3x3x8", "1x9x9x40", "2", {1, 9, 9, 16}, {40, 3, 3, 8}},
                           Form{"2x5x7x24", "24x3x3x1", "2x5x7x24", "24", {2, 5, 7, 24}, {24, 3, 3, 1}},
                           Form{"1x4x4x3", "3x3x3x3", "1x4x4x3", "1", {1, 4, 4, 3}, {3, 3, 3, 3}}}) {
    auto type = [](const char *shape) { return "tensor<" + std::string(shape) + "xf32>"; };
    std::string x = type(form.input), w = type(form.filter), y = type(form.result);
    expectGraphMatches("%x: " + x + ", %w: " + w, y,
                       "%0 = sinter.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = "
                       "array<i64: 1, 1>, input_dilation = array<i64: 1, 1>, dilation = array<i64: 1, 1>, groups = " +
                           std::string(form.groups) +
                           " : i64, layout = #sinter<conv_layout channels_last>, element_type = f32} : (" + x + ", " +
                           w + ") -> " + y + "\n return %0 : " + y,
                       {{{form.inputShape, {}}, {form.filterShape, {}}}});
  }
}

TEST(Roots, TransposedConvolution) {
  expectGraphMatches("%x: tensor<1x7x3xf32>, %w: tensor<5x4x3xf32>", "tensor<1x16x5xf32>", R"(
    %0 = sinter.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 3>, high = array<i64: 3>, input_dilation = array<i64: 2>,
         dilation = array<i64: 1>, layout = #sinter<conv_layout channels_last>, element_type = f32} : (tensor<1x7x3xf32>, tensor<5x4x3xf32>) -> tensor<1x16x5xf32>
    return %0 : tensor<1x16x5xf32>)",
                     {{{{1, 7, 3}, {}}, {{5, 4, 3}, {}}}});
}

TEST(Roots, IntegerProducts) {
  expectGraphMatches("%x: tensor<3x4xi8>, %w: tensor<4x5xui8>", "tensor<3x5xi32>", R"(
    %0 = sinter.dot_general %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>,
         element_type = i32} : (tensor<3x4xi8>, tensor<4x5xui8>) -> tensor<3x5xi32>
    return %0 : tensor<3x5xi32>)",
                     {{{{3, 4}, {-100, 50, 3}}, {{4, 5}, {250, 1, 7}}}});
}

// Right operands of run time go through strips: copied where their rows lie far apart, transposed where their sums are
// contiguous; for several blocks of rows, partial panels, batches, lhs read across and what follows the product.
TEST(Roots, ProductsByStrips) {
  struct Form {
    const char *lhs, *rhs, *result, *lhsContract, *rhsContract, *batch;
    llvm::SmallVector<int64_t> lhsShape, rhsShape, resultShape;
  };
  for (const Form &form :
       {Form{"320x70", "70x160", "320x160", "1", "0", "", {320, 70}, {70, 160}, {320, 160}},
        Form{"320x70", "70x149", "320x149", "1", "0", "", {320, 70}, {70, 149}, {320, 149}},
        Form{"300x?", "?x160", "300x160", "1", "0", "", {300, 65}, {65, 160}, {300, 160}},
        Form{"90x200", "90x160", "200x160", "0", "0", "", {90, 200}, {90, 160}, {200, 160}},
        Form{"130x37", "45x37", "130x45", "1", "1", "", {130, 37}, {45, 37}, {130, 45}},
        Form{"?x37", "45x37", "?x45", "1", "1", "", {131, 37}, {45, 37}, {131, 45}},
        Form{"3x70x66", "3x66x144", "3x70x144", "2", "1", ": 0", {3, 70, 66}, {3, 66, 144}, {3, 70, 144}},
        Form{"3x70x66", "3x20x66", "3x70x20", "2", "2", ": 0", {3, 70, 66}, {3, 20, 66}, {3, 70, 20}}}) {
    auto type = [](const char *shape) { return "tensor<" + std::string(shape) + "xf32>"; };
    std::string x = type(form.lhs), w = type(form.rhs), y = type(form.result), batch = form.batch;
    expectGraphMatches("%x: " + x + ", %w: " + w + ", %z: " + y, y,
                       "%0 = sinter.dot_general %x, %w {lhs_batch = array<i64" + batch + ">, rhs_batch = array<i64" +
                           batch + ">, lhs_contract = array<i64: " + form.lhsContract +
                           ">, rhs_contract = array<i64: " + form.rhsContract + ">, element_type = f32} : (" + x +
                           ", " + w + ") -> " + y + "\n %1 = sinter.add %0, %z : (" + y + ", " + y + ") -> " + y +
                           "\n return %1 : " + y,
                       {{{form.lhsShape, {}}, {form.rhsShape, {}}, {form.resultShape, {}}}});
  }
}

TEST(Roots, Pooling) {
  expectGraphMatches("%x: tensor<1x2x8x9xf32>", "tensor<1x2x4x4xf32>, tensor<1x2x8x9xf32>", R"(
    %0 = sinter.reduce_window max %x {window = array<i64: 1, 1, 3, 3>, strides = array<i64: 1, 1, 2, 2>, low = array<i64: 0, 0, 1, 0>,
         high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<1x2x8x9xf32>) -> tensor<1x2x4x4xf32>
    %1 = sinter.reduce_window add %x {window = array<i64: 1, 1, 3, 2>, strides = array<i64: 1, 1, 1, 1>, low = array<i64: 0, 0, 2, 2>,
         high = array<i64: 0, 0, 2, 0>, dilations = array<i64: 1, 1, 2, 2>} : (tensor<1x2x8x9xf32>) -> tensor<1x2x8x9xf32>
    return %0, %1 : tensor<1x2x4x4xf32>, tensor<1x2x8x9xf32>)",
                     {{{{1, 2, 8, 9}, {}}}});
}

// Windows that lie behind the last element have none, of one tap, too.
TEST(Roots, WindowsOfPadding) {
  expectGraphMatches("%x: tensor<2x5x9xf32>, %y: tensor<?x?x8xf32>", "tensor<2x6x9xf32>, tensor<?x?x8xf32>", R"(
    %0 = sinter.reduce_window add %x {window = array<i64: 1, 1, 1>, strides = array<i64: 1, 1, 1>, low = array<i64: 0, 0, 0>,
         high = array<i64: 0, 1, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<2x5x9xf32>) -> tensor<2x6x9xf32>
    %1 = sinter.reduce_window add %y {window = array<i64: 1, 1, 1>, strides = array<i64: 1, 2, 1>, low = array<i64: 0, 0, 0>,
         high = array<i64: 2, 3, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
    return %0, %1 : tensor<2x6x9xf32>, tensor<?x?x8xf32>)",
                     {{{{2, 5, 9}, {}}, {{2, 5, 8}, {}}}, {{{2, 5, 9}, {}}, {{1, 4, 8}, {}}}});
}

TEST(Roots, PlacesOfGreatest) {
  expectGraphMatches("%x: tensor<2x8x9x19xf32>, %y: tensor<?x7x3xf64>", "tensor<2x4x4x19xi64>, tensor<?x4x3xi64>", R"(
    %0 = sinter.arg_reduce_window %x {window = array<i64: 1, 3, 3, 1>, strides = array<i64: 1, 2, 2, 1>, low = array<i64: 0, 1, 0, 0>,
         high = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1, 1>} : (tensor<2x8x9x19xf32>) -> tensor<2x4x4x19xi64>
    %1 = sinter.arg_reduce_window %y {window = array<i64: 1, 2, 1>, strides = array<i64: 1, 3, 1>, low = array<i64: 0, 3, 0>,
         high = array<i64: 0, 1, 0>, dilations = array<i64: 1, 1, 1>} : (tensor<?x7x3xf64>) -> tensor<?x4x3xi64>
    return %0, %1 : tensor<2x4x4x19xi64>, tensor<?x4x3xi64>)",
                     {{{{2, 8, 9, 19}, {3, 1, NAN, 8, 2, 8, 5, -1, 0, 4, 4}}, {{2, 7, 3}, {1, 5, 5, -2, 3}}},
                      {{{2, 8, 9, 19}, {}}, {{0, 7, 3}, {}}}});
}

TEST(Roots, Softmax) {
  for (llvm::StringRef attributes : {"axis = 1 : i64", "axis = 1 : i64, logarithm = true", "axis = 0 : i64"})
    expectGraphMatches("%x: tensor<3x?xf32>", "tensor<3x?xf32>",
                       ("%s = sinter.add %x, %x : (tensor<3x?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>\n"
                        "%0 = sinter.softmax %s {" +
                        attributes +
                        "} : (tensor<3x?xf32>) -> tensor<3x?xf32>\n"
                        "%1 = sinter.mul %0, %x : (tensor<3x?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>\n"
                        "return %1 : tensor<3x?xf32>")
                           .str(),
                       {{{{3, 1}, {}}}, {{{3, 16}, {}}}, {{{3, 75}, {}}}, {{{3, 0}, {}}}});
}

TEST(Roots, LayerNorm) {
  expectGraphMatches("%x: tensor<2x3x40xf32>, %s: tensor<40xf32>",
                     "tensor<2x3x40xf32>, tensor<2x3x1xf32>, tensor<2x3x40xf32>", R"(
    %0:3 = sinter.layer_norm %x scale(%s) bias(%s) {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x3x40xf32>, tensor<40xf32>, tensor<40xf32>)
         -> (tensor<2x3x40xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    %1:3 = sinter.layer_norm %x {axis = 2 : i64, epsilon = 1.0e-5 : f64, center = false} : (tensor<2x3x40xf32>)
         -> (tensor<2x3x40xf32>, tensor<2x3x1xf32>, tensor<2x3x1xf32>)
    %2 = sinter.exp %1#0 : (tensor<2x3x40xf32>) -> tensor<2x3x40xf32>
    return %0#0, %0#2, %2 : tensor<2x3x40xf32>, tensor<2x3x1xf32>, tensor<2x3x40xf32>)",
                     {{{{2, 3, 40}, {}}, {{40}, {}}}});
}

TEST(Roots, GroupNorm) {
  expectGraphMatches("%x: tensor<?x6x5xf32>, %c: tensor<6xf32>", "tensor<?x6x5xf32>", R"(
    %0 = sinter.group_norm %x, %c, %c {groups = 3 : i64, epsilon = 1.0e-5 : f64} : (tensor<?x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<?x6x5xf32>
    return %0 : tensor<?x6x5xf32>)",
                     {{{{2, 6, 5}, {}}, {{6}, {}}}});
}

TEST(Roots, Attention) {
  expectGraphMatches("%q: tensor<2x3x4xf32>, %k: tensor<2x?x4xf32>, %v: tensor<2x?x5xf32>, %b: tensor<1x3x1xf32>",
                     "tensor<2x3x5xf32>", R"(
    %0 = sinter.attention %q, %k, %v, %b {scale = 0.5 : f64} : (tensor<2x3x4xf32>, tensor<2x?x4xf32>, tensor<2x?x5xf32>, tensor<1x3x1xf32>) -> tensor<2x3x5xf32>
    return %0 : tensor<2x3x5xf32>)",
                     {{{{2, 3, 4}, {}}, {{2, 9, 4}, {}}, {{2, 9, 5}, {}}, {{1, 3, 1}, {}}}});
}

TEST(Roots, RecurrentCells) {
  expectGraphMatches(
      "%x: tensor<4x2x3xf32>, %w: tensor<16x3xf32>, %r: tensor<16x4xf32>, %b: tensor<16xf32>, %p: tensor<12xf32>, %h: "
      "tensor<2x4xf32>, %n: tensor<2xi32>",
      "tensor<4x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x2x4xf32>", R"(
    %0:3 = sinter.lstm %x input_weights(%w), %r, %h, %h bias(%b) peephole(%p) lengths(%n) {direction = #sinter<direction reverse>, clip = 3.0 : f64}
       : (tensor<4x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<16xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<12xf32>, tensor<2xi32>)
       -> (tensor<4x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %1:3 = sinter.lstm %x input_weights(%w), %r, %h, %h : (tensor<4x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
       -> (tensor<4x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    return %0#0, %0#1, %0#2, %1#0 : tensor<4x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4x2x4xf32>)",
      {{{{4, 2, 3}, {}}, {{16, 3}, {}}, {{16, 4}, {}}, {{16}, {}}, {{12}, {}}, {{2, 4}, {}}, {{2}, {4, 2}}}});
}

TEST(Roots, RecurrentCellsWithWeights) {
  expectGraphMatches("%x: tensor<4x2x3xf32>, %h: tensor<2x4xf32>",
                     "tensor<4x2x4xf32>, tensor<4x2x4xf32>, tensor<2x4xf32>", R"(
    %w = sinter.constant dense<0.25> : tensor<16x3xf32>
    %r = sinter.constant dense<-0.125> : tensor<16x4xf32>
    %v = sinter.constant dense<0.25> : tensor<12x3xf32>
    %q = sinter.constant dense<-0.125> : tensor<12x4xf32>
    %0:3 = sinter.lstm %x input_weights(%w), %r, %h, %h : (tensor<4x2x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
       -> (tensor<4x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
    %1:2 = sinter.gru %x input_weights(%v), %q, %h {linear_before_reset = true}
       : (tensor<4x2x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<2x4xf32>) -> (tensor<4x2x4xf32>, tensor<2x4xf32>)
    return %0#0, %1#0, %1#1 : tensor<4x2x4xf32>, tensor<4x2x4xf32>, tensor<2x4xf32>)",
                     {{{{4, 2, 3}, {}}, {{2, 4}, {}}}});
}

TEST(Roots, ReduceTrailingUnitAxes) {
  expectGraphMatches("%x: tensor<2x33x1xf32>, %y: tensor<2x3x?x1xf32>", "tensor<2xf32>, tensor<2x3xf32>", R"(
    %0 = sinter.reduce add %x axes = [1, 2] : (tensor<2x33x1xf32>) -> tensor<2xf32>
    %1 = sinter.reduce add %y axes = [2, 3] : (tensor<2x3x?x1xf32>) -> tensor<2x3xf32>
    return %0, %1 : tensor<2xf32>, tensor<2x3xf32>)",
                     {{{{2, 33, 1}, {}}, {{2, 3, 19, 1}, {}}}});
}
