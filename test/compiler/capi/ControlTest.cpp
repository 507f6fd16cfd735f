// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"
#include <cmath>

namespace {
alignas(64) float one[1] = {10};
alignas(64) float four[4] = {1, 2, 3, 4};

sinter_tensor scalarInput() { return {.data = one, .dtype = SINTER_F32, .rank = 0, .dims = {}, .strides = nullptr}; }
sinter_tensor vectorInput() { return {.data = four, .dtype = SINTER_F32, .rank = 1, .dims = {4}, .strides = nullptr}; }

/// while (x < limit) x = x * factor, where both come from outside.
struct WhileParts {
  sinter_region cond, body;
};
WhileParts doubling(Recorder &r, sinter_value limit, sinter_value factor, sinter_value_type type) {
  auto c = r.region({type});
  sinter_region cond = r.endRegion({r.op("compare", {c[0], limit}, {attr("kind", "lt")})});
  auto b = r.region({type});
  sinter_region body = r.endRegion({r.op("mul", {b[0], factor})});
  return {cond, body};
}
} // namespace

TEST(Control, WhileCapturesByItself) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  sinter_value factor = r.op("sqrt", {r.op("add", {x[0], r.scalar(-6)})}); // 2
  WhileParts parts = doubling(r, r.op("mul", {x[0], x[0]}), factor, r.type(SINTER_F32));
  sinter_value results[2];
  int32_t count;
  ASSERT_EQ(sinter_graph_while(r.graph, 1, x.data(), parts.cond, parts.body, nullptr, 2, results, &count), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(count, 2);
  int32_t f = r.end({results[1], results[0]});
  EXPECT_EQ(r.run(f, {scalarInput()}), std::vector<float>{160});
}

TEST(Control, CapturesPassThroughNestedRegions) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  sinter_value y = r.op("add", {x[0], x[0]});
  sinter_value zero = r.integer(0), three = r.integer(3), step = r.integer(1);
  auto outer = r.region({r.type(SINTER_I64), r.type(SINTER_F32)});
  auto inner = r.region({r.type(SINTER_I64), r.type(SINTER_F32)});
  r.region();
  sinter_region yes = r.endRegion({r.op("add", {inner[1], y})}); // two levels out
  r.region();
  sinter_region no = r.endRegion({r.op("sub", {inner[1], x[0]})});
  sinter_value p = r.op("compare", {inner[0], outer[0]}, {attr("kind", "lt")}), chosen;
  int32_t count;
  ASSERT_EQ(sinter_graph_cond(r.graph, p, yes, no, 1, &chosen, &count), SINTER_OK) << sinter_last_error();
  sinter_region innerBody = r.endRegion({chosen});
  sinter_value carried;
  ASSERT_EQ(sinter_graph_for(r.graph, zero, three, step, 1, &outer[1], innerBody, 1, &carried, &count), SINTER_OK)
      << sinter_last_error();
  sinter_region outerBody = r.endRegion({carried, carried});
  sinter_value results[2];
  ASSERT_EQ(sinter_graph_for(r.graph, zero, three, step, 1, x.data(), outerBody, 2, results, &count), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(r.typeOf(results[1]).dims[0], 3);
  int32_t f = r.end({results[1]});
  // i = 0: three times - x; i = 1: + 2x, then twice - x; i = 2: + 4x, - x.
  EXPECT_EQ(r.run(f, {scalarInput()}), (std::vector<float>{-20, -20, 10}));
}

TEST(Control, ScanWalksAndStacks) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {4})});
  sinter_value zero = r.scalar(0);
  auto b = r.region({r.type(SINTER_F32), r.type(SINTER_F32)});
  sinter_value sum = r.op("add", {b[0], b[1]});
  sinter_region body = r.endRegion({sum, sum});
  uint8_t reverse[] = {1};
  sinter_loop_options options = {};
  options.struct_size = sizeof options;
  options.reverse = reverse;
  sinter_value results[2];
  int32_t count;
  ASSERT_EQ(sinter_graph_scan(r.graph, 1, &zero, 1, x.data(), body, &options, 2, results, &count), SINTER_OK)
      << sinter_last_error();
  int32_t f = r.end({results[1]});
  EXPECT_EQ(r.run(f, {vectorInput()}), (std::vector<float>{4, 7, 9, 10}));
}

TEST(Control, SwitchTakesOneOfSeveral) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  sinter_region regions[3];
  for (float k : {1.0f, 2.0f, 3.0f}) {
    r.region();
    regions[static_cast<int>(k) - 1] = r.endRegion({r.op("mul", {x[0], r.scalar(k)})});
  }
  sinter_value result;
  int32_t count;
  ASSERT_EQ(sinter_graph_switch(r.graph, r.integer(7), 3, regions, 1, &result, &count), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(r.run(r.end({result}), {scalarInput()}), std::vector<float>{30});
}

