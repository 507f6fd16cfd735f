// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of a program, traced into a function of a graph.

#ifndef SINTER_TRACE_FUNCTIONS_H
#define SINTER_TRACE_FUNCTIONS_H

#include "Trace.h"
#include "graph.hpp"

namespace sinter::inline SINTER_HOST::detail {

/// The outcome of tracing a function: its number in the graph, or an error.
struct TracedFunction {
  int32_t function = -1;
  std::vector<TensorType> outputs;
  std::shared_ptr<Error> error;
};

/// Traces `call(arguments)`, which fills `result`, into a function of `graph`. Of the arguments the last ones stand for
/// `bound`, tensors with elements that `call` uses; others that it uses are noted in `collected`. With `scripted`,
/// whose graph it is then, sizes have no names.
TracedFunction traceFunction(sinter_graph *graph, const char *name, std::span<const Spec> specs,
                             const std::vector<std::string> &inputNames, const std::vector<std::string> &outputNames,
                             Where where, AnyTree result, FunctionRef<void(std::span<const Tensor>)> call,
                             std::span<const Tensor> bound = {}, Trace::Captures *collected = nullptr,
                             ScriptedGraph *scripted = nullptr);

} // namespace sinter::inline SINTER_HOST::detail

#endif
