// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random programs of the dialect, with inputs to run them on. A seed and a number of steps give the same program on
// every machine, and fewer steps a prefix of it: that is the first way in which a failing program shrinks.
//
// Native code rounds differently from the reference, in the last bits. A comparison, a rounding or a position that is
// taken of such a value may flip, and everything after it differs. So a program knows of each float tensor whether its
// elements are *exact*: small multiples of 1/16 that every rounding leaves alone. What jumps is computed from exact
// values only; what is smooth may take any, and is kept in a range where errors do not grow.

#ifndef SINTER_TEST_FUZZ_PROGRAMS_GENERATOR_H
#define SINTER_TEST_FUZZ_PROGRAMS_GENERATOR_H

#include "ir/Composer.h"
#include "ir/reference/HostTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <random>

namespace sinter::test {

struct ProgramOptions {
  uint64_t seed = 0;
  /// Ops (or loops, with their bodies) in the function's body.
  unsigned steps = 24;
  /// All floats f64, inputs of no special values, outputs floats: what central differences need.
  bool differentiable = false;
};

struct Program {
  mlir::OwningOpRef<mlir::ModuleOp> module; // one function, `main`
  std::vector<HostTensor> inputs;
};

/// Inputs for `main` of `program`.
void drawInputs(Program &program, uint64_t seed);

Program generateProgram(mlir::MLIRContext &context, const ProgramOptions &options);

/// A tensor and what is known of its elements.
struct Known {
  mlir::Value value;
  bool exact = false; // float: multiples of 1/16 of at most kExactBound; integers and booleans always
  double bound = 0;   // float: the largest magnitude

  mlir::RankedTensorType type() const { return tensorTypeOf(value); }
  mlir::Type element() const { return type().getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return type().getShape(); }
  int64_t rank() const { return type().getRank(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
  bool isBool() const { return element().isInteger(1); }
  bool isInteger() const { return !isFloat() && !isBool(); }
};
inline constexpr double kExactBound = 1024;
/// Inexact values are squashed when they may leave this range.
inline constexpr double kSmoothBound = 16;
/// Larger tensors are not made.
inline constexpr int64_t kMaxElements = 512;

/// Builds one region: values to choose from, and steps that add to them.
class RegionGenerator {
public:
  RegionGenerator(mlir::OpBuilder &builder, mlir::Location loc, std::mt19937_64 &random, const ProgramOptions &options,
                  unsigned depth)
      : c(loc, builder), random(random), options(options), depth(depth) {}

  void add(Known known) { values.push_back(known); }
  /// One more op, if the values at hand allow the kind that is drawn; else nothing.
  void step();
  llvm::ArrayRef<Known> known() const { return values; }

private:
  // One family each: chooses operands, builds, adds the results; nothing where no operands fit.
  void smooth();
  void arithmetic();
  void jumps();
  void integers();
  void logic();
  void conversion();
  void movement();
  void indexing();
  void reduction();
  void order();
  void contraction();
  void factorization();
  void normalization();
  void branch();
  void loop();

  using Fits = llvm::function_ref<bool(const Known &)>;
  uint64_t below(uint64_t bound) { return random() % bound; }
  bool coin() { return below(2) != 0; }
  /// A value for which `fits` holds, the newer the likelier; one without a value if there is none.
  Known pick(Fits fits);
  Known pickFloat();
  /// One of the type of `k`, perhaps `k` itself or a scalar of its element type spread over its shape.
  Known pickLike(const Known &k);
  /// A boolean of rank 0 or of the shape of `k`.
  Known pickPredicate(const Known *k);
  /// A rank-0 i64 in [0, limit).
  Known pickCount(int64_t limit);
  /// Positions (i64), in range or not, of the given shape.
  mlir::Value pickPositions(llvm::ArrayRef<int64_t> shape);
  /// Adds a result; a float is brought back into range first.
  void give(mlir::Value value, bool exact = true, double bound = 0);
  /// The same facts as `k`.
  void giveMoved(mlir::Value value, const Known &k) { give(value, k.exact, k.bound); }
  mlir::Value number(const Known &like, double value) { return c.fill(value, like.value); }
  mlir::Value index(int64_t value);
  /// Values to capture, one at least.
  llvm::SmallVector<Known> pickCaptures();
  /// Runs `steps` steps in a region whose arguments are `arguments`; returns its values.
  llvm::SmallVector<Known> body(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Known> arguments);
  /// The newest of `values` of type `type`, clamped to what `carry` promises.
  mlir::Value yieldLike(mlir::OpBuilder &builder, mlir::Location loc, llvm::ArrayRef<Known> values, const Known &carry);

  Composer c;
  std::mt19937_64 &random;
  const ProgramOptions &options;
  unsigned depth;
  std::vector<Known> values;
};

} // namespace sinter::test

#endif
