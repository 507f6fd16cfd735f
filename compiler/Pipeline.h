// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_COMPILER_PIPELINE_H
#define SINTER_COMPILER_PIPELINE_H

#include "backends/schedule/Backends.h"
#include "compiler/Options.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

namespace sinter {

/// The levels of DESIGN.md that are passes over one module. From `Fused` on each kernel is a module of its own, which
/// back ends lower.
enum class Phase { Graph, Fused };

/// Adds every pass from the begin of phase `first` to the end of `phase`. Passes know the target by the module's
/// attributes (schedule::writeTarget). `targets` say which back ends choose what is kept whole: none mean the host's.
/// The graph's phase is for all of them, the fused one for one.
void buildPipeline(mlir::OpPassManager &pm, const Options &options, Phase phase = Phase::Fused,
                   Phase first = Phase::Graph, llvm::ArrayRef<schedule::Target> targets = {});

/// Finds out what sizes `function` has: constants are folded and types refined, no op is taken apart. What is to be
/// differentiated comes through here first, since gradients are made for the sizes that types tell.
mlir::LogicalResult refineForGradient(mlir::func::FuncOp function, const Options &options = {});

/// `--sinter-to-graph` and `--sinter-to-fused` for tools that build pipelines from text, at the default options.
void registerPipelines();

} // namespace sinter

#endif
