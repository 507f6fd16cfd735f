// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX models whose products multiply bytes: QuantizeLinear and DequantizeLinear around what feeds them.

#ifndef SINTER_COMPILER_ONNX_QUANTIZEMODEL_H
#define SINTER_COMPILER_ONNX_QUANTIZEMODEL_H

#include "compiler/onnx/Calibration.h"
#include "compiler/onnx/Reader.h"
#include <functional>
#include <map>

namespace sinter::onnx {

struct QuantizeOptions {
  enum class Form {
    bytes, // activations u8 with a zero point, weights i8
    int8,  // weights alone, one scale a column
    int4   // weights of MatMul alone, with a scale for each 32 of a column (MatMulNBits)
  } form = Form::bytes;
  bool perChannel = true; // scales of weights
  /// Nodes, by name, that stay as they are; none when empty.
  std::function<bool(llvm::StringRef)> excludes;
};

/// What `quantizeModel` will change: each Conv, MatMul and Gemm of f32 in the main graph whose filter, or for a product
/// one operand at least, is an initializer or a computed tensor.
struct QuantizePlan {
  struct Product {
    int node;         // of the graph
    bool hasWeights;  // the second operand is an initializer
    int64_t axis = 0; // of the weights, that scales run along
  };
  std::vector<Product> products;
  /// Tensors that are rounded to bytes, in the order of the nodes that read them.
  std::vector<std::string> activations;
};
llvm::Expected<QuantizePlan> planQuantization(const OnnxFile &file, const QuantizeOptions &options);

/// A copy of the model that gives, besides its outputs, each of `tensors`: the k-th as output `names[k]`.
onnxfile::Model withOutputs(const OnnxFile &file, llvm::ArrayRef<std::string> tensors, std::vector<std::string> &names);

/// The model with the plan applied; `ranges` holds those of the plan's activations. Weights are stored within it.
llvm::Expected<onnxfile::Model> quantizeModel(const OnnxFile &file, const QuantizePlan &plan,
                                              const std::map<std::string, Range> &ranges,
                                              const QuantizeOptions &options);

/// Puts tensors that live in other files into the model. Fails where one cannot be read.
llvm::Error embedTensors(onnxfile::Model &model, ExternalFiles &files);

/// Writes a model of at most 2 GiB.
llvm::Error writeModel(const onnxfile::Model &model, llvm::StringRef path);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_QUANTIZEMODEL_H
