// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C ABI as tests write it: a graph that goes away, values from one call each, and what the last message was.

#ifndef SINTER_TEST_COMPILER_CAPI_RECORDER_H
#define SINTER_TEST_COMPILER_CAPI_RECORDER_H

#include "runtime/sinter.h"
#include <gtest/gtest.h>
#include <vector>

struct Recorder {
  sinter_graph *graph = nullptr;

  Recorder() { EXPECT_EQ(sinter_graph_create(&graph), SINTER_OK); }
  ~Recorder() { sinter_graph_destroy(graph); }

  static sinter_value_type type(int32_t dtype, std::vector<int64_t> dims = {}) {
    sinter_value_type type = {};
    type.dtype = dtype;
    type.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), type.dims);
    return type;
  }
  sinter_dim symbol(const char *name) {
    sinter_dim dim = 0;
    EXPECT_EQ(sinter_graph_symbol(graph, name, &dim), SINTER_OK);
    return dim;
  }
  std::vector<sinter_value> begin(std::vector<sinter_value_type> types, const char *name = "f") {
    std::vector<sinter_value> arguments(types.size());
    EXPECT_EQ(
        sinter_graph_begin(graph, name, static_cast<int32_t>(types.size()), types.data(), nullptr, arguments.data()),
        SINTER_OK)
        << sinter_last_error();
    return arguments;
  }
  int32_t end(std::vector<sinter_value> results) {
    int32_t function = -1;
    EXPECT_EQ(sinter_graph_end(graph, static_cast<int32_t>(results.size()), results.data(), nullptr, &function),
              SINTER_OK)
        << sinter_last_error();
    return function;
  }
  std::vector<sinter_value> region(std::vector<sinter_value_type> types = {}) {
    std::vector<sinter_value> arguments(types.size());
    EXPECT_EQ(sinter_graph_region_begin(graph, static_cast<int32_t>(types.size()), types.data(), arguments.data()),
              SINTER_OK)
        << sinter_last_error();
    return arguments;
  }
  sinter_region endRegion(std::vector<sinter_value> yields) {
    sinter_region region = 0;
    EXPECT_EQ(sinter_graph_region_end(graph, static_cast<int32_t>(yields.size()), yields.data(), &region), SINTER_OK)
        << sinter_last_error();
    return region;
  }
  sinter_status_code tryOp(const char *name, std::vector<sinter_value> operands, std::vector<sinter_attr> attrs,
                           std::vector<sinter_value> &results) {
    results.assign(8, 0);
    int32_t count = 0;
    sinter_status_code status = sinter_graph_op(graph, name, static_cast<int32_t>(operands.size()), operands.data(),
                                                static_cast<int32_t>(attrs.size()), attrs.data(),
                                                static_cast<int32_t>(results.size()), results.data(), &count);
    results.resize(status ? 0 : static_cast<size_t>(count));
    return status;
  }
  sinter_value op(const char *name, std::vector<sinter_value> operands, std::vector<sinter_attr> attrs = {}) {
    std::vector<sinter_value> results;
    EXPECT_EQ(tryOp(name, operands, attrs, results), SINTER_OK) << name << ": " << sinter_last_error();
    return results.empty() ? 0 : results[0];
  }
  /// The message of an op that is refused.
  std::string refuse(const char *name, std::vector<sinter_value> operands, std::vector<sinter_attr> attrs = {}) {
    std::vector<sinter_value> results;
    int64_t before = sinter_graph_num_ops(graph);
    EXPECT_EQ(tryOp(name, operands, attrs, results), SINTER_INVALID_ARGUMENT) << name;
    EXPECT_EQ(sinter_graph_num_ops(graph), before);
    return sinter_last_error();
  }
  template <typename T> sinter_value constant(int32_t dtype, std::vector<T> values, std::vector<int64_t> dims) {
    sinter_tensor tensor = {};
    tensor.data = values.data();
    tensor.dtype = dtype;
    tensor.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    sinter_value value = 0;
    EXPECT_EQ(sinter_graph_constant(graph, &tensor, &value), SINTER_OK) << sinter_last_error();
    return value;
  }
  sinter_value scalar(float value) { return constant<float>(SINTER_F32, {value}, {}); }
  sinter_value integer(int64_t value) { return constant<int64_t>(SINTER_I64, {value}, {}); }
  sinter_value_type typeOf(sinter_value value) {
    sinter_value_type type = {};
    EXPECT_EQ(sinter_graph_value_type(graph, value, &type), SINTER_OK) << sinter_last_error();
    return type;
  }
  std::string print() {
    const char *text = nullptr;
    EXPECT_EQ(sinter_graph_print(graph, &text), SINTER_OK) << sinter_last_error();
    return text ? text : "";
  }

  /// Output 0 of function `index` as floats: by the evaluator, and compiled; both must agree exactly.
  std::vector<float> run(int32_t index, std::vector<sinter_tensor> inputs) {
    sinter_tensor reference[4] = {};
    int32_t count = 0;
    EXPECT_EQ(
        sinter_graph_evaluate(graph, index, static_cast<int32_t>(inputs.size()), inputs.data(), 4, reference, &count),
        SINTER_OK)
        << sinter_last_error();
    std::vector<float> expected = floats(reference[0]);
    for (sinter_tensor &tensor : reference)
      sinter_tensor_free(&tensor);

    sinter_module *module = nullptr;
    sinter_session *session = nullptr;
    EXPECT_EQ(sinter_graph_compile(graph, nullptr, &module), SINTER_OK) << sinter_last_error();
    EXPECT_EQ(sinter_session_create(module, index, nullptr, &session), SINTER_OK) << sinter_last_error();
    for (size_t i = 0; i < inputs.size(); ++i)
      EXPECT_EQ(sinter_session_set_input(session, static_cast<int32_t>(i), &inputs[i]), SINTER_OK)
          << sinter_last_error();
    EXPECT_EQ(sinter_session_run(session), SINTER_OK) << sinter_last_error();
    sinter_tensor view = {};
    EXPECT_EQ(sinter_session_output(session, 0, &view), SINTER_OK) << sinter_last_error();
    EXPECT_EQ(floats(view), expected);
    sinter_session_destroy(session);
    sinter_module_close(module);
    return expected;
  }
  static std::vector<float> floats(const sinter_tensor &tensor) {
    int64_t count = tensor.data ? 1 : 0;
    for (int32_t i = 0; i < tensor.rank; ++i)
      count *= tensor.dims[i];
    std::vector<float> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
      values[static_cast<size_t>(i)] = tensor.dtype == SINTER_I64
                                           ? static_cast<float>(static_cast<int64_t *>(tensor.data)[i])
                                           : static_cast<float *>(tensor.data)[i];
    return values;
  }
  static sinter_tensor tensor(std::vector<float> &values, std::vector<int64_t> dims) {
    sinter_tensor tensor = {};
    tensor.data = values.data();
    tensor.dtype = SINTER_F32;
    tensor.rank = static_cast<int32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), tensor.dims);
    return tensor;
  }
};

inline sinter_attr attr(const char *name, const char *text) {
  sinter_attr a = {name, SINTER_ATTR_STRING, 0, {}};
  a.string = text;
  return a;
}
inline sinter_attr attr(const char *name, int64_t value) {
  sinter_attr a = {name, SINTER_ATTR_I64, 0, {}};
  a.i64 = value;
  return a;
}
inline sinter_attr attr(const char *name, const std::vector<int64_t> &values) {
  sinter_attr a = {name, SINTER_ATTR_I64S, static_cast<int32_t>(values.size()), {}};
  a.i64s = values.data();
  return a;
}
inline sinter_attr attr(const char *name, const sinter_value_type &type) {
  sinter_attr a = {name, SINTER_ATTR_TYPE, 0, {}};
  a.type = &type;
  return a;
}

#endif
