// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program says about its own gradient. Without one these ops are what they hold: they decompose to it.

include "ir/Dialect.td"

class Sinter_RegionComposite<string mnemonic> : Op<Sinter_Dialect, mnemonic, [
    Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<Evaluable>,
    DeclareOpInterfaceMethods<SymbolicShape>, DeclareOpInterfaceMethods<Decomposable>]> {
  let hasVerifier = 1;
}

def StopGradientOp : Sinter_Composite<"stop_gradient"> {
  let summary = "the operand, through which no gradient goes";
  let arguments = (ins Sinter_Tensor:$operand);
  let results = (outs Sinter_Tensor:$result);
}

def CheckpointOp : Sinter_RegionComposite<"checkpoint"> {
  let summary = "a region of which the backward pass keeps the arguments only, and computes the rest again";
  let description = [{
    The region takes the operands and yields the results.
    * (C1) one region argument per operand, (C2) one yield per result.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$operands);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $operands `)` attr-dict `:` functional-type(operands, results) $body";
}

def CustomVjpOp : Sinter_RegionComposite<"custom_vjp"> {
  let summary = "a function with its own reverse-mode gradient";
  let description = [{
    `forward` takes the operands and yields the results, then what `backward` needs besides. `backward` takes these further values and one
    cotangent per float result, and yields one cotangent per float operand. The two are trusted to belong together.
    * (C1) `forward` has one argument per operand, (C2) its first yields are the results. * (C3) `backward` takes the further yields,
    then one cotangent per float result. * (C4) it yields one cotangent per float operand.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$operands);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$forward, SizedRegion<1>:$backward);
  let assemblyFormat = [{
    `(` $operands `)` attr-dict `:` functional-type(operands, results) `forward` $forward `backward` $backward
  }];
}
