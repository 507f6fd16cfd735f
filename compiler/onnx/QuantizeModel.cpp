// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/QuantizeModel.h"
#include "compiler/Link.h"
#include "compiler/onnx/Limits.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace llvm;

namespace sinter::onnx {

/// Elements of a column that share a scale of 4-bit weights.
static constexpr int64_t kBlock = 32;

template <typename... Args> static Error fail(Args &&...args) {
  return createStringError(inconvertibleErrorCode(), std::forward<Args>(args)...);
}

static int64_t versionOf(const onnxfile::Model &model, StringRef domain) {
  for (const onnxfile::OperatorSet &set : model.opset_import())
    if (normalizeDomain(set.domain()) == domain)
      return set.version();
  return 0;
}

static const onnxfile::Attribute *attributeOf(const onnxfile::Node &node, StringRef name) {
  for (const onnxfile::Attribute &attribute : node.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

//===--- the plan ---===//

static StringMap<const onnxfile::Tensor *> initializersOf(const onnxfile::Graph &graph) {
  StringMap<const onnxfile::Tensor *> found;
  for (const onnxfile::Tensor &tensor : graph.initializer())
    found[tensor.name()] = &tensor;
  return found;
}

/// The axis of a product's weights that its columns are along, or -1 where the node is no product or they are none.
static int64_t columnAxis(const onnxfile::Node &node, const onnxfile::Tensor &weights) {
  int64_t rank = weights.dims_size();
  if (weights.data_type() != onnxfile::FLOAT)
    return -1;
  if (node.op_type() == "Conv")
    return rank >= 3 ? 0 : -1;
  const onnxfile::Attribute *transposed = attributeOf(node, "transB");
  return rank == 2 ? (transposed && transposed->i() ? 0 : 1) : -1;
}

Expected<QuantizePlan> planQuantization(const OnnxFile &file, const QuantizeOptions &options) {
  using Form = QuantizeOptions::Form;
  const onnxfile::Graph &graph = file.model.graph();
  int64_t needed = options.perChannel ? 13 : 10, version = versionOf(file.model, "");
  if (options.form != Form::int4 && version < needed)
    return fail("%s: requires operator set %d for %s, found %d", file.path.c_str(), int(needed),
                options.perChannel ? "a scale for each channel (10 for one of all)" : "bytes with a scale",
                int(version));
  StringMap<const onnxfile::Tensor *> initializers = initializersOf(graph);
  QuantizePlan plan;
  StringSet<> seen;
  auto round = [&](const std::string &name) {
    if (seen.insert(name).second)
      plan.activations.push_back(name);
  };
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnxfile::Node &node = graph.node(i);
    bool isProduct = node.op_type() == "MatMul" || node.op_type() == "Gemm";
    if (!normalizeDomain(node.domain()).empty() || node.input_size() < 2 || (!isProduct && node.op_type() != "Conv") ||
        (options.excludes && options.excludes(node.name())))
      continue;
    QuantizePlan::Product product{i, initializers.count(node.input(1)) != 0};
    if (product.hasWeights) {
      product.axis = columnAxis(node, *initializers[node.input(1)]);
      if (product.axis < 0)
        continue;
    }
    bool isLeftConstant = initializers.count(node.input(0)) != 0;
    if (options.form == Form::bytes) {
      if (isLeftConstant || (!product.hasWeights && !isProduct))
        continue;
      round(node.input(0));
      if (!product.hasWeights)
        round(node.input(1));
    } else if (!product.hasWeights || !isProduct || (options.form == Form::int4 && node.op_type() != "MatMul")) {
      continue;
    }
    plan.products.push_back(product);
  }
  if (plan.products.empty())
    return fail("%s: requires a %s of float with constant weights that is not excluded, found none", file.path.c_str(),
                options.form == Form::bytes  ? "Conv, MatMul or Gemm"
                : options.form == Form::int8 ? "MatMul or Gemm"
                                             : "MatMul");
  return plan;
}

//===--- names and nodes ---===//

namespace {

/// Adds nodes and initializers with names that nothing has yet.
class Editor {
public:
  explicit Editor(onnxfile::Model &model) : graph(*model.mutable_graph()) {
    for (const onnxfile::Tensor &tensor : graph.initializer())
      names.insert(tensor.name());
    for (const onnxfile::ValueInfo &input : graph.input())
      names.insert(input.name());
    for (const onnxfile::Node &node : graph.node())
      for (const std::string &output : node.output())
        names.insert(output);
  }

  std::string unique(const std::string &wanted) {
    std::string name = wanted;
    for (int k = 2; !names.insert(name).second; ++k)
      name = wanted + "_" + std::to_string(k);
    return name;
  }

  template <typename T>
  std::string constant(const std::string &wanted, onnxfile::DataType type, ArrayRef<int64_t> dims, ArrayRef<T> values) {
    onnxfile::Tensor &tensor = *graph.add_initializer();
    tensor.set_name(unique(wanted));
    tensor.set_data_type(type);
    for (int64_t size : dims)
      tensor.add_dims(size);
    tensor.set_raw_data(values.data(), values.size() * sizeof(T));
    return tensor.name();
  }

  onnxfile::Graph &graph;

private:
  StringSet<> names;
};

} // namespace

static onnxfile::Node nodeOf(StringRef op, ArrayRef<std::string> inputs, const std::string &output) {
  onnxfile::Node node;
  node.set_op_type(op.str());
  node.set_name(output);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
  return node;
}

static void setInt(onnxfile::Node &node, const char *name, int64_t value) {
  onnxfile::Attribute &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnxfile::Attribute::INT_KIND);
  attribute.set_i(value);
}

onnxfile::Model withOutputs(const OnnxFile &file, ArrayRef<std::string> tensors, std::vector<std::string> &names) {
  onnxfile::Model model = file.model;
  Editor editor(model);
  for (const std::string &tensor : tensors) {
    names.push_back(editor.unique(tensor + "_observed"));
    *editor.graph.add_node() = nodeOf("Identity", {tensor}, names.back());
    onnxfile::ValueInfo &output = *editor.graph.add_output();
    output.set_name(names.back());
    output.mutable_type()->mutable_tensor()->set_elem_type(onnxfile::FLOAT);
  }
  return model;
}

//===--- weights ---===//

namespace {

/// Weights with one scale for each place along an axis, or for all.
struct ByteWeights {
  std::vector<int8_t> codes;
  std::vector<float> scales;

