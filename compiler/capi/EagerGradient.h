// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives of one op at once: what the tape of the C++ library runs backwards. They are made by the rules that
// gradients of graphs are made by, compiled once for a class of shapes, and kept with the kernels of eager ops.

#ifndef SINTER_COMPILER_CAPI_EAGERGRADIENT_H
#define SINTER_COMPILER_CAPI_EAGERGRADIENT_H

#include "compiler/capi/EagerDevice.h"
#include <cstdint>
#include <span>
#include <vector>

namespace sinter::capi {

/// The derivative of an op, or of a derivative.
struct EagerDerivative {
  const char *op;
  std::span<const sinter_attr> attrs;
  /// Those of the op (dtype 0: left out); then for each level a cotangent per float result of what it differentiates.
  std::span<const sinter_tensor> operands;
  size_t own; // operands of the op
  /// By which operands each level is, as numbers among those that are not left out. A level's results are its
  /// gradients, in that order.
  std::span<const std::vector<int32_t>> levels;
  /// Per operand, whether it may not be read any more: then it is an error that the gradient needs it.
  std::span<const uint8_t> changed;
};

/// Fills `outputs`, one per gradient of the last level, with tensors for sinter_tensor_free. Fails with
/// SINTER_INVALID_ARGUMENT where the op has no gradient; `needsChanged` says that an operand was not to be read.
sinter_status_code eagerDerivative(const EagerDerivative &derivative, std::span<sinter_tensor> outputs,
                                   bool &needsChanged);
/// The same on a device: `there` has each operand that lies there, null for the others; `results` become the gradients.
sinter_status_code eagerDerivativeOn(const EagerDevice &device, const EagerDerivative &derivative,
                                     std::span<const ThereTensor *const> there, std::vector<ThereTensor> &results,
                                     bool &needsChanged);

} // namespace sinter::capi

#endif
