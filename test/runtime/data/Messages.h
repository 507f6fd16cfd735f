// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of the data library share.

#ifndef SINTER_TEST_RUNTIME_DATA_MESSAGES_H
#define SINTER_TEST_RUNTIME_DATA_MESSAGES_H

#include "runtime/data/Error.h"
#include <string>

namespace sinter::test {

/// What `call` throws.
template <typename Call> std::string messageOf(Call call) {
  try {
    call();
  } catch (const data::Error &error) {
    return error.what();
  }
  return "nothing";
}

} // namespace sinter::test

#endif
