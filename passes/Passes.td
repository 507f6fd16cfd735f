// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph to graph, independent of any target, grouped by phase.

include "mlir/Pass/PassBase.td"

class Sinter_FunctionPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::sinter::SinterDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

//===- graph ---------------------------------------------------------------------------------===//

def RefineShapes : Sinter_FunctionPass<"sinter-refine-shapes"> {
  let summary = "write every size that is known into the types";
  let description = [{
    Ensures: a size that ShapeAnalysis knows is in the type, also across regions and in the function's results; a small integer tensor
    whose elements are known is a constant; a reshape or broadcast has no operand for sizes that follow without it, and a
    broadcast takes sizes from a value that has them rather than from computed ones.
    (* example test/passes/refine-shapes.mlir *)
  }];
}

def FoldConstants : Sinter_FunctionPass<"sinter-fold-constants"> {
  let summary = "evaluate ops whose operands are constants";
  let description = [{
    Ensures: no pure op outside of control flow bodies' own ops has only constant operands, within the budgets: a result of at most
    `max-bytes`; at most `growth-bytes` more than the operands for ops that only repeat or move elements; `time-ms` for the
    whole function. What is over a budget stays as it is.
    (* example test/passes/fold-constants.mlir *)
  }];
  let options = [
    Option<"maxBytes", "max-bytes", "int64_t", "int64_t(1) << 30", "largest result, in bytes">,
    Option<"growthBytes", "growth-bytes", "int64_t", "65536", "most bytes by which a moved or repeated result exceeds its operands">,
    Option<"timeMs", "time-ms", "int64_t", "10000", "time for one function, in milliseconds">];
}

//===- fused ---------------------------------------------------------------------------------===//

def FormKernels : Sinter_FunctionPass<"sinter-form-kernels"> {
  let summary = "group ops into sinter.kernel regions";
  let description = [{
    Requires: composites that no back end knows are decomposed.
    Ensures: functions and control-flow bodies hold only kernels, views (reshape), constants, dim, shape, control flow
    and terminators. Each kernel has at most one root, all its results have one shape (but for those of a lone root).
    Which ops go together is decided by planFusion (FusionPlan.h); `max-ops` = 1 gives each op its own kernel.
    (* example test/passes/form-kernels.mlir *)
  }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "64", "most ops in one kernel">];
}

//===- printing, for tests -------------------------------------------------------------------===//

def PrintDims : Sinter_FunctionPass<"sinter-print-dims"> {
  let summary = "write symbolic sizes and contents beside each op";
  let description = [{
    Each op with a `?` in a result's type gets `sinter.sizes`, each with a small integer result that is not a constant
    `sinter.contents`: one list of expressions per result.
    (* example test/passes/print-dims.mlir *)
  }];
}

def PrintFusionPlan : Sinter_FunctionPass<"sinter-print-fusion-plan"> {
  let summary = "print which ops would share a kernel, without forming it";
  let description = [{ (* example test/passes/print-fusion-plan.mlir *) }];
  let options = [Option<"maxOps", "max-ops", "int64_t", "64", "most ops in one kernel">];
}