TEST(Control, MaxTripStopsOrTraps) {
  for (int32_t trap : {0, 1}) {
    Recorder r;
    auto x = r.begin({r.type(SINTER_F32)});
    WhileParts parts = doubling(r, r.scalar(1e30f), r.scalar(2), r.type(SINTER_F32));
    sinter_loop_options options = {};
    options.struct_size = sizeof options;
    options.max_trip = 3;
    options.trap_at_limit = trap;
    sinter_value results[2];
    int32_t count;
    ASSERT_EQ(sinter_graph_while(r.graph, 1, x.data(), parts.cond, parts.body, &options, 2, results, &count),
              SINTER_OK);
    int32_t f = r.end({results[1]});
    if (!trap) {
      EXPECT_EQ(r.run(f, {scalarInput()}), std::vector<float>{80});
      continue;
    }
    sinter_tensor input = scalarInput(), output = {};
    EXPECT_EQ(sinter_graph_evaluate(r.graph, f, 1, &input, 1, &output, &count), SINTER_RUNTIME_ERROR);
  }
}

TEST(Control, ForTakesAMemoryPolicy) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  sinter_value zero = r.integer(0), three = r.integer(3), step = r.integer(1), result;
  auto b = r.region({r.type(SINTER_I64), r.type(SINTER_F32)});
  sinter_region body = r.endRegion({r.op("mul", {b[1], x[0]})});
  sinter_loop_options options = {};
  options.struct_size = sizeof options;
  options.memory = "some";
  int32_t count;
  auto record = [&] {
    return sinter_graph_for_with(r.graph, zero, three, step, 1, x.data(), body, &options, 1, &result, &count);
  };
  EXPECT_EQ(record(), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "for requires a memory policy (all, recompute, period(K), binomial(SLOTS), "
                                    "online(SLOTS) or implicit), got 'some'");
  options.struct_size = 0;
  EXPECT_EQ(record(), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "loop options require their struct_size");
  options.struct_size = sizeof options;
  options.memory = "period(2)";
  ASSERT_EQ(record(), SINTER_OK) << sinter_last_error();
  int32_t f = r.end({result});
  EXPECT_NE(r.print().find("sinter.memory = \"period(2)\""), std::string::npos);
  EXPECT_EQ(r.run(f, {scalarInput()}), std::vector<float>{10000});
}

