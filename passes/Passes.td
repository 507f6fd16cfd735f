// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graph to graph, independent of any target, grouped by phase.

include "mlir/Pass/PassBase.td"

class Sinter_FunctionPass<string flag> : Pass<flag, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::sinter::SinterDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
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
