// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The control-flow suite: each case runs eager, jitted and by the reference evaluator, and is compared with a value
// that was found by hand or by a plain C++ loop.

#include "Agree.h"
#include <limits>

using namespace sinter;
using namespace sinter::test;

namespace {

struct Case {
  const char *name;
  Function f;
  Tensors inputs;
  std::vector<std::vector<double>> expected;
};

std::ostream &operator<<(std::ostream &stream, const Case &c) { return stream << c.name; }

class ControlFlow : public ::testing::TestWithParam<Case> {};

TEST_P(ControlFlow, AgreesInEveryWay) {
  const Case &c = GetParam();
  Tensors results = agree(c.f, c.inputs);
  ASSERT_EQ(results.size(), c.expected.size());
  for (size_t k = 0; k < results.size(); ++k) {
    std::vector<double> got = results[k].to_vector<double>();
    ASSERT_EQ(got.size(), c.expected[k].size()) << "result " << k << ": " << to_string(results[k]);
    for (size_t i = 0; i < got.size(); ++i)
      if (std::isnan(c.expected[k][i]))
        EXPECT_TRUE(std::isnan(got[i])) << "result " << k << ": " << to_string(results[k]);
      else
        EXPECT_NEAR(got[i], c.expected[k][i], 1e-4 * (1 + std::abs(c.expected[k][i]))) << "result " << k;
  }
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor f32(std::vector<float> values) { return Tensor(values); }
Tensor f32(float value) { return scalar(value); }
Tensor i64(int64_t value) { return scalar(value); }

//===- trips and captures -----------------------------------------------------------------------------===//

/// Doubles x until it exceeds the limit; also counts.
Tensors doubling(Tensors in) {
  auto [x, n] = while_loop([&](auto x, auto) { return x < in[1]; },
                           [](auto x, auto n) { return std::tuple{x * 2, n + 1}; }, in[0], 0);
  return {x, n};
}
Tensors summing(Tensors in) {
  return {for_loop(in[0], in[1], [](auto i, auto sum) { return sum + i; }, int64_t(0))};
}
Tensors prefixSums(Tensors in) {
  auto [total, sums] = scan([](auto sum, auto x) { return std::pair{sum + x, sum + x}; }, 0.f, in[0]);
  return {total, sums};
}
Tensors squares(Tensors in) {
  return {map([](auto x) { return x * x; }, in[0])};
}
Tensors collecting(Tensors in) {
  auto result = while_scan([&](auto x) { return x < in[1]; }, [](auto x) { return std::pair{x * 3, x}; }, in[0]);
  return {result.carry, result.outputs, result.trips};
}

const Case tripCases[] = {
    {"while_zero_trips", doubling, {f32(8), f32(4)}, {{8}, {0}}},
    {"while_one_trip", doubling, {f32(3), f32(4)}, {{6}, {1}}},
    {"while_many_trips", doubling, {f32(1), f32(1000)}, {{1024}, {10}}},
    {"for_zero_trips", summing, {i64(3), i64(3)}, {{0}}},
    {"for_empty_range", summing, {i64(5), i64(3)}, {{0}}},
    {"for_one_trip", summing, {i64(7), i64(8)}, {{7}}},
    {"for_many_trips", summing, {i64(-3), i64(100)}, {{4944}}},
    {"scan_zero_trips", prefixSums, {f32(std::vector<float>{})}, {{0}, {}}},
    {"scan_one_trip", prefixSums, {f32(std::vector<float>{2})}, {{2}, {2}}},
    {"scan_many_trips", prefixSums, {f32({1, 2, 3, 4})}, {{10}, {1, 3, 6, 10}}},
    {"map_zero_trips", squares, {f32(std::vector<float>{})}, {{}}},
    {"map_many_trips", squares, {f32({1, 2, 3})}, {{1, 4, 9}}},
    {"while_scan_zero_trips", collecting, {f32(5), f32(1)}, {{5}, {}, {0}}},
    {"while_scan_many_trips", collecting, {f32(1), f32(20)}, {{27}, {1, 3, 9}, {3}}},
    {"for_downward",
     [](Tensors in) -> Tensors {
       return {for_loop(Range(in[0], in[1], -2), [](auto i, auto x) { return x * 10 + i; }, int64_t(0))};
     },
     {i64(7), i64(0)},
     {{7531}}},
    {"for_step_of_zero_runs_no_trip",
     [](Tensors in) -> Tensors {
       return {for_loop(Range(0, 10, in[0]), [](auto i, auto x) { return x + i; }, int64_t(5))};
     },
     {i64(0)},
     {{5}}},
    {"scan_reversed",
     [](Tensors in) -> Tensors {
       auto [total, sums] =
           scan([](auto sum, auto x) { return std::pair{sum + x, sum + x}; }, 0.f, in[0], {.reverse = true});
       return {total, sums};
     },
     {f32({1, 2, 3})},
     {{6}, {6, 5, 3}}},
    {"scan_over_the_second_axis",
     [](Tensors in) -> Tensors {
       auto [total, sums] =
           scan([](auto sum, auto x) { return std::pair{sum + x, sum * x}; }, Tensor({0.f, 1.f}), in[0], {.axis = -1});
       return {total, sums};
     },
     {Tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})},
     {{6, 16}, {0, 4, 2, 25, 9, 60}}},
    {"scan_over_two_sequences",
     [](Tensors in) -> Tensors {
       auto [dot, parts] = scan(
           [](auto sum, std::pair<Tensor, Tensor> xy) {
             auto product = xy.first * xy.second;
             return std::pair{sum + product, std::tuple{product, xy.first}};
           },
           0.f, std::pair{in[0], in[1]});
       return {dot, std::get<0>(parts), std::get<1>(parts)};
     },
     {f32({1, 2, 3}), f32({4, 5, 6})},
     {{32}, {4, 10, 18}, {1, 2, 3}}},
    {"scan_without_sequences",
     [](Tensors in) -> Tensors {
       auto [x, powers] =
           scan([](auto x, std::tuple<>) { return std::pair{x * 2, x}; }, in[0], std::tuple<>(), {.length = 5});
       return {x, powers};
     },
     {f32(1)},
     {{32}, {1, 2, 4, 8, 16}}},
    {"associative_scan_of_sums",
     [](Tensors in) -> Tensors { return {associative_scan([](auto a, auto b) { return a + b; }, in[0])}; },
     {f32({1, 2, 3, 4, 5})},
     {{1, 3, 6, 10, 15}}},
    {"associative_scan_reversed",
     [](Tensors in) -> Tensors {
       return {associative_scan([](auto a, auto b) { return a + b; }, in[0], {.reverse = true})};
     },
     {f32({1, 2, 3})},
     {{6, 5, 3}}},
    {"associative_scan_of_linear_recurrences",
     [](Tensors in) -> Tensors {
       using Map = std::pair<Tensor, Tensor>; // x -> a x + b
       return {associative_scan([](Map f, Map g) { return Map{f.first * g.first, g.first * f.second + g.second}; },
                                Map{in[0], in[1]})
                   .second};
     },
     {f32({2, 3, 4}), f32({1, 1, 1})},
     {{1, 4, 17}}},
    {"associative_scan_of_nothing",
     [](Tensors in) -> Tensors { return {associative_scan([](auto a, auto b) { return a + b; }, in[0])}; },
     {f32(std::vector<float>{})},
     {{}}},
    {"captures_through_two_levels",
     [](Tensors in) -> Tensors {
       Tensor seven = scalar(7.f);
       return {for_loop(
           0, 3, [&](auto, auto x) { return for_loop(0, 2, [&](auto, auto y) { return y * in[1] + seven; }, x); },
           in[0])};
     },
     {f32(1), f32(2)},
     {{505}}},
    {"capture_of_an_outer_carry",
     [](Tensors in) -> Tensors {
       return {for_loop(
           0, 3,
           [&](auto i, auto x) {
             return for_loop(0, 2, [&](auto j, auto y) { return y + x * astype(i + j, DType::f32); }, x);
           },
           in[0])};
     },
     {f32(1)},
     {{48}}},
    {"unused_carry_stays",
     [](Tensors in) -> Tensors {
       auto [a, b] = for_loop(0, 4, [](auto, auto a, auto b) { return std::tuple{a, b + 1}; }, in[0], in[1]);
       return {a, b};
     },
     {f32(3), f32(0)},
     {{3}, {4}}},
    {"swapped_carries",
     [](Tensors in) -> Tensors {
       auto [a, b] = for_loop(0, 3, [](auto, auto a, auto b) { return std::tuple{b, a}; }, in[0], in[1]);
       return {a, b};
     },
     {f32({1, 2}), f32({3, 4})},
     {{3, 4}, {1, 2}}},
    {"literal_carry_takes_the_bodys_type",
     [](Tensors in) -> Tensors { return {for_loop(0, 3, [&](auto, auto x) { return x + in[0]; }, 0)}; },
     {f32(0.5f)},
     {{1.5}}},
    {"literal_returned_for_a_carry",
     [](Tensors in) -> Tensors {
       auto [x, done] = while_loop([](auto, auto done) { return !done; },
                                   [](auto x, auto) { return std::tuple{x + 1, true}; }, in[0], false);
       return {x, done};
     },
     {f32(1)},
     {{2}, {1}}},
    {"max_trip_stops",
     [](Tensors in) -> Tensors {
       return {
           while_loop(WhileOptions{.max_trip = 5}, [](auto x) { return x > 0; }, [](auto x) { return x + 1; }, in[0])};
     },
     {f32(1)},
     {{6}}},
    {"early_exit_by_a_flag",
     [](Tensors in) -> Tensors {
       auto [i, found] =
           while_loop([&](auto i, auto found) { return (!found) & (i < 8); },
                      [&](auto i, auto) { return std::tuple{i + 1, take(in[0], i) > 10}; }, int64_t(0), false);
       return {i, found};
     },
     {f32({1, 4, 11, 3, 99, 0, 0, 0})},
     {{3}, {1}}},
    {"a_million_trips",
     [](Tensors in) -> Tensors {
       if (!detail::tracing())
         return {in[0] + 1000000}; // a million ops of the host take too long for a test
       return {for_loop(0, 1000000, [](auto, auto x) { return x + 1; }, in[0])};
     },
     {i64(5)},
     {{1000005}}},
};
INSTANTIATE_TEST_SUITE_P(Trips, ControlFlow, ::testing::ValuesIn(tripCases),
                         [](auto &info) { return std::string(info.param.name); });

