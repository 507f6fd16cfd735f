// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lookups in tables that are too large to be moved whole: sums of bags of rows, and gradients that are few rows.

include "ir/Dialect.td"

def Sinter_Positions1D : 1DTensorOf<[I32, I64]>;

def BagSumOp : Sinter_Op<"bag_sum", [DeclareOpInterfaceMethods<SymbolicShape>]> {
  let summary = "sums of bags of slices of the first axis";
  let description = [{
    result[b, ...] = sum of weights[i] * operand[positions[i], ...] over i from splits[b] to below splits[b + 1], in that
    order; a bag without elements is zero. `splits` has one element more than there are bags and ascends; what it leaves
    out is in no bag. Without `weights` they are 1. Positions are as in gather.

    * (C1) `operand` has rank 1 or more.   * (C2) `weights` has the size of `positions` and the element type of `operand`.
    ```mlir
    %r = sinter.bag_sum %table, %ids, %splits : (tensor<1000x64xf32>, tensor<80xi64>, tensor<17xi64>) -> tensor<16x64xf32>
    ```
  }];
  let arguments = (ins Sinter_FloatTensor:$operand, Sinter_Positions1D:$positions, Sinter_SizesTensor:$splits,
                       Optional<Sinter_FloatTensor>:$weights);
  let results = (outs Sinter_FloatTensor:$result);
}

def GroupRowsOp : Sinter_Composite<"group_rows"> {
  let summary = "the distinct positions, ascending, and where each of them stands";
  let description = [{
    `rows`: the distinct positions within an axis of `size`, then `size` for each place that is left; `order`: where in
    `positions` they stand, row by row and ascending for each; `splits`: row k stands at order[splits[k]] to before
    order[splits[k + 1]]. Negative positions count from the end; those outside are in no row. All sizes follow from that
    of `positions`, so that a step over them needs no memory of unknown size.

    * (C1) `size` is not negative.
  }];
  let arguments = (ins Sinter_Positions1D:$positions, I64Attr:$size);
  let results = (outs 1DTensorOf<[I64]>:$rows, 1DTensorOf<[I64]>:$splits, 1DTensorOf<[I64]>:$order);
}

def GradientRowsOp : Sinter_Op<"gradient_rows", [DeclareOpInterfaceMethods<Decomposable>]> {
  let summary = "the rows of a gradient that lookups touched, and their values";
  let description = [{
    Where `gradient` is a sum of what lookups give back (scatters that add slices to zeros), it is never made: `rows` are
    the distinct positions that were looked up, ascending, and `values` the sums for them; rows past the end of the
    axis stand for none, and their values are zero. Elsewhere they are the rows that hold anything but zeros; an error
    where `table` names what was to be looked up only.

    * (C1) `gradient` has rank 1 or more.
  }];
  let arguments = (ins Sinter_FloatTensor:$gradient, OptionalAttr<StrAttr>:$table);
  let results = (outs 1DTensorOf<[I64]>:$rows, Sinter_FloatTensor:$values);
  let hasCanonicalizer = 1;
}
