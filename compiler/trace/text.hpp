// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as text and as NumPy files.

#ifndef SINTER_TRACE_TEXT_HPP
#define SINTER_TRACE_TEXT_HPP

#include "tensor.hpp"
#include <cmath>
#include <iosfwd>

namespace sinter::inline SINTER_HOST {

/// The elements in brackets, shortest decimal that reads back; long axes are shortened unless `all`. For a tensor of a
/// trace its type.
std::string to_string(const Tensor &tensor, bool all = false);

template <class Traits> auto &operator<<(std::basic_ostream<char, Traits> &stream, const Tensor &tensor) {
  return stream << std::string_view(to_string(tensor));
}

/// Reads a `.npy` file.
Tensor load_npy(const std::string &path, Where where = Where::current());

/// Writes a `.npy` file.
Status save_npy(const std::string &path, const Tensor &tensor, Where where = Where::current());

} // namespace sinter::inline SINTER_HOST

#endif
