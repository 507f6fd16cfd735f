// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elemental ops in map kernels: scalar code and lanes against the evaluator, with axes that do and do not fill the
// lanes.

#include "KernelCase.h"

using sinter::test::expectKernel;

TEST(Move, BroadcastOfStaticAxes) {
  expectKernel("map", {"tensor<5x1xf32>"}, {"tensor<3x5x37xf32>"}, R"(
    %r0 = sinter.broadcast %a axes = [1, 2] {type = tensor<3x5x37xf32>} : (tensor<5x1xf32>) -> tensor<3x5x37xf32>)",
               {{{{5, 1}, {}}}});
}

TEST(Move, BroadcastThatMayRepeatAtRunTime) {
  expectKernel(
      "map", {"tensor<?xf32>", "tensor<3x?xf32>"}, {"tensor<3x?xf32>"}, R"(
    %r0 = sinter.broadcast %a like(%b) axes = [1] {type = tensor<3x?xf32>} : (tensor<?xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>)",
      {{{{1}, {}}, {{3, 37}, {}}}, {{{37}, {}}, {{3, 37}, {}}}, {{{1}, {}}, {{3, 1}, {}}}, {{{0}, {}}, {{3, 0}, {}}}});
}

TEST(Move, TransposeOfThreeAxes) {
  expectKernel("map", {"tensor<7x5x19xf32>"}, {"tensor<19x7x5xf32>"}, R"(
    %r0 = sinter.transpose %a {permutation = array<i64: 2, 0, 1>} : (tensor<7x5x19xf32>) -> tensor<19x7x5xf32>)",
               {{{{7, 5, 19}, {}}}});
}

// Blocks turned in registers: whole and overlapping ones, axes that stay together, a first axis of any size, both
// widths.
TEST(Move, TransposeInBlocks) {
  expectKernel("map", {"tensor<40x33xf32>"}, {"tensor<33x40xf32>"}, R"(
    %r0 = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<40x33xf32>) -> tensor<33x40xf32>)",
               {{{{40, 33}, {}}}});
  expectKernel("map", {"tensor<19x6x3x3xf32>"}, {"tensor<3x3x6x19xf32>"}, R"(
    %r0 = sinter.transpose %a {permutation = array<i64: 2, 3, 1, 0>} : (tensor<19x6x3x3xf32>) -> tensor<3x3x6x19xf32>)",
               {{{{19, 6, 3, 3}, {}}}});
  expectKernel("map", {"tensor<?x17x5x7xf32>"}, {"tensor<?x5x7x17xf32>"}, R"(
    %r0 = sinter.transpose %a {permutation = array<i64: 0, 2, 3, 1>} : (tensor<?x17x5x7xf32>) -> tensor<?x5x7x17xf32>)",
               {{{{3, 17, 5, 7}, {}}}, {{{0, 17, 5, 7}, {}}}, {{{1, 17, 5, 7}, {}}}});
  expectKernel("map", {"tensor<2x5x9x12xf64>"}, {"tensor<12x2x9x5xf64>"}, R"(
    %r0 = sinter.transpose %a {permutation = array<i64: 3, 0, 2, 1>} : (tensor<2x5x9x12xf64>) -> tensor<12x2x9x5xf64>)",
               {{{{2, 5, 9, 12}, {}}}});
  expectKernel("map", {"tensor<2x9x3x16xf64>"}, {"tensor<16x3x2x9xf64>"}, R"(
    %r0 = sinter.transpose %a {permutation = array<i64: 3, 2, 0, 1>} : (tensor<2x9x3x16xf64>) -> tensor<16x3x2x9xf64>)",
               {{{{2, 9, 3, 16}, {}}}});
  // A run that is shorter than a vector, and axes from their ends: what input gradients read of filters.
  expectKernel("map", {"tensor<5x33x3x3xf32>"}, {"tensor<3x3x5x33xf32>"}, R"(
    %t = sinter.transpose %a {permutation = array<i64: 1, 2, 3, 0>} : (tensor<5x33x3x3xf32>) -> tensor<33x3x3x5xf32>
    %v = sinter.reverse %t {axes = array<i64: 1, 2>} : (tensor<33x3x3x5xf32>) -> tensor<33x3x3x5xf32>
    %r0 = sinter.transpose %v {permutation = array<i64: 1, 2, 3, 0>} : (tensor<33x3x3x5xf32>) -> tensor<3x3x5x33xf32>)",
               {{{{5, 33, 3, 3}, {}}}});
  expectKernel("map", {"tensor<18x20xf32>"}, {"tensor<20x18xf32>"}, R"(
    %v = sinter.reverse %a {axes = array<i64: 1>} : (tensor<18x20xf32>) -> tensor<18x20xf32>
    %r0 = sinter.transpose %v {permutation = array<i64: 1, 0>} : (tensor<18x20xf32>) -> tensor<20x18xf32>)",
               {{{{18, 20}, {}}}});
  expectKernel("map", {"tensor<18x20xf32>"}, {"tensor<20x18xf32>"}, R"(
    %v = sinter.reverse %a {axes = array<i64: 0>} : (tensor<18x20xf32>) -> tensor<18x20xf32>
    %r0 = sinter.transpose %v {permutation = array<i64: 1, 0>} : (tensor<18x20xf32>) -> tensor<20x18xf32>)",
               {{{{18, 20}, {}}}});
}

