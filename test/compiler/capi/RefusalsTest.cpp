// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the C functions that record and compile graphs require of pointers, numbers and order, and what they say.

#include "Recorder.h"
#include <fstream>
#include <string>

#define EXPECT_REFUSED(call, message)                                                                                  \
  EXPECT_NE(call, SINTER_OK);                                                                                          \
  EXPECT_STREQ(sinter_last_error(), message)

TEST(Refusals, OfNothing) {
  sinter_module *module = nullptr;
  sinter_graph *graph = nullptr;
  const char *text = nullptr;
  EXPECT_REFUSED(sinter_graph_create(nullptr), "graph creation requires a place for the graph, got null");
  EXPECT_REFUSED(sinter_graph_begin(nullptr, "f", 0, nullptr, nullptr, nullptr), "call requires a graph, got null");
  EXPECT_REFUSED(sinter_graph_print(nullptr, &text), "print requires a graph and a place for the text, got null");
  EXPECT_REFUSED(sinter_graph_save(nullptr, "x.mlir"), "save requires a graph and a path, got null");
  EXPECT_REFUSED(sinter_graph_load(nullptr, &graph), "load requires a path and a place for the graph, got null");
  EXPECT_REFUSED(sinter_graph_load("x.txt", &graph), "load requires the suffix .sinter, .onnx or .mlir, got 'x.txt'");
  EXPECT_REFUSED(sinter_graph_compile(nullptr, nullptr, &module),
                 "compile requires a graph and a place for the module, got null");
  EXPECT_REFUSED(sinter_graph_compile_file(nullptr, "x.smod", nullptr),
                 "compile requires a graph and a path, got null");
  sinter_jit_report report = {};
  EXPECT_REFUSED(sinter_jit_stats(&report), "jit report requires its struct_size");
  EXPECT_EQ(sinter_graph_dim_text(nullptr, -1), nullptr);
}

TEST(Refusals, OfFunctions) {
  Recorder r;
  sinter_dim dim;
  sinter_value x, y;
  int32_t function;
  sinter_value_type scalar = Recorder::type(SINTER_F32);
  EXPECT_REFUSED(sinter_graph_symbol(r.graph, "", &dim), "symbol requires a name and a place for the dim, got null");
  EXPECT_REFUSED(sinter_graph_begin(r.graph, "", 0, nullptr, nullptr, nullptr), "begin requires a name, got none");
  EXPECT_REFUSED(sinter_graph_begin(r.graph, "f", 1, nullptr, nullptr, &x),
                 "begin of 'f' requires types and room for the arguments, got null");
  ASSERT_EQ(sinter_graph_begin(r.graph, "f", 1, &scalar, nullptr, &x), SINTER_OK);
  EXPECT_REFUSED(sinter_graph_end(r.graph, 1, nullptr, nullptr, &function), "end requires results, got null");
  EXPECT_REFUSED(sinter_graph_constant(r.graph, nullptr, &y), "constant requires a tensor, got null");
  EXPECT_REFUSED(sinter_graph_op(r.graph, nullptr, 0, nullptr, 0, nullptr, 1, &y, &function),
                 "an op requires a name, got null");
  r.end({x});
  EXPECT_REFUSED(sinter_graph_begin(r.graph, "f", 1, &scalar, nullptr, &x),
                 "begin requires a name that no other function has, got 'f'");
  EXPECT_REFUSED(sinter_graph_save(r.graph, "x.txt"), "save requires the suffix .sinter or .mlir, got 'x.txt'");
  sinter_function_info info = {};
  EXPECT_REFUSED(sinter_graph_function(r.graph, 0, &info), "function info requires its struct_size");
}

TEST(Refusals, OfRegions) {
  Recorder r;
  sinter_value_type scalar = Recorder::type(SINTER_F32);
  std::vector<sinter_value> x = r.begin({scalar});
  sinter_value y;
  sinter_region region;
  int32_t function;
  EXPECT_REFUSED(sinter_graph_region_begin(r.graph, 1, nullptr, &y),
                 "region requires types and room for the arguments, got null");
  EXPECT_REFUSED(sinter_graph_region_end(r.graph, 1, x.data(), &region),
                 "region end requires the innermost of what is open to be a region, got a function");
  r.region({scalar});
  EXPECT_REFUSED(sinter_graph_region_end(r.graph, 1, nullptr, &region),
                 "region end requires yields and a place for the region, got null");
  EXPECT_REFUSED(sinter_graph_end(r.graph, 1, x.data(), nullptr, &function),
                 "end requires the innermost of what is open to be a function, got a region");
  sinter_mark later = sinter_graph_mark(r.graph);
  later.values += 100;
  EXPECT_REFUSED(sinter_graph_truncate(r.graph, later), "truncate requires a mark of what is recorded");
  later.serial += 100;
  EXPECT_REFUSED(sinter_graph_truncate(r.graph, later),
                 "truncate requires the function or region of the mark to be open");
}

