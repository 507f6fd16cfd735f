// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of the tracer's functions: one row per public function. Each row runs on several lists of operands,
// eagerly, jitted, compiled ahead of time, and by the reference evaluator; tools/check_functions.py says which function
// has no row.

#ifndef SINTER_TEST_NUMERICS_FUNCTIONS_H
#define SINTER_TEST_NUMERICS_FUNCTIONS_H

#include <functional>
#include <sinter/sinter.hpp>

namespace sinter::numerics {

using Tensors = std::vector<Tensor>;

/// What a row's function returns.
struct Results {
  Results(Tensor tensor) : list{tensor} {}
  Results(Tensors tensors) : list(std::move(tensors)) {}
  Results(std::pair<Tensor, Tensor> tensors) : list{tensors.first, tensors.second} {}
  Tensors list;
};

/// Operands for one call: shapes, and the range of their elements.
struct Operands {
  std::vector<Shape> shapes;
};
using Cases = std::vector<std::vector<Shape>>;

struct Row {
  const char *name;          // as in sinter::name
  std::vector<DType> dtypes; // of the operands; integer operands of index functions keep theirs
  Cases cases;               // shapes of the operands
  double low, high;          // of the elements
  double tolerance;          // in units of the dtype's epsilon, relative to max(1, |x|); 0: equal bits
  std::function<Results(const Tensors &)> apply;
  std::function<double(double, double)> host = {}; // what an elementwise function should give, by C++'s own library
  double hostTolerance = 4;                        // for it, in the same unit, relative to |x|
};

// Element types.
inline const std::vector<DType> kFloats = {DType::f32, DType::f64, DType::f16, DType::bf16};
inline const std::vector<DType> kWideFloats = {DType::f32, DType::f64};
inline const std::vector<DType> kSigned = {DType::f32, DType::f64, DType::i32, DType::i8};
inline const std::vector<DType> kNumbers = {DType::f32, DType::f64, DType::f16, DType::i32, DType::i64, DType::u8};
inline const std::vector<DType> kIntegers = {DType::i8, DType::i32, DType::i64, DType::u16, DType::u64};
inline const std::vector<DType> kAll = {DType::f32, DType::bf16, DType::i64, DType::u8, DType::boolean};
inline const std::vector<DType> kOne = {DType::f32};

// Shapes.
inline const Cases kUnary = {{{}}, {{0}}, {{1}}, {{3, 4}}, {{2, 0, 3}}, {{2, 1, 5}}, {{37}}};
inline const Cases kBinary = {{{}, {}},      {{3}, {}},        {{0}, {1}},   {{1}, {1}},
                              {{2, 3}, {3}}, {{4, 1}, {1, 5}}, {{}, {2, 2}}, {{19}, {19}}};
inline const Cases kTernary = {{{}, {}, {}},    {{3}, {3}, {}},        {{0}, {1}, {0}},
                               {{1}, {1}, {1}}, {{2, 3}, {3}, {2, 1}}, {{4, 1}, {1, 5}, {}}};
/// Rank 1 and more, where an axis is named.
inline const Cases kAxis = {{{1}}, {{0}}, {{7}}, {{3, 4}}, {{2, 0, 3}}, {{2, 3, 5}}};
/// Matrices and batches of them.
inline const Cases kMatrix = {{{1, 1}}, {{0, 0}}, {{3, 4}}, {{4, 3}}, {{2, 3, 3}}};

// One per file.
std::vector<Row> elementwiseRows();
std::vector<Row> shapeRows();
std::vector<Row> indexRows();
std::vector<Row> reduceRows();
std::vector<Row> contractRows();
std::vector<Row> networkRows();
std::vector<Row> linalgRows();
std::vector<Row> randomRows();
/// Of LayerFacts.cpp: for ReferenceTest.cpp only.
std::vector<Row> layerRows();

struct Family {
  const char *name;
  std::vector<Row> (*rows)();
};
inline const Family kFamilies[] = {
    {"elementwise", elementwiseRows}, {"shape", shapeRows},     {"index", indexRows},   {"reduce", reduceRows},
    {"contract", contractRows},       {"network", networkRows}, {"linalg", linalgRows}, {"random", randomRows}};

} // namespace sinter::numerics

#endif
