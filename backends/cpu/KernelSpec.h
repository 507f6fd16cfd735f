// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel as its emitter sees it, and what the emitter returns. Signature and chunks: backends/README.md.

#ifndef SINTER_BACKENDS_CPU_KERNELSPEC_H
#define SINTER_BACKENDS_CPU_KERNELSPEC_H

#include "backends/cpu/CostModel.h"
#include "backends/cpu/Target.h"
#include "backends/schedule/KernelLaunch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace sinter::cpu {

/// Leading size of flat buffers: larger than any tensor, small enough that byte offsets fit.
constexpr int64_t kHuge = int64_t(1) << 40;

struct KernelOptions {
  const Target *target = nullptr;
  /// 0: plain scalar loops and libm, a second opinion on every emitter. 1 to 3: templates.
  int optLevel = 2;
};

class KernelSpec : public schedule::KernelSpec {
public:
  KernelSpec(KernelOp kernel, const KernelOptions &options, ShapeAnalysis *outer = nullptr)
      : schedule::KernelSpec(kernel, outer), options(options) {}

  const KernelOptions &options;

  const Target &target() const { return *options.target; }
  const CostModel &costs() const { return costsOf(options.target); }
};

struct EmittedKernel : schedule::KernelTraits {
  mlir::func::FuncOp function;
  bool usesTiles = false; // of matrix units (emit/Tiles.h)

  /// Says how long a launch takes: so many nanoseconds for each unit of `work`, whether the sizes are known or not.
  void estimate(KernelSpec &spec, DimExpr work, double ns);
};

} // namespace sinter::cpu

#endif
