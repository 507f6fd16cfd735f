// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Size expressions as numbers: what each place that computes them gives (the host, a kernel's arith ops as native code
// and as C, an entry function) against exact arithmetic on 128 bits that is cut to 64 after each step.

#include "backends/cpu/EntryFunction.h"
#include "ir/SizeArithmetic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "test/Jit.h"
#include "test/backends/tiny/PrintC.h"
#include "test/backends/tiny/TinyBackend.h"
#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>

using namespace mlir;
using namespace sinter;

namespace {
using Kind = DimExpr::Kind;

constexpr int64_t kLeast = kLeastSize, kMost = kGreatestSize;
constexpr int64_t kNumbers[] = {kLeast, kLeast + 1, -(int64_t(1) << 32), -7,        -2,   -1, 0, 1,
                                2,      7,          int64_t(1) << 32,    kMost - 1, kMost};
constexpr int kNumSymbols = 4;

int64_t cut(__int128 exact) { return static_cast<int64_t>(std::clamp<__int128>(exact, kLeast, kMost)); }

int64_t exactly(Kind kind, __int128 x, __int128 y) {
  __int128 by = y == 0 ? 1 : y, floor = x / by - (x % by != 0 && (x % by < 0) != (by < 0));
  switch (kind) {
  case Kind::Add:
    return cut(x + y);
  case Kind::Mul:
    return cut(x * y);
  case Kind::FloorDiv:
    return cut(floor);
  case Kind::CeilDiv:
    return cut(floor * by == x ? floor : floor + 1);
  case Kind::Mod:
    return cut(x - floor * by);
  case Kind::Min:
    return cut(std::min(x, y));
  default:
    return cut(std::max(x, y));
  }
}

int64_t expected(DimExpr expr, ArrayRef<int64_t> symbols) {
  if (expr.isConstant())
    return expr.constant();
  if (expr.operands().empty())
    return symbols[expr.symbol()];
  int64_t value = expected(expr.operands().front(), symbols);
  for (DimExpr operand : expr.operands().drop_front())
    value = exactly(expr.kind(), value, expected(operand, symbols));
  return value;
}

/// Expressions of two sizes n and m, which are not negative, and two elements e and f, which may be anything.
class SizesTest : public ::testing::Test {
protected:
  using Make = DimExpr (DimContext::*)(DimExpr, DimExpr);
  static constexpr Make kMakes[] = {&DimContext::add,     &DimContext::mul, &DimContext::sub, &DimContext::floorDiv,
                                    &DimContext::ceilDiv, &DimContext::mod, &DimContext::min, &DimContext::max};

  SizesTest() {
    auto symbol = [&](SymbolSource::Kind kind, int64_t number, const char *name) {
      return dims.symbol({kind, {}, number}, name);
    };
    n = symbol(SymbolSource::Kind::Size, 0, "n"), m = symbol(SymbolSource::Kind::Size, 1, "m");
    e = symbol(SymbolSource::Kind::Content, 2, "e"), f = symbol(SymbolSource::Kind::Content, 3, "f");
    DimExpr one = dims.constant(1), positive = dims.max(m, one), digit = dims.mod(n, dims.constant(10));
    for (Make make : kMakes) {
      for (auto [x, y] : {std::pair(n, m),
                          {n, e},
                          {e, m},
                          {e, f},
                          {n, positive},
                          {e, positive},
                          {digit, e},
                          {e, digit},
                          {digit, digit}})
        exprs.push_back((dims.*make)(x, y));
      for (int64_t number : kNumbers)
        for (DimExpr x : {n, e, digit}) {
          exprs.push_back((dims.*make)(x, dims.constant(number)));
          exprs.push_back((dims.*make)(dims.constant(number), x));
        }
    }
    // More than one step.
    exprs.push_back(dims.add(dims.add(dims.mul(n, m), dims.mul(e, f)), dims.sub(n, e)));
    exprs.push_back(dims.product({n, m, e, f}));
    exprs.push_back(
        dims.mod(dims.add(dims.mul(n, e), f), dims.sub(e, dims.floorDiv(f, dims.add(n, dims.constant(-2))))));
    exprs.push_back(dims.ceilDiv(dims.max(dims.sub(e, f), dims.constant(0)), dims.max(one, dims.min(n, m))));
  }

