// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever a caller hands to any op, it gets a status back: each op of the dialect with many lists of operands and
// attributes.

#include "compiler/capi/OpTable.h"
#include "Recorder.h"
#include <random>

using namespace sinter::capi;

TEST(OpTable, KnowsTheGroupsOfOpsThatHaveSeveral) {
  for (const OpEntry &entry : allOps())
    if (llvm::is_contained(entry.attributes, "operandSegmentSizes"))
      EXPECT_FALSE(entry.groups.empty()) << entry.name.str() << " is missing in operandGroups";
}

TEST(OpTable, NothingCrashesWhateverTheOperands) {
  Recorder r;
  sinter_dim n = r.symbol("n");
  std::vector<sinter_value> pool =
      r.begin({r.type(SINTER_F32), r.type(SINTER_F32, {4}), r.type(SINTER_F32, {2, 3}), r.type(SINTER_F32, {n, 3}),
               r.type(SINTER_I64), r.type(SINTER_I64, {2}), r.type(SINTER_I64, {SINTER_DIM_UNKNOWN}),
               r.type(SINTER_I1, {4}), r.type(SINTER_U32, {4}), r.type(SINTER_BF16, {1, 2, 3, 4}),
               r.type(SINTER_I32, {0, 3}), r.type(SINTER_F64, {2, 4, 4}), r.type(SINTER_I1)});
  pool.push_back(r.constant<int64_t>(SINTER_I64, {3, -1}, {2}));
  pool.push_back(r.constant<int64_t>(SINTER_I64, {-7}, {}));
  pool.push_back(0);

  std::mt19937 random(7);
  auto pick = [&](size_t count) { return static_cast<size_t>(random() % count); };
  std::vector<std::vector<int64_t>> lists = {
      {}, {0}, {1}, {0, 1}, {1, 1}, {-1, 5}, {2, 2, 2, 2}, {1, 0, 0}, {1, 1, 1, 1, 1, 1, 1, 1}};
  const char *texts[] = {"add",     "max",        "lt",      "constant",      "reflect",
                         "nearest", "half_pixel", "forward", "channels_last", "what"};
  const char *names[] = {"add", "tanh"};
  sinter_value_type types[] = {r.type(SINTER_F32, {2, 3}), r.type(SINTER_U32, {4}),
                               r.type(SINTER_F32, {SINTER_DIM_UNKNOWN, 3})};
  uint8_t bools[] = {0, 1, 0, 1};
  double floats[] = {0.5, -1};
  int64_t made = 0;
  for (const OpEntry &entry : allOps())
    for (int round = 0; round < 300; ++round) {
      std::vector<sinter_value> operands;
      size_t count = pick(2) ? entry.minOperands + pick(2) : pick(9);
      for (size_t k = 0; k < count; ++k)
        operands.push_back(pool[round % 3 == 0 ? (pick(4) ? pick(pool.size()) : 2) : pick(pool.size())]);
      if (round % 5 == 0 && !operands.empty())
        std::fill(operands.begin(), operands.end(), pool[pick(pool.size())]);
      std::vector<sinter_attr> attrs;
      for (llvm::StringRef name : entry.attributes) {
        if (pick(12) == 0)
          continue;
        sinter_attr a = {name.data(), 0, 0, {}};
        // Mostly a kind that the op takes; that is found by trying.
        for (int attempt = 0; attempt < 40; ++attempt) {
          switch (a.kind = 1 + static_cast<int32_t>(pick(SINTER_ATTR_TENSOR)); a.kind) {
          case SINTER_ATTR_F64:
            a.f64 = floats[pick(2)];
            break;
          case SINTER_ATTR_STRING:
            a.string = texts[pick(std::size(texts))];
            break;
          case SINTER_ATTR_I64S: {
            const auto &list = lists[pick(lists.size())];
            a.i64s = list.data();
            a.count = static_cast<int32_t>(list.size());
            break;
          }
          case SINTER_ATTR_F64S:
            a.f64s = floats;
            a.count = 2;
            break;
          case SINTER_ATTR_BOOLS:
            a.bools = bools;
            a.count = static_cast<int32_t>(pick(5));
            break;
          case SINTER_ATTR_STRINGS:
            a.strings = names;
            a.count = 2;
            break;
          case SINTER_ATTR_DTYPE:
            a.i64 = 1 + static_cast<int64_t>(pick(13));
            break;
          case SINTER_ATTR_TYPE:
            a.type = &types[pick(3)];
            break;
          case SINTER_ATTR_TENSOR:
            a.tensor = nullptr;
            break;
          default:
            a.i64 = static_cast<int64_t>(pick(6)) - 2;
          }
          std::vector<sinter_value> results;
          sinter_attr only[] = {a};
          int32_t n = 0;
          if (name == "operandSegmentSizes" || a.kind == SINTER_ATTR_TENSOR)
            break;
          sinter_graph_op(r.graph, entry.name.str().c_str(), 0, nullptr, 1, only, 0, nullptr, &n);
          if (std::string(sinter_last_error()).find("attribute '" + name.str() + "'") == std::string::npos)
            break;
        }
        attrs.push_back(a);
      }
      std::vector<sinter_value> results;
      if (r.tryOp(entry.name.str().c_str(), operands, attrs, results) == SINTER_OK) {
        ++made;
        for (sinter_value result : results)
          r.typeOf(result);
      } else {
        EXPECT_STRNE(sinter_last_error(), "");
      }
    }
  EXPECT_GT(made, 1000);
}