TEST(Move, ReshapeThatSplitsAndMerges) {
  // 4 x 48 -> 4 x 3 x 16 keeps lanes together; 4 x 48 -> 24 x 8 does not need to split; 6 x 10 -> 4 x 15 cuts through.
  expectKernel("map", {"tensor<4x48xf32>"}, {"tensor<4x3x16xf32>"}, R"(
    %x = sinter.neg %a : (tensor<4x48xf32>) -> tensor<4x48xf32>
    %r0 = sinter.reshape %x {type = tensor<4x3x16xf32>} : (tensor<4x48xf32>) -> tensor<4x3x16xf32>)",
               {{{{4, 48}, {}}}});
  expectKernel("map", {"tensor<4x3x16xf32>"}, {"tensor<4x48xf32>"}, R"(
    %x = sinter.neg %a : (tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
    %r0 = sinter.reshape %x {type = tensor<4x48xf32>} : (tensor<4x3x16xf32>) -> tensor<4x48xf32>)",
               {{{{4, 3, 16}, {}}}});
  expectKernel("map", {"tensor<6x10xf32>"}, {"tensor<4x15xf32>"}, R"(
    %x = sinter.neg %a : (tensor<6x10xf32>) -> tensor<6x10xf32>
    %r0 = sinter.reshape %x {type = tensor<4x15xf32>} : (tensor<6x10xf32>) -> tensor<4x15xf32>)",
               {{{{6, 10}, {}}}});
}

TEST(Move, ReshapeOfUnknownSizes) {
  expectKernel("map", {"tensor<?x4x12xf32>"}, {"tensor<?x3x4x4xf32>"}, R"(
    %x = sinter.neg %a : (tensor<?x4x12xf32>) -> tensor<?x4x12xf32>
    %r0 = sinter.reshape %x {type = tensor<?x3x4x4xf32>} : (tensor<?x4x12xf32>) -> tensor<?x3x4x4xf32>)",
               {{{{5, 4, 12}, {}}}, {{{0, 4, 12}, {}}}});
}

TEST(Move, SliceWithSteps) {
  expectKernel("map", {"tensor<9x80xf32>"}, {"tensor<3x26xf32>"}, R"(
    %r0 = sinter.slice %a {starts = array<i64: 1, 2>, limits = array<i64: 8, 80>, steps = array<i64: 3, 3>} : (tensor<9x80xf32>) -> tensor<3x26xf32>)",
               {{{{9, 80}, {}}}});
}

