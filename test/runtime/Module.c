// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the compiler would emit for y = x * weights[0] + bias, x: n x 3: as a shared library with its
// own weights, without weights (for a .smod), and as an object for a program.

#include "runtime/abi.h"

static int32_t scale(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *outputs,
                     const int64_t *symbols, const void *weights) {
  if (symbols[0] == 13)
    return context->fail(context, SINTER_RUNTIME_ERROR, "{} rows are bad luck", symbols[0], 0);
  float *y = context->output(context, 0, inputs[0].dims, 2);
  if (!y)
    return SINTER_OUT_OF_MEMORY;
  for (int64_t i = 0; i < symbols[0] * 3; ++i)
    y[i] = ((const float *)inputs[0].data)[i] * *(const float *)weights + *(const float *)inputs[1].data;
  return SINTER_OK;
}

static const sinter_dim dims[] = {-1, 3};
static const char *const symbols[] = {"rows"};
static const sinter_tensor_type inputs[] = {{"x", SINTER_F32, 2, dims}, {"bias", SINTER_F32, 0, dims}};
static const sinter_tensor_type outputs[] = {{"out/y", SINTER_F32, 2, dims}};
#ifdef OWN_WEIGHTS
static const float linkedWeights[] = {2};
#define WEIGHTS linkedWeights
#else
#define WEIGHTS 0
#endif
static const sinter_function function = {
    .abi_version = SINTER_ABI_VERSION,
    .struct_size = sizeof(sinter_function),
    .name = "scale",
    .num_inputs = 2,
    .num_outputs = 1,
    .inputs = inputs,
    .outputs = outputs,
    .num_symbols = 1,
    .symbol_names = symbols,
    .entry = scale,
    .weights = WEIGHTS,
    .weights_bytes = sizeof(float),
    .cpu_features = "",
};

#ifndef TABLE
#define TABLE sinter_functions
#endif
__attribute__((visibility("default"))) const sinter_function *const TABLE[] = {&function, 0};
