// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C faces of this library and of those on top of it share.

#ifndef SINTER_RUNTIME_DATA_FACE_H
#define SINTER_RUNTIME_DATA_FACE_H

#include "Dataset.h"
#include "data.h"
#include <new>

namespace sinter::data {
class RowCache;
} // namespace sinter::data

struct sinter_data {
  sinter::data::Dataset dataset;
};

namespace sinter::data {

/// Runs `body`, unless one of the pointers is null, and turns what it throws into a status.
template <typename Body, typename... Pointers>
sinter_status_code guarded(const char *call, Body body, const Pointers *...pointers) {
  if ((... || !pointers))
    return sinter_set_error(SINTER_INVALID_ARGUMENT, (std::string(call) + " requires pointers, got null").c_str());
  try {
    body();
    return SINTER_OK;
  } catch (const Error &error) {
    return sinter_set_error(error.code(), error.what());
  } catch (const std::bad_alloc &) {
    return sinter_set_error(SINTER_OUT_OF_MEMORY, "data requires more memory than the process may have");
  } catch (const std::exception &error) {
    return sinter_set_error(SINTER_OUT_OF_MEMORY, error.what());
  }
}

/// The cache of a table that is attached to a session, else throws.
RowCache &cacheOf(sinter_rows &table);

} // namespace sinter::data

#endif
