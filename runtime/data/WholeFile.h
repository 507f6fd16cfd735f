// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_RUNTIME_DATA_WHOLEFILE_H
#define SINTER_RUNTIME_DATA_WHOLEFILE_H

#include "../output.h"
#include "Error.h"
#include <string>
#include <utility>

namespace sinter::data {

/// A file that has its name when all of it is there.
class WholeFile {
public:
  explicit WholeFile(const std::string &path) { check(sinter_output_create(path.c_str(), 0, &output)); }
  ~WholeFile() {
    if (output)
      sinter_output_finish(output, SINTER_IO);
  }
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;
  void append(const void *data, size_t count) {
    if (status == SINTER_OK)
      status = sinter_output_append(output, data, static_cast<int64_t>(count));
  }
  void finish() { check(sinter_output_finish(std::exchange(output, nullptr), status)); }

private:
  sinter_output *output = nullptr;
  sinter_status_code status = SINTER_OK;
};

} // namespace sinter::data

#endif
