// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves of elements against the formula of each op, element by element.

#include "compiler/capi/Moves.h"
#include "Recorder.h"
#include <functional>
#include <random>

using namespace sinter;

namespace {
using Numbers = std::vector<int64_t>;

sinter_attr list(const char *name, const Numbers &values) {
  sinter_attr attr = {};
  attr.name = name;
  attr.kind = SINTER_ATTR_I64S;
  attr.count = static_cast<int32_t>(values.size());
  attr.i64s = values.data();
  return attr;
}
int64_t product(const Numbers &dims) {
  int64_t result = 1;
  for (int64_t dim : dims)
    result *= dim;
  return result;
}
sinter_tensor shaped(int32_t dtype, const Numbers &dims, void *data) {
  sinter_tensor tensor = {};
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(dims.size());
  tensor.data = data;
  std::copy(dims.begin(), dims.end(), tensor.dims);
  return tensor;
}

/// Moves numbers 0, 1, ... of shape `from` to shape `to`; `source` says where the element at a place comes from.
template <typename T>
void check(int32_t dtype, const char *op, const Numbers &from, const Numbers &to, const std::vector<sinter_attr> &attrs,
           const std::function<Numbers(const Numbers &)> &source) {
  std::vector<T> elements(static_cast<size_t>(product(from)) + 1);
  for (size_t k = 0; k < elements.size(); ++k)
    elements[k] = static_cast<T>(k * 7 + 1);
  sinter_value_type type = {dtype, static_cast<int32_t>(to.size()), {}};
  std::copy(to.begin(), to.end(), type.dims);
  sinter_tensor result = {};
  ASSERT_TRUE(capi::move(op, shaped(dtype, from, elements.data()), attrs, type, result));
  Numbers at(to.size(), 0);
  for (int64_t k = 0; k < product(to); ++k) {
    int64_t rest = k;
    for (size_t axis = to.size(); axis-- > 0; rest /= to[axis])
      at[axis] = rest % to[axis];
    Numbers place = source(at);
    int64_t flat = 0;
    for (size_t axis = 0; axis < from.size(); ++axis)
      flat = flat * from[axis] + place[axis];
    ASSERT_EQ(static_cast<T *>(result.data)[k], elements[static_cast<size_t>(flat)]) << op << " element " << k;
  }
  sinter_tensor_free(&result);
}

template <typename T> void checkAll(int32_t dtype) {
  std::mt19937 random(3);
  auto below = [&](int64_t limit) { return static_cast<int64_t>(random()) % limit; };
  for (int round = 0; round < 300; ++round) {
    auto rank = static_cast<size_t>(below(5));
    Numbers from(rank), starts(rank), steps(rank), sliced(rank), order(rank), turned(rank);
    for (size_t axis = 0; axis < rank; ++axis) {
      from[axis] = below(5) + (round % 7 ? 1 : 0);
      starts[axis] = below(from[axis] + 1);
      steps[axis] = below(3) + 1;
      sliced[axis] = (from[axis] - starts[axis] + steps[axis] - 1) / steps[axis];
      order[axis] = static_cast<int64_t>(axis);
    }
    check<T>(dtype, "slice", from, sliced, {list("starts", starts), list("steps", steps)}, [&](Numbers at) {
      for (size_t axis = 0; axis < rank; ++axis)
        at[axis] = starts[axis] + at[axis] * steps[axis];
      return at;
    });
    std::shuffle(order.begin(), order.end(), random);
    for (size_t axis = 0; axis < rank; ++axis)
      turned[axis] = from[static_cast<size_t>(order[axis])];
    check<T>(dtype, "transpose", from, turned, {list("permutation", order)}, [&](const Numbers &at) {
      Numbers place(rank);
      for (size_t axis = 0; axis < rank; ++axis)
        place[static_cast<size_t>(order[axis])] = at[axis];
      return place;
    });
    Numbers axes, wide;
    for (size_t axis = 0; axis < rank; ++axis) {
      for (int64_t more = below(2); more > 0; --more)
        wide.push_back(below(4) + 1);
      axes.push_back(static_cast<int64_t>(wide.size()));
      wide.push_back(from[axis] == 1 ? below(4) + 1 : from[axis]);
    }
    wide.push_back(below(4) + 1);
    check<T>(dtype, "broadcast", from, wide, {list("axes", axes)}, [&](const Numbers &at) {
      Numbers place;
      for (size_t axis = 0; axis < rank; ++axis)
        place.push_back(from[axis] == 1 ? 0 : at[static_cast<size_t>(axes[axis])]);
      return place;
    });
  }
}
} // namespace

TEST(Moves, AreTheFormulasOfTheirOps) {
  checkAll<uint8_t>(SINTER_U8);
  checkAll<uint16_t>(SINTER_F16);
  checkAll<float>(SINTER_F32);
  checkAll<double>(SINTER_F64);
}

TEST(Moves, LeaveOpenSizesAndStridesAlone) {
  std::vector<float> x = {1, 2};
  sinter_tensor operand = shaped(SINTER_F32, {2}, x.data()), result = {};
  sinter_value_type open = {SINTER_F32, 1, {-1}}, two = {SINTER_F32, 1, {2}};
  EXPECT_FALSE(capi::move("reshape", operand, {}, open, result));
  int64_t strides[] = {1};
  operand.strides = strides;
  EXPECT_FALSE(capi::move("reshape", operand, {}, two, result));
  operand.strides = nullptr;
  EXPECT_FALSE(capi::move("slice", operand, {}, two, result)); // without its attributes
  EXPECT_EQ(result.data, nullptr);
}

TEST(Moves, AskForNoKernel) {
  sinter_jit_report before = {}, after = {};
  before.struct_size = after.struct_size = sizeof before;
  std::vector<float> x(10000);
  Numbers starts = {3}, limits = {9001}, steps = {1};
  sinter_tensor operand = shaped(SINTER_F32, {10000}, x.data()), result = {};
  sinter_attr attrs[] = {list("starts", starts), list("limits", limits), list("steps", steps)};
  int32_t count = 0;
  ASSERT_EQ(sinter_jit_stats(&before), SINTER_OK);
  ASSERT_EQ(sinter_eager("slice", 1, &operand, 3, attrs, 1, &result, &count), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_jit_stats(&after), SINTER_OK);
  EXPECT_EQ(result.dims[0], 8998);
  EXPECT_EQ(after.eager_compiles, before.eager_compiles);
  sinter_tensor_free(&result);
}
