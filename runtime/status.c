// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "status.h"
#include "dtypes.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char lastMessage[SRT_MESSAGE_BYTES];

sinter_status_code srtError(sinter_status_code code, const char *format, ...) {
  // Built aside: an argument may be the previous message.
  char text[SRT_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  memcpy(lastMessage, text, sizeof text);
  return code;
}

const char *sinter_last_error(void) { return lastMessage; }

sinter_status_code sinter_set_error(sinter_status_code code, const char *message) {
  return srtError(code, "%s", message ? message : sinter_status_name(code));
}

uint32_t sinter_abi_version(void) { return SINTER_ABI_VERSION; }

const char *sinter_status_name(int32_t code) {
  static const char *const names[] = {"ok",
                                      "invalid argument",
                                      "out of memory",
                                      "input/output error",
                                      "corrupt",
                                      "unsupported",
                                      "cancelled",
                                      "runtime error",
                                      "busy",
                                      "limit",
                                      "internal error"};
  return code >= 0 && code <= SINTER_INTERNAL ? names[code] : "unknown status";
}

static const struct {
  const char *name;
  int64_t bits;
} dtypes[] = {{"unknown", 0}, {"f64", 64},  {"f32", 32},     {"f16", 16},   {"bf16", 16}, {"i1", 8},
              {"i8", 8},      {"i16", 16},  {"i32", 32},     {"i64", 64},   {"ui8", 8},   {"ui16", 16},
              {"ui32", 32},   {"ui64", 64}, {"f8E4M3FN", 8}, {"f8E5M2", 8}, {"i4", 4},    {"ui4", 4}};

static int knownDtype(int32_t dtype) { return dtype >= SINTER_F64 && dtype <= SINTER_U4; }

int64_t sinter_dtype_bits(int32_t dtype) { return dtypes[knownDtype(dtype) ? dtype : 0].bits; }

int64_t sinter_dtype_bytes(int32_t dtype) { return sinter_dtype_bits(dtype) / 8; }

const char *sinter_dtype_name(int32_t dtype) { return dtypes[knownDtype(dtype) ? dtype : 0].name; }

const char *srtDimsText(const int64_t *dims, int32_t rank, char *text) {
  if (rank <= 0 || rank > SINTER_MAX_RANK)
    return strcpy(text, rank == 0 ? "scalar" : "bad rank");
  int used = 0;
  for (int32_t i = 0; i < rank; ++i)
    used += snprintf(text + used, (size_t)(SRT_DIMS_TEXT_BYTES - used), i ? "x%" PRId64 : "%" PRId64, dims[i]);
  return text;
}

int srtTensorBytes(int32_t dtype, int32_t rank, const int64_t *dims, int64_t *count, int64_t *bytes) {
  // A zero dim makes the tensor empty however large the others are, so they are multiplied without it.
  int64_t product = 1;
  int empty = 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0)
      return 0;
    if (dims[i] == 0)
      empty = 1;
    else if (__builtin_mul_overflow(product, dims[i], &product))
      return 0;
  }
  int64_t size, bits = sinter_dtype_bits(dtype);
  if (bits % 8)
    size = product / 2 + product % 2;
  else if (__builtin_mul_overflow(product, bits / 8, &size))
    return 0;
  *count = empty ? 0 : product;
  *bytes = empty ? 0 : size;
  return 1;
}
