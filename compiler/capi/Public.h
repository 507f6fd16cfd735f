// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the calls that consume a graph share.

#ifndef SINTER_COMPILER_CAPI_PUBLIC_H
#define SINTER_COMPILER_CAPI_PUBLIC_H

#include "compiler/capi/Graph.h"

namespace sinter::capi {

/// A copy of the graph without its private functions. Fails while functions are open and when there is none; `call`
/// begins the message.
sinter_status_code publicModule(sinter_graph &graph, const llvm::Twine &call,
                                mlir::OwningOpRef<mlir::ModuleOp> &module);

/// What sinter_graph_load reads, in a context that may be used again. Fails with the calls' status and message.
sinter_status_code loadModule(mlir::MLIRContext &context, const char *path, mlir::OwningOpRef<mlir::ModuleOp> &module);

/// Lets the evaluator call functions of the program and print.
void setHostCalls();

/// Copies that own their data.
sinter_status_code copyOutputs(llvm::ArrayRef<HostTensor> results, sinter_tensor *outputs);

/// Calls of sinter_eager that found what they needed, and kernels that it compiled.
void eagerCounts(int64_t &hits, int64_t &compiles);
/// Kernels that sinter_eager keeps.
int64_t eagerKernels();
void clearEager();

} // namespace sinter::capi

#endif