TEST(Move, RangeSliceAtRunTime) {
  expectKernel("map", {"tensor<4x50xf32>", "tensor<2xi64>", "tensor<2xi64>", "tensor<2xi64>"}, {"tensor<?x?xf32>"}, R"(
    %r0 = sinter.range_slice %a, %b, %c, %d : (tensor<4x50xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>)",
               {{{{4, 50}, {}}, {{2}, {0, 3}}, {{2}, {4, -2}}, {{2}, {1, 1}}},
                {{{4, 50}, {}}, {{2}, {-1, -1}}, {{2}, {-100, -100}}, {{2}, {-1, -3}}},
                {{{4, 50}, {}}, {{2}, {3, 0}}, {{2}, {1, 50}}, {{2}, {1, 1}}}});
}

TEST(Move, DynamicSliceAndUpdate) {
  expectKernel("map", {"tensor<6x40xf32>", "tensor<2xi64>"}, {"tensor<2x33xf32>"}, R"(
    %r0 = sinter.dynamic_slice %a, %b {sizes = array<i64: 2, 33>} : (tensor<6x40xf32>, tensor<2xi64>) -> tensor<2x33xf32>)",
               {{{{6, 40}, {}}, {{2}, {1, 3}}}, {{{6, 40}, {}}, {{2}, {9, -9}}}});
  expectKernel(
      "map", {"tensor<6x40xf32>", "tensor<2x33xf32>", "tensor<2xi64>"}, {"tensor<6x40xf32>"}, R"(
    %r0 = sinter.dynamic_update_slice %a, %b, %c : (tensor<6x40xf32>, tensor<2x33xf32>, tensor<2xi64>) -> tensor<6x40xf32>)",
      {{{{6, 40}, {}}, {{2, 33}, {-7, 8}}, {{2}, {1, 3}}}, {{{6, 40}, {}}, {{2, 33}, {-7, 8}}, {{2}, {9, -9}}}});
}

TEST(Move, PadByValue) {
  expectKernel("map", {"tensor<3x20xf32>", "tensor<f32>"}, {"tensor<6x45xf32>"}, R"(
    %r0 = sinter.pad %a, %b {low = array<i64: 2, 5>, high = array<i64: 1, 20>, interior = array<i64: 0, 0>} : (tensor<3x20xf32>, tensor<f32>) -> tensor<6x45xf32>)",
               {{{{3, 20}, {}}, {{}, {9.5}}}});
  expectKernel("map", {"tensor<3x20xf32>", "tensor<f32>"}, {"tensor<7x36xf32>"}, R"(
    %r0 = sinter.pad %a, %b {low = array<i64: 2, -2>, high = array<i64: 0, -1>, interior = array<i64: 1, 1>} : (tensor<3x20xf32>, tensor<f32>) -> tensor<7x36xf32>)",
               {{{{3, 20}, {}}, {{}, {9.5}}}});
}

