// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a pipeline stands, as a few bytes: numbers and nested states, one behind the other in the order of the stages.

#ifndef SINTER_RUNTIME_DATA_STATE_H
#define SINTER_RUNTIME_DATA_STATE_H

#include "Error.h"
#include <cstring>
#include <string_view>

namespace sinter::data {

class StateWriter {
public:
  void number(int64_t value) { state.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    state += value;
  }
  std::string take() { return std::move(state); }

private:
  std::string state;
};

/// Reads what a StateWriter wrote. Throws where it ends early.
class StateReader {
public:
  explicit StateReader(std::string_view state) : rest(state) {}

  int64_t number() {
    int64_t value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  /// A number from 0 to `most`.
  int64_t number(int64_t most) {
    int64_t value = number();
    if (value < 0 || value > most)
      throw Error(SINTER_CORRUPT, "a pipeline's state requires a number up to " + std::to_string(most) + ", got " +
                                      std::to_string(value));
    return value;
  }
  std::string_view text() { return take(number(INT64_MAX)); }
  bool atEnd() const { return rest.empty(); }

private:
  std::string_view take(int64_t bytes) {
    if (static_cast<uint64_t>(bytes) > rest.size())
      throw Error(SINTER_CORRUPT, "a pipeline's state is truncated");
    std::string_view taken = rest.substr(0, static_cast<size_t>(bytes));
    rest.remove_prefix(static_cast<size_t>(bytes));
    return taken;
  }

  std::string_view rest;
};

} // namespace sinter::data

#endif
