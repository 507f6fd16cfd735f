// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
def SumOp : Sinter_Op<"sum", [Pure]> {
  let description = "* (C1) `lhs` has rank 2. * (C2) inner sizes are equal.";
}
def OuterOp : Sinter_Op<"outer", [Pure]> {
  let description = "* (C1) both have rank 1.";
}