TEST(Move, PadFromTheOperand) {
  for (const char *mode : {"reflect", "edge", "wrap"})
    expectKernel("map", {"tensor<3x40xf32>", "tensor<f32>"}, {"tensor<6x70xf32>"},
                 std::string(R"(
    %r0 = sinter.pad %a, %b {low = array<i64: 2, 11>, high = array<i64: 1, 19>, interior = array<i64: 0, 0>, mode = #sinter<pad_mode )") +
                     mode + ">} : (tensor<3x40xf32>, tensor<f32>) -> tensor<6x70xf32>",
                 {{{{3, 40}, {}}, {{}, {9.5}}}});
}

TEST(Move, PadFromWhatRemains) {
  for (const char *mode : {"reflect", "edge", "wrap"}) {
    expectKernel("map", {"tensor<4x40xf32>", "tensor<f32>"}, {"tensor<4x49xf32>"},
                 std::string(R"(
    %r0 = sinter.pad %a, %b {low = array<i64: 1, -3>, high = array<i64: -1, 12>, interior = array<i64: 0, 0>, mode = #sinter<pad_mode )") +
                     mode + ">} : (tensor<4x40xf32>, tensor<f32>) -> tensor<4x49xf32>",
                 {{{{4, 40}, {}}, {{}, {9.5}}}});
    expectKernel("map", {"tensor<4x40xf32>", "tensor<f32>", "tensor<2xi64>", "tensor<2xi64>"}, {"tensor<?x?xf32>"},
                 std::string(R"(
    %r0 = sinter.dynamic_pad %a, %b, %c, %d {mode = #sinter<pad_mode )") +
                     mode + ">} : (tensor<4x40xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>",
                 {{{{4, 40}, {}}, {{}, {9.5}}, {{2}, {2, -5}}, {{2}, {-1, 11}}},
                  {{{4, 40}, {}}, {{}, {9.5}}, {{2}, {0, 7}}, {{2}, {3, -20}}}});
  }
}

TEST(Move, DynamicPad) {
  expectKernel("map", {"tensor<3x20xf32>", "tensor<f32>", "tensor<2xi64>", "tensor<2xi64>"}, {"tensor<?x?xf32>"}, R"(
    %r0 = sinter.dynamic_pad %a, %b, %c, %d : (tensor<3x20xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>)",
               {{{{3, 20}, {}}, {{}, {9.5}}, {{2}, {1, 3}}, {{2}, {0, 25}}},
                {{{3, 20}, {}}, {{}, {9.5}}, {{2}, {-1, 0}}, {{2}, {0, -4}}}});
}

TEST(Move, ConcatenateAlongOuterAndInnerAxes) {
  expectKernel("map", {"tensor<2x33xf32>", "tensor<3x33xf32>"}, {"tensor<5x33xf32>"}, R"(
    %r0 = sinter.concatenate %a, %b {axis = 0} : (tensor<2x33xf32>, tensor<3x33xf32>) -> tensor<5x33xf32>)",
               {{{{2, 33}, {}}, {{3, 33}, {1, 2, 3, 4}}}});
  expectKernel("map", {"tensor<2x17xf32>", "tensor<2x5xf32>", "tensor<2x40xf32>"}, {"tensor<2x62xf32>"}, R"(
    %r0 = sinter.concatenate %a, %b, %c {axis = 1} : (tensor<2x17xf32>, tensor<2x5xf32>, tensor<2x40xf32>) -> tensor<2x62xf32>)",
               {{{{2, 17}, {}}, {{2, 5}, {1, 2, 3}}, {{2, 40}, {-1, -2, -3}}}});
  expectKernel("map", {"tensor<2x16xf32>", "tensor<2x32xf32>"}, {"tensor<2x48xf32>"}, R"(
    %r0 = sinter.concatenate %a, %b {axis = 1} : (tensor<2x16xf32>, tensor<2x32xf32>) -> tensor<2x48xf32>)",
               {{{{2, 16}, {}}, {{2, 32}, {1, 2, 3}}}});
}

// Found by halves: parts that fill the lanes, that share them, that are nothing, and whose sizes the call tells.
TEST(Move, ConcatenateOfMany) {
  expectKernel("map", {"tensor<2x16xf32>", "tensor<2x32xf32>"}, {"tensor<2x128xf32>"}, R"(
    %r0 = sinter.concatenate %a, %b, %a, %b, %b {axis = 1} : (tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x16xf32>, tensor<2x32xf32>, tensor<2x32xf32>) -> tensor<2x128xf32>)",
               {{{{2, 16}, {}}, {{2, 32}, {}}}});
  expectKernel("map", {"tensor<?xf32>", "tensor<3xf32>", "tensor<?xf32>"}, {"tensor<?xf32>"}, R"(
    %n = sinter.neg %b : (tensor<3xf32>) -> tensor<3xf32>
    %r0 = sinter.concatenate %a, %b, %c, %a, %n, %a, %c {axis = 0} : (tensor<?xf32>, tensor<3xf32>, tensor<?xf32>, tensor<?xf32>, tensor<3xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>)",
               {{{{1}, {}}, {{3}, {}}, {{20}, {}}},
                {{{17}, {}}, {{3}, {}}, {{0}, {}}},
                {{{0}, {}}, {{3}, {}}, {{1}, {}}},
                {{{40}, {}}, {{3}, {}}, {{33}, {}}}});
}

TEST(Move, ReverseTileAndIota) {
  expectKernel("map", {"tensor<3x37xf32>"}, {"tensor<3x37xf32>"}, R"(
    %r0 = sinter.reverse %a {axes = array<i64: 0, 1>} : (tensor<3x37xf32>) -> tensor<3x37xf32>)",
               {{{{3, 37}, {}}}});
  expectKernel("map", {"tensor<3x7xf32>", "tensor<2xi64>"}, {"tensor<?x?xf32>"}, R"(
    %r0 = sinter.tile %a, %b : (tensor<3x7xf32>, tensor<2xi64>) -> tensor<?x?xf32>)",
               {{{{3, 7}, {}}, {{2}, {2, 6}}}, {{{3, 7}, {}}, {{2}, {1, 0}}}});
  expectKernel("map", {"tensor<3x37xf32>"}, {"tensor<3x37xf32>"}, R"(
    %i = sinter.iota {axis = 1, type = tensor<3x37xf32>} : () -> tensor<3x37xf32>
    %r0 = sinter.add %a, %i : (tensor<3x37xf32>, tensor<3x37xf32>) -> tensor<3x37xf32>)",
               {{{{3, 37}, {}}}});
}