  /// Calls `check` with numbers of the symbols: all pairs, each pair as n, m (without sign) and as e, f in one of two
  /// orders.
  void forEachRow(function_ref<void(ArrayRef<int64_t>)> check) {
    for (int64_t x : kNumbers)
      for (int64_t y : kNumbers) {
        auto size = [](int64_t number) { return std::max<int64_t>(number, -std::max(number, -kMost)); };
        check({size(x), size(y), x, y});
        check({size(y), size(x), x, y});
      }
  }

  void expectAll(function_ref<void(ArrayRef<int64_t>, MutableArrayRef<int64_t>)> compute) {
    std::vector<int64_t> results(exprs.size());
    int wrong = 0;
    forEachRow([&](ArrayRef<int64_t> symbols) {
      compute(symbols, results);
      for (auto [expr, result] : llvm::zip(exprs, results))
        if (result != expected(expr, symbols) && ++wrong <= 10)
          ADD_FAILURE() << dims.print(expr) << " with n = " << symbols[0] << ", m = " << symbols[1]
                        << ", e = " << symbols[2] << ", f = " << symbols[3] << " requires " << expected(expr, symbols)
                        << ", got " << result;
    });
    EXPECT_EQ(wrong, 0);
  }

  /// A function of arith ops, `sizes(symbols, results)`.
  OwningOpRef<ModuleOp> arithModule() {
    OpBuilder b(&context);
    Location loc = b.getUnknownLoc();
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    b.setInsertionPointToEnd(module->getBody());
    Type from = MemRefType::get({kNumSymbols}, b.getI64Type()),
         to = MemRefType::get({static_cast<int64_t>(exprs.size())}, b.getI64Type());
    auto function = func::FuncOp::create(b, loc, "sizes", b.getFunctionType({from, to}, {}));
    b.setInsertionPointToStart(function.addEntryBlock());
    ArithSizes arith(b, loc);
    auto at = [&](size_t index) { return arith.constant(static_cast<int64_t>(index)); };
    llvm::DenseMap<const void *, Value> made;
    for (auto [i, expr] : llvm::enumerate(exprs)) {
      Value value = buildSize<Value>(
          dims, expr, [&](DimExpr part) { return made.lookup(part.getOpaqueValue()); },
          [&](DimExpr part, Value value) { made[part.getOpaqueValue()] = value; },
          [&](DimExpr part) -> Value {
            if (part.isConstant())
              return arith.constant(part.constant());
            Value word = memref::LoadOp::create(b, loc, function.getArgument(0), at(part.symbol()));
            return arith::IndexCastOp::create(b, loc, b.getIndexType(), word);
          },
          [&](Kind kind, ArithSizes::Number x, ArithSizes::Number y) {
            return SizeArithmetic<ArithSizes>(arith).combine(kind, x, y);
          });
      value = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
      memref::StoreOp::create(b, loc, value, function.getArgument(1), at(i));
    }
    func::ReturnOp::create(b, loc);
    return module;
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    test::Jit::registerDialects(registry);
    return registry;
  }

