// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as text, in the form of C++'s to_string: the shortest decimals that read back, nested brackets, long axes
// shortened. Every line goes to the program's log function in one call.

#include "log.h"
#include "status.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

//===- Where text goes ----------------------------------------------------------------------------===//

static pthread_mutex_t logLock = PTHREAD_MUTEX_INITIALIZER;
static sinter_log_fn logFunction;
static void *logUser;

void sinter_log_to(sinter_log_fn log, void *user) {
  pthread_mutex_lock(&logLock);
  logFunction = log;
  logUser = user;
  pthread_mutex_unlock(&logLock);
}

/// `text` has room for a newline behind its `length` characters.
static void writeLog(char *text, size_t length) {
  pthread_mutex_lock(&logLock);
  sinter_log_fn log = logFunction;
  void *user = logUser;
  pthread_mutex_unlock(&logLock);
  if (log) {
    log(user, text);
    return;
  }
  text[length] = '\n';
  fwrite(text, 1, length + 1, stderr);
}

//===- Text ---------------------------------------------------------------------------------------===//

/// Axes with more elements show as many at each end, where the tensor has more than `longTensor` elements.
enum { shownAtEnds = 3, longTensor = 1000 };

/// Text that grows; `failed` when memory ran out.
typedef struct Text {
  char *data;
  size_t length, room;
  int failed;
} Text;

static void append(Text *text, const char *part, size_t length) {
  if (text->length + length + 2 > text->room) { // a newline and the end
    size_t room = 2 * (text->length + length) + 128;
    char *data = text->failed ? NULL : realloc(text->data, room);
    if (!data) {
      text->failed = 1;
      return;
    }
    text->data = data;
    text->room = room;
  }
  memcpy(text->data + text->length, part, length);
  text->length += length;
  text->data[text->length] = 0;
}