TEST(Move, ChainsStayRight) {
  // A transposed, padded, reversed slice: every index passes through several rules.
  expectKernel("map", {"tensor<30x6xf32>", "tensor<f32>"}, {"tensor<8x15xf32>"}, R"(
    %t = sinter.transpose %a {permutation = array<i64: 1, 0>} : (tensor<30x6xf32>) -> tensor<6x30xf32>
    %p = sinter.pad %t, %b {low = array<i64: 1, 3>, high = array<i64: 1, 4>, interior = array<i64: 0, 0>} : (tensor<6x30xf32>, tensor<f32>) -> tensor<8x37xf32>
    %v = sinter.reverse %p {axes = array<i64: 1>} : (tensor<8x37xf32>) -> tensor<8x37xf32>
    %r0 = sinter.slice %v {starts = array<i64: 0, 1>, limits = array<i64: 8, 31>, steps = array<i64: 1, 2>} : (tensor<8x37xf32>) -> tensor<8x15xf32>)",
               {{{{30, 6}, {}}, {{}, {9.5}}}});
}

TEST(Move, Gathers) {
  expectKernel("map", {"tensor<5x33xf32>", "tensor<4xi64>"}, {"tensor<4x33xf32>"}, R"(
    %r0 = sinter.gather %a, %b {axis = 0} : (tensor<5x33xf32>, tensor<4xi64>) -> tensor<4x33xf32>)",
               {{{{5, 33}, {}}, {{4}, {0, -1, 3, 99}}}});
  expectKernel("map", {"tensor<3x?xf32>", "tensor<37xi32>"}, {"tensor<3x37xf32>"}, R"(
    %r0 = sinter.gather %a, %b {axis = 1} : (tensor<3x?xf32>, tensor<37xi32>) -> tensor<3x37xf32>)",
               {{{{3, 9}, {}}, {{37}, {0, -1, 3, 99, -99, 5}}}, {{{3, 0}, {}}, {{37}, {0, -1}}}});
  expectKernel("map", {"tensor<5x33xf32>", "tensor<2x33xi64>"}, {"tensor<2x33xf32>"}, R"(
    %r0 = sinter.gather_elements %a, %b {axis = 0} : (tensor<5x33xf32>, tensor<2x33xi64>) -> tensor<2x33xf32>)",
               {{{{5, 33}, {}}, {{2, 33}, {0, 4, -2, 1}}}});
  expectKernel("map", {"tensor<2x5x33xf32>", "tensor<2x3x1xi64>"}, {"tensor<2x3x33xf32>"}, R"(
    %r0 = sinter.gather_nd %a, %b {batch_axes = 1} : (tensor<2x5x33xf32>, tensor<2x3x1xi64>) -> tensor<2x3x33xf32>)",
               {{{{2, 5, 33}, {}}, {{2, 3, 1}, {0, 4, -2, 1}}}});
}
