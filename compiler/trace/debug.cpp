// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "debug.hpp"
#include "Build.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

void debugPrint(DebugFormat format, std::initializer_list<Tensor> given) {
  Build b("debug_print", format.where);
  std::vector<Tensor> tensors;
  for (const Tensor &tensor : given) {
    tensors.push_back(b.strong(tensor));
    if (b.failed())
      return hostError(*b.error().error());
  }
  FunctionScope scope("debug_print");
  if (Trace::current()) {
    Tensor none;
    int count = 0;
    Attr text("format", format.text);
    applyInto("debug_print", tensors, std::span(&text, 1), std::span(&none, 1), count, format.where);
    return;
  }
  std::vector<sinter_tensor> views;
  for (const Tensor &tensor : tensors) {
    if (tensor.traced())
      return hostError(Error(leakMessage(tensor), format.where));
    views.push_back(tensor.view());
  }
  if (sinter_debug_print(format.text, int32_t(views.size()), views.data()))
    hostError(Error(sinter_last_error(), format.where));
}

} // namespace detail

Tensor check_finite(const Operand &x, const char *name) {
  detail::Build b("check_finite", x.where);
  return b.op("check_finite", {b.floats(x.tensor)}, {{"what", name}});
}

} // namespace sinter::inline SINTER_HOST
