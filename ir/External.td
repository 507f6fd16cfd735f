// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the program that the graph calls. The compiler knows their names and types alone: they are found when
// code is loaded or linked, and by the reference evaluator in a table of the process.

include "ir/Dialect.td"

def CallExternalOp : Op<Sinter_Dialect, "call_external",
                        [NoMemoryEffect, AttrSizedOperandSegments, DeclareOpInterfaceMethods<Evaluable>,
                         DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "results of a C function of the program";
  let description = [{
    `symbol` names a sinter_op_fn (runtime/abi.h), which has no effects but its results and may fail the call: the op may be dropped
    or merged with an equal one, but runs only where the graph runs it. `dims` has the sizes of all axes of all results; -1
    stands for the next one of `sizes`. It has no gradient: custom_vjp gives it one.

    * (C1) `symbol` is a C identifier. * (C2) `dims` has a size for each axis of the results, which agree with it.
    * (C3) `sizes` has one for each -1. * (C4) At least one result, and at most 64 operands and results.
    ```mlir
    %y = sinter.call_external "soft" (%x) {dims = array<i64: 4, 8>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$symbol, Variadic<Sinter_ComputedTensor>:$inputs, Variadic<Sinter_IndexScalar>:$sizes,
      DenseI64ArrayAttr:$dims);
  let results = (outs Variadic<Sinter_ComputedTensor>:$results);
  let assemblyFormat = [{
    $symbol `(` $inputs `)` (`sizes` `(` $sizes^ `:` type($sizes) `)`)? attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
}
