// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fused level: a function is a schedule of kernels and control flow.

include "ir/Dialect.td"

def KernelOp : Op<Sinter_Dialect, "kernel", [
    Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "ops that become one loop nest";
  let description = [{
    The region's arguments are the inputs; it yields the results. What lies between inputs and results is
    never stored. `template` names the emitter, and `root` (an index into the block's ops) the op
    that shapes the loop nest: everything before it is a producer, everything after it an epilogue.
    `packed` lists inputs that are constants already in the form the emitter reads.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$inputs, Sinter_KernelTemplateAttr:$kernel_template,
                       OptionalAttr<DictionaryAttr>:$schedule);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{ $kernel_template `(` $inputs `)` attr-dict `:` functional-type(operands, results) $body }];
  let hasVerifier = 1;
}
