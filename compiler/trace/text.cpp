// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "text.hpp"
#include "Trace.h"
#include <charconv>
#include <cmath>

namespace sinter::inline SINTER_HOST {

namespace detail {

template <class T> void appendNumber(std::string &text, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    text += value ? "true" : "false";
  } else if constexpr (isSmallFloat<T>) {
    appendNumber(text, float(value));
  } else {
    if constexpr (std::is_floating_point_v<T>)
      if (std::isnan(value)) {
        text += "nan"; // whatever its sign
        return;
      }
    char buffer[40];
    text.append(buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr);
  }
}

/// Axes of more than `edge * 2` entries are shortened in the middle.
template <class T>
void appendAxis(std::string &text, const Tensor &tensor, const T *data, int axis, int64_t stride, int64_t edge) {
  if (axis == tensor.rank())
    return appendNumber(text, *data);
  int64_t size = tensor.known_dim(axis);
  int64_t inner = size ? stride / size : 0;
  bool last = axis + 1 == tensor.rank();
  text += '[';
  for (int64_t k = 0; k < size; ++k) {
    if (k)
      text += last ? ", " : ",\n" + std::string(size_t(axis) + 1, ' ');
    if (size > 2 * edge && k == edge) {
      text += "...";
      k = size - edge - 1;
      continue;
    }
    appendAxis(text, tensor, data + k * inner, axis + 1, inner, edge);
  }
  text += ']';
}

} // namespace detail

std::string to_string(const Tensor &tensor, bool all) {
  if (!tensor.defined())
    return "Tensor()";
  if (tensor.error())
    return std::string("error: ") + tensor.error()->what();
  if (tensor.traced())
    return "traced " + tensor.type().str();
  constexpr int64_t fewElements = 1000, shownAtEachEnd = 3;
  int64_t size = tensor.known_size(), edge = all || size <= fewElements ? INT64_MAX / 2 : shownAtEachEnd;
  std::string text;
  detail::visitDType(tensor.dtype(), [&]<class T>(T) {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, char, T>> unpacked;
    auto *data = static_cast<const T *>(tensor.view().data);
    if constexpr (std::is_same_v<T, int8_t> || std::is_same_v<T, uint8_t>)
      if (dtype_bytes(tensor.dtype()) == 0) {
        unpacked = tensor.to_vector<T>();
        data = unpacked.data();
      }
    detail::appendAxis(text, tensor, data, 0, size, edge);
  });
  return tensor.device() == "cpu" ? text : text + " on " + tensor.device();
}

Tensor load_npy(const std::string &path, Where where) {
  sinter_tensor read{};
  if (sinter_npy_read(path.c_str(), &read))
    return detail::fail(where, sinter_last_error());
  return detail::adoptTensor(read, where);
}

Status save_npy(const std::string &path, const Tensor &tensor, Where where) {
  if (!tensor.defined() || tensor.traced() || tensor.error()) {
    detail::cannotRead(tensor, "save_npy", where);
    return tensor.error() ? *tensor.error() : Error("save_npy requires a tensor with elements, got one without", where);
  }
  if (!sinter_npy_write(path.c_str(), &tensor.view()))
    return {};
  return detail::report(Error(sinter_last_error(), where));
}

} // namespace sinter::inline SINTER_HOST
