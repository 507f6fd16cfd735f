// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of ONNX models that leave them models: a node of any operator that onnx has, with inputs of types that it
// takes, attributes that it has, other types and sizes of inputs, tensors in every form in which a file may hold them,
// functions. Bytes that change in a serialized message seldom get past its lengths.

#ifndef SINTER_TEST_FUZZ_MUTATEONNX_H
#define SINTER_TEST_FUZZ_MUTATEONNX_H

#include "compiler/onnx/Schemas.h"
#include "compiler/onnx/TensorData.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <random>
#include <string>
#include <vector>

namespace sinter::fuzz {

inline constexpr onnx::Schema kSchemas[] = {
#include "compiler/onnx/Schemas.inc"
};

class OnnxMutation {
public:
  OnnxMutation(onnxfile::Model &model, unsigned seed) : model(model), random(seed) {}

  void run() {
    for (uint64_t left = 1 + below(3); left > 0; --left)
      change();
  }

private:
  using Nodes = google::protobuf::RepeatedPtrField<onnxfile::Node>;

  uint64_t below(uint64_t n) { return n ? random() % n : 0; }
  bool oneIn(uint64_t n) { return below(n) == 0; }
  template <typename List> auto &pick(List &list) {
    return *(std::begin(list) + static_cast<int>(below(static_cast<uint64_t>(std::size(list)))));
  }

  int64_t number() {
    static const int64_t far[] = {INT64_MAX, INT64_MIN, -1, 1 << 16, int64_t(1) << 31, int64_t(1) << 62, 4097, -9};
    return oneIn(12) ? pick(far) : static_cast<int64_t>(below(8)) - 2;
  }
  int64_t size() { return oneIn(16) ? number() : 1 + static_cast<int64_t>(below(4)); }

  std::string word() {
    static const char *const words[] = {"SAME_UPPER",
                                        "SAME_LOWER",
                                        "VALID",
                                        "NOTSET",
                                        "nearest",
                                        "linear",
                                        "cubic",
                                        "constant",
                                        "edge",
                                        "reflect",
                                        "wrap",
                                        "sum",
                                        "mean",
                                        "none",
                                        "add",
                                        "mul",
                                        "max",
                                        "min",
                                        "forward",
                                        "reverse",
                                        "Tanh",
                                        "Sigmoid",
                                        "Relu",
                                        "bidirectional",
                                        "half_pixel",
                                        "floor",
                                        "ceil",
                                        "asymmetric",
                                        "align_corners",
                                        "bilinear",
                                        "avg",
                                        "zeros",
                                        "border",
                                        "DCR",
                                        "CRD",
                                        "tanh",
                                        "Affine",
                                        "HardSigmoid",
                                        "ij,jk->ik",
                                        "...ij->...ji",
                                        "tf_crop_and_resize",
                                        "pytorch_half_pixel",
                                        "round_prefer_ceil",
                                        "output_half_pixel",
                                        "half_pixel_symmetric",
                                        "not_larger",
                                        "ii->i",
                                        "exclusive",
                                        ""};
    return pick(words);
  }

  //===--- tensors and types ------------------------------------------------------------------------------------===//

  /// One of the types of a set of bits.
  int32_t typeOf(uint64_t bits) {
    std::vector<int32_t> types;
    for (int32_t type = 1; type < 29; ++type)
      if (bits >> type & 1)
        types.push_back(type);
    if (types.empty() || oneIn(40))
      return static_cast<int32_t>(below(30));
    return oneIn(2) && (bits >> onnxfile::FLOAT & 1) ? int32_t(onnxfile::FLOAT) : pick(types);
  }

  void setExternal(onnxfile::Tensor &tensor) {
    static const char *const places[] = {"data", "data",    "data",      "missing", "folder",
                                         "out",  "../data", "/dev/zero", "pipe",    ""};
    static const char *const numbers[] = {"0", "4", "8", "64", "4096", "-1", "x", "18446744073709551615"};
    tensor.set_data_location(1);
    tensor.clear_external_data();
    for (const char *key : {"location", "offset", "length"})
      if (!oneIn(3) || *key == 'l') {
        onnxfile::Entry &entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(llvm::StringRef(key) == "location" ? pick(places) : pick(numbers));
      }
  }

