// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Reader.h"

#include "compiler/onnx/ExternalFiles.h"
#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Outline.h"
#include "test/runtime/Files.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::onnx;
namespace onnxfile = sinter::onnxfile;
using sinter::test::Folder;

namespace {

/// relu(x) -> y with one initializer that nothing uses.
onnxfile::Model reluModel() {
  onnxfile::Model model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnxfile::Graph *graph = model.mutable_graph();
  graph->set_name("g");
  graph->add_input()->set_name("x");
  graph->add_output()->set_name("y");
  onnxfile::Tensor *weight = graph->add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnxfile::FLOAT);
  weight->add_dims(2);
  weight->add_float_data(1);
  weight->add_float_data(2);
  onnxfile::Node *node = graph->add_node();
  node->set_name("relu1");
  node->set_op_type("Relu");
  node->add_input("x");
  node->add_output("y");
  return model;
}

std::string check(const onnxfile::Model &model) { return llvm::toString(checkModel(model)); }

std::string readError(const std::string &path) {
  auto file = readOnnxFile(path);
  return file ? "" : llvm::toString(file.takeError());
}

TEST(Reader, reads_a_model) {
  Folder folder;
  auto file = readOnnxFile(folder.write("m.onnx", reluModel().SerializeAsString()));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ((*file)->model.graph().node(0).op_type(), "Relu");
}

TEST(Reader, missing_path) {
  EXPECT_EQ(readError("/nowhere/m.onnx"), "/nowhere/m.onnx: cannot be opened: No such file or directory");
}

TEST(Reader, directory) {
  Folder folder;
  EXPECT_EQ(readError(folder.file("")), folder.file("") + ": requires a regular file, found a directory");
}

TEST(Reader, device_and_pipe) {
  Folder folder;
  EXPECT_EQ(readError("/dev/zero"), "/dev/zero: requires a regular file, found a device, pipe or socket");
  std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(readError(pipe), pipe + ": requires a regular file, found a device, pipe or socket");
}

TEST(Reader, empty_file) {
  Folder folder;
  std::string path = folder.write("m.onnx", "");
  EXPECT_EQ(readError(path), path + ": requires an ONNX model, found an empty file");
}

TEST(Reader, text_is_no_model) {
  Folder folder;
  std::string path = folder.write("m.onnx", "#!/bin/sh\necho not a model\n");
  EXPECT_EQ(readError(path), path + ": requires an ONNX model, found something else or a truncated one");
}

TEST(Reader, truncated_at_every_offset) {
  Folder folder;
  std::string whole = reluModel().SerializeAsString();
  for (size_t size = 1; size < whole.size(); ++size) {
    std::string error = readError(folder.write("m.onnx", whole.substr(0, size)));
    if (error.empty())
      continue; // cut between two fields of the model: what is left is a model
    EXPECT_TRUE(error.find(folder.file("m.onnx") + ": ") == 0) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Reader, flipped_bits_are_errors_or_models) {
  Folder folder;
  std::string whole = reluModel().SerializeAsString();
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string mutated = whole;
    mutated[bit / 8] = char(mutated[bit / 8] ^ (1 << (bit % 8)));
    std::string error = readError(folder.write("m.onnx", mutated));
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Reader, random_bytes) {
  Folder folder;
  uint64_t state = 88172645463325252ull;
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (int i = 0; i < 1 + round; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      bytes.push_back(char(state));
    }
    EXPECT_NE(readError(folder.write("m.onnx", bytes)), "");
  }
}

TEST(Check, input_that_nobody_defines) {
  onnxfile::Model model = reluModel();
  model.mutable_graph()->mutable_node(0)->set_input(0, "q");
  EXPECT_EQ(check(model), "node 'relu1' (Relu) requires its inputs to be defined, 'q' is not");
}

