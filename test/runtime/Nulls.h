// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls a public function with null in place of each of its pointers in turn. What it may answer is a status or the
// zero of its result's type; that it answers is what the tests claim.

#ifndef SINTER_TEST_RUNTIME_NULLS_H
#define SINTER_TEST_RUNTIME_NULLS_H

#include "runtime/sinter.h"
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace sinter::test {

/// The functions that were called, by name.
inline std::set<std::string> &walked() {
  static std::set<std::string> names;
  return names;
}

/// `function(arguments...)` with argument `At` null, if it is a pointer. `refuses` lists those that must be refused.
template <size_t At, class Result, class... Parameters, class... Arguments>
void callWithNull(const char *name, Result (*function)(Parameters...), const std::tuple<Arguments...> &arguments,
                  bool mayBeNull) {
  if constexpr (std::is_pointer_v<std::tuple_element_t<At, std::tuple<Parameters...>>>) {
    std::tuple<Parameters...> changed = arguments;
    std::get<At>(changed) = nullptr;
    if constexpr (std::is_same_v<Result, sinter_status_code>) {
      sinter_set_error(SINTER_OK, "");
      sinter_status_code status = std::apply(function, changed);
      if (!mayBeNull) {
        EXPECT_EQ(status, SINTER_INVALID_ARGUMENT) << name << ", argument " << At << ": " << sinter_last_error();
        EXPECT_STRNE(sinter_last_error(), "") << name << ", argument " << At;
      }
    } else {
      std::apply(function, changed);
    }
  }
}

/// Walks the pointers of `function`. The places in `optional` may be null.
template <class Result, class... Parameters, class... Arguments>
void walk(const char *name, Result (*function)(Parameters...), std::set<size_t> optional, Arguments... arguments) {
  walked().insert(name);
  std::tuple<Parameters...> whole(static_cast<Parameters>(arguments)...);
  [&]<size_t... At>(std::index_sequence<At...>) {
    (callWithNull<At>(name, function, whole, optional.count(At) != 0), ...);
  }(std::make_index_sequence<sizeof...(Parameters)>());
}
#define WALK(function, ...) walk(#function, function, __VA_ARGS__)

/// The functions that `header` declares, from the line with `from` (or its start) to the line with `to` (or its end).
inline std::set<std::string> declared(const std::string &header, const std::string &from, const std::string &to) {
  std::ifstream file(header);
  EXPECT_TRUE(file.good()) << header;
  std::set<std::string> names;
  bool inside = from.empty();
  for (std::string line; std::getline(file, line);) {
    inside = inside || line.find(from) != std::string::npos;
    if (!to.empty() && line.find(to) != std::string::npos)
      break;
    std::smatch match;
    if (inside && std::regex_search(line, match, std::regex(R"(^SINTER_API .*?\b(sinter_\w+)\()")))
      names.insert(match[1]);
  }
  return names;
}

} // namespace sinter::test

#endif
