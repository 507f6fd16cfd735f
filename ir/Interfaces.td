// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an op can do. A pass or back end asks an interface and never lists op names.

#ifndef SINTER_IR_INTERFACES
#define SINTER_IR_INTERFACES

include "mlir/IR/OpBase.td"

def Evaluable : OpInterface<"Evaluable"> {
  let cppNamespace = "::sinter";
  let description = [{
    The executable specification of an op: plain loops over f64 or integers, each result rounded once
    to its element type. Oracle of every test, and the constant folder.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes all results. `operands[i]` has the element type and rank of operand i and a concrete
      shape. Fails with a diagnostic at the op when the values are outside of what the op allows.
      `evaluator` runs regions.
    }], "::llvm::FailureOr<::llvm::SmallVector<::sinter::HostTensor>>", "evaluate",
        (ins "::llvm::ArrayRef<::sinter::HostTensor>":$operands, "::sinter::Evaluator &":$evaluator)>
  ];
}

def Pointwise : OpInterface<"Pointwise"> {
  let cppNamespace = "::sinter";
  let description = [{
    result[i] = f(operands[i]) for every index i. The body is built from arith and math ops, which are
    polymorphic: the same body serves a scalar, a vector of lanes and a GPU thread.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds f on `args`, one per operand, each a scalar or a vector of one common length. Integers are
      signless; signedness comes from the op's own types. i1 is i1. Returns a value of the result's
      element type (signless), in the same form.
    }], "::mlir::Value", "buildBody",
        (ins "::mlir::OpBuilder &":$builder, "::mlir::Location":$loc, "::mlir::ValueRange":$args)>
  ];
}

def Elemental : OpInterface<"Elemental"> {
  let cppNamespace = "::sinter";
  let description = [{
    Each result element is a closed expression of a few operand elements at computed indices
    (broadcast, transpose, slice, pad, gather, concatenate, resize ...). Such an op fuses into any
    consumer: nothing is stored. Pointwise ops are elemental by their body and do not implement this.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the value of result `result` at `index` (one entry per result axis), reading operands
      through `elements`.
    }], "::mlir::Value", "buildElement",
        (ins "::sinter::ElementBuilder &":$elements, "unsigned":$result, "::llvm::ArrayRef<::sinter::LaneIndex>":$index)>
  ];
}

def SymbolicShape : OpInterface<"SymbolicShape"> {
  let cppNamespace = "::sinter";
  let description = [{
    Result sizes as expressions of operand sizes and, for ops that take sizes as operands, of operand
    contents. An op without it has results whose `?` sizes are known only after it ran.
  }];
  let methods = [
    InterfaceMethod<[{
      One list of sizes per result. `shapes` answers operand sizes (`shapes.dims(operand)`) and the
      contents of small integer operands (`shapes.contents(operand)`).
    }], "::llvm::SmallVector<::sinter::Dims>", "resultDims", (ins "::sinter::ShapeQuery &":$shapes)>
  ];
}

def SymbolicContents : OpInterface<"SymbolicContents"> {
  let cppNamespace = "::sinter";
  let description = [{
    The elements of a small integer result as expressions of operand sizes and operand contents; this
    is how `Shape -> Gather -> Concat -> Reshape` chains of models become sizes.
  }];
  let methods = [
    InterfaceMethod<[{
      Elements of result 0 in row-major order, or nothing when an element cannot be expressed.
    }], "std::optional<::sinter::Dims>", "resultContents", (ins "::sinter::ShapeQuery &":$shapes)>
  ];
}

def Decomposable : OpInterface<"Decomposable"> {
  let cppNamespace = "::sinter";
  let description = [{
    A composite that can be written in primitives. Back ends that know the composite keep it; all
    others (and the gradient, unless the op has a better rule) use this.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the same results before the op and returns them, one per result. Fails with a reason when
      this form of the op has no decomposition.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

#endif