TEST(Check, nodes_out_of_order) {
  onnxfile::Model model = reluModel();
  model.mutable_graph()->mutable_node(0)->set_input(0, "z");
  onnxfile::Node *late = model.mutable_graph()->add_node();
  late->set_op_type("Abs");
  late->add_input("x");
  late->add_output("z");
  ASSERT_EQ(llvm::toString(orderModel(model)), "");
  EXPECT_EQ(check(model), "");
  EXPECT_EQ(model.graph().node(0).op_type(), "Abs");
  EXPECT_EQ(model.graph().node(1).op_type(), "Relu");
  model.mutable_graph()->mutable_node(0)->set_input(0, "y");
  EXPECT_EQ(
      llvm::toString(orderModel(model)),
      "graph 'g' requires nodes that do not wait for one another, found the cycle node of 'z' (Abs), node 'relu1' "
      "(Relu)");
}

/// A node of an operator that nobody defines, which reads `inputs`.
void addNode(onnxfile::Graph &graph, const std::vector<std::string> &inputs, const std::string &output) {
  onnxfile::Node *node = graph.add_node();
  node->set_op_type("Custom");
  for (const std::string &input : inputs)
    node->add_input(input);
  node->add_output(output);
}

TEST(Check, nodes_in_order_stay_and_others_move_no_further_than_they_must) {
  onnxfile::Model model = reluModel();
  onnxfile::Graph &graph = *model.mutable_graph();
  graph.clear_node();
  addNode(graph, {"x"}, "a");
  addNode(graph, {"a", "d"}, "b"); // waits for d
  addNode(graph, {"a"}, "c");
  addNode(graph, {"c"}, "d");
  addNode(graph, {"b"}, "y");
  ASSERT_EQ(llvm::toString(orderModel(model)), "");
  std::string order;
  for (const onnxfile::Node &node : graph.node())
    order += node.output(0);
  EXPECT_EQ(order, "acdby");
}

TEST(Check, long_chains_are_sorted_without_recursion) {
  onnxfile::Model model = reluModel();
  onnxfile::Graph &graph = *model.mutable_graph();
  graph.clear_node();
  constexpr int count = 100'000;
  addNode(graph, {"v" + std::to_string(count - 1)}, "y");
  for (int i = count - 1; i > 0; --i)
    addNode(graph, {"v" + std::to_string(i - 1)}, "v" + std::to_string(i));
  graph.mutable_input(0)->set_name("v0");
  ASSERT_EQ(llvm::toString(orderModel(model)), "");
  EXPECT_EQ(check(model), "");
  EXPECT_EQ(graph.node(count - 1).output(0), "y");
  graph.mutable_node(0)->set_input(0, "y");
  std::string error = llvm::toString(orderModel(model));
  EXPECT_TRUE(error.ends_with("and 99992 more")) << error;
}

TEST(Check, name_defined_twice) {
  onnxfile::Model model = reluModel();
  *model.mutable_graph()->add_node() = model.graph().node(0);
  EXPECT_EQ(check(model), "node 'relu1' (Relu) defines the name 'y' a second time");
}

TEST(Check, output_undefined) {
  onnxfile::Model model = reluModel();
  model.mutable_graph()->mutable_output(0)->set_name("nope");
  EXPECT_EQ(check(model), "graph 'g' requires its outputs to be defined, 'nope' is not");
}

TEST(Check, attribute_twice) {
  onnxfile::Model model = reluModel();
  model.mutable_graph()->mutable_node(0)->add_attribute()->set_name("a");
  model.mutable_graph()->mutable_node(0)->add_attribute()->set_name("a");
  EXPECT_EQ(check(model), "node 'relu1' (Relu) defines the attribute 'a' a second time");
}

TEST(Check, two_operator_sets_of_one_domain) {
  onnxfile::Model model = reluModel();
  onnxfile::OperatorSet *set = model.add_opset_import();
  set->set_domain("ai.onnx");
  set->set_version(9);
  EXPECT_EQ(check(model), "requires one operator set a domain, found two of 'ai.onnx' in the model");
}

TEST(Check, bodies_see_outer_names_and_functions_do_not) {
  onnxfile::Model model = reluModel();
  onnxfile::Attribute *attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("body");
  model.mutable_graph()->mutable_node(0)->set_op_type("Custom");
  onnxfile::Node *inner = attribute->mutable_g()->add_node();
  inner->set_op_type("Abs");
  inner->add_input("x");
  inner->add_output("inner");
  EXPECT_EQ(check(model), "");

  onnxfile::Function *function = model.add_functions();
  function->set_name("F");
  *function->add_node() = *inner;
  EXPECT_EQ(check(model), "node of 'inner' (Abs) requires its inputs to be defined, 'x' is not");
}

