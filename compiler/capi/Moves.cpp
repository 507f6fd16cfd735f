// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/capi/Moves.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace sinter;

static llvm::ArrayRef<int64_t> numbersOf(llvm::ArrayRef<sinter_attr> attrs, llvm::StringRef name) {
  for (const sinter_attr &attr : attrs)
    if (attr.kind == SINTER_ATTR_I64S && name == attr.name)
      return {attr.i64s, static_cast<size_t>(attr.count)};
  return {};
}

bool capi::isMove(llvm::StringRef op) {
  return op == "reshape" || op == "slice" || op == "broadcast" || op == "transpose";
}

template <typename T> static void copyRow(char *to, const char *from, int64_t count, int64_t stride) {
  auto *elements = reinterpret_cast<T *>(to);
  if (stride == 0) {
    std::fill_n(elements, count, *reinterpret_cast<const T *>(from));
    return;
  }
  for (int64_t k = 0; k < count; ++k)
    elements[k] = *reinterpret_cast<const T *>(from + k * stride);
}

bool capi::move(llvm::StringRef op, const sinter_tensor &operand, llvm::ArrayRef<sinter_attr> attrs,
                const sinter_value_type &type, sinter_tensor &output) {
  if (operand.strides || sinter_dtype_bytes(type.dtype) == 0 ||
      llvm::any_of(llvm::ArrayRef(type.dims, type.rank), [](int64_t size) { return size < 0; }))
    return false;
  int64_t width = static_cast<int64_t>(sinter_dtype_bytes(type.dtype)), elements = 1;
  // Bytes from one element of the operand to the next along its own axes, then along those of the result.
  int64_t own[SINTER_MAX_RANK], strides[SINTER_MAX_RANK] = {}, step = width;
  for (int32_t axis = operand.rank; axis-- > 0; step *= operand.dims[axis])
    own[axis] = step;
  for (int32_t axis = 0; axis < type.rank; ++axis)
    elements *= type.dims[axis];
  auto *from = static_cast<const char *>(operand.data);
  if (op == "slice") {
    llvm::ArrayRef<int64_t> starts = numbersOf(attrs, "starts"), steps = numbersOf(attrs, "steps");
    if (starts.size() != static_cast<size_t>(type.rank) || steps.size() != starts.size())
      return false;
    for (int32_t axis = 0; axis < type.rank; ++axis) {
      from += elements ? starts[axis] * own[axis] : 0;
      strides[axis] = steps[axis] * own[axis];
    }
  } else if (op == "broadcast") {
    llvm::ArrayRef<int64_t> axes = numbersOf(attrs, "axes");
    if (axes.size() != static_cast<size_t>(operand.rank))
      return false;
    for (auto [k, axis] : llvm::enumerate(axes))
      strides[axis] = operand.dims[k] == 1 ? 0 : own[k];
  } else if (op == "transpose") {
    llvm::ArrayRef<int64_t> permutation = numbersOf(attrs, "permutation");
    if (permutation.size() != static_cast<size_t>(type.rank))
      return false;
    for (auto [k, axis] : llvm::enumerate(permutation))
      strides[k] = own[axis];
  }
  size_t bytes = static_cast<size_t>(elements * width);
  auto *to = static_cast<char *>(std::aligned_alloc(64, std::max<size_t>((bytes + 63) / 64 * 64, 64)));
  if (!to)
    return false;
  output = {};
  output.data = to;
  output.dtype = type.dtype;
  output.rank = type.rank;
  std::copy_n(type.dims, type.rank, output.dims);
  if (!elements)
    return true;
  int32_t rank = type.rank;
  int64_t run = 1; // elements at the end that lie side by side on both sides
  if (op == "reshape") {
    run = elements;
    rank = 0;
  }
  while (rank > 0 && (type.dims[rank - 1] == 1 || strides[rank - 1] == run * width))
    run *= type.dims[--rank];
  int64_t count = 1, stride = 0; // of elements that do not
  if (rank > 0 && run == 1) {
    count = type.dims[--rank];
    stride = strides[rank];
  }
  int64_t at[SINTER_MAX_RANK] = {};
  for (;;) {
    if (count == 1)
      std::memcpy(to, from, static_cast<size_t>(run * width));
    else if (width == 1)
      copyRow<uint8_t>(to, from, count, stride);
    else if (width == 2)
      copyRow<uint16_t>(to, from, count, stride);
    else if (width == 4)
      copyRow<uint32_t>(to, from, count, stride);
    else
      copyRow<uint64_t>(to, from, count, stride);
    to += run * count * width;
    int32_t axis = rank - 1;
    for (; axis >= 0; --axis) {
      from += strides[axis];
      if (++at[axis] < type.dims[axis])
        break;
      from -= strides[axis] * type.dims[axis];
      at[axis] = 0;
    }
    if (axis < 0)
      return true;
  }
}
