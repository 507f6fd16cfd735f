// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x * x, recorded, compiled and run through pointers to the C functions: linked or looked up.

#include <sinter/sinter.h>
#include <stdio.h>

#define FUNCTIONS(F)                                                                                                   \
  F(sinter_graph_create)                                                                                               \
  F(sinter_graph_begin)                                                                                                \
  F(sinter_graph_op)                                                                                                   \
  F(sinter_graph_end)                                                                                                  \
  F(sinter_graph_compile)                                                                                              \
  F(sinter_graph_destroy) F(sinter_session_create) F(sinter_session_call) F(sinter_session_destroy)                    \
      F(sinter_module_close) F(sinter_last_error)

struct Sinter {
#define MEMBER(name) decltype(&::name) name;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

/// 9 for a Sinter that works.
inline float square(const Sinter &s) {
  sinter_value_type scalar = {};
  scalar.dtype = SINTER_F32;
  sinter_graph *graph;
  sinter_module *module;
  sinter_session *session;
  sinter_value x, operands[2], y;
  int32_t count;
  if (s.sinter_graph_create(&graph) || s.sinter_graph_begin(graph, "square", 1, &scalar, nullptr, &x))
    return -1;
  operands[0] = operands[1] = x;
  if (s.sinter_graph_op(graph, "mul", 2, operands, 0, nullptr, 1, &y, &count) ||
      s.sinter_graph_end(graph, 1, &y, nullptr, nullptr) || s.sinter_graph_compile(graph, nullptr, &module)) {
    puts(s.sinter_last_error());
    return -1;
  }
  s.sinter_graph_destroy(graph);
  alignas(64) float value = 3;
  sinter_tensor input = {}, output = {};
  input.data = &value;
  input.dtype = SINTER_F32;
  if (s.sinter_session_create(module, 0, nullptr, &session) || s.sinter_session_call(session, 1, &input, 1, &output)) {
    puts(s.sinter_last_error());
    return -1;
  }
  float result = *static_cast<float *>(output.data);
  s.sinter_session_destroy(session);
  s.sinter_module_close(module);
  return result;
}