TEST(Control, CarriesMustKeepTheirTypes) {
  Recorder r;
  sinter_dim n = r.symbol("n");
  auto x = r.begin({r.type(SINTER_F32, {n}), r.type(SINTER_F32)});
  sinter_value zero = r.integer(0), ten = r.integer(10), step = r.integer(1), results[2];
  int32_t count;
  // Grows although its size was declared.
  auto b = r.region({r.type(SINTER_I64), r.type(SINTER_F32), r.type(SINTER_F32, {n})});
  sinter_region body = r.endRegion({b[1], r.op("concatenate", {b[2], b[2]}, {attr("axis", int64_t(0))})});
  sinter_value init[] = {x[1], x[0]};
  EXPECT_EQ(sinter_graph_for(r.graph, zero, ten, step, 2, init, body, 2, results, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "for requires carry 1 to keep its type, got f32[n] and, after a trip, f32[2*n]");
  EXPECT_EQ(sinter_graph_error_index(r.graph), 1);
  // Changes its dtype.
  auto c = r.region({r.type(SINTER_I64), r.type(SINTER_F32)});
  body = r.endRegion({r.op("compare", {c[1], c[1]}, {attr("kind", "eq")})});
  EXPECT_EQ(sinter_graph_for(r.graph, zero, ten, step, 1, &x[1], body, 1, results, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "for requires carry 0 to keep its type, got f32[] and, after a trip, i1[]");
  // Starts as something else.
  EXPECT_EQ(sinter_graph_for(r.graph, zero, ten, step, 1, &x[0], body, 1, results, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "for requires carry 0 to start as f32[], got f32[n]");
  // May grow when the size is left open.
  auto d = r.region({r.type(SINTER_I64), r.type(SINTER_F32, {SINTER_DIM_UNKNOWN})});
  body = r.endRegion({r.op("concatenate", {d[1], d[1]}, {attr("axis", int64_t(0))})});
  EXPECT_EQ(sinter_graph_for(r.graph, zero, ten, step, 1, &x[0], body, 1, results, &count), SINTER_OK)
      << sinter_last_error();
  EXPECT_NE(r.typeOf(results[0]).dims[0], n);
}

TEST(Control, BranchesMustAgree) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2}), r.type(SINTER_F32, {3}), r.type(SINTER_I1)});
  auto branch = [&](std::vector<sinter_value> values) {
    r.region();
    return r.endRegion(values);
  };
  sinter_value result;
  int32_t count;
  sinter_region a = branch({x[0]}), b = branch({x[2]}), c = branch({}), d = branch({x[1]});
  EXPECT_EQ(sinter_graph_cond(r.graph, x[2], a, b, 1, &result, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(),
               "cond requires one dtype and rank of result 0 in all branches, got f32[2] and i1[] of branch 1");
  EXPECT_EQ(sinter_graph_error_index(r.graph), 0);
  EXPECT_EQ(sinter_graph_cond(r.graph, x[2], a, c, 1, &result, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(),
               "cond requires as many results of each branch, got 1 of branch 0 and 0 of branch 1");
  EXPECT_EQ(sinter_graph_cond(r.graph, x[0], a, d, 1, &result, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "cond requires a predicate of type i1[], got f32[2]");
  EXPECT_EQ(sinter_graph_cond(r.graph, x[2], a, a, 1, &result, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "cond requires a region for each place, got one of them twice");
  EXPECT_EQ(sinter_graph_cond(r.graph, x[2], 99, a, 1, &result, &count), SINTER_INVALID_ARGUMENT);
  ASSERT_EQ(sinter_graph_cond(r.graph, x[2], a, d, 1, &result, &count), SINTER_OK)
      << sinter_last_error(); // sizes may differ
  EXPECT_LT(r.typeOf(result).dims[0], 0);
  EXPECT_EQ(sinter_graph_cond(r.graph, x[2], a, d, 1, &result, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "cond: branch 0 requires a region that no op has used, got 1");
}

TEST(Control, ValuesOfARegionEndWithIt) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  r.region();
  sinter_value y = r.op("exp", {x[0]});
  r.endRegion({y});
  EXPECT_EQ(r.refuse("neg", {y}), "neg: operand 0 requires a value of an open function or region, got " +
                                      std::to_string(y) + ", whose function or region has ended");
  sinter_region region;
  EXPECT_EQ(sinter_graph_region_end(r.graph, 0, nullptr, &region), SINTER_INVALID_ARGUMENT);
  r.region();
  EXPECT_EQ(sinter_graph_end(r.graph, 0, nullptr, nullptr, nullptr), SINTER_INVALID_ARGUMENT);
}

TEST(Control, JoinRecordsACommonEndOnce) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  sinter_value positive = r.op("compare", {x[0], r.scalar(0)}, {attr("kind", "gt")});
  auto way = [&](const char *first) { // exp(FIRST(x)) + x, and x
    r.region();
    sinter_value y = r.op("exp", {r.op(first, {x[0]})});
    return r.endRegion({r.op("add", {y, x[0]}), x[0]});
  };
  sinter_region one = way("neg"), other = way("abs");
  sinter_value results[2];
  int32_t count, shared;
  ASSERT_EQ(sinter_graph_join(r.graph, positive, one, other, 2, results, &count, &shared), SINTER_OK)
      << sinter_last_error();
  EXPECT_EQ(count, 2);
  EXPECT_EQ(shared, 2); // exp and add
  int32_t f = r.end({r.op("add", {results[0], results[1]})});
  std::string text = r.print();
  EXPECT_EQ(text.find("sinter.exp"), text.rfind("sinter.exp")) << text;
  EXPECT_LT(text.find("sinter.cond"), text.find("sinter.exp")) << text;
  EXPECT_FLOAT_EQ(r.run(f, {scalarInput()})[0], std::exp(-10.f) + 20);
}

TEST(Control, JoinWithNothingInCommonIsACond) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32), r.type(SINTER_I1)});
  r.region();
  sinter_region one = r.endRegion({r.op("neg", {x[0]})});
  r.region();
  sinter_region other = r.endRegion({x[0]});
  sinter_value y;
  int32_t count, shared = 7;
  EXPECT_EQ(sinter_graph_join(r.graph, x[0], one, other, 1, &y, &count, &shared), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "cond requires a predicate of type i1[], got f32[]");
  ASSERT_EQ(sinter_graph_join(r.graph, x[1], one, other, 1, &y, &count, &shared), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(shared, 0);
  r.end({y});
  EXPECT_NE(r.print().find("sinter.cond"), std::string::npos);
}
