// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured control flow. Regions are isolated: what they use from outside is listed as captures and
// arrives as block arguments, so that the adjoint of a capture is a sum by construction. ControlFlow.h says what an op
// captures and carries; upstream's RegionBranchOpInterface and LoopLikeOpInterface are attached in ControlInterfaces.cpp.

include "ir/Dialect.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

class Sinter_ControlOp<string mnemonic, list<Trait> traits = []> : Op<Sinter_Dialect, mnemonic, !listconcat([
    IsolatedFromAbove, NoMemoryEffect, RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<Evaluable>, DeclareOpInterfaceMethods<SymbolicShape>], traits)> {
  let hasVerifier = 1;
}

// ReturnLike, but a loop's yield hands carries alone to the next trip (ControlInterfaces.cpp).
def YieldOp : Op<Sinter_Dialect, "yield", [Pure, Terminator,
    DeclareOpInterfaceMethods<RegionBranchTerminatorOpInterface>, NativeOpTrait<"ReturnLike">]> {
  let summary = "ends a region of control flow or of a kernel";
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "(`(` $operands^ `)` `:` type($operands))? attr-dict";
  let builders = [OpBuilder<(ins)>]; // no results; ends regions that yield nothing
}

def CondOp : Sinter_ControlOp<"cond"> {
  let summary = "one of two regions";
  let description = [{
    Both regions take the captures and yield the results; the one not taken is not executed. Where the branches'
    sizes differ the result's is `?`.
  }];
  let arguments = (ins Sinter_BoolScalar:$pred, Variadic<Sinter_Tensor>:$captures);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$then_region, SizedRegion<1>:$else_region);
  let assemblyFormat = [{
    $pred `(` $captures `)` attr-dict `:` functional-type(operands, results) `then` $then_region `else` $else_region
  }];
  let hasCanonicalizer = 1;
}

def SwitchOp : Sinter_ControlOp<"switch"> {
  let summary = "one of several regions; an index out of range takes the last";
  let arguments = (ins Sinter_IndexScalar:$index, Variadic<Sinter_Tensor>:$captures);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let assemblyFormat = [{ $index `(` $captures `)` attr-dict `:` functional-type(operands, results) $branches }];
  let hasCanonicalizer = 1;
}

def WhileOp : Sinter_ControlOp<"while", [AttrSizedOperandSegments]> {
  let summary = "repeats body while cond holds";
  let description = [{
    Both regions take (carries, captures). `cond` yields a rank-0 boolean, `body` the next carries and then the per-trip outputs.
    Results: trips (i64), final carries, and each per-trip output stacked along a new first axis. Zero trips return the
    initial values, 0 and empty stacks. A carry whose size may change from trip to trip has `?` in the init's,
    the block argument's and the result's type. With `max_trip`, `on_limit` says whether the loop stops there or reports an error.
    The error is the discardable attribute `sinter.limit_message` where there is one; its first {} stands for the first
    carry, an integer of rank 0.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$init, Variadic<Sinter_Tensor>:$captures, OptionalAttr<I64Attr>:$max_trip,
                       DefaultValuedAttr<Sinter_LimitPolicyAttr, "LimitPolicy::stop">:$on_limit);
  let results = (outs Sinter_IndexScalar:$trips, Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$cond_region, SizedRegion<1>:$body_region);
  let assemblyFormat = [{
    `(` $init `)` `captures` `(` $captures `)` attr-dict `:` functional-type(operands, results) `cond` $cond_region `body` $body_region
  }];
  let extraClassDeclaration = [{
    /// Results that are final carries; the others are stacked per-trip outputs.
    ::mlir::ResultRange getCarries() { return getResults().take_front(getInit().size()); }
    ::mlir::ResultRange getStacks() { return getResults().drop_front(getInit().size()); }
  }];
  let hasCanonicalizer = 1;
}

def ForOp : Sinter_ControlOp<"for", [AttrSizedOperandSegments]> {
  let summary = "counted loop: i = lower, lower + step, ... below upper (above, for a negative step)";
  let description = [{
    The body takes (i, carries, captures) with i a rank-0 i64, and yields the next carries and then the per-trip
    outputs. Results: final carries, stacks. A step of 0 runs no trip.
  }];
  let arguments = (ins Sinter_IndexScalar:$lower, Sinter_IndexScalar:$upper, Sinter_IndexScalar:$step,
                       Variadic<Sinter_Tensor>:$init, Variadic<Sinter_Tensor>:$captures);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body_region);
  let assemblyFormat = [{
    $lower `to` $upper `step` $step `(` $init `)` `captures` `(` $captures `)` attr-dict `:` functional-type(operands, results)
    `body` $body_region
  }];
  let extraClassDeclaration = [{
    ::mlir::ResultRange getCarries() { return getResults().take_front(getInit().size()); }
    ::mlir::ResultRange getStacks() { return getResults().drop_front(getInit().size()); }
  }];
  let hasCanonicalizer = 1;
}

def ScanOp : Sinter_ControlOp<"scan", [AttrSizedOperandSegments]> {
  let summary = "loop over the slices of sequences";
  let description = [{
    The body takes (carries, one slice per sequence, captures) and yields the next carries and then the per-trip outputs. `axes[k]` is
    the axis of sequence k that is walked (it disappears from the slice), from the end when `reverse[k]`;
    `out_axes`, `out_reverse` say the same for the stacks. All walked axes have one size, the number of trips.
  }];
  let arguments = (ins Variadic<Sinter_Tensor>:$init, Variadic<Sinter_Tensor>:$sequences, Variadic<Sinter_Tensor>:$captures,
                       DenseI64ArrayAttr:$axes, DenseBoolArrayAttr:$reverse, DenseI64ArrayAttr:$out_axes, DenseBoolArrayAttr:$out_reverse);
  let results = (outs Variadic<Sinter_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body_region);
  let assemblyFormat = [{
    `(` $init `)` `over` `(` $sequences `)` `captures` `(` $captures `)` attr-dict `:` functional-type(operands, results)
    `body` $body_region
  }];
  let extraClassDeclaration = [{
    ::mlir::ResultRange getCarries() { return getResults().take_front(getInit().size()); }
    ::mlir::ResultRange getStacks() { return getResults().drop_front(getInit().size()); }
  }];
  let hasCanonicalizer = 1;
}