  ByteWeights(ArrayRef<float> weights, ArrayRef<int64_t> dims, int64_t axis, bool perChannel) : codes(weights.size()) {
    size_t inner = 1, count = perChannel ? size_t(dims[size_t(axis)]) : 1;
    for (int64_t size : dims.drop_front(size_t(axis) + 1))
      inner *= size_t(size);
    auto placeOf = [&](size_t i) { return perChannel ? i / inner % count : 0; };
    std::vector<float> most(count);
    for (auto [i, weight] : enumerate(weights))
      most[placeOf(i)] = std::max(most[placeOf(i)], std::abs(weight));
    for (float magnitude : most)
      scales.push_back(std::isnormal(magnitude / 127) ? magnitude / 127 : 1);
    for (auto [i, weight] : enumerate(weights))
      codes[i] = int8_t(std::clamp(std::nearbyint(weight / scales[placeOf(i)]), -127.0f, 127.0f));
  }
};

/// A matrix [k, n] as MatMulNBits has it: for each column blocks of 32, two codes a byte, and a scale for each block.
/// A code c stands for (c - 8) * scale.
struct HalfByteWeights {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
  int64_t blocks;

  HalfByteWeights(ArrayRef<float> weights, int64_t k, int64_t n)
      : codes(size_t(n * divideCeil(k, kBlock) * kBlock / 2), uint8_t(0x88)), blocks(int64_t(divideCeil(k, kBlock))) {
    for (int64_t column = 0; column < n; ++column)
      for (int64_t block = 0; block < blocks; ++block) {
        int64_t begin = block * kBlock, end = std::min(k, begin + kBlock);
        // The number farthest from 0 gets the code that reaches one further.
        float most = 0;
        for (int64_t i = begin; i < end; ++i)
          if (float weight = weights[size_t(i * n + column)]; std::abs(weight) > std::abs(most))
            most = weight;
        float scale = std::isnormal(most / -8) ? most / -8 : 1;
        scales.push_back(scale);
        for (int64_t i = begin; i < end; ++i) {
          auto code = uint8_t(std::clamp(std::nearbyint(weights[size_t(i * n + column)] / scale) + 8, 0.0f, 15.0f));
          uint8_t &pair = codes[size_t(((column * blocks + block) * kBlock + i - begin) / 2)];
          pair = (i - begin) % 2 ? uint8_t((pair & 0x0F) | code << 4) : uint8_t((pair & 0xF0) | code);
        }
      }
  }
};

/// Applies a plan to a copy of a model.
class Quantizer {
public:
  Quantizer(const OnnxFile &file, const std::map<std::string, Range> &ranges, const QuantizeOptions &options,
            onnxfile::Model &model)
      : file(file), ranges(ranges), options(options), editor(model), initializers(initializersOf(file.model.graph())) {}

