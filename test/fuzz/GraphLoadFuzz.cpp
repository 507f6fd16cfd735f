// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes through sinter_graph_load, as each of its formats, and what it gives through the calls that look at a
// graph.

#include "KeptContext.h"
#include "LinkedFile.h"
#include "compiler/capi/Public.h"
#include "mlir/IR/Verifier.h"
#include "runtime/sinter.h"
#include <cctype>
#include <cstring>

using namespace sinter;

static void requireMessage() {
  const char *message = sinter_last_error();
  if (!*message || std::strchr(message, '\n'))
    abort();
}

/// The call itself, which makes a context, and what looks at its graph.
static void loadGraph(const char *path) {
  sinter_graph *graph = nullptr;
  if (sinter_graph_load(path, &graph) != SINTER_OK)
    return requireMessage();
  const char *text = nullptr;
  if (sinter_graph_print(graph, &text) != SINTER_OK)
    requireMessage();
  sinter_graph_destroy(graph);
}

/// What the call does, in a context of many files.
static void loadModule(const char *path) {
  static fuzz::KeptContext kept(makeSinterContext);
  mlir::MLIRContext &context = kept.next();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  if (capi::loadModule(context, path, module) != SINTER_OK)
    return requireMessage();
  if (failed(mlir::verify(*module)))
    abort();
  module->print(llvm::nulls());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  bool isText = size > 8 && std::isprint(data[0]) && std::isprint(data[7]);
  const char *suffix = size > 0 && data[0] == 0x8f ? ".sinter" : isText ? ".mlir" : ".onnx";
  const char *path = fuzz::linkedFile(data, size, suffix);
  size % 512 == 257 ? loadGraph(path) : loadModule(path); // the longest inputs, which come often, are rounder
  return 0;
}