//===- branches ---------------------------------------------------------------------------------------===//

Tensors absByCond(Tensors in) {
  return {cond(in[0] < 0, [&] { return -in[0]; }, [&] { return in[0]; })};
}
Tensors chosen(Tensors in) {
  return {switch_(
      in[0], std::tuple{[](Tensor x) { return x + 1; }, [](Tensor x) { return x * 10; }, [](Tensor x) { return -x; }},
      in[1])};
}
Tensor factorial(Tensor n, int depth = 0) {
  if (depth == 8)
    return n * 0 + 1;
  if (n <= 1)
    return n * 0 + 1;
  return n * factorial(n - 1, depth + 1);
}

const Case branchCases[] = {
    {"cond_true", absByCond, {f32(-3)}, {{3}}},
    {"cond_false", absByCond, {f32(4)}, {{4}}},
    {"cond_with_operands",
     [](Tensors in) -> Tensors {
       auto [a, b] = cond(
           in[0] > in[1], [](auto x, auto y) { return std::tuple{x, y}; },
           [](auto x, auto y) { return std::tuple{y, x}; }, in[0], in[1]);
       return {a, b};
     },
     {f32(1), f32(2)},
     {{2}, {1}}},
    {"nan_of_the_branch_not_taken_does_not_leak",
     [](Tensors in) -> Tensors { return {cond(in[0] > 0, [&] { return log(in[0]); }, [&] { return in[0]; })}; },
     {f32(-2)},
     {{-2}}},
    {"nan_of_the_branch_taken_shows",
     [](Tensors in) -> Tensors { return {cond(in[0] < 0, [&] { return log(in[0]); }, [&] { return in[0]; })}; },
     {f32(-2)},
     {{nan}}},
    {"switch_first", chosen, {i64(0), f32(5)}, {{6}}},
    {"switch_last", chosen, {i64(2), f32(5)}, {{-5}}},
    {"switch_beyond_takes_the_last", chosen, {i64(9), f32(5)}, {{-5}}},
    {"switch_negative_takes_the_last", chosen, {i64(-1), f32(5)}, {{-5}}},
    {"switch_by_i32", chosen, {scalar(1), f32(5)}, {{50}}},
    {"host_branch",
     [](Tensors in) -> Tensors {
       if (in[0] > 1)
         return {in[0] * 2};
       return {in[0] - 1};
     },
     {f32(3)},
     {{6}}},
    {"host_branch_then_common_code",
     [](Tensors in) -> Tensors {
       Tensor x = in[0];
       if (x > 10)
         x = x - 10;
       else
         x = x + 100;
       return {x * x};
     },
     {f32(3)},
     {{10609}}},
    {"host_branches_in_a_row",
     [](Tensors in) -> Tensors {
       Tensor x = in[0];
       for (float limit : {4.f, 2.f, 1.f})
         if (x >= limit)
           x = x - limit;
       return {x};
     },
     {f32(7.5f)},
     {{0.5}}},
    {"host_branches_nested",
     [](Tensors in) -> Tensors {
       if (in[0] > 0) {
         if (in[1] > 0)
           return {in[0] + in[1]};
         return {in[0] - in[1]};
       }
       if (in[1] > 0)
         return {in[1] * 2};
       return {in[1] * 0};
     },
     {f32(-1), f32(3)},
     {{6}}},
    {"host_branch_on_a_literal_result",
     [](Tensors in) -> Tensors {
       if (in[0] > 0)
         return {Tensor(1.f)};
       return {Tensor(-1.f)};
     },
     {f32(-5)},
     {{-1}}},
    {"host_branches_by_recursion", [](Tensors in) -> Tensors { return {factorial(in[0])}; }, {f32(5)}, {{120}}},
    {"host_branch_in_a_loop_body",
     [](Tensors in) -> Tensors {
       auto collatz = [](Tensor n, Tensor steps) {
         if (n % 2 == 0)
           return std::tuple{n / 2, steps + 1};
         return std::tuple{n * 3 + 1, steps + 1};
       };
       auto [n, steps] = while_loop([](auto n, auto) { return n > 1; }, collatz, in[0], 0);
       return {n, steps};
     },
     {i64(27)},
     {{1}, {111}}},
    {"host_branch_around_a_loop",
     [](Tensors in) -> Tensors {
       Tensor x = for_loop(0, 2, [](auto, auto x) { return x + 1; }, in[0]);
       if (x > 3)
         return {for_loop(0, 3, [](auto, auto y) { return y * 2; }, x)};
       return {x};
     },
     {f32(2)},
     {{32}}},
    {"host_branch_in_the_condition_of_a_loop",
     [](Tensors in) -> Tensors {
       return {while_loop(
           [](Tensor x) {
             if (x > 50)
               return x < 60;
             return x < 100;
           },
           [](auto x) { return x + 7; }, in[0])};
     },
     {f32(1)},
     {{64}}},
    {"host_branch_in_a_branch_of_cond",
     [](Tensors in) -> Tensors {
       return {cond(
           in[0] > 0,
           [&] {
             if (in[1] > 0)
               return in[0];
             return in[1];
           },
           [&] { return in[0] * in[1]; })};
     },
     {f32(2), f32(-3)},
     {{-3}}},
};
INSTANTIATE_TEST_SUITE_P(Branches, ControlFlow, ::testing::ValuesIn(branchCases),
                         [](auto &info) { return std::string(info.param.name); });