  Error run(const QuantizePlan &plan) {
    auto product = plan.products.begin();
    google::protobuf::RepeatedPtrField<onnxfile::Node> nodes;
    nodes.Swap(editor.graph.mutable_node());
    StringSet<> computed;
    for (const onnxfile::Node &node : nodes)
      computed.insert(node.output().begin(), node.output().end());
    for (const std::string &name : plan.activations)
      if (!computed.contains(name))
        round(name);
    for (int i = 0; i < nodes.size(); ++i) {
      onnxfile::Node &node = *nodes.Mutable(i);
      if (product != plan.products.end() && product->node == i)
        if (Error error = change(node, *product++))
          return error;
      *editor.graph.add_node() = node;
      for (const std::string &output : node.output())
        if (ranges.count(output))
          round(output);
    }
    dropUnused();
    return Error::success();
  }

private:
  /// Bytes of a tensor, and the numbers that they stand for.
  void round(const std::string &name) {
    ByteScale bytes = byteScale(ranges.at(name));
    std::string scale = editor.constant<float>(name + "_scale", onnxfile::FLOAT, {}, bytes.scale);
    std::string zero = editor.constant<uint8_t>(name + "_zero_point", onnxfile::UINT8, {}, uint8_t(bytes.zero));
    std::string codes = editor.unique(name + "_quantized"), numbers = editor.unique(name + "_dequantized");
    *editor.graph.add_node() = nodeOf("QuantizeLinear", {name, scale, zero}, codes);
    *editor.graph.add_node() = nodeOf("DequantizeLinear", {codes, scale, zero}, numbers);
    rounded[name] = numbers;
  }

  Error change(onnxfile::Node &node, const QuantizePlan::Product &product) {
    if (options.form == QuantizeOptions::Form::bytes) {
      node.set_input(0, rounded.lookup(node.input(0)));
      if (!product.hasWeights) {
        node.set_input(1, rounded.lookup(node.input(1)));
        return Error::success();
      }
    }
    const onnxfile::Tensor &weights = *initializers[node.input(1)];
    if (options.form == QuantizeOptions::Form::int4)
      return multiplyHalfBytes(node, weights);
    std::string &numbers = weightsAlong[node.input(1) + "\n" + std::to_string(product.axis)];
    if (numbers.empty())
      if (Error error = storeBytes(weights, product.axis, numbers))
        return error;
    node.set_input(1, numbers);
    return Error::success();
  }

  Expected<std::vector<float>> numbersOf(const onnxfile::Tensor &tensor) {
    Expected<TensorData> data = decodeTensor(tensor, file.external.get());
    if (!data)
      return fail("%s: weights '%s': %s", file.path.c_str(), shortenName(tensor.name()).c_str(),
                  toString(data.takeError()).c_str());
    std::vector<float> numbers(size_t(data->numElements()));
    std::memcpy(numbers.data(), data->bytes.data(), data->bytes.size());
    if (!all_of(numbers, [](float number) { return std::isfinite(number); }))
      return fail("%s: weights '%s': requires finite numbers, found infinities or NaN", file.path.c_str(),
                  shortenName(tensor.name()).c_str());
    return numbers;
  }

  Error storeBytes(const onnxfile::Tensor &tensor, int64_t axis, std::string &result) {
    Expected<std::vector<float>> numbers = numbersOf(tensor);
    if (!numbers)
      return numbers.takeError();
    SmallVector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
    ByteWeights bytes(*numbers, dims, axis, options.perChannel);
    SmallVector<int64_t> along;
    if (options.perChannel)
      along.push_back(dims[size_t(axis)]);
    const std::string &name = tensor.name();
    std::vector<int8_t> zeros(bytes.scales.size());
    std::string codes = editor.constant<int8_t>(name + "_quantized", onnxfile::INT8, dims, bytes.codes);
    std::string scale = editor.constant<float>(name + "_scale", onnxfile::FLOAT, along, bytes.scales);
    std::string zero = editor.constant<int8_t>(name + "_zero_point", onnxfile::INT8, along, zeros);
    result = editor.unique(name + "_dequantized");
    onnxfile::Node node = nodeOf("DequantizeLinear", {codes, scale, zero}, result);
    if (options.perChannel)
      setInt(node, "axis", axis);
    *editor.graph.add_node() = node;
    return Error::success();
  }

