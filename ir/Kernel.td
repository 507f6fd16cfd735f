// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fused level: a function is a schedule of kernels and control flow.

include "ir/Dialect.td"
include "ir/Schedules.td"

def KernelOp : Op<Sinter_Dialect, "kernel", [
    Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "ops that become one loop nest";
  let description = [{
    The region's arguments are the inputs; it yields the results. What lies between inputs and results is
    never stored. `kernel_template` says which loop nest it becomes, `schedule` how (Schedules.td); at most one op is neither pointwise, elemental nor a constant,
    and shapes the loop nest: everything before it is a producer, everything after it an epilogue.
    `zeros` lists inputs that may hold blocks of zeros.
    * (C1) one region argument per input, (C2) one yield per result. * (C3) at most one such op. * (C4) a map has none.
    * (C5) what `zeros` and the schedule's lists name are inputs.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, Sinter_KernelTemplateAttr:$kernel_template,
                       OptionalAttr<Sinter_ScheduleAttr>:$schedule, OptionalAttr<DenseI64ArrayAttr>:$zeros);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kernel_template `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body }];
  let extraClassDeclaration = [{
    /// The op that shapes the loop nest: the only one that is neither pointwise, elemental nor a constant. Null
    /// for a map.
    ::mlir::Operation *getRoot();
  }];
  let hasVerifier = 1;
}
