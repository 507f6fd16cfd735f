// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of arrays as records: one for each row of the first dim.

#ifndef SINTER_RUNTIME_DATA_ARRAYS_H
#define SINTER_RUNTIME_DATA_ARRAYS_H

#include "Dataset.h"

namespace sinter::data {

/// Where an array lies in a file.
struct ArrayPlace {
  int32_t dtype = 0;
  Dims dims{};
  int64_t offset = 0;     // of its elements, in bytes
  bool isFortran = false; // column-major
};

/// Reads the header alone: of an npy file, or of the tensor `name` of a safetensors file.
ArrayPlace locateArray(const std::string &path, const std::string &name = {});

/// The rows of a `.npy` file as column `column`. They are read when they are asked for, in blocks where one follows the
/// other; Fortran order is read whole.
std::shared_ptr<const Source> openNpy(const std::string &path, const std::string &column = "x");

/// The tensors of a safetensors file as columns: those named, or all. They have equally many rows, read as needed.
std::shared_ptr<const Source> openSafetensors(const std::string &path, const std::vector<std::string> &columns = {});

/// The arrays of a `.npz` file, stored or deflated, likewise. They are read whole; an array may take `maxBytes` at
/// most.
std::shared_ptr<const Source> openNpz(const std::string &path, const std::vector<std::string> &columns = {},
                                      int64_t maxBytes = int64_t(4) << 30);

/// The array of an IDX file (MNIST's format), gzip-compressed or not, at most `maxBytes`, read whole.
std::shared_ptr<const Source> openIdx(const std::string &path, const std::string &column = "x",
                                      int64_t maxBytes = int64_t(4) << 30);

} // namespace sinter::data

#endif