float srtWiden(uint16_t bits, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  uint32_t sign = (uint32_t)(bits >> 15) << 31, exponent = bits >> mantissaBits & ((1u << exponentBits) - 1);
  uint32_t mantissa = bits & ((1u << mantissaBits) - 1);
  uint32_t bias = (1u << (exponentBits - 1)) - 1, wide;
  if (exponent == (1u << exponentBits) - 1)
    wide = 0x7F800000 | mantissa << (23 - mantissaBits);
  else if (exponent == 0 && exponentBits < 8) { // zero or denormal: a normal number once wide
    float value = (float)mantissa / (float)(1u << mantissaBits) / (float)(1u << (bias - 1));
    return sign ? -value : value;
  } else
    wide = (exponent + 127 - bias) << 23 | mantissa << (23 - mantissaBits);
  wide |= sign;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/// The shortest decimals that read back as `value`, a float or a double, in the shorter of both notations.
static void appendFloat(Text *text, double value, int isDouble) {
  if (isnan(value) || isinf(value)) {
    const char *name = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    append(text, name, strlen(name));
    return;
  }
  char scientific[40], fixed[400];
  int digits = 1;
  for (; digits < 17; ++digits) {
    snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
    double back = strtod(scientific, NULL);
    if (isDouble ? back == value : (float)back == (float)value)
      break;
  }
  snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
  int decimals = digits - 1 - atoi(strchr(scientific, 'e') + 1);
  snprintf(fixed, sizeof fixed, "%.*f", decimals > 0 ? decimals : 0, value);
  char *shorter = strlen(fixed) <= strlen(scientific) ? fixed : scientific;
  for (char *at = shorter; *at; ++at) // the host's locale may have another sign for the point
    if (!strchr("+-0123456789e", *at))
      *at = '.';
  append(text, shorter, strlen(shorter));
}

static void appendElement(Text *text, int32_t dtype, const void *at) {
  char number[32];
  int length = 0;
#define LOAD(type) (*(const type *)at)
  switch (dtype) {
  case SINTER_F64:
    appendFloat(text, LOAD(double), 1);
    return;
  case SINTER_F32:
    appendFloat(text, (double)LOAD(float), 0);
    return;
  case SINTER_F16:
    appendFloat(text, (double)srtWiden(LOAD(uint16_t), 5), 0);
    return;
  case SINTER_BF16:
    appendFloat(text, (double)srtWiden(LOAD(uint16_t), 8), 0);
    return;
  case SINTER_I1:
    length = snprintf(number, sizeof number, "%s", LOAD(uint8_t) ? "true" : "false");
    break;
  case SINTER_I8:
    length = snprintf(number, sizeof number, "%d", LOAD(int8_t));
    break;
  case SINTER_I16:
    length = snprintf(number, sizeof number, "%d", LOAD(int16_t));
    break;
  case SINTER_I32:
    length = snprintf(number, sizeof number, "%" PRId32, LOAD(int32_t));
    break;
  case SINTER_I64:
    length = snprintf(number, sizeof number, "%" PRId64, LOAD(int64_t));
    break;
  case SINTER_U8:
    length = snprintf(number, sizeof number, "%u", LOAD(uint8_t));
    break;
  case SINTER_U16:
    length = snprintf(number, sizeof number, "%u", LOAD(uint16_t));
    break;
  case SINTER_U32:
    length = snprintf(number, sizeof number, "%" PRIu32, LOAD(uint32_t));
    break;
  default:
    length = snprintf(number, sizeof number, "%" PRIu64, LOAD(uint64_t));
    break;
  }
#undef LOAD
  append(text, number, (size_t)length);
}

/// The part of `tensor` from `at` on, over the axes from `axis` on; `steps` are bytes.
static void appendAxis(Text *text, const sinter_tensor *tensor, const char *at, int32_t axis, const int64_t *steps,
                       int shortens) {
  if (axis == tensor->rank) {
    appendElement(text, tensor->dtype, at);
    return;
  }
  int64_t size = tensor->dims[axis];
  append(text, "[", 1);
  for (int64_t k = 0; k < size && !text->failed; ++k) {
    if (k && axis + 1 == tensor->rank) {
      append(text, ", ", 2);
    } else if (k) {
      append(text, ",\n", 2);
      for (int32_t i = 0; i <= axis; ++i)
        append(text, " ", 1);
    }
    if (shortens && size > 2 * shownAtEnds && k == shownAtEnds) {
      append(text, "...", 3);
      k = size - shownAtEnds - 1;
      continue;
    }
    appendAxis(text, tensor, at + k * steps[axis], axis + 1, steps, shortens);
  }
  append(text, "]", 1);
}

static void appendTensor(Text *text, const sinter_tensor *tensor) {
  int64_t steps[SINTER_MAX_RANK], count = 1, width = sinter_dtype_bytes(tensor->dtype);
  for (int32_t axis = tensor->rank; axis-- > 0;) {
    steps[axis] = tensor->strides ? tensor->strides[axis] * width : count * width;
    count *= tensor->dims[axis];
  }
  appendAxis(text, tensor, tensor->data, 0, steps, count > longTensor);
}

sinter_status_code sinter_debug_print(const char *format, int32_t count, const sinter_tensor *tensors) {
  if (!format || count < 0 || (count && !tensors))
    return srtError(SINTER_INVALID_ARGUMENT, "debug_print requires a format and tensors, got null");
  Text text = {0};
  int32_t next = 0;
  append(&text, "", 0);
  for (const char *rest = format;;) {
    const char *hole = strstr(rest, "{}");
    append(&text, rest, hole ? (size_t)(hole - rest) : strlen(rest));
    if (!hole)
      break;
    if (next < count) {
      int64_t elements, bytes;
      const sinter_tensor *tensor = &tensors[next];
      if (tensor->rank < 0 || tensor->rank > SINTER_MAX_RANK ||
          !srtTensorBytes(tensor->dtype, tensor->rank, tensor->dims, &elements, &bytes) ||
          (elements && !tensor->data)) {
        free(text.data);
        return srtError(SINTER_INVALID_ARGUMENT, "debug_print requires tensors with elements, got none for number %d",
                        next);
      }
      appendTensor(&text, tensor);
    }
    ++next;
    rest = hole + 2;
  }
  sinter_status_code status = SINTER_OK;
  if (next != count)
    status = srtError(SINTER_INVALID_ARGUMENT, "debug_print requires a {} for each of %d tensors, got %d", count, next);
  else if (text.failed)
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory for the text of debug_print");
  else
    writeLog(text.data, text.length);
  free(text.data);
  return status;
}
