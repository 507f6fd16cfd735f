// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "test/fuzz/programs/Generator.h"
#include "ir/Elementwise.h"
#include "ir/Shape.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::test;

//===- choosing ----------------------------------------------------------------------------------------------===//

Known RegionGenerator::pick(Fits fits) {
  SmallVector<size_t> candidates;
  for (size_t i = 0; i < values.size(); ++i)
    if (fits(values[i]))
      candidates.push_back(i);
  if (candidates.empty())
    return {};
  // Of two draws the newer: programs are deep rather than wide, and old values still occur.
  size_t first = below(candidates.size()), second = below(candidates.size());
  return values[candidates[std::max(first, second)]];
}

Known RegionGenerator::pickFloat() {
  return pick([](const Known &k) { return k.isFloat(); });
}

Known RegionGenerator::pickLike(const Known &k) {
  if (below(4) == 0) {
    Known scalar = pick([&](const Known &other) { return other.rank() == 0 && other.element() == k.element(); });
    if (scalar.value)
      return {c.spread(scalar.value, k.value, {}), scalar.exact, scalar.bound};
  }
  return pick([&](const Known &other) { return other.type() == k.type(); }); // k at least
}

Known RegionGenerator::pickPredicate(const Known *k) {
  return pick(
      [&](const Known &other) { return other.isBool() && (k ? other.shape() == k->shape() : other.rank() == 0); });
}

Value RegionGenerator::index(int64_t value) {
  HostTensor constant(c.getI64Type(), {});
  constant.setInt(0, value);
  return c.make<ConstantOp>(constant.toAttr());
}

Known RegionGenerator::pickCount(int64_t limit) {
  Known count = pick([](const Known &k) { return k.rank() == 0 && k.element().isInteger(64); });
  if (!count.value || coin())
    return {index(static_cast<int64_t>(below(limit))), true, 0};
  // |n| rem limit; the least integer stays negative, which every user of a count must bear.
  Value size = index(limit);
  return {c.make<RemOp>(c.make<AbsOp>(count.value), size), true, 0};
}

Value RegionGenerator::pickPositions(ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, c.getI64Type());
  Known known = pick([&](const Known &k) { return k.type() == type; });
  if (known.value && coin())
    return known.value;
  HostTensor constant(c.getI64Type(), shape);
  for (int64_t i = 0; i < constant.numElements(); ++i)
    constant.setInt(i, static_cast<int64_t>(below(9)) - 3);
  return c.make<ConstantOp>(constant.toAttr());
}

//===- results -----------------------------------------------------------------------------------------------===//

void RegionGenerator::give(Value value, bool exact, double bound) {
  Known known{value, exact, bound};
  if (!known.type().hasStaticShape() || known.type().getNumElements() > kMaxElements)
    return;
  if (!known.isFloat()) {
    known.exact = true;
  } else if (exact && bound > kExactBound) {
    known.value = c.make<ClampOp>(number(known, -8), value, number(known, 8));
    known.bound = 8;
  } else if (!exact && !(bound <= kSmoothBound)) {
    known.value = c.make<TanhOp>(value);
    known.bound = 1;
  }
  values.push_back(known);
}

void RegionGenerator::step() {
  switch (below(20)) {
  case 0:
  case 1:
  case 2:
    return smooth();
  case 3:
  case 4:
  case 5:
    return arithmetic();
  case 6:
    return jumps();
  case 7:
    return integers();
  case 8:
    return logic();
  case 9:
    return conversion();
  case 10:
  case 11:
    return movement();
  case 12:
    return indexing();
  case 13:
  case 14:
    return reduction();
  case 15:
    return order();
  case 16:
    return contraction();
  case 17:
    return normalization();
  case 18:
    return branch();
  default:
    return loop();
  }
}

//===- whole programs ----------------------------------------------------------------------------------------===//

/// Draws the elements of an input: floats exact (multiples of 1/16 up to 4) or, where a derivative is taken, anything
/// in [-2, 2].
static HostTensor drawInput(RankedTensorType type, std::mt19937_64 &random, bool differentiable) {
  HostTensor tensor(type.getElementType(), type.getShape());
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    uint64_t bits = random();
    if (!tensor.isFloat())
      tensor.setInt(i, type.getElementType().isInteger(1) ? static_cast<int64_t>(bits & 1)
                                                          : static_cast<int64_t>(bits % 23) - 11);
    else if (differentiable)
      tensor.setFloat(i, static_cast<double>(bits >> 11) * 0x1p-53 * 4 - 2);
    else
      tensor.setFloat(i, (static_cast<double>(bits % 129) - 64) / 16);
  }
  return tensor;
}

void sinter::test::drawInputs(Program &program, uint64_t seed) {
  std::mt19937_64 random(seed);
  program.inputs.clear();
  for (Type type : program.module->lookupSymbol<func::FuncOp>("main").getArgumentTypes())
    program.inputs.push_back(drawInput(cast<RankedTensorType>(type), random, false));
}

Program sinter::test::generateProgram(MLIRContext &context, const ProgramOptions &options) {
  std::mt19937_64 random(options.seed * 0x9e3779b97f4a7c15 + (options.differentiable ? 1 : 0));
  OpBuilder b(&context);
  Location loc = NameLoc::get(b.getStringAttr("seed " + std::to_string(options.seed)));
  Type f = options.differentiable || random() % 4 == 0 ? Type(b.getF64Type()) : Type(b.getF32Type());
  auto size = [&] { return static_cast<int64_t>(random() % 8 == 0 ? 1 : random() % 6 + 2); };
  int64_t m = size(), n = size(), k = size();
  // Sizes repeat, so that operands fit together; an empty axis now and then.
  int64_t rare = random() % 16 == 0 && !options.differentiable ? 0 : 17;
  SmallVector<Type> types;
  auto tensor = [&](Type element, ArrayRef<int64_t> shape) { types.push_back(RankedTensorType::get(shape, element)); };
  tensor(f, {m, n});
  tensor(f, {n, k});
  tensor(f, {n});
  tensor(f, {});
  tensor(f, {2, m, n});
  tensor(f, {1, 3, 5, 6});
  tensor(f, {rare});
  tensor(b.getI64Type(), {});
  tensor(b.getI64Type(), {n});
  tensor(b.getI32Type(), {m, n});
  tensor(b.getIntegerType(8, /*isSigned=*/false), {n});
  tensor(b.getI1Type(), {});
  tensor(b.getI1Type(), {m, n});

  Program program;
  program.module = ModuleOp::create(loc);
  for (Type type : types)
    program.inputs.push_back(drawInput(cast<RankedTensorType>(type), random, options.differentiable));
  b.setInsertionPointToStart(program.module->getBody());
  auto function = func::FuncOp::create(b, loc, "main", b.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  b.setInsertionPointToStart(block);
  RegionGenerator generator(b, loc, random, options, 0);
  for (BlockArgument argument : block->getArguments())
    generator.add({argument, !(options.differentiable && isa<FloatType>(elementTypeOf(argument))), 4});
  for (unsigned i = 0; i < options.steps; ++i)
    generator.step();

  // What nobody read is the result; nothing would be compared otherwise.
  SmallVector<Value> results;
  for (const Known &known : generator.known())
    if (!isa<BlockArgument>(known.value) && known.value.use_empty() && (known.isFloat() || !options.differentiable))
      results.push_back(known.value);
  if (results.empty())
    results.push_back(block->getArgument(0));
  func::ReturnOp::create(b, loc, results);
  function.setType(b.getFunctionType(types, ValueRange(results).getTypes()));
  return program;
}