//===- every pair, nested to depth 3 --------------------------------------------------------------------===//

using Step = std::function<Tensor(Tensor)>;

/// x through `body` inside of primitive `kind`. x has 2 elements.
Tensor within(int kind, const Step &body, Tensor x) {
  switch (kind) {
  case 0:
    return cond(sum(x) > 3, [&] { return body(x); }, [&] { return x + 1; });
  case 1:
    return switch_(astype(sum(x), DType::i64) % 3,
                   std::tuple{[&](Tensor y) { return body(y); }, [&](Tensor y) { return y - 2; },
                              [&](Tensor y) { return body(y) * 2; }},
                   x);
  case 2:
    return std::get<0>(while_loop([](auto, auto n) { return n < 2; },
                                  [&](auto y, auto n) { return std::tuple{body(y), n + 1}; }, x, 0));
  case 3:
    return for_loop(0, 2, [&](auto, auto y) { return body(y); }, x);
  default:
    return scan(
               [&](auto y, auto slice) {
                 Tensor next = body(y) + slice;
                 return std::pair{next, next};
               },
               x, x)
        .first;
  }
}

class Nesting : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Nesting, AgreesInEveryWay) {
  auto [outer, inner] = GetParam();
  Function f = [=](Tensors in) -> Tensors {
    return {within(
        outer,
        [&](Tensor x) {
          return within(inner, [&](Tensor y) { return within(outer, [&](Tensor z) { return z * in[1] + y; }, y); }, x);
        },
        in[0])};
  };
  agree(f, {f32({1, 2.5f}), f32(0.5f)});
  agree(f, {f32({0, 0.25f}), f32(0.5f)});
}
std::string pairName(const ::testing::TestParamInfo<std::tuple<int, int>> &info) {
  const char *names[] = {"cond", "switch", "while", "for", "scan"};
  return std::string(names[std::get<0>(info.param)]) + "_of_" + names[std::get<1>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Pairs, Nesting, ::testing::Combine(::testing::Range(0, 5), ::testing::Range(0, 5)), pairName);

//===- carries of every type ----------------------------------------------------------------------------===//

class CarryTypes : public ::testing::TestWithParam<DType> {};

TEST_P(CarryTypes, GoThroughEveryLoop) {
  DType dtype = GetParam();
  auto step = [=](Tensor x) { return dtype == DType::boolean ? !x : x + 1; };
  Function f = [=](Tensors in) -> Tensors {
    Tensor a = for_loop(0, 3, [&](auto, auto x) { return step(x); }, in[0]);
    auto [b, n] = while_loop([](auto, auto n) { return n < 3; },
                             [&](auto x, auto n) { return std::tuple{step(x), n + 1}; }, in[0], 0);
    auto [c, all] = scan([&](auto x, auto) { return std::pair{step(x), x}; }, in[0], in[1]);
    return {a, b, c, all};
  };
  Tensors results = agree(f, {astype(Tensor({1, 0}), dtype), f32({1, 2, 3})});
  std::vector<double> three = dtype == DType::boolean ? std::vector<double>{0, 1} : std::vector<double>{4, 3};
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(results[size_t(k)].dtype(), dtype);
    EXPECT_EQ(results[size_t(k)].to_vector<double>(), three);
  }
}
INSTANTIATE_TEST_SUITE_P(Types, CarryTypes,
                         ::testing::Values(DType::f64, DType::f32, DType::f16, DType::bf16, DType::boolean, DType::i8,
                                           DType::i16, DType::i32, DType::i64, DType::u8, DType::u16, DType::u32,
                                           DType::u64),
                         [](auto &info) { return std::string(dtype_name(info.param)); });

