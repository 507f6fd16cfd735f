// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"
#include "test/Growth.h"
#include "test/runtime/Files.h"
#include <cmath>

using sinter::test::Folder;

TEST(Graph, RecordsCompilesAndRuns) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {3})});
  sinter_value y = r.op("mul", {x[0], x[0]});
  y = r.op("reduce", {y}, {attr("axes", std::vector<int64_t>{0}), attr("combiner", "add")});
  int32_t f = r.end({y});
  alignas(64) static float data[] = {1, 2, 3};
  sinter_tensor input = {.data = data, .dtype = SINTER_F32, .rank = 1, .dims = {3}, .strides = nullptr};
  EXPECT_EQ(r.run(f, {input}), std::vector<float>{14});
}

TEST(Graph, NamesSizesThatItComputes) {
  Recorder r;
  sinter_dim n = r.symbol("n");
  EXPECT_EQ(r.symbol("n"), n);
  EXPECT_NE(r.symbol("m"), n);
  auto x = r.begin({r.type(SINTER_F32, {n, 4}), r.type(SINTER_F32, {SINTER_DIM_UNKNOWN})});
  sinter_value_type same = r.typeOf(r.op("exp", {x[0]}));
  EXPECT_EQ(same.dims[0], n);
  EXPECT_EQ(same.dims[1], 4);
  sinter_value twice = r.op("concatenate", {x[0], x[0]}, {attr("axis", int64_t(0))});
  sinter_value_type two = r.typeOf(twice);
  EXPECT_LT(two.dims[0], 0);
  EXPECT_NE(two.dims[0], n);
  EXPECT_STREQ(sinter_graph_dim_text(r.graph, two.dims[0]), "2*n");
  EXPECT_EQ(r.typeOf(r.op("neg", {twice})).dims[0], two.dims[0]);
  // A size that nothing is known of equals itself only.
  EXPECT_EQ(r.typeOf(r.op("neg", {x[1]})).dims[0], r.typeOf(x[1]).dims[0]);
  EXPECT_NE(r.typeOf(x[1]).dims[0], n);
  EXPECT_EQ(sinter_graph_dim_text(r.graph, 3), nullptr);
  r.end({twice});
  EXPECT_NE(r.print().find("sinter.dims = [\"n\", 4]"), std::string::npos) << r.print();
}

TEST(Graph, TakesAttributesOfEveryKind) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2, 3}), r.type(SINTER_F32, {2, 3})});
  EXPECT_EQ(r.typeOf(r.op("compare", {x[0], x[1]}, {attr("kind", "lt")})).dtype, SINTER_I1);
  sinter_attr f64 = {"element_type", SINTER_ATTR_DTYPE, 0, {}};
  f64.i64 = SINTER_F64;
  EXPECT_EQ(r.typeOf(r.op("convert", {x[0]}, {f64})).dtype, SINTER_F64);
  sinter_value_type wide = r.type(SINTER_F32, {5, 2, 3});
  std::vector<int64_t> axes = {1, 2}, segments = {1, 0, 0};
  EXPECT_EQ(r.typeOf(r.op("broadcast", {x[0]}, {attr("axes", axes), attr("type", wide)})).dims[0], 5);
  EXPECT_EQ(r.typeOf(r.op("broadcast", {x[0], 0, 0}, {attr("axes", axes), attr("type", wide)})).dims[0], 5);
  EXPECT_EQ(r.typeOf(r.op("broadcast", {x[0]},
                          {attr("axes", axes), attr("type", wide), attr("operandSegmentSizes", segments)}))
                .dims[0],
            5);
  sinter_attr last = {"last", SINTER_ATTR_BOOL, 0, {}};
  last.i64 = 1;
  EXPECT_EQ(r.typeOf(r.op("arg_reduce", {x[0]}, {attr("axis", int64_t(1)), attr("combiner", "max"), last})).dtype,
            SINTER_I64);
  std::vector<sinter_value> sorted;
  EXPECT_EQ(r.tryOp("sort", {x[0]}, {attr("axis", int64_t(0))}, sorted), SINTER_OK);
  EXPECT_EQ(sorted.size(), 2u);
}