TEST(Check, graphs_nested_too_deep) {
  onnxfile::Model model = reluModel();
  onnxfile::Graph *graph = model.mutable_graph();
  for (int depth = 0; depth <= kMaxDepth; ++depth) {
    onnxfile::Node *node = graph->add_node();
    node->set_op_type("If");
    onnxfile::Attribute *attribute = node->add_attribute();
    attribute->set_name("then_branch");
    graph = attribute->mutable_g();
  }
  EXPECT_NE(check(model).find("requires at most 48 graphs within one another (kMaxDepth), found more"),
            std::string::npos);
  Folder folder;
  EXPECT_NE(readError(folder.write("m.onnx", model.SerializeAsString())), "");
}

TEST(Check, recursive_function) {
  onnxfile::Model model = reluModel();
  onnxfile::Function *function = model.add_functions();
  function->set_name("F");
  onnxfile::Node *call = function->add_node();
  call->set_op_type("F");
  call->add_output("r");
  *model.mutable_graph()->add_node() = *call;
  EXPECT_EQ(check(model),
            "requires at most 48 function calls within one another (kMaxDepth), found more at function 'F'");
}

TEST(Check, functions_that_double_each_time) {
  onnxfile::Model model = reluModel();
  for (int i = 0; i < 40; ++i) {
    onnxfile::Function *function = model.add_functions();
    function->set_name("F" + std::to_string(i));
    function->add_opset_import()->set_version(17);
    for (int j = 0; j < 2; ++j) {
      onnxfile::Node *call = function->add_node();
      call->set_op_type("F" + std::to_string(i + 1));
      call->add_output("r" + std::to_string(j));
    }
  }
  onnxfile::Node *call = model.mutable_graph()->add_node();
  call->set_op_type("F0");
  call->add_output("r");
  EXPECT_EQ(check(model), "requires at most 1048576 nodes after function calls are expanded (kMaxNodes), found more");
}

/// Functions f0 to f(depth - 1), each of which calls the one before, and a graph that calls all of them, the first
/// first.
onnxfile::Model chainOfCalls(int depth) {
  onnxfile::Model model = reluModel();
  onnxfile::OperatorSet *set = model.add_opset_import();
  set->set_domain("d");
  set->set_version(1);
  auto call = [](onnxfile::Node *node, const std::string &name, const std::string &output) {
    node->set_op_type(name);
    node->set_domain(name == "Neg" ? "" : "d");
    node->add_input("x");
    node->add_output(output);
  };
  model.mutable_graph()->clear_node();
  for (int k = 0; k < depth; ++k) {
    onnxfile::Function *function = model.add_functions();
    function->set_domain("d");
    function->set_name("f" + std::to_string(k));
    function->add_input("x");
    function->add_output("y");
    *function->mutable_opset_import() = model.opset_import();
    call(function->add_node(), k ? "f" + std::to_string(k - 1) : "Neg", "y");
    call(model.mutable_graph()->add_node(), function->name(), k + 1 == depth ? "y" : function->name());
  }
  return model;
}

TEST(Check, chain_of_calls_that_are_known_one_by_one) {
  EXPECT_EQ(check(chainOfCalls(kMaxDepth)), "");
  for (int depth : {kMaxDepth + 1, 10 * kMaxDepth})
    EXPECT_EQ(check(chainOfCalls(depth)),
              "requires at most 48 function calls within one another (kMaxDepth), found more at function 'f47'");
}

/// A field that holds text, as it is serialized.
std::string fieldOf(char key, const std::string &content) {
  std::string length;
  for (size_t left = content.size(); left || length.empty(); left >>= 7)
    length += static_cast<char>((left & 127) | (left > 127 ? 128 : 0));
  return key + length + content;
}