TEST(Refusals, OfLoops) {
  Recorder r;
  sinter_value_type scalar = Recorder::type(SINTER_F32), boolean = Recorder::type(SINTER_I1);
  std::vector<sinter_value> x = r.begin({scalar, boolean});
  sinter_value results[4];
  int32_t count = 0;
  auto body = [&] { return r.endRegion(r.region({scalar})); };
  auto test = [&](std::vector<sinter_value_type> types, std::vector<sinter_value> yields) {
    r.region(std::move(types));
    return r.endRegion(std::move(yields));
  };
  auto loop = [&](sinter_region condition, const sinter_loop_options *options) {
    return sinter_graph_while(r.graph, 1, x.data(), condition, body(), options, 4, results, &count);
  };
  EXPECT_REFUSED(loop(test({}, {x[1]}), nullptr), "while requires a condition of 1 arguments, got 0");
  EXPECT_REFUSED(loop(test({boolean}, {x[1]}), nullptr),
                 "while requires the condition's argument 0 as the body has it, got i1[] and f32[]");
  EXPECT_REFUSED(loop(test({scalar}, {x[0]}), nullptr), "while requires a condition that yields one i1[], got f32[]");
  sinter_loop_options options = {};
  options.struct_size = sizeof options;
  options.max_trip = -1;
  EXPECT_REFUSED(loop(test({scalar}, {x[1]}), &options), "while requires a max_trip of at least 0, got -1");
  sinter_value zero = r.integer(0);
  EXPECT_REFUSED(sinter_graph_for(r.graph, zero, zero, x[0], 1, x.data(), body(), 4, results, &count),
                 "for requires bounds of type i64[], got f32[] for bound 2");
  EXPECT_REFUSED(sinter_graph_for(r.graph, zero, zero, zero, 1, x.data(), body(), 4, results, &count),
                 "for requires a body of 2 arguments, got 1");
  EXPECT_REFUSED(sinter_graph_scan(r.graph, 1, x.data(), 0, nullptr, body(), nullptr, 4, results, &count),
                 "scan requires at least one sequence, got none");
}

TEST(Refusals, OfCompileOptions) {
  Recorder r;
  std::vector<sinter_value> x = r.begin({Recorder::type(SINTER_F32)});
  r.end({x[0]});
  sinter_module *module = nullptr;
  auto compile = [&](auto set) {
    sinter_compile_options options = {};
    options.struct_size = sizeof options;
    set(options);
    return sinter_graph_compile(r.graph, &options, &module);
  };
  EXPECT_REFUSED(compile([](auto &o) { o.opt_level = 4; }), "compile options require an opt_level from -1 to 3, got 4");
  EXPECT_REFUSED(compile([](auto &o) { o.cache_bytes = -1; }),
                 "compile options require cache_bytes of at least 0, got -1");
  EXPECT_REFUSED(compile([](auto &o) { o.index_policy = 3; }),
                 "compile options require an index_policy of sinter_index_policy, got 3");
  EXPECT_REFUSED(compile([](auto &o) { o.kernel_bytes = -1; }),
                 "compile options require kernel_bytes of at least 0, got -1");
  EXPECT_REFUSED(compile([](auto &o) { o.threads = -1; }), "compile options require at least 0 threads, got -1");
  EXPECT_REFUSED(sinter_graph_compile_file(r.graph, "x.pdf", nullptr),
                 "compile requires the suffix .smod, .o, .a, .so, .s, .sinter, .mlir or none, got '.pdf'");
}

TEST(Refusals, OfNamesThatNoWeightHas) {
  std::string path = testing::TempDir() + "one_weight.mlir";
  std::ofstream(path)
      << "func.func @main(%x: tensor<4xf32> {sinter.name = \"x\"}, %w: tensor<4xf32> {sinter.state = \"w\"}) -> "
         "(tensor<4xf32> {sinter.name = \"y\"}) {\n  %y = sinter.mul %x, %w : (tensor<4xf32>, "
         "tensor<4xf32>) -> tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n";
  sinter_graph *model = nullptr, *step = nullptr;
  ASSERT_EQ(sinter_graph_load(path.c_str(), &model), SINTER_OK) << sinter_last_error();
  auto messageOf = [&](const char *trainable, const char *frozen) {
    sinter_train_options options = {};
    options.struct_size = sizeof options;
    options.loss = "mse";
    options.optimizer = "sgd:lr=0.1";
    options.trainable = trainable;
    options.frozen = frozen;
    return sinter_graph_train_step(model, &options, &step) == SINTER_OK ? "" : std::string(sinter_last_error());
  };
  EXPECT_NE(messageOf("v", nullptr).find("trainable requires the name of a weight, none matches 'v'; they are w"),
            std::string::npos);
  EXPECT_NE(messageOf(nullptr, "v").find("frozen requires the name of a weight, none matches 'v'; they are w"),
            std::string::npos);
  EXPECT_NE(messageOf("w", "w").find("frozen requires that a weight is left, none is by 'w'; they are w"),
            std::string::npos);
  EXPECT_EQ(messageOf("(", nullptr).find("train_step: trainable requires a regular expression, got '('"), 0u);
  EXPECT_EQ(messageOf("w", nullptr), "");
  sinter_graph_destroy(step);
  sinter_graph_destroy(model);
}
