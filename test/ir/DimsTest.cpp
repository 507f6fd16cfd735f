// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/Dims.h"

#include "gtest/gtest.h"

using namespace sinter;

namespace {

/// Symbols need no value to stand for here; the axis tells them apart.
class DimsTest : public ::testing::Test {
protected:
  DimExpr size(const char *name) { return c.symbol({SymbolSource::Kind::Size, {}, next++}, name); }
  DimExpr content(const char *name) { return c.symbol({SymbolSource::Kind::Content, {}, next++}, name); }

  DimContext c;
  int64_t next = 0;
  DimExpr n = size("n"), m = size("m");
  DimExpr k(int64_t value) { return c.constant(value); }
};

TEST_F(DimsTest, EqualSumsAreOneNode) {
  EXPECT_EQ(c.sub(c.mul(k(2), n), n), n);
  EXPECT_EQ(c.mul(c.add(n, k(1)), m), c.add(m, c.mul(m, n)));
  EXPECT_EQ(c.sub(n, n), k(0));
  EXPECT_EQ(c.print(c.add(c.mul(n, k(2)), k(1))), "2*n + 1");
  EXPECT_EQ(c.print(c.sub(c.mul(n, m), k(3))), "n*m - 3");
  EXPECT_EQ(c.product({n, k(4), m, k(2)}), c.mul(k(8), c.mul(m, n)));
}

TEST_F(DimsTest, StridesAreRowMajorWithinThoseThatAreGiven) {
  EXPECT_EQ(c.strides({n, m, k(3)}), (Dims{c.mul(k(3), m), k(3), k(1)}));
  EXPECT_EQ(c.strides({n, m, k(3)}, {-1, -1, -1}), (Dims{c.mul(k(3), m), k(3), k(1)}));
  EXPECT_EQ(c.strides({n, m, k(3)}, {-1, 8, -1}), (Dims{c.mul(k(8), m), k(8), k(1)}));
  EXPECT_EQ(c.strides({n, m, k(3)}, {64, 8, 1}), (Dims{k(64), k(8), k(1)}));
  EXPECT_EQ(c.strides({n}), (Dims{k(1)}));
  EXPECT_EQ(c.strides({}), Dims{});
}

TEST_F(DimsTest, DivisionMovesWholePartsOut) {
  EXPECT_EQ(c.ceilDiv(c.add(n, k(0)), k(1)), n);
  EXPECT_EQ(c.floorDiv(c.mul(k(6), n), k(3)), c.mul(k(2), n));
  EXPECT_EQ(c.floorDiv(c.add(c.mul(k(4), n), k(3)), k(4)), n);
  EXPECT_EQ(c.floorDiv(c.add(c.mul(k(4), n), m), k(4)), c.add(n, c.floorDiv(m, k(4))));
  DimExpr some = c.max(m, k(1)), more = c.add(n, k(1));
  EXPECT_EQ(c.floorDiv(c.mul(n, some), some), n);
  EXPECT_EQ(c.floorDiv(c.mul(k(12), c.mul(n, some)), c.mul(k(4), some)), c.mul(k(3), n));
  EXPECT_EQ(c.floorDiv(c.floorDiv(n, k(2)), k(3)), c.floorDiv(n, k(6)));
  EXPECT_EQ(c.ceilDiv(n, k(2)), c.floorDiv(c.add(n, k(1)), k(2)));
  EXPECT_EQ(c.floorDiv(k(-7), k(2)), k(-4));
  EXPECT_EQ(c.floorDiv(c.mul(c.add(n, m), more), c.add(n, m)).kind(), DimExpr::Kind::FloorDiv);
  EXPECT_EQ(c.floorDiv(c.add(c.mul(k(2), more), c.mul(k(2), m)), c.add(more, m)), k(2));
  EXPECT_EQ(c.print(c.floorDiv(c.add(n, k(1)), k(2))), "(n + 1) floordiv 2");
}

TEST_F(DimsTest, DivisionByWhatMayBeZeroIsLeftAsItIs) {
  EXPECT_EQ(c.floorDiv(c.mul(n, m), m).kind(), DimExpr::Kind::FloorDiv);
  EXPECT_EQ(c.ceilDiv(n, n).kind(), DimExpr::Kind::CeilDiv);
  EXPECT_EQ(c.floorDiv(k(0), n), k(0));
  EXPECT_EQ(c.mod(c.mul(n, m), m), k(0)); // by 0, too
  EXPECT_EQ(c.floorDiv(n, k(0)), n);
  EXPECT_EQ(c.ceilDiv(n, k(0)), n);
  EXPECT_EQ(c.mod(n, k(0)), k(0));
}

TEST_F(DimsTest, Remainders) {
  EXPECT_EQ(c.mod(c.mul(k(4), n), k(2)), k(0));
  EXPECT_EQ(c.mod(c.add(c.mul(k(4), n), k(5)), k(4)), k(1));
  EXPECT_EQ(c.mod(c.mod(n, k(4)), k(8)), c.mod(n, k(4)));
  EXPECT_EQ(c.floorDiv(c.mod(n, k(4)), k(4)), k(0));
}

TEST_F(DimsTest, SizesAreNotNegative) {
  EXPECT_EQ(c.max(n, k(0)), n);
  EXPECT_EQ(c.max(c.add(n, m), m), c.add(n, m));
  EXPECT_EQ(c.min(c.add(n, k(2)), n), n);
  EXPECT_EQ(c.min(n, c.min(m, n)), c.min(n, m));
  EXPECT_EQ(c.max(n, m), c.max(m, n));
  EXPECT_EQ(c.max(n, m).kind(), DimExpr::Kind::Max);
  EXPECT_EQ(c.min(c.min(n, k(7)), k(9)), c.min(n, k(7)));
}

TEST_F(DimsTest, ContentsMayBeNegative) {
  DimExpr e = content("e");
  EXPECT_EQ(c.max(e, k(0)).kind(), DimExpr::Kind::Max);
  EXPECT_FALSE(c.bounds(e).low);
  EXPECT_EQ(c.bounds(c.max(e, k(3))).low, 3);
}

TEST_F(DimsTest, BoundsFollowTheExpression) {
  auto expect = [&](DimExpr expr, std::optional<int64_t> low, std::optional<int64_t> high) {
    DimBounds bounds = c.bounds(expr);
    EXPECT_EQ(bounds.low, low);
    EXPECT_EQ(bounds.high, high);
  };
  expect(n, 0, std::nullopt);
  expect(c.sub(k(3), n), std::nullopt, 3);
  DimExpr digit = c.mod(n, k(10));
  expect(digit, 0, 9);
  expect(c.mul(k(-2), digit), -18, 0);
  expect(c.floorDiv(c.sub(digit, k(5)), k(2)), -3, 2);
  expect(c.ceilDiv(c.sub(digit, k(5)), k(2)), -2, 2);
  expect(c.min(n, k(7)), 0, 7);
  expect(c.max(content("e"), digit), 0, std::nullopt);
  expect(c.mul(n, content("e")), std::nullopt, std::nullopt);
  expect(c.add(digit, k(std::numeric_limits<int64_t>::max())), std::numeric_limits<int64_t>::max(), std::nullopt);
}

TEST_F(DimsTest, UnifiedSymbolsAreReplaced) {
  DimExpr sum = c.add(n, m);
  c.unify(m, c.mul(k(2), n));
  EXPECT_EQ(c.resolve(sum), c.mul(k(3), n));
  c.unify(n, k(5));
  EXPECT_EQ(c.resolve(sum), k(15));
}

TEST_F(DimsTest, UnifyRefusesACycle) {
  c.unify(n, c.add(n, k(1)));
  EXPECT_EQ(c.resolve(n), n);
}

} // namespace
