// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Null in place of every pointer of every function of libsinter_compiler.

#include "test/runtime/Nulls.h"
#include "Recorder.h"
#include <filesystem>

using namespace sinter::test;

namespace {

TEST(Nulls, AreRefusedByEveryFunctionOfTheCompiler) {
  Recorder recorder;
  sinter_graph *graph = recorder.graph, *read = nullptr;
  sinter_dim dim;
  sinter_value values[4] = {}, result[4];
  sinter_region region = 0;
  sinter_value_type scalar = Recorder::type(SINTER_F32), type;
  const char *names[] = {"x"}, *text = nullptr;
  int32_t count = 0, shared = 0, function = 0, wrt[] = {0};
  float number[] = {1};
  sinter_tensor tensor = {}, view;
  tensor.data = number;
  tensor.dtype = SINTER_F32;
  sinter_attr attr = {};
  attr.name = "none";
  attr.kind = SINTER_ATTR_I64;
  sinter_loop_options loop = {};
  loop.struct_size = sizeof loop;
  sinter_compile_options compile = {};
  compile.struct_size = sizeof compile;
  sinter_gradient_options gradient = {};
  gradient.struct_size = sizeof gradient;
  sinter_gradient_check_options checkOptions = {};
  checkOptions.struct_size = sizeof checkOptions;
  sinter_gradient_check check = {};
  check.struct_size = sizeof check;
  sinter_function_info info = {};
  info.struct_size = sizeof info;
  sinter_jit_report report = {};
  report.struct_size = sizeof report;
  sinter_train_options train = {};
  train.struct_size = sizeof train;
  sinter_module *module = nullptr;
  std::string path = testing::TempDir() + "nulls.sinter";

  // While no function is open, and while one is: a call may look at that first.
  auto walkAll = [&] {
    WALK(sinter_graph_create, {}, static_cast<sinter_graph **>(nullptr));
    WALK(sinter_graph_destroy, {}, static_cast<sinter_graph *>(nullptr));
    WALK(sinter_graph_symbol, {}, graph, "n", &dim);
    WALK(sinter_graph_dim_text, {}, graph, -1);
    WALK(sinter_graph_location, {}, graph, "file", 1, 1, "function");
    WALK(sinter_graph_value_type, {}, graph, 0, &type);
    WALK(sinter_graph_error_index, {}, graph);
    WALK(sinter_graph_begin, {4}, nullptr, "f", 1, &scalar, names, values);
    WALK(sinter_graph_begin, {0, 1, 4}, graph, nullptr, 1, &scalar, names, values);
    WALK(sinter_graph_end, {3, 4}, graph, 1, static_cast<sinter_value *>(nullptr), names, &function);
    WALK(sinter_graph_num_functions, {}, graph);
    WALK(sinter_graph_function, {}, graph, 0, &info);
    WALK(sinter_graph_input, {4}, graph, 9, 0, &type, &text);
    WALK(sinter_graph_output, {4}, graph, 9, 0, &type, &text);
    WALK(sinter_graph_call, {}, graph, 9, 1, values, 1, result, &count);
    WALK(sinter_graph_constant, {}, graph, &tensor, result);
    WALK(sinter_graph_constant_data, {}, graph, 0, &view);
    WALK(sinter_graph_dump, {2}, graph, "phase", &compile, &text);
    WALK(sinter_graph_op, {}, graph, "none", 1, values, 1, &attr, 1, result, &count);
    WALK(sinter_graph_num_ops, {}, graph);
    WALK(sinter_graph_external, {}, graph, "op", 1, values, 1, values, 1, &scalar, result);
    WALK(sinter_graph_region_begin, {}, nullptr, 1, &scalar, values);
    WALK(sinter_graph_region_end, {}, graph, 1, static_cast<sinter_value *>(nullptr), &region);
    WALK(sinter_graph_cond, {}, graph, 0, 0, 0, 1, result, &count);
    WALK(sinter_graph_join, {7}, graph, 0, 0, 0, 1, result, &count, &shared);
    WALK(sinter_graph_switch, {}, graph, 0, 1, &region, 1, result, &count);
    WALK(sinter_graph_while, {5}, graph, 1, values, 0, 0, &loop, 1, result, &count);
    WALK(sinter_graph_for, {}, graph, 0, 0, 0, 1, values, 0, 1, result, &count);
    WALK(sinter_graph_for_with, {7}, graph, 0, 0, 0, 1, values, 0, &loop, 1, result, &count);
    WALK(sinter_graph_scan, {6}, graph, 1, values, 1, values, 0, &loop, 1, result, &count);
    WALK(sinter_graph_depth, {}, graph);
    WALK(sinter_graph_mark, {}, graph);
    WALK(sinter_graph_truncate, {}, graph, sinter_mark{});
    WALK(sinter_graph_gradient, {4}, graph, 9, 1, wrt, &gradient, &function);
    WALK(sinter_graph_checkpoint, {}, graph, 0, 1, result, &count);
    WALK(sinter_graph_check_gradient, {6}, graph, 9, 1, wrt, 1, &tensor, &checkOptions, &check);
    WALK(sinter_graph_custom_vjp, {}, graph, 1, values, 1, 0, 0, 1, result, &count);
    WALK(sinter_graph_keep, {}, graph, 9, "full");
    WALK(sinter_graph_precision, {}, graph, "bf16");
    WALK(sinter_graph_state, {5}, graph, 9, 0, -1, "state", &tensor);
    WALK(sinter_graph_train_step, {}, graph, &train, static_cast<sinter_graph **>(nullptr));
    WALK(sinter_graph_train_step, {}, nullptr, &train, &read);
    WALK(sinter_graph_print, {}, graph, &text);
    WALK(sinter_graph_save, {}, graph, path.c_str());
    WALK(sinter_graph_load, {}, path.c_str(), static_cast<sinter_graph **>(nullptr));
    WALK(sinter_graph_load, {1}, nullptr, &read);
    WALK(sinter_graph_evaluate, {}, graph, 9, 1, &tensor, 1, &view, &count);
    WALK(sinter_graph_compile, {1}, graph, &compile, static_cast<sinter_module **>(nullptr));
    WALK(sinter_graph_compile, {1, 2}, nullptr, &compile, &module);
    WALK(sinter_graph_compile_file, {2}, graph, nullptr, &compile);
    WALK(sinter_graph_compile_file, {1, 2}, nullptr, path.c_str(), &compile);
    WALK(sinter_eager, {}, "none", 1, &tensor, 1, &attr, 1, &view, &count);
    WALK(sinter_jit_stats, {}, &report);
    WALK(sinter_jit_limit, {}, int64_t(512));
    WALK(sinter_jit_clear, {});
  };
  walkAll();
  values[0] = recorder.begin({scalar})[0];
  walkAll();
  recorder.end({values[0]});
  walkAll();
  std::filesystem::remove(path);

  // What attributes point to.
  recorder.begin({scalar}, "g");
  for (int32_t kind = 0; kind <= SINTER_ATTR_TENSOR + 1; ++kind)
    for (int32_t many : {-1, 0, 1, 1000}) {
      sinter_attr lacks = {};
      lacks.name = "axes";
      lacks.kind = kind;
      lacks.count = many;
      (void)sinter_graph_op(graph, "transpose", 1, values, 1, &lacks, 1, result, &count);
      (void)sinter_eager("transpose", 1, &tensor, 1, &lacks, 1, &view, &count);
      lacks.name = nullptr;
      EXPECT_EQ(sinter_graph_op(graph, "neg", 1, values, 1, &lacks, 1, result, &count), SINTER_INVALID_ARGUMENT);
      EXPECT_EQ(sinter_eager("neg", 1, &tensor, 1, &lacks, 1, &view, &count), SINTER_INVALID_ARGUMENT);
    }

  for (const std::string &name : declared(TEST_HEADER, "Compiler (libsinter_compiler)", ""))
    EXPECT_TRUE(walked().count(name)) << name << " is not walked";
}

} // namespace
