// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as an ONNX file: either a model whose tensors decode, or a message of one line. And as a file of one
// tensor.

#include "LinkedFile.h"
#include "MutateOnnx.h"
#include "compiler/onnx/ExternalFiles.h"
#include "compiler/onnx/Reader.h"

using namespace sinter::onnx;

static void requireOneLine(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  if (message.empty() || message.find('\n') != std::string::npos)
    abort();
}

static void look(llvm::Expected<TensorData> tensor) {
  if (!tensor) {
    requireOneLine(tensor.takeError());
  } else if (tensor->numElements() <= 1 << 20) {
    if (tensor->asFloats().size() != tensor->asInts().size())
      abort();
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *path = sinter::fuzz::linkedFile(data, size, ".onnx");
  if (size % 8 == 0) {
    look(readTensorFile(path));
    for (const std::string &file : externalFilesOf(path))
      if (!llvm::StringRef(file).starts_with(sinter::fuzz::folderOfFiles()))
        abort();
  }
  auto model = readOnnxFile(path);
  if (!model) {
    requireOneLine(model.takeError());
    return 0;
  }
  for (const auto &proto : (*model)->model.graph().initializer())
    look(decodeTensor(proto, (*model)->external.get()));
  for (const auto &node : (*model)->model.graph().node())
    for (const auto &attribute : node.attribute())
      if (attribute.has_t())
        look(decodeTensor(attribute.t(), (*model)->external.get()));
  return 0;
}