  /// Elements of the tensor's type and sizes, as raw bytes, in the field for the type, or in a file.
  void fill(onnxfile::Tensor &tensor) {
    uint64_t count = 1, width = onnx::elementBytes(tensor.data_type());
    for (int64_t dim : tensor.dims())
      count = std::min<uint64_t>(count * std::min<uint64_t>(static_cast<uint64_t>(dim), 64), 64);
    count += oneIn(20);
    tensor.clear_raw_data(), tensor.clear_float_data(), tensor.clear_int32_data(), tensor.clear_int64_data();
    tensor.clear_double_data(), tensor.clear_uint64_data(), tensor.clear_data_location();
    if (oneIn(12))
      return setExternal(tensor);
    if (oneIn(2)) {
      std::string bytes(count * std::max<uint64_t>(width, 1), '\0');
      for (char &byte : bytes)
        byte = static_cast<char>(oneIn(3) ? below(256) : 0);
      if (width == 8 && oneIn(2)) // small whole numbers, as sizes and axes are
        for (size_t k = 0; k < bytes.size(); ++k)
          bytes[k] = k % 8 ? '\0' : static_cast<char>(below(4));
      return tensor.set_raw_data(bytes);
    }
    for (uint64_t k = 0; k < count; ++k)
      switch (tensor.data_type()) {
      case onnxfile::FLOAT:
        tensor.add_float_data(static_cast<float>(number()) / 2);
        break;
      case onnxfile::DOUBLE:
        tensor.add_double_data(static_cast<double>(number()) / 2);
        break;
      case onnxfile::INT64:
        tensor.add_int64_data(number());
        break;
      case onnxfile::UINT32:
      case onnxfile::UINT64:
        tensor.add_uint64_data(static_cast<uint64_t>(number()));
        break;
      default:
        tensor.add_int32_data(static_cast<int32_t>(number()));
      }
  }

  void makeTensor(onnxfile::Tensor &tensor, int32_t type, llvm::ArrayRef<int64_t> dims) {
    tensor.set_data_type(type);
    tensor.clear_dims();
    for (int64_t dim : dims)
      tensor.add_dims(dim);
    fill(tensor);
  }

  void setType(onnxfile::Type &type, int32_t element, llvm::ArrayRef<int64_t> dims) {
    if (oneIn(60)) {
      setType(*(oneIn(2) ? type.mutable_sequence()->mutable_elem_type() : type.mutable_optional()->mutable_elem_type()),
              element, dims);
      return;
    }
    onnxfile::Type::OfTensor &tensor = oneIn(60) ? *type.mutable_sparse_tensor() : *type.mutable_tensor();
    tensor.set_elem_type(element);
    tensor.clear_shape();
    if (oneIn(30))
      return; // an unknown rank
    tensor.mutable_shape();
    for (int64_t dim : dims)
      if (onnxfile::Shape::Dim &made = *tensor.mutable_shape()->add_dim(); oneIn(8))
        made.set_symbol(oneIn(2) ? "n" : "m");
      else if (!oneIn(30))
        made.set_size(dim);
  }

  llvm::SmallVector<int64_t> dims() {
    llvm::SmallVector<int64_t> made(below(oneIn(8) ? 7 : 5));
    for (int64_t &dim : made)
      dim = size();
    return made;
  }

  //===--- attributes ---------------------------------------------------------------------------------------------===//

