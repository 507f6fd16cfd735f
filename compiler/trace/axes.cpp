// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "axes.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

IndexPolicy &detail::indexPolicy() {
  static thread_local IndexPolicy policy = IndexPolicy::clamp;
  return policy;
}

IndexPolicyScope::IndexPolicyScope(IndexPolicy policy) : before(std::exchange(detail::indexPolicy(), policy)) {}
IndexPolicyScope::~IndexPolicyScope() { detail::indexPolicy() = before; }

} // namespace sinter::inline SINTER_HOST
