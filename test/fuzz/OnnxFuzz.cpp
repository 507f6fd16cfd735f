// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ONNX file: either a model whose tensors decode, or a message of one line.

#include "MemoryFile.h"
#include "compiler/onnx/Reader.h"

using namespace sinter::onnx;

static void requireOneLine(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  if (message.empty() || message.find('\n') != std::string::npos)
    abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int file = memoryFile(data, size, path);
  auto model = readOnnxFile(path);
  close(file);
  if (!model) {
    requireOneLine(model.takeError());
    return 0;
  }
  for (const auto &proto : (*model)->model.graph().initializer()) {
    auto tensor = decodeTensor(proto, (*model)->external.get());
    if (!tensor)
      requireOneLine(tensor.takeError());
    else if (tensor->numElements() <= 1 << 20)
      (void)tensor->asFloats();
  }
  return 0;
}