  MLIRContext context{registry(), MLIRContext::Threading::DISABLED};
  DimContext dims;
  DimExpr n, m, e, f;
  std::vector<DimExpr> exprs;
};

TEST_F(SizesTest, OnTheHost) {
  expectAll([&](ArrayRef<int64_t> symbols, MutableArrayRef<int64_t> results) {
    for (auto [expr, result] : llvm::zip(exprs, results))
      result = evaluateSize(dims, expr, [&](DimExpr symbol) { return symbols[symbol.symbol()]; });
  });
}

TEST_F(SizesTest, InAKernel) {
  context.loadAllAvailableDialects();
  test::Jit jit(*arithModule(), [](RewritePatternSet &) {});
  auto *sizes = jit.lookup<void (*)(const int64_t *, int64_t *)>("sizes");
  ASSERT_TRUE(sizes);
  expectAll(
      [&](ArrayRef<int64_t> symbols, MutableArrayRef<int64_t> results) { sizes(symbols.data(), results.data()); });
}

TEST_F(SizesTest, InC) {
  context.loadAllAvailableDialects();
  std::string unknown;
  OwningOpRef<ModuleOp> module = arithModule();
  std::optional<std::string> text = tiny::printC(*module->getOps<func::FuncOp>().begin(), unknown);
  ASSERT_TRUE(text) << unknown;
  std::string error, library = ::testing::TempDir() + "sizes_test.so";
  std::optional<std::string> code = tiny::compileC(*text, error);
  ASSERT_TRUE(code) << error;
  std::ofstream(library) << *code;
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::remove(library.c_str());
  ASSERT_TRUE(handle) << dlerror();
  auto *sizes = reinterpret_cast<int32_t (*)(const int64_t *)>(dlsym(handle, "sizes"));
  expectAll([&](ArrayRef<int64_t> symbols, MutableArrayRef<int64_t> results) {
    const int64_t words[] = {reinterpret_cast<int64_t>(symbols.data()), reinterpret_cast<int64_t>(results.data())};
    sizes(words);
  });
  dlclose(handle);
}

TEST_F(SizesTest, InAnEntryFunction) {
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  cpu::EntryFunction fn(*module, module->getLoc(), "sizes");
  Value to = fn.function.getArgument(2);
  llvm::DenseMap<const void *, Value> made;
  for (auto [i, expr] : llvm::enumerate(exprs)) {
    Value value = buildSize<Value>(
        dims, expr, [&](DimExpr part) { return made.lookup(part.getOpaqueValue()); },
        [&](DimExpr part, Value value) { made[part.getOpaqueValue()] = value; },
        [&](DimExpr part) {
          return part.isConstant() ? fn.i64(part.constant()) : fn.load(fn.i64Type, fn.inputs, 8 * part.symbol());
        },
        [&](Kind kind, SizeNumber<Value> x, SizeNumber<Value> y) {
          return SizeNumber<Value>{fn.combine(kind, x.value, y.value)};
        });
    fn.store(value, to, 8 * static_cast<int64_t>(i));
  }
  fn.finish();
  test::Jit jit(*module, [](RewritePatternSet &) {});
  auto *sizes = jit.lookup<int32_t (*)(void *, const int64_t *, int64_t *, void *, void *)>("sizes");
  ASSERT_TRUE(sizes);
  expectAll([&](ArrayRef<int64_t> symbols, MutableArrayRef<int64_t> results) {
    sizes(nullptr, symbols.data(), results.data(), nullptr, nullptr);
  });
}

/// A simplified expression is the number that its operands give, where none exceeds 64 bits: also by 0.
TEST_F(SizesTest, SimplifiedAsTheNumbersAre) {
  constexpr int64_t few[] = {-3, -1, 0, 1, 2, 5};
  std::vector<DimExpr> parts = {n, e, dims.add(n, m), dims.mul(n, m), dims.sub(n, e), dims.mul(dims.constant(6), e)};
  for (int64_t number : few)
    parts.push_back(dims.constant(number));
  static constexpr Kind kinds[] = {Kind::Add,     Kind::Mul, Kind::Add, Kind::FloorDiv,
                                   Kind::CeilDiv, Kind::Mod, Kind::Min, Kind::Max};
  size_t numParts = parts.size();
  for (size_t level = 0, i = 0; level < 2; ++level) // of two parts, then of what these gave
    for (size_t end = parts.size(); i < std::min<size_t>(end, 60); ++i)
      for (size_t j = 0; j < numParts; ++j)
        for (Make make : {&DimContext::floorDiv, &DimContext::ceilDiv, &DimContext::mod})
          parts.push_back((dims.*make)(parts[i], parts[j]));
  auto value = [&](DimExpr expr, ArrayRef<int64_t> symbols) {
    return evaluateSize(dims, expr, [&](DimExpr symbol) { return symbols[symbol.symbol()]; });
  };
  int wrong = 0;
  for (int64_t a : {0, 1, 6})
    for (int64_t b : {0, 1, 4})
      for (int64_t c : few) {
        const int64_t symbols[] = {a, b, c, 1};
        for (DimExpr x : ArrayRef(parts).take_front(200))
          for (size_t j = 0; j < numParts; ++j)
            for (auto [make, kind] : llvm::zip(kMakes, kinds)) {
              int64_t y = value(parts[j], symbols), got = value((dims.*make)(x, parts[j]), symbols);
              int64_t want = exactly(kind, value(x, symbols), make == &DimContext::sub ? -y : y);
              if (got != want && ++wrong <= 10)
                ADD_FAILURE() << dims.print((dims.*make)(x, parts[j])) << " of " << dims.print(x) << " and "
                              << dims.print(parts[j]) << " with n = " << a << ", m = " << b << ", e = " << c
                              << " requires " << want << ", got " << got;
            }
      }
  EXPECT_EQ(wrong, 0);
}

} // namespace
