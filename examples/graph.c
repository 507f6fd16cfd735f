// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph built from C: the square root of each element by Newton's method, until the largest step is small. Compiled
// in this process and run. Link libsinter_compiler and libsinter_rt.

#include <sinter/sinter.h>
#include <stdio.h>
#include <stdlib.h>

static sinter_graph *graph;

static void check(sinter_status_code status) {
  if (status) {
    fprintf(stderr, "%s\n", sinter_last_error());
    exit(1);
  }
}

/// An op with one result; `attrs` may be null.
static sinter_value op(const char *name, int32_t operands, const sinter_value *values, int32_t attrs,
                       const sinter_attr *list) {
  sinter_value result;
  int32_t count;
  check(sinter_graph_op(graph, name, operands, values, attrs, list, 1, &result, &count));
  return result;
}
static sinter_value binary(const char *name, sinter_value a, sinter_value b) {
  return op(name, 2, (sinter_value[]){a, b}, 0, NULL);
}

/// The number `value` in each of the three places.
static sinter_value filled(float value) {
  sinter_value scalar;
  check(sinter_graph_constant(graph, &(sinter_tensor){.data = &value, .dtype = SINTER_F32}, &scalar));
  sinter_value_type three = {.dtype = SINTER_F32, .rank = 1, .dims = {3}};
  sinter_attr attrs[] = {{.name = "axes", .kind = SINTER_ATTR_I64S},
                         {.name = "type", .kind = SINTER_ATTR_TYPE, .type = &three}};
  return op("broadcast", 1, &scalar, 2, attrs);
}

int main(void) {
  sinter_value_type three = {.dtype = SINTER_F32, .rank = 1, .dims = {3}}, carries[] = {three, three};
  sinter_value a, arguments[2], results[3];
  sinter_region cond, body;
  int32_t count;
  check(sinter_graph_create(&graph));
  check(sinter_graph_begin(graph, "root", 1, &three, (const char *[]){"a"}, &a));

  // while (max(abs(step)) > 1e-6)
  check(sinter_graph_region_begin(graph, 2, carries, arguments));
  int64_t axis = 0;
  sinter_attr greatest[] = {{.name = "axes", .kind = SINTER_ATTR_I64S, .count = 1, .i64s = &axis},
                            {.name = "combiner", .kind = SINTER_ATTR_STRING, .string = "max"}};
  sinter_value size = op("abs", 1, &arguments[1], 0, NULL), largest = op("reduce", 1, &size, 2, greatest), limit;
  float tolerance = 1e-6f;
  check(sinter_graph_constant(graph, &(sinter_tensor){.data = &tolerance, .dtype = SINTER_F32}, &limit));
  sinter_attr greater = {.name = "kind", .kind = SINTER_ATTR_STRING, .string = "gt"};
  sinter_value test = op("compare", 2, (sinter_value[]){largest, limit}, 1, &greater);
  check(sinter_graph_region_end(graph, 1, &test, &cond));

  // step = (x - a / x) / 2; x = x - step; `a` is captured by itself
  check(sinter_graph_region_begin(graph, 2, carries, arguments));
  sinter_value step = binary("mul", binary("sub", arguments[0], binary("div", a, arguments[0])), filled(0.5f));
  sinter_value next[] = {binary("sub", arguments[0], step), step};
  check(sinter_graph_region_end(graph, 2, next, &body));

  sinter_value init[] = {filled(1), filled(1)};
  check(sinter_graph_while(graph, 2, init, cond, body, NULL, 3, results, &count));
  check(sinter_graph_end(graph, 2, (sinter_value[]){results[1], results[0]}, (const char *[]){"root", "trips"}, NULL));

  sinter_module *module;
  sinter_session *session;
  check(sinter_graph_compile(graph, NULL, &module));
  sinter_graph_destroy(graph);
  check(sinter_session_create(module, 0, NULL, &session));
  sinter_module_close(module);

  float numbers[] = {4, 2, 1e6f};
  sinter_tensor input = {.data = numbers, .dtype = SINTER_F32, .rank = 1, .dims = {3}}, outputs[2] = {{0}};
  check(sinter_session_call(session, 1, &input, 2, outputs));
  const float *roots = outputs[0].data;
  printf("roots %.4f %.4f %.2f after %lld trips\n", roots[0], roots[1], roots[2],
         (long long)*(int64_t *)outputs[1].data);
  sinter_session_destroy(session);
  return 0;
}
