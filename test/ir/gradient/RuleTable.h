// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of gradient rules under test: one row per op and shape configuration. A row is the op, its attributes and
// its types:
//
//   {"reduce", "axes = [1], combiner = #combiner add", "3x4 -> 3"}
//
// Attributes: [1, 2] is array<i64: 1, 2>, a number gets : i64 or : f64, #combiner add is #sinter<combiner add>. Types:
// 3x4 is tensor<3x4xf64>, s is tensor<f64>, ?x4@3x4 has `?` of which this run is 3; a prefix i, j, b, g, u says i64,
// i32, i1, f32, ui8. An operand may say its elements (=1,2,3), or where they lie (:0.5..2); a prefix c makes it a
// constant in the function.

#ifndef SINTER_TEST_IR_GRADIENT_RULETABLE_H
#define SINTER_TEST_IR_GRADIENT_RULETABLE_H

#include <vector>

namespace sinter::test {

struct RuleRow {
  const char *op;
  const char *attributes;
  const char *types;
};

/// Pointwise ops, to run on several shapes: `types` has one entry per operand (a range), `$` stands for the shape.
std::vector<RuleRow> pointwiseRules();
/// All others, in at least five configurations each.
std::vector<RuleRow> otherRules();

} // namespace sinter::test

#endif