TEST(Graph, SaysWhatIsWrongWithAnOp) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {4}), r.type(SINTER_F32, {5}), r.type(SINTER_I32, {4})});
  EXPECT_EQ(r.refuse("add", {x[0], x[1]}), "add requires operands of one shape, got 4 and 5");
  EXPECT_EQ(r.refuse("add", {x[0], x[2]}), "add requires operands of one element type, got 'f32' and 'i32'");
  EXPECT_EQ(r.refuse("add", {x[0]}), "add requires 2 operands, got 1");
  EXPECT_EQ(r.refuse("add", {x[0], 99}), "add: operand 1 requires a value of the graph, got 99");
  EXPECT_EQ(sinter_graph_error_index(r.graph), 1);
  EXPECT_EQ(r.refuse("plus", {x[0], x[0]}), "an op requires a name of the dialect that has no regions, got 'plus'");
  EXPECT_EQ(r.refuse("while", {x[0]}), "an op requires a name of the dialect that has no regions, got 'while'");
  EXPECT_EQ(r.refuse("exp", {x[2]}).find("'sinter.exp' op operand #0 must be"), 0u);
  EXPECT_EQ(r.refuse("reduce", {x[0]}, {attr("combiner", "add")}), "'sinter.reduce' op requires attribute 'axes'");
  EXPECT_EQ(r.refuse("compare", {x[0], x[0]}, {attr("kind", "less")}), "compare: attribute 'kind' has no case 'less'");
  EXPECT_EQ(r.refuse("compare", {x[0], x[0]}, {attr("kind", int64_t(2))}),
            "compare: attribute 'kind' requires another kind of attribute, got kind 2");
  EXPECT_EQ(r.refuse("compare", {x[0], x[0]}, {attr("sort", "lt")}), "compare has no attribute 'sort', it has: kind");
  EXPECT_EQ(r.refuse("broadcast", {0, x[0]}), "broadcast requires one value as operand 0, got 0");
  sinter_value room[1];
  int32_t count = 0;
  sinter_attr axis = attr("axis", int64_t(0));
  EXPECT_EQ(sinter_graph_op(r.graph, "sort", 1, x.data(), 1, &axis, 1, room, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "sort requires room for 2 results, got 1");
  EXPECT_EQ(count, 2);
  EXPECT_EQ(sinter_graph_op(nullptr, "add", 0, nullptr, 0, nullptr, 0, nullptr, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_graph_op(r.graph, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, &count), SINTER_INVALID_ARGUMENT);
}

TEST(Graph, ChecksTypesAndTensors) {
  Recorder r;
  sinter_value argument;
  sinter_value_type bad = r.type(77, {});
  EXPECT_EQ(sinter_graph_begin(r.graph, "f", 1, &bad, nullptr, &argument), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "begin of 'f': input 0 requires a dtype, got 77");
  bad = r.type(SINTER_F32, {-5});
  EXPECT_EQ(sinter_graph_begin(r.graph, "f", 1, &bad, nullptr, &argument), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(),
               "begin of 'f': input 0 requires a size, a symbol of the graph or SINTER_DIM_UNKNOWN in dim 0, got -5");
  bad.rank = 17;
  EXPECT_EQ(sinter_graph_begin(r.graph, "f", 1, &bad, nullptr, &argument), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_graph_begin(r.graph, nullptr, 0, nullptr, nullptr, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(r.refuse("add", {1, 1}), "add requires a function that was begun, got none");
  r.begin({});
  sinter_tensor tensor = {.data = nullptr, .dtype = SINTER_F32, .rank = 1, .dims = {2}, .strides = nullptr};
  EXPECT_EQ(sinter_graph_constant(r.graph, &tensor, &argument), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "constant requires data for 2, got null");
  tensor.dims[0] = -1;
  EXPECT_EQ(sinter_graph_constant(r.graph, &tensor, &argument), SINTER_INVALID_ARGUMENT);
  tensor.rank = 2;
  tensor.dims[0] = tensor.dims[1] = int64_t(1) << 40;
  EXPECT_EQ(sinter_graph_constant(r.graph, &tensor, &argument), SINTER_INVALID_ARGUMENT);
}

TEST(Graph, ConstantsKeepStridesAndCanBeRead) {
  Recorder r;
  r.begin({});
  float data[] = {1, 2, 3, 4, 5, 6};
  int64_t strides[] = {1, 2};
  sinter_tensor tensor = {.data = data, .dtype = SINTER_F32, .rank = 2, .dims = {2, 3}, .strides = strides};
  sinter_value value;
  ASSERT_EQ(sinter_graph_constant(r.graph, &tensor, &value), SINTER_OK);
  sinter_tensor view;
  ASSERT_EQ(sinter_graph_constant_data(r.graph, value, &view), SINTER_OK);
  EXPECT_EQ(Recorder::floats(view), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  ASSERT_EQ(sinter_graph_constant_data(r.graph, r.op("neg", {value}), &view), SINTER_OK);
  EXPECT_EQ(view.dtype, 0);
}

TEST(Graph, CallsRepeatFunctionsAndPassCaptures) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2})}, "outer");
  sinter_value twice = r.op("add", {x[0], x[0]});
  auto a = r.begin({r.type(SINTER_F32, {2})}, "inner");
  int32_t inner = r.end({r.op("mul", {a[0], twice})});
  sinter_function_info info = {sizeof info, 0, 0, 0, nullptr};
  ASSERT_EQ(sinter_graph_function(r.graph, inner, &info), SINTER_OK);
  EXPECT_EQ(info.num_captures, 1);
  EXPECT_EQ(info.num_inputs, 1);
  sinter_value y;
  int32_t count;
  ASSERT_EQ(sinter_graph_call(r.graph, inner, 1, &x[0], 1, &y, &count), SINTER_OK) << sinter_last_error();
  // From within a region as well.
  r.region();
  sinter_value z;
  ASSERT_EQ(sinter_graph_call(r.graph, inner, 1, &y, 1, &z, &count), SINTER_OK) << sinter_last_error();
  sinter_region yes = r.endRegion({z});
  r.region();
  sinter_region no = r.endRegion({y});
  sinter_value p = r.constant<uint8_t>(SINTER_I1, {1}, {}), result;
  ASSERT_EQ(sinter_graph_cond(r.graph, p, yes, no, 1, &result, &count), SINTER_OK) << sinter_last_error();
  sinter_value wrong = r.scalar(1);
  EXPECT_EQ(sinter_graph_call(r.graph, inner, 1, &wrong, 1, &y, &count), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "call of 'inner' requires operand 0 of type f32[2], got f32[]");
  int32_t f = r.end({result});
  std::string text = r.print();
  EXPECT_EQ(text.find("@inner"), std::string::npos);
  std::vector<float> data = {1, 3};
  alignas(64) static float aligned[2] = {1, 3};
  (void)data;
  sinter_tensor input = {.data = aligned, .dtype = SINTER_F32, .rank = 1, .dims = {2}, .strides = nullptr};
  sinter_tensor output = {};
  ASSERT_EQ(sinter_graph_evaluate(r.graph, f, 1, &input, 1, &output, &count), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(Recorder::floats(output), (std::vector<float>{4, 108}));
  sinter_tensor_free(&output);
}