/// A model with many messages of two bytes in its graph.
std::string modelOfEmptyMessages(char key, size_t count) {
  std::string fields;
  for (size_t k = 0; k < count; ++k)
    fields += {key, 0};
  return reluModel().SerializeAsString() + fieldOf('\x3a', fields);
}

TEST(Reader, messages_that_take_more_memory_than_their_file) {
  for (char key : {0x0a, 0x2a}) { // nodes and tensors
    EXPECT_EQ(llvm::toString(checkFootprint(modelOfEmptyMessages(key, 1000))), "");
    EXPECT_NE(llvm::toString(checkFootprint(modelOfEmptyMessages(key, 4000000)))
                  .find("bytes of memory (kMinFootprint and 32 for each of its bytes), found more"),
              std::string::npos);
  }
  EXPECT_EQ(llvm::toString(checkFootprint(reluModel().SerializeAsString())), "");
}

TEST(Reader, lengths_beyond_the_file_are_no_memory) {
  for (char key : {0x12, 0x3a, 0x7a}) { // text, the graph, a field that no model has
    Folder folder;
    std::string path = folder.write("m.onnx", std::string{key} + "\xff\xff\xff\x7f" + std::string(50, 'a'));
    EXPECT_EQ(readError(path), path + ": requires an ONNX model, found something else or a truncated one");
  }
  std::mt19937 random(1);
  std::string bytes(3000, '\0');
  for (int k = 0; k < 20000; ++k) {
    for (size_t at = 0; at < bytes.size(); at += 4) {
      uint32_t drawn = random();
      std::memcpy(bytes.data() + at, &drawn, 4);
    }
    ASSERT_EQ(llvm::toString(checkFootprint(bytes)), "") << "file " << k;
  }
}

/// A tensor of u8, twice in a model: of its graph, and of a constant.
onnxfile::Model modelOfBytes(const std::string &data) {
  onnxfile::Model model = reluModel();
  onnxfile::Tensor *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("bytes");
  tensor->set_data_type(onnxfile::UINT8);
  tensor->add_dims(int64_t(data.size()));
  tensor->set_raw_data(data);
  onnxfile::Node *node = model.mutable_graph()->add_node();
  node->set_op_type("Constant");
  node->add_output("constant");
  onnxfile::Attribute *value = node->add_attribute();
  value->set_name("value");
  value->set_type(onnxfile::Attribute::TENSOR_KIND);
  *value->mutable_t() = *tensor;
  return model;
}

/// A serialized model as a reader sees it: parsed, with what stands beside it.
struct Outlined {
  onnxfile::Model model;
  ExternalFiles files;

  static Outline read(const std::string &text) {
    Folder folder;
    int file = open(folder.write("m.onnx", text).c_str(), O_RDONLY);
    llvm::Expected<std::optional<Outline>> outline = outlineOf(file, text.size(), /*readsData=*/true);
    close(file);
    EXPECT_TRUE(bool(outline)) << llvm::toString(outline.takeError());
    EXPECT_TRUE(outline->has_value());
    return std::move(**outline);
  }
  explicit Outlined(const std::string &text) : Outlined(read(text)) {}
  explicit Outlined(Outline outline) : files(".", std::move(outline.outside)) {
    EXPECT_TRUE(model.ParseFromString(outline.text));
  }
  std::string decode(const onnxfile::Tensor &tensor) {
    auto data = decodeTensor(tensor, &files);
    EXPECT_TRUE(bool(data)) << llvm::toString(data.takeError());
    return {data->bytes.begin(), data->bytes.end()};
  }
};

TEST(Outline, keeps_large_raw_data_aside) {
  for (size_t size : {1, 100, 16383, 16384, 100000, 3000000}) {
    std::string data(size, '\0');
    for (size_t k = 0; k < size; ++k)
      data[k] = static_cast<char>(k * 7 + k / 251);
    Outlined read(modelOfBytes(data).SerializeAsString());
    const onnxfile::Graph &graph = read.model.graph();
    for (const onnxfile::Tensor *tensor : {&graph.initializer(1), &graph.node(1).attribute(0).t()}) {
      EXPECT_EQ(tensor->raw_data().empty(), size >= 16384) << size;
      EXPECT_TRUE(read.decode(*tensor) == data) << size;
    }
  }
}