  void setValue(onnxfile::Attribute &a, char kind) {
    uint64_t count = below(5);
    switch (kind) {
    case 'f':
      a.set_type(onnxfile::Attribute::FLOAT_KIND), a.set_f(static_cast<float>(number()) / 4);
      break;
    case 'i':
      a.set_type(onnxfile::Attribute::INT_KIND), a.set_i(number());
      break;
    case 's':
      a.set_type(onnxfile::Attribute::STRING_KIND), a.set_s(word());
      break;
    case 't':
      a.set_type(onnxfile::Attribute::TENSOR_KIND);
      makeTensor(*a.mutable_t(), typeOf(~uint64_t(0)), dims());
      break;
    case 'g':
      a.set_type(onnxfile::Attribute::GRAPH_KIND), a.mutable_g()->set_name("body");
      break;
    case 'F':
      for (a.set_type(onnxfile::Attribute::FLOATS_KIND); count > 0; --count)
        a.add_floats(static_cast<float>(number()));
      break;
    case 'I':
      for (a.set_type(onnxfile::Attribute::INTS_KIND); count > 0; --count)
        a.add_ints(number());
      break;
    case 'S':
      for (a.set_type(onnxfile::Attribute::STRINGS_KIND); count > 0; --count)
        a.add_strings(word());
      break;
    case 'p':
      a.set_type(onnxfile::Attribute::SPARSE_TENSOR_KIND);
      makeTensor(*a.mutable_sparse_tensor()->mutable_values(), onnxfile::FLOAT, {2});
      makeTensor(*a.mutable_sparse_tensor()->mutable_indices(), onnxfile::INT64, {2});
      a.mutable_sparse_tensor()->add_dims(8);
      break;
    default:
      a.set_type(onnxfile::Attribute::TYPE_KIND);
      setType(*a.mutable_tp(), onnxfile::FLOAT, dims());
    }
  }

  /// One of the operator's attributes, or any.
  void changeAttribute(onnxfile::Node &node) {
    if (node.attribute_size() && oneIn(3)) {
      int at = static_cast<int>(below(static_cast<uint64_t>(node.attribute_size())));
      onnxfile::Attribute &a = *node.mutable_attribute(at);
      if (oneIn(3)) {
        node.mutable_attribute()->DeleteSubrange(at, 1);
      } else if (oneIn(6)) {
        a.set_ref_attr_name("alpha");
      } else {
        std::string name = a.name();
        a.Clear();
        a.set_name(name);
        setValue(a, "fisFIStpy"[below(9)]);
      }
      return;
    }
    const onnx::Schema *schema = schemaOf(node);
    llvm::SmallVector<llvm::StringRef> specs;
    if (schema)
      llvm::StringRef(schema->attributes).split(specs, ' ', -1, /*KeepEmpty=*/false);
    if (!specs.empty())
      setAttribute(node, pick(specs));
    else if (oneIn(4))
      setAttribute(node, "alpha:f");
  }

  void setAttribute(onnxfile::Node &node, llvm::StringRef spec) {
    auto [name, kind] = spec.split(':');
    onnxfile::Attribute *a = nullptr;
    for (onnxfile::Attribute &given : *node.mutable_attribute())
      if (llvm::StringRef(given.name()) == name)
        a = &given;
    if (!a)
      a = node.add_attribute();
    a->Clear();
    a->set_name(name.str());
    setValue(*a, kind.empty() ? 'i' : kind[0]);
  }

  //===--- nodes --------------------------------------------------------------------------------------------------===//

  const onnx::Schema *schemaOf(const onnxfile::Node &node) {
    int64_t version = 0;
    for (const onnxfile::OperatorSet &set : model.opset_import())
      if (set.domain() == node.domain())
        version = set.version();
    return onnx::findSchema(node.domain(), node.op_type(), version);
  }