TEST(Graph, TruncatesToAMark) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2})});
  sinter_value y = r.op("exp", {x[0]});
  int64_t ops = sinter_graph_num_ops(r.graph);
  sinter_mark mark = sinter_graph_mark(r.graph);
  sinter_value z = r.op("log", {y});
  r.region({r.type(SINTER_F32)});
  r.op("sin", {z});
  r.begin({r.type(SINTER_F32)}, "g");
  r.op("cos", {z});
  EXPECT_EQ(sinter_graph_depth(r.graph), 3);
  ASSERT_EQ(sinter_graph_truncate(r.graph, mark), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(sinter_graph_depth(r.graph), 1);
  EXPECT_EQ(sinter_graph_num_ops(r.graph), ops);
  EXPECT_EQ(r.refuse("neg", {z}),
            "neg: operand 0 requires a value of the graph, got " + std::to_string(z) + ", which was dropped");
  sinter_value n = r.op("neg", {y});
  EXPECT_GT(n, z);
  r.end({n});
  EXPECT_EQ(sinter_graph_truncate(r.graph, mark), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(r.print().find("sinter.log"), std::string::npos);
}

TEST(Graph, KeepsSourceLines) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2}), r.type(SINTER_I64, {1})});
  sinter_graph_location(r.graph, "model.cpp", 12, 3, "loss");
  // What only the evaluator sees: the elements of an argument.
  sinter_value tiled = r.op("tile", {x[0], x[1]});
  int32_t f = r.end({tiled});
  alignas(64) static int64_t repeats[1] = {-1};
  alignas(64) static float data[2] = {1, 2};
  sinter_tensor inputs[] = {{.data = data, .dtype = SINTER_F32, .rank = 1, .dims = {2}, .strides = nullptr},
                            {.data = repeats, .dtype = SINTER_I64, .rank = 1, .dims = {1}, .strides = nullptr}};
  sinter_tensor output = {};
  int32_t count;
  EXPECT_NE(sinter_graph_evaluate(r.graph, f, 2, inputs, 1, &output, &count), SINTER_OK);
  EXPECT_EQ(std::string(sinter_last_error()).find("model.cpp:12:3: "), 0u) << sinter_last_error();
}

