// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_TEST_FUZZ_KEPTCONTEXT_H
#define SINTER_TEST_FUZZ_KEPTCONTEXT_H

#include "mlir/IR/MLIRContext.h"
#include <memory>

namespace sinter::fuzz {

/// A context for many executions, as making one takes ten times as long as reading a file. Now and then a new one, as a
/// context keeps each type and attribute that it has seen.
class KeptContext {
public:
  using Make = std::unique_ptr<mlir::MLIRContext>();
  explicit KeptContext(Make *make) : make(make) {}
  mlir::MLIRContext &next() {
    if (uses++ % 2000 == 0)
      context = make();
    return *context;
  }

private:
  Make *make;
  std::unique_ptr<mlir::MLIRContext> context{};
  int64_t uses = 0;
};

/// A context that knows builtin ops alone.
inline std::unique_ptr<mlir::MLIRContext> bareContext() {
  return std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
}

} // namespace sinter::fuzz

#endif
