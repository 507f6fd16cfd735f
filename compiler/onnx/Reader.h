// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a path to a parsed and checked ONNX model. Nothing here knows MLIR.

#ifndef SINTER_COMPILER_ONNX_READER_H
#define SINTER_COMPILER_ONNX_READER_H

#include "compiler/onnx/TensorData.h"

namespace sinter::onnx {

/// A parsed model and the files that its external data lives in. Tensors decoded from it point into it.
struct OnnxFile {
  std::string path;
  onnxfile::Model model;
  std::unique_ptr<ExternalFiles> external;
};

/// Where raw data of large tensors stand: beside the message, so that they are not copied, or in it, so that it can be
/// written again.
enum class RawData { outside, inside };

/// Reads and checks the model at `path`. The error is one line that names the file and, where there is one, the node.
llvm::Expected<std::unique_ptr<OnnxFile>> readOnnxFile(llvm::StringRef path, RawData where = RawData::outside);

/// Reads a regular file of at most `maxBytes` bytes; the error names the path and says what was found instead.
llvm::Expected<std::string> readRegularFile(llvm::StringRef path, uint64_t maxBytes);

/// Puts the nodes of graphs, of the graphs within them and of functions in an order in which each comes after what it
/// reads, as near to the file's as that allows. The error names the nodes of a cycle.
llvm::Error orderModel(onnxfile::Model &model);

/// Checks what protobuf does not: limits, names defined once and before they are used, in graphs, the graphs within
/// them and functions; operator sets; nodes as their operators are defined. The error names the node, not the file.
llvm::Error checkModel(const onnxfile::Model &model);

/// `domain` with ONNX's two spellings of the default domain made one: "".
llvm::StringRef normalizeDomain(llvm::StringRef domain);

/// `name` as a message repeats it: in one line, and not too long.
std::string shortenName(llvm::StringRef name);

/// What a message calls a node: `node 'conv1' (Conv)`, or its first output or position if it has no name.
std::string describeNode(const onnxfile::Node &node, int64_t index);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_READER_H
