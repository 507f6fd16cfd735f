// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the gradient asks of an op. Rules are external models (`Op::attachInterface`), attached by registerGradients: an op's definition
// does not change with its rule.

#ifndef SINTER_IR_GRADIENT_DIFFERENTIABLE
#define SINTER_IR_GRADIENT_DIFFERENTIABLE

include "mlir/IR/OpBase.td"

def Differentiable : OpInterface<"Differentiable"> {
  let cppNamespace = "::sinter";
  let description = [{
    The derivative of an op, in both directions. A rule emits only ops of the dialect that are differentiable
    themselves, so that gradients can be differentiated again.
  }];
  let methods = [
    InterfaceMethod<[{
      Reverse mode: reads the cotangents of the results (`g.cotangent(i)`, null is zero; at least one is not null), gives those
      of the operands that `g.wants(i)`. What is not given is zero. Fails with a diagnostic at the op.
    }], "::llvm::LogicalResult", "vjp", (ins "::sinter::VjpBuilder &":$g)>,
    InterfaceMethod<[{
      Forward mode: reads the tangents of the operands (`t.tangent(i)`, null is zero; at least one is not null), sets those of the
      results. What is not set is zero. Fails with a diagnostic at the op.
    }], "::llvm::LogicalResult", "jvp", (ins "::sinter::JvpBuilder &":$t)>
  ];
}

def NonDifferentiable : OpInterface<"NonDifferentiable"> {
  let cppNamespace = "::sinter";
  let description = [{
    An op through which no gradient goes: its results are integers, booleans or positions, or its derivative is not defined. A
    gradient that is asked through a float result of it is an error with this reason.
  }];
  let methods = [
    InterfaceMethod<[{
      Why there is none, as the end of a sentence: "its result is a position".
    }], "::llvm::StringRef", "reason", (ins)>
  ];
}

#endif