TEST(Graph, SavesAndLoads) {
  Recorder r;
  sinter_dim n = r.symbol("n");
  auto x = r.begin({r.type(SINTER_F32, {n})});
  r.end({r.op("exp", {x[0]})});
  Folder folder;
  for (const char *file : {"saved.sinter", "saved.mlir"}) {
    std::string path = folder.file(file);
    ASSERT_EQ(sinter_graph_save(r.graph, path.c_str()), SINTER_OK) << sinter_last_error();
    sinter_graph *graph = nullptr;
    ASSERT_EQ(sinter_graph_load(path.c_str(), &graph), SINTER_OK) << sinter_last_error();
    ASSERT_EQ(sinter_graph_num_functions(graph), 1);
    sinter_value_type type;
    const char *name;
    ASSERT_EQ(sinter_graph_input(graph, 0, 0, &type, &name), SINTER_OK);
    EXPECT_STREQ(name, "arg0");
    EXPECT_STREQ(sinter_graph_dim_text(graph, type.dims[0]), "n");
    ASSERT_EQ(sinter_graph_output(graph, 0, 0, &type, &name), SINTER_OK);
    EXPECT_STREQ(name, "result0");
    EXPECT_EQ(sinter_graph_output(graph, 0, 1, &type, &name), SINTER_INVALID_ARGUMENT);
    sinter_graph_destroy(graph);
  }

  sinter_graph *graph = nullptr;
  EXPECT_EQ(sinter_graph_save(r.graph, "/nowhere/x.sinter"), SINTER_IO);
  EXPECT_EQ(sinter_graph_save(r.graph, "/nowhere/x.mlir"), SINTER_IO);
  EXPECT_EQ(sinter_graph_save(r.graph, "x.txt"), SINTER_UNSUPPORTED);
  EXPECT_EQ(sinter_graph_load("/nowhere/x.mlir", &graph), SINTER_IO);
  EXPECT_EQ(sinter_graph_load("x.txt", &graph), SINTER_UNSUPPORTED);
  std::string damaged = folder.write("damaged.mlir", "func.func @f( {");
  EXPECT_EQ(sinter_graph_load(damaged.c_str(), &graph), SINTER_CORRUPT);
}