  /// Names that a node of `nodes` may read.
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const onnxfile::ValueInfo &input : model.graph().input())
      found.push_back(input.name());
    for (const onnxfile::Tensor &tensor : model.graph().initializer())
      found.push_back(tensor.name());
    for (const onnxfile::Node &node : model.graph().node())
      found.insert(found.end(), node.output().begin(), node.output().end());
    return found;
  }

  std::string freshName() {
    std::string name;
    do
      name = "v" + std::to_string(below(1000));
    while (llvm::is_contained(names(), name));
    return name;
  }

  /// A new input of the model, or a tensor of it.
  std::string makeOperand(int32_t type, llvm::ArrayRef<int64_t> dims) {
    std::string name = freshName();
    if (oneIn(2)) {
      onnxfile::ValueInfo &input = *model.mutable_graph()->add_input();
      input.set_name(name);
      setType(*input.mutable_type(), type, dims);
    } else {
      onnxfile::Tensor &tensor = *model.mutable_graph()->add_initializer();
      tensor.set_name(name);
      makeTensor(tensor, type, dims);
    }
    return name;
  }

  void makeNode(onnxfile::Node &node, const onnx::Schema &schema) {
    node.set_op_type(schema.name);
    node.set_domain(schema.domain);
    llvm::SmallVector<llvm::StringRef> specs, variables;
    llvm::StringRef(schema.attributes).split(specs, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef spec : specs)
      if (spec.ends_with("!") || oneIn(4))
        setAttribute(node, spec);
    llvm::StringRef(schema.inputs).split(variables, ' ', -1, /*KeepEmpty=*/false);
    int count = schema.minInputs;
    count += static_cast<int>(below(static_cast<uint64_t>(std::min(schema.maxInputs, count + 5) - count + 1)));
    std::map<std::string, int32_t> types;
    std::vector<std::string> known = names();
    llvm::SmallVector<int64_t> shared = dims();
    for (int k = 0; k < count; ++k) {
      if (k >= schema.minInputs && oneIn(3)) {
        node.add_input("");
        continue;
      }
      if (!known.empty() && oneIn(4)) {
        node.add_input(pick(known));
        continue;
      }
      auto [at, isNew] = types.try_emplace(onnx::inputTypeVariable(schema, k).str(), 0);
      if (isNew || at->first.empty())
        at->second = typeOf(onnx::inputTypes(schema, k));
      bool isSteering = at->second == onnxfile::INT64 && !oneIn(4);
      node.add_input(makeOperand(at->second, oneIn(3) ? dims()
                                             : isSteering
                                                 ? llvm::SmallVector<int64_t>{std::max<int64_t>(1, shared.size())}
                                                 : shared));
    }
    int outputs = 1 + static_cast<int>(below(static_cast<uint64_t>(std::min(schema.maxOutputs, 4))));
    for (int k = 0; k < outputs; ++k)
      node.add_output(freshName() + (k ? "o" + std::to_string(k) : ""));
    onnxfile::OperatorSet *set = nullptr;
    for (onnxfile::OperatorSet &given : *model.mutable_opset_import())
      if (given.domain() == schema.domain)
        set = &given;
    if (!set) {
      set = model.add_opset_import();
      set->set_domain(schema.domain);
    }
    if (set->version() < schema.since || oneIn(3))
      set->set_version(schema.since);
  }

  void addNode() {
    onnxfile::Graph &graph = *model.mutable_graph();
    bool alone = oneIn(2);
    if (alone) {
      graph.Clear();
      graph.set_name("g");
      model.clear_functions();
    }
    onnxfile::Node made;
    makeNode(made, pick(kSchemas));
    if (alone)
      graph.clear_output();
    for (const std::string &output : made.output())
      if (alone || oneIn(2))
        graph.add_output()->set_name(output);
    *graph.add_node() = made;
    if (model.ir_version() < 3)
      model.set_ir_version(8);
  }

  /// A node becomes a function that the graph calls.
  void makeFunction(onnxfile::Node &node) {
    onnxfile::Function &function = *model.add_functions();
    function.set_name("f" + std::to_string(below(3)));
    function.set_domain("local");
    *function.mutable_opset_import() = model.opset_import();
    *function.add_node() = node;
    for (const std::string &input : node.input())
      if (!input.empty() && !llvm::is_contained(function.input(), input))
        function.add_input(input);
    for (const std::string &output : node.output())
      function.add_output(output);
    if (oneIn(2))
      function.add_attribute("alpha");
    else if (oneIn(2)) {
      onnxfile::Attribute &a = *function.add_attribute_proto();
      a.set_name("alpha");
      setValue(a, "fi"[below(2)]);
    }
    node.clear_attribute();
    node.mutable_input()->CopyFrom(function.input());
    node.set_domain("local");
    node.set_op_type(function.name());
    if (!oneIn(3))
      setAttribute(node, oneIn(3) ? "beta:f" : oneIn(2) ? "alpha:i" : "alpha:f");
    bool known = llvm::any_of(model.opset_import(), [](const auto &set) { return set.domain() == "local"; });
    if (!known) {
      onnxfile::OperatorSet &set = *model.add_opset_import();
      set.set_domain("local");
      set.set_version(1);
    }
  }

  /// The nodes of the graph, of one of its bodies, or of a function.
  Nodes &someNodes() {
    std::vector<Nodes *> all = {model.mutable_graph()->mutable_node()};
    for (onnxfile::Function &function : *model.mutable_functions())
      all.push_back(function.mutable_node());
    for (size_t k = 0; k < all.size() && all.size() < 32; ++k)
      for (onnxfile::Node &node : *all[k])
        for (onnxfile::Attribute &a : *node.mutable_attribute())
          if (a.has_g())
            all.push_back(a.mutable_g()->mutable_node());
    return *(oneIn(2) ? all.front() : pick(all));
  }

  void changeInputs(onnxfile::Node &node) {
    std::vector<std::string> known = names();
    int count = node.input_size();
    if (!count || oneIn(6))
      node.add_input(known.empty() ? "" : pick(known));
    else if (oneIn(6))
      node.mutable_input()->DeleteSubrange(count - 1, 1);
    else
      *node.mutable_input(static_cast<int>(below(static_cast<uint64_t>(count)))) =
          oneIn(6) || known.empty() ? ""
          : oneIn(3)                ? makeOperand(typeOf(0x3cfe), dims())
                                    : pick(known);
  }

  void changeNode() {
    Nodes &nodes = someNodes();
    if (nodes.empty())
      return addNode();
    onnxfile::Node &node = pick(nodes);
    switch (below(10)) {
    case 0:
      node.set_op_type(pick(kSchemas).name);
      break;
    case 1:
      nodes.SwapElements(static_cast<int>(below(static_cast<uint64_t>(nodes.size()))), nodes.size() - 1);
      break;
    case 2:
      makeFunction(node);
      break;
    case 3:
      model.mutable_graph()->add_output()->set_name(node.output_size() ? node.output(0) : "none");
      break;
    case 4:
    case 5:
      changeInputs(node);
      break;
    default:
      changeAttribute(node);
    }
  }

  void changeOperand() {
    onnxfile::Graph &graph = *model.mutable_graph();
    if (graph.initializer_size() && oneIn(2)) {
      onnxfile::Tensor &tensor = pick(*graph.mutable_initializer());
      if (oneIn(3))
        return makeTensor(tensor, typeOf(0x13ffe), dims());
      if (oneIn(20))
        tensor.mutable_segment()->set_begin(number());
      else if (oneIn(20))
        *graph.add_sparse_initializer()->mutable_values() = tensor;
      else if (tensor.dims_size() && oneIn(3))
        tensor.set_dims(static_cast<int>(below(static_cast<uint64_t>(tensor.dims_size()))), size());
      return fill(tensor);
    }
    if (!graph.input_size())
      return;
    onnxfile::ValueInfo &input = pick(*graph.mutable_input());
    onnxfile::Shape &shape = *input.mutable_type()->mutable_tensor()->mutable_shape();
    if (oneIn(3))
      setType(*input.mutable_type(), typeOf(0x13ffe), dims());
    else if (shape.dim_size() && oneIn(2))
      pick(*shape.mutable_dim()).set_size(size());
    else if (shape.dim_size() && oneIn(2))
      pick(*shape.mutable_dim()).set_symbol("n");
    else
      shape.add_dim()->set_size(size());
  }

  void changeModel() {
    if (oneIn(4))
      model.set_ir_version(number());
    else if (model.opset_import_size())
      pick(*model.mutable_opset_import()).set_version(1 + static_cast<int64_t>(below(28)));
  }

  void change() {
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return addNode();
    case 4:
    case 5:
    case 6:
    case 7:
      return changeOperand();
    case 8:
      return changeModel();
    default:
      return changeNode();
    }
  }

  onnxfile::Model &model;
  std::minstd_rand random;
};

} // namespace sinter::fuzz

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// A changed model; or changed bytes, where they are none and now and then.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  sinter::onnxfile::Model model;
  bool isModel = size > 0 && model.ParsePartialFromArray(data, static_cast<int>(size));
  if (seed % 8 == 0 || (!isModel && seed % 2))
    return LLVMFuzzerMutate(data, size, maxSize);
  if (!isModel)
    model.Clear();
  sinter::fuzz::OnnxMutation(model, seed).run();
  if (!model.has_ir_version())
    model.set_ir_version(8);
  std::string bytes = model.SerializePartialAsString();
  if (bytes.empty() || bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

#endif