  Error multiplyHalfBytes(onnxfile::Node &node, const onnxfile::Tensor &tensor) {
    int64_t k = tensor.dims(0), n = tensor.dims(1);
    auto &[codes, scales] = halfBytes[tensor.name()];
    if (codes.empty()) {
      Expected<std::vector<float>> numbers = numbersOf(tensor);
      if (!numbers)
        return numbers.takeError();
      HalfByteWeights weights(*numbers, k, n);
      codes = editor.constant<uint8_t>(tensor.name() + "_q4", onnxfile::UINT8, {n, weights.blocks, kBlock / 2},
                                       weights.codes);
      scales = editor.constant<float>(tensor.name() + "_scales", onnxfile::FLOAT, {n, weights.blocks}, weights.scales);
    }
    std::string x = node.input(0), name = node.name();
    node = nodeOf("MatMulNBits", {x, codes, scales}, node.output(0));
    node.set_name(name);
    node.set_domain("com.microsoft");
    setInt(node, "K", k);
    setInt(node, "N", n);
    setInt(node, "bits", 4);
    setInt(node, "block_size", kBlock);
    return Error::success();
  }

  /// Initializers that only changed nodes read.
  void dropUnused() {
    StringSet<> used;
    std::function<void(const onnxfile::Graph &)> visit = [&](const onnxfile::Graph &graph) {
      for (const onnxfile::Node &node : graph.node()) {
        used.insert(node.input().begin(), node.input().end());
        for (const onnxfile::Attribute &attribute : node.attribute())
          if (attribute.has_g())
            visit(attribute.g());
      }
      for (const onnxfile::ValueInfo &output : graph.output())
        used.insert(output.name());
    };
    visit(editor.graph);
    auto *tensors = editor.graph.mutable_initializer();
    int kept = 0;
    for (int i = 0; i < tensors->size(); ++i)
      if (used.contains(tensors->Get(i).name()))
        tensors->SwapElements(kept++, i);
    tensors->DeleteSubrange(kept, tensors->size() - kept);
    auto *inputs = editor.graph.mutable_input(); // old models name initializers among them
    for (int i = inputs->size(); i-- > 0;)
      if (initializers.count(inputs->Get(i).name()) && !used.contains(inputs->Get(i).name()))
        inputs->DeleteSubrange(i, 1);
  }

  const OnnxFile &file;
  const std::map<std::string, Range> &ranges;
  const QuantizeOptions &options;
  Editor editor;
  StringMap<const onnxfile::Tensor *> initializers;
  StringMap<std::string> rounded; // a tensor's numbers as its bytes say them
  std::map<std::string, std::string> weightsAlong;
  std::map<std::string, std::pair<std::string, std::string>> halfBytes;
};

} // namespace

//===--- the model ---===//

Expected<onnxfile::Model> quantizeModel(const OnnxFile &file, const QuantizePlan &plan,
                                        const std::map<std::string, Range> &ranges, const QuantizeOptions &options) {
  onnxfile::Model model = file.model;
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 4)); // initializers that are no inputs
  if (Error error = Quantizer(file, ranges, options, model).run(plan))
    return error;
  if (options.form == QuantizeOptions::Form::int4 && !versionOf(model, "com.microsoft")) {
    onnxfile::OperatorSet &set = *model.add_opset_import();
    set.set_domain("com.microsoft");
    set.set_version(1);
  }
  if (Error error = embedTensors(model, *file.external))
    return error;
  return model;
}

Error embedTensors(onnxfile::Model &model, ExternalFiles &files) {
  for (onnxfile::Tensor &tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.data_location() != 1)
      continue;
    Expected<TensorData> data = decodeTensor(tensor, &files);
    if (!data)
      return data.takeError();
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(data->bytes.data(), data->bytes.size());
  }
  return Error::success();
}

Error writeModel(const onnxfile::Model &model, StringRef path) {
  uint64_t bytes = model.ByteSizeLong();
  if (bytes > kMaxModelBytes)
    return fail("%s: requires a model of at most %llu bytes, found %llu", path.str().c_str(),
                static_cast<unsigned long long>(kMaxModelBytes), static_cast<unsigned long long>(bytes));
  std::string text, error;
  if (!model.SerializeToString(&text))
    return fail("%s: cannot be serialized", path.str().c_str());
  if (!writeFile(path, ArrayRef<char>(text.data(), text.size()), error))
    return fail("%s", error.c_str());
  return Error::success();
}

} // namespace sinter::onnx
