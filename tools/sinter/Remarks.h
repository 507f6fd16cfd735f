// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What passes remark on, and how messages name places.

#ifndef SINTER_TOOLS_SINTER_REMARKS_H
#define SINTER_TOOLS_SINTER_REMARKS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include <memory>
#include <string>

namespace sinter::tool {

/// The innermost name and the file of a location, as `file: node 'name'`; empty if it has neither.
std::string place(mlir::Location loc);

/// Collects the remarks of a context from its making on.
class Remarks {
public:
  explicit Remarks(mlir::MLIRContext &context);
  /// One a line, sorted, each once.
  std::string lines() const;

private:
  class Streamer;
  struct Collected;
  std::shared_ptr<Collected> collected;
};

} // namespace sinter::tool

#endif
