// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect itself.

#ifndef SINTER_IR_DIALECTBASE
#define SINTER_IR_DIALECTBASE

include "mlir/IR/DialectBase.td"

def Sinter_Dialect : Dialect {
  let name = "sinter";
  let cppNamespace = "::sinter";
  let summary = "pure numerical graphs with structured control flow";
  let description = [{
    Ops on ranked tensors without side effects. Broadcasting is explicit, regions are isolated, and
    each op carries its meaning as interfaces (shape rule, reference evaluation, scalar body).
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{
    // One per family, each in its family's file.
    void registerElementwise();
    void registerShape();
    void registerIndexing();
    void registerReduction();
    void registerContraction();
    void registerNormalization();
    void registerRecurrent();
    void registerResampling();
    void registerRandom();
    void registerControl();
    void registerGradient();
    void registerKernel();
  }];
}

#endif
