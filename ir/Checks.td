// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that may report an error. They are what a value passes through, so that nothing is checked for whom nobody
// asks: where the result is not read, or a branch not taken, there is no error. They have no other effect, but may not
// run where the graph would not run them: nothing takes them out of a loop or branch.

include "ir/Dialect.td"

class Sinter_CheckOp<string mnemonic, list<Trait> traits = []>
    : Op<Sinter_Dialect, mnemonic, !listconcat([
        NoMemoryEffect, InferTypeOpAdaptor, DeclareOpInterfaceMethods<Evaluable>,
        DeclareOpInterfaceMethods<SymbolicShape>, DeclareOpInterfaceMethods<SymbolicContents>], traits)> {
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred, ::mlir::TypeRange declared) {
      return ::sinter::agree(inferred, declared);
    }
  }];
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def RequireOp : Sinter_CheckOp<"require"> {
  let summary = "value, if it holds; else the call fails with a message";
  let description = [{ The first {} of `message` stands for `found`, the second for `wanted`. }];
  let arguments = (ins Sinter_BoolScalar:$holds, Sinter_Tensor:$value, Sinter_IndexScalar:$found, Sinter_IndexScalar:$wanted,
                       StrAttr:$message);
  let results = (outs Sinter_Tensor:$result);
}

def CheckPositionsOp : Sinter_CheckOp<"check_positions", [DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "positions, if each lies in [-size, size)";
  let description = [{
    `sizes` are those of `axes` of what is indexed; where there is more than one, or `tuples` says so, the last axis of
    `positions` holds tuples that index them. A position outside ends the call with an error that names `what`, the axis,
    the position and the size. This is index policy `error`: gathers and scatters themselves clamp and skip.

    * (C1) one size for each axis.   * (C2) tuples have one position for each axis.
  }];
  let arguments = (ins Sinter_PositionTensor:$positions, Variadic<Sinter_IndexScalar>:$sizes, DenseI64ArrayAttr:$axes,
                       DefaultValuedAttr<BoolAttr, "false">:$tuples, StrAttr:$what);
  let results = (outs Sinter_PositionTensor:$result);
  let hasFolder = 1;
}

def CheckFiniteOp : Sinter_CheckOp<"check_finite", [DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "the operand, if each element is finite";
  let description = [{
    An infinity or NaN ends the call with an error that names `what` and the first place in row-major order: its index up to
    rank 2, else its position and the number of elements. Its gradient is the cotangent, which is not checked.
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, StrAttr:$what);
  let results = (outs Sinter_FloatTensor:$result);
}

def DebugPrintOp : Op<Sinter_Dialect, "debug_print", [MemoryEffects<[MemWrite]>, InferTypeOpAdaptor,
                                                      DeclareOpInterfaceMethods<Evaluable>]> {
  let summary = "prints text when it is reached";
  let description = [{
    Each {} of `format` stands for an operand. Prints of a region keep their order. Where something is computed again, in the backward
    part of a checkpoint say, it prints again.

    * (C1) `format` has as many {} as there are operands, and at most 64.
  }];
  let arguments = (ins StrAttr:$format, Variadic<Sinter_ComputedTensor>:$operands);
  let assemblyFormat = "$format `(` $operands `)` attr-dict `:` type($operands)";
}
