// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a graph file: either a module that can be saved and loaded again, or a message of one line.

#include "MutateGraph.h"

using namespace sinter;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  if (seed % 4 == 0) { // libFuzzer's own changes, within the graph
    uint64_t graphBytes = std::min<uint64_t>(fuzz::graphBytesOf(bytes), size > 64 ? size - 64 : 0);
    if (graphBytes)
      LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(bytes.data()) + 64, graphBytes, graphBytes);
    fuzz::fixHeader(bytes, graphBytes);
  } else {
    fuzz::mutateGraph(bytes, seed);
  }
  size = std::min(bytes.size(), maxSize);
  std::memcpy(data, bytes.data(), size);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A context keeps every type and attribute that it has seen: a new one now and then.
  static std::unique_ptr<mlir::MLIRContext> context;
  static int uses = 0;
  if (!context || ++uses % 5000 == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  fuzz::readAny(*context, {reinterpret_cast<const char *>(data), size});
  return 0;
}