//===- sizes known when called --------------------------------------------------------------------------===//

TEST(DynamicSizes, ScanAndForOverANamedAxis) {
  auto f = jit(
      [](Tensor x) {
        auto [total, sums] =
            scan([](auto sum, auto row) { return std::pair{sum + row, sum + row}; }, Tensor({0.f, 0.f}), x);
        Tensor count = for_loop(0, as_tensor(sinter::size(x, 0)), [](auto, auto n) { return n + 1; }, int64_t(0));
        return std::tuple{total, sums, count};
      },
      {.specs = {spec<float>({"n", 2})}});
  for (int n : {0, 1, 3, 10}) {
    std::vector<float> values(size_t(2 * n), 1.f);
    auto [total, sums, count] = f(Tensor(values, {n, 2}));
    EXPECT_EQ(total.to_vector<float>(), std::vector<float>(2, float(n)));
    EXPECT_EQ(sums.shape(), Shape({n, 2}));
    EXPECT_EQ(count.item<int>(), n);
  }
  EXPECT_EQ(f.cache_size(), 1);
}

TEST(DynamicSizes, CarryOfANamedSize) {
  auto f =
      jit([](Tensor x) { return while_loop([](auto y) { return sum(y) < 100; }, [&](auto y) { return y + x; }, x); },
          {.specs = {spec<float>({"n"})}});
  EXPECT_EQ(f(Tensor({10.f, 10.f})).to_vector<float>(), (std::vector<float>{50, 50}));
  EXPECT_EQ(f(Tensor({10.f, 10.f, 5.f})).to_vector<float>(), (std::vector<float>{40, 40, 20}));
  EXPECT_EQ(f.cache_size(), 1);
}

} // namespace