TEST(Outline, the_last_of_a_field_counts_and_numbers_of_a_file_do_not) {
  std::string large(20000, 'a'), small(20, 'b'), larger(30000, 'c');
  for (auto [first, last] : {std::pair(large, small), std::pair(small, large), std::pair(large, larger)}) {
    // A serialized message behind another is the same message, whose later fields replace those before.
    onnxfile::Tensor before, tensor;
    before.set_raw_data(first);
    before.set_outside(1);
    tensor.set_data_type(onnxfile::UINT8);
    tensor.add_dims(int64_t(last.size()));
    tensor.set_raw_data(last);
    tensor.set_outside(2);
    std::string text = fieldOf('\x2a', before.SerializeAsString() + tensor.SerializeAsString());
    Outlined read(reluModel().SerializeAsString() + fieldOf('\x3a', text));
    EXPECT_TRUE(read.decode(read.model.graph().initializer(1)) == last);
  }
}

TEST(Outline, says_of_damaged_files_what_the_parser_says) {
  Folder folder;
  std::string large(17000, '\0');
  for (size_t k = 0; k < large.size(); ++k)
    large[k] = static_cast<char>(k * 31);
  const std::string whole = modelOfBytes(large).SerializeAsString();
  std::mt19937 random(3);
  int read = 0;
  for (int file = 0; file < 3000; ++file) {
    std::string text = whole;
    for (unsigned changes = random() % 3 + 1; changes > 0; --changes) {
      // Half of them outside of raw data, where messages begin and end.
      size_t at = random() % 2   ? random() % text.size()
                  : random() % 2 ? random() % 300
                                 : text.size() - 1 - random() % 120;
      switch (random() % 3) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, random() % 4);
        break;
      default:
        text.insert(at, random() % 4, static_cast<char>(random()));
      }
    }
    std::string path = folder.write("m.onnx", text);
    auto outside = readOnnxFile(path, RawData::outside), inside = readOnnxFile(path, RawData::inside);
    ASSERT_EQ(bool(outside), bool(inside)) << "file " << file;
    if (!outside) {
      ASSERT_EQ(llvm::toString(outside.takeError()), llvm::toString(inside.takeError())) << "file " << file;
      continue;
    }
    ++read;
    ASSERT_EQ((*outside)->model.graph().initializer_size(), (*inside)->model.graph().initializer_size());
    for (int i = 0; i < (*outside)->model.graph().initializer_size(); ++i) {
      auto ours = decodeTensor((*outside)->model.graph().initializer(i), (*outside)->external.get());
      auto theirs = decodeTensor((*inside)->model.graph().initializer(i), (*inside)->external.get());
      ASSERT_EQ(bool(ours), bool(theirs)) << "file " << file;
      if (ours)
        ASSERT_TRUE(ours->bytes == theirs->bytes) << "file " << file;
      else
        ASSERT_EQ(llvm::toString(ours.takeError()), llvm::toString(theirs.takeError())) << "file " << file;
    }
  }
  EXPECT_GT(read, 100);
}

TEST(Outline, files_that_end_early_are_no_models) {
  Folder folder;
  std::string whole = modelOfBytes(std::string(50000, 'q')).SerializeAsString();
  for (size_t size : {size_t(1), size_t(60), whole.size() / 2, whole.size() - 60000, whole.size() - 1}) {
    std::string path = folder.write("m.onnx", whole.substr(0, size));
    EXPECT_EQ(readError(path), path + ": requires an ONNX model, found something else or a truncated one") << size;
    EXPECT_TRUE(externalFilesOf(path).empty());
  }
}

TEST(Check, messages_stay_one_line) {
  onnxfile::Model model = reluModel();
  model.mutable_graph()->mutable_node(0)->set_name("a\nb" + std::string(500, 'c'));
  model.mutable_graph()->mutable_node(0)->set_input(0, "q\n");
  std::string error = check(model);
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_LT(error.size(), 300u);
}

} // namespace
