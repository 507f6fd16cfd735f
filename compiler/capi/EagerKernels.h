// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled ops of eager calls: what a call is, the keys under which something is remembered of it, and the code of an
// op or of its derivative, for the sizes of one call or for all of its class.

#ifndef SINTER_COMPILER_CAPI_EAGERKERNELS_H
#define SINTER_COMPILER_CAPI_EAGERKERNELS_H

#include "compiler/capi/EagerDevice.h"
#include "compiler/capi/Graph.h"
#include "llvm/ADT/SmallString.h"
#include <mutex>

namespace sinter::capi::eager {

struct Call {
  llvm::StringRef op;
  llvm::ArrayRef<sinter_tensor> operands; // dtype 0: left out
  llvm::ArrayRef<sinter_attr> attrs;
  llvm::ArrayRef<std::vector<int32_t>> levels = {}; // of derivatives, as EagerDerivative says
  size_t own = operands.size();                     // operands that are the op's
  const EagerDevice *device = nullptr;              // null: the host
  llvm::ArrayRef<const ThereTensor *> there = {};   // of a device: the operands that lie there, null for the others
};

/// The key of a call's op, attributes, derivatives and device, and of its operands' types: of their exact sizes, or of
/// their class, in which sizes of 1 stay and equal others are one symbol.
using Key = llvm::SmallString<256>;
Key keyOfSizes(const Call &call);
Key keyOfClass(const Call &call);

/// Records the op in `graph` on arguments of the call's sizes; on success the function is still open.
sinter_status_code recordOp(sinter_graph &graph, const Call &call, llvm::SmallVectorImpl<sinter_value> &results);
/// Records the op, or its derivative, as function `function` of `graph`.
sinter_status_code recordFunction(sinter_graph &graph, const Call &call, int32_t &function);

/// A compiled op, and its sessions, which calls take and give back.
class Kernel {
public:
  Kernel() = default;
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel();

  /// Compiles it if nobody has yet, for all sizes of the call's class, or with `exact` for the call's own only. Errors
  /// that come again are remembered.
  sinter_status_code make(const Call &call, bool exact);

  /// After make: whether a derivative reads the operand, by its number among those that are not left out.
  bool reads(size_t operand) const { return readOperands[operand]; }
  /// Whether the device has a form of any of its kernels; else the host computes them all.
  bool runsThere() const { return sinter_module_stream(module) != nullptr; }

  sinter_status_code take(bool threaded, sinter_session **session);
  void give(bool threaded, sinter_session *session);

  /// Kernels that have code, and how many were compiled since the program began.
  static int64_t count();
  static int64_t compiles();

private:
  std::mutex making;
  bool made = false;
  sinter_status_code status = SINTER_OK;
  std::string error;
  sinter_module *module = nullptr;
  llvm::SmallVector<bool> readOperands;
  std::mutex lock;
  std::vector<sinter_session *> idle, idleThreaded;
};

} // namespace sinter::capi::eager

#endif