TEST(Graph, ErrorsOfFilesAreOneLine) {
  Folder folder;
  // IR version 8, operator set 17, a graph whose one input is called "a\nb" and has no type
  const char bytes[] = "\x08\x08\x42\x02\x10\x11\x3a\x07\x5a\x05\x0a\x03"
                       "a\nb";
  std::string path = folder.write("newline.onnx", std::string(bytes, sizeof bytes - 1));
  sinter_graph *graph = nullptr;
  EXPECT_EQ(sinter_graph_load(path.c_str(), &graph), SINTER_UNSUPPORTED);
  std::string message = sinter_last_error();
  EXPECT_NE(message.find("input 'a\\nb' is no tensor, only tensors are supported"), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST(Graph, SolvesLinearSystems) {
  auto attrBool = [](const char *name) {
    sinter_attr a = {name, SINTER_ATTR_BOOL, 0, {}};
    a.i64 = 1;
    return a;
  };
  std::vector<float> a = {4, 2, 6, 2, 10, 9, 6, 9, 17}, b = {23, 44.5f, 66.5f};
  std::vector<sinter_tensor> inputs{Recorder::tensor(a, {3, 3}), Recorder::tensor(b, {3, 1})};
  Recorder r;
  sinter_dim n = r.symbol("n");
  auto x = r.begin({r.type(SINTER_F32, {n, n}), r.type(SINTER_F32, {n, 1})});
  sinter_value l = r.op("cholesky", {x[0]});
  sinter_value y = r.op("triangular_solve", {l, x[1]});
  int32_t f = r.end({r.op("triangular_solve", {l, y}, {attrBool("transpose")}), l});
  EXPECT_EQ(r.run(f, inputs), (std::vector<float>{1, 2, 2.5f})); // by the factor 2 0 0, 1 3 0, 3 2 2
  // As a graph file has it.
  Folder folder;
  std::string path = folder.file("linear.sinter");
  ASSERT_EQ(sinter_graph_save(r.graph, path.c_str()), SINTER_OK) << sinter_last_error();
  sinter_graph_destroy(r.graph);
  ASSERT_EQ(sinter_graph_load(path.c_str(), &r.graph), SINTER_OK) << sinter_last_error();
  EXPECT_EQ(r.run(0, inputs), (std::vector<float>{1, 2, 2.5f}));
}

TEST(Graph, RefusesWhatIsNoLinearSystem) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2, 3}), r.type(SINTER_F32, {3, 3})});
  EXPECT_EQ(r.refuse("cholesky", {x[0]}), "cholesky requires square matrices in the last two axes, got 2x3");
  EXPECT_EQ(r.refuse("triangular_solve", {x[1], x[0]}),
            "triangular_solve requires a right-hand side [..., n, k] for matrices 3x3, got 2x3");
  r.end({x[0]});
}

TEST(Graph, RequiresFinishedFunctions) {
  Recorder r;
  sinter_module *module;
  EXPECT_EQ(sinter_graph_compile(r.graph, nullptr, &module), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "compile requires a function, got none");
  r.begin({});
  EXPECT_EQ(sinter_graph_compile(r.graph, nullptr, &module), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "compile requires that all functions are ended, got 1 open");
}

TEST(Graph, RefusesCompileOptions) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32)});
  r.end({r.op("exp", {x[0]})});
  sinter_module *module = nullptr;
  sinter_compile_options options = {};
  EXPECT_EQ(sinter_graph_compile(r.graph, &options, &module), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "compile options require their struct_size");
  options.struct_size = sizeof options;
  options.opt_level = 4;
  EXPECT_EQ(sinter_graph_compile(r.graph, &options, &module), SINTER_INVALID_ARGUMENT);
  options.opt_level = 0;
  options.target = "z80";
  EXPECT_EQ(sinter_graph_compile(r.graph, &options, &module), SINTER_UNSUPPORTED);
  options.target = nullptr;
  EXPECT_EQ(sinter_graph_compile_file(r.graph, "x.pdf", &options), SINTER_UNSUPPORTED);
  options.header = "x.h";
  EXPECT_EQ(sinter_graph_compile_file(r.graph, "x.smod", &options), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "a C header requires an object, an archive or a shared library, got 'x.smod'");
}

TEST(Graph, WritesObjectsAndHeaders) {
  Recorder r;
  auto x = r.begin({r.type(SINTER_F32, {2})});
  r.end({r.op("exp", {x[0]})});
  Folder folder;
  std::string header = folder.file("header.h");
  sinter_compile_options options = {};
  options.struct_size = sizeof options;
  options.header = header.c_str();
  ASSERT_EQ(sinter_graph_compile_file(r.graph, folder.file("made.o").c_str(), &options), SINTER_OK)
      << sinter_last_error();
  std::string text = sinter::test::readFile(header);
  EXPECT_NE(text.find("int32_t made_run("), std::string::npos) << text;
}

TEST(Graph, TimeToRecordGrowsWithTheOps) {
  double times = sinter::test::growth(2500, [](int ops) {
    Recorder r;
    auto x = r.begin({r.type(SINTER_F32, {16})});
    sinter_value y = x[0];
    for (int i = 0; i < ops; ++i) {
      sinter_graph_location(r.graph, "model.cpp", i, 1, "f");
      y = r.op(i % 2 ? "add" : "mul", {y, x[0]});
      r.typeOf(y);
    }
    r.end({y});
    EXPECT_EQ(sinter_graph_num_ops(r.graph), ops);
  });
  EXPECT_LT(times, 8); // 16 were it quadratic
}
