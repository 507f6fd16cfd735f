// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's array file: a magic, a version, the length of a header, the header (a Python dict literal)
// and the elements. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// Files come from anywhere: every length is checked before it is used.

#include "npy.h"
#include "dtypes.h"
#include "file.h"
#include "status.h"
#include "strided.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *code; // without the byte order
  int32_t dtype;
} codes[] = {{"f8", SINTER_F64}, {"f4", SINTER_F32}, {"f2", SINTER_F16}, {"V2", SINTER_BF16}, {"b1", SINTER_I1},
             {"i1", SINTER_I8},  {"i2", SINTER_I16}, {"i4", SINTER_I32}, {"i8", SINTER_I64},  {"u1", SINTER_U8},
             {"u2", SINTER_U16}, {"u4", SINTER_U32}, {"u8", SINTER_U64}};

//===- Header -------------------------------------------------------------------------------------===//

/// A cursor over the header's text, which ends at `end`.
typedef struct Text {
  const char *at, *end;
  const char *name;
} Text;

static sinter_status_code badHeader(const Text *text, const char *what) {
  return srtError(SINTER_CORRUPT, "array '%s' requires a header that numpy writes, got %s", text->name, what);
}

static void skipSpace(Text *text) {
  while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\n' || *text->at == '\r'))
    ++text->at;
}

/// Skips space and takes `c` if it is next.
static int take(Text *text, char c) {
  skipSpace(text);
  if (text->at == text->end || *text->at != c)
    return 0;
  ++text->at;
  return 1;
}

/// Takes a word of Python such as True.
static int takeWord(Text *text, const char *word) {
  skipSpace(text);
  size_t length = strlen(word);
  if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
    return 0;
  text->at += length;
  return 1;
}

/// Takes a quoted string without escapes of up to 31 characters.
static int takeString(Text *text, char string[32]) {
  skipSpace(text);
  if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
    return 0;
  char quote = *text->at++;
  size_t length = 0;
  while (text->at < text->end && *text->at != quote && *text->at != '\\' && length < 31)
    string[length++] = *text->at++;
  string[length] = 0;
  return text->at < text->end && *text->at++ == quote;
}

static sinter_status_code readDescr(Text *text, NpyHeader *header) {
  skipSpace(text);
  if (text->at < text->end && *text->at == '[')
    return srtError(SINTER_UNSUPPORTED, "array '%s' is a structured array; plain dtypes are supported", text->name);
  char descr[32];
  if (!takeString(text, descr))
    return badHeader(text, "a 'descr' that is no string");
  for (size_t i = 0; descr[0] && i < sizeof descr; ++i)
    if (descr[i] && (descr[i] < ' ' || descr[i] > '~'))
      descr[i] = '?';
  const char *code = strchr("<>|=", descr[0]) && descr[0] ? descr + 1 : descr;
  if (strcmp(descr, "bfloat16") == 0)
    code = "V2";
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
    if (strcmp(code, codes[i].code) == 0)
      header->dtype = codes[i].dtype;
  if (!header->dtype)
    return srtError(SINTER_UNSUPPORTED,
                    "array '%s' has dtype '%s'; supported are f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 and V2 (bf16)",
                    text->name, descr);
  if (descr[0] == '>' && sinter_dtype_bytes(header->dtype) > 1)
    return srtError(SINTER_UNSUPPORTED, "array '%s' has dtype '%s'; big-endian arrays are not supported", text->name,
                    descr);
  return SINTER_OK;
}

static sinter_status_code readShape(Text *text, NpyHeader *header) {
  if (!take(text, '('))
    return badHeader(text, "a 'shape' that is no tuple");
  for (header->rank = 0; !take(text, ')');) {
    if (text->at == text->end || *text->at < '0' || *text->at > '9')
      return badHeader(text, "a 'shape' that is no tuple of sizes");
    if (header->rank == SINTER_MAX_RANK)
      return srtError(SINTER_UNSUPPORTED, "array '%s' requires rank %d at most, got more", text->name, SINTER_MAX_RANK);
    int64_t size = 0;
    for (; text->at < text->end && *text->at >= '0' && *text->at <= '9'; ++text->at)
      if (__builtin_mul_overflow(size, 10, &size) || __builtin_add_overflow(size, *text->at - '0', &size))
        return badHeader(text, "a size over 2^63");
    takeWord(text, "L"); // Python 2
    header->dims[header->rank++] = size;
    if (!take(text, ',')) {
      if (!take(text, ')'))
        return badHeader(text, "a 'shape' without its end");
      if (header->rank == 1)
        return badHeader(text, "a 'shape' that is a number in parentheses");
      break;
    }
  }
  return SINTER_OK;
}

static sinter_status_code readDict(Text *text, NpyHeader *header) {
  enum { Descr = 1, Fortran = 2, Shape = 4 };
  int seen = 0;
  if (!take(text, '{'))
    return badHeader(text, "no dict");
  while (!take(text, '}')) {
    char key[32];
    if (!takeString(text, key) || !take(text, ':'))
      return badHeader(text, "a key without a value");
    int bit = strcmp(key, "descr") == 0           ? Descr
              : strcmp(key, "fortran_order") == 0 ? Fortran
              : strcmp(key, "shape") == 0         ? Shape
                                                  : 0;
    if (!bit || (seen & bit))
      return badHeader(text, bit ? "a key twice" : "an unknown key");
    seen |= bit;
    sinter_status_code status = SINTER_OK;
    if (bit == Descr)
      status = readDescr(text, header);
    else if (bit == Shape)
      status = readShape(text, header);
    else if (takeWord(text, "True"))
      header->fortranOrder = 1;
    else if (!takeWord(text, "False"))
      status = badHeader(text, "a 'fortran_order' that is neither True nor False");
    if (status)
      return status;
    if (take(text, ','))
      continue;
    if (!take(text, '}'))
      return badHeader(text, "a dict without its end");
    break;
  }
  skipSpace(text);
  if (text->at != text->end)
    return badHeader(text, "text behind the dict");
  if (seen != (Descr | Fortran | Shape))
    return badHeader(text, "a dict that lacks 'descr', 'fortran_order' or 'shape'");
  return SINTER_OK;
}

sinter_status_code srtNpyPrefix(const char *bytes, int64_t available, int64_t *headerBytes, const char *name) {
  if (available < 6 || memcmp(bytes, "\x93NUMPY", 6) != 0)
    return srtError(SINTER_CORRUPT, "array '%s' requires the magic of an npy file", name);
  const unsigned char *at = (const unsigned char *)bytes;
  if (available >= 8 && (at[6] < 1 || at[6] > 3 || at[7] != 0))
    return srtError(SINTER_UNSUPPORTED, "array '%s' has npy format %d.%d; 1.0, 2.0 and 3.0 are supported", name, at[6],
                    at[7]);
  int wide = available >= 8 && at[6] > 1;
  if (available < (wide ? 12 : 10))
    return srtError(SINTER_CORRUPT, "array '%s' is truncated in its header", name);
  int64_t length = at[8] | at[9] << 8;
  if (wide)
    length |= (int64_t)at[10] << 16 | (int64_t)at[11] << 24;
  if (length > SRT_NPY_MAX_HEADER_BYTES)
    return srtError(SINTER_CORRUPT, "array '%s' requires a header of at most %d bytes, got %" PRId64, name,
                    SRT_NPY_MAX_HEADER_BYTES, length);
  *headerBytes = (wide ? 12 : 10) + length;
  return SINTER_OK;
}

sinter_status_code srtNpyHeader(const char *bytes, int64_t headerBytes, NpyHeader *header, const char *name) {
  memset(header, 0, sizeof *header);
  header->headerBytes = headerBytes;
  Text text = {bytes + (bytes[6] > 1 ? 12 : 10), bytes + headerBytes, name};
  sinter_status_code status = readDict(&text, header);
  if (status)
    return status;
  int64_t count;
  if (!srtTensorBytes(header->dtype, header->rank, header->dims, &count, &header->dataBytes))
    return srtError(SINTER_CORRUPT, "array '%s' requires a size below 2^63 bytes", name);
  return SINTER_OK;
}

//===- Reading ------------------------------------------------------------------------------------===//

void *srtNpyAllocate(int64_t bytes) {
  if (bytes > INT64_MAX / 4)
    return NULL;
  return aligned_alloc(64, (size_t)(bytes / 64 + 1) * 64);
}

void sinter_tensor_free(sinter_tensor *tensor) {
  if (!tensor)
    return;
  free(tensor->data);
  memset(tensor, 0, sizeof *tensor);
}

sinter_status_code srtNpyTensor(const NpyHeader *header, void *data, sinter_tensor *tensor, const char *name) {
  if (header->dtype == SINTER_I1)
    srtNormalizeTruths(data, header->dataBytes);
  *tensor = (sinter_tensor){.data = data, .dtype = header->dtype, .rank = header->rank};
  memcpy(tensor->dims, header->dims, sizeof tensor->dims);
  if (!header->fortranOrder || header->rank < 2 || header->dataBytes == 0)
    return SINTER_OK;

  int64_t strides[SINTER_MAX_RANK], step = 1;
  for (int32_t d = 0; d < header->rank; ++d) {
    strides[d] = step;
    step *= header->dims[d];
  }
  void *rowMajor = srtNpyAllocate(header->dataBytes);
  if (rowMajor) {
    tensor->strides = strides;
    srtCopyToDense(tensor, rowMajor);
  }
  free(data);
  tensor->data = rowMajor;
  tensor->strides = NULL;
  if (rowMajor)
    return SINTER_OK;
  memset(tensor, 0, sizeof *tensor);
  return srtError(SINTER_OUT_OF_MEMORY, "no memory for array '%s' of %" PRId64 " bytes", name, header->dataBytes);
}

static sinter_status_code readHeader(int file, int64_t bytes, NpyHeader *header, const char *path) {
  char prefix[SRT_NPY_PREFIX_BYTES];
  int64_t available = bytes < SRT_NPY_PREFIX_BYTES ? bytes : SRT_NPY_PREFIX_BYTES, headerBytes;
  sinter_status_code status = srtReadAt(file, 0, prefix, available, path);
  if (!status)
    status = srtNpyPrefix(prefix, available, &headerBytes, path);
  if (status)
    return status;
  if (headerBytes > bytes)
    return srtError(SINTER_CORRUPT, "array '%s' requires a header of %" PRId64 " bytes, the file has %" PRId64, path,
                    headerBytes, bytes);
  char *text = malloc((size_t)headerBytes);
  if (!text)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for the header of array '%s'", path);
  status = srtReadAt(file, 0, text, headerBytes, path);
  if (!status)
    status = srtNpyHeader(text, headerBytes, header, path);
  free(text);
  if (!status && header->dataBytes != bytes - headerBytes)
    status = srtError(SINTER_CORRUPT, "array '%s' requires %" PRId64 " bytes of data, got %" PRId64, path,
                      header->dataBytes, bytes - headerBytes);
  return status;
}

sinter_status_code sinter_npy_read(const char *path, sinter_tensor *tensor) {
  if (!tensor)
    return srtError(SINTER_INVALID_ARGUMENT, "reading requires a place for the tensor, got null");
  memset(tensor, 0, sizeof *tensor);
  int file;
  int64_t bytes;
  sinter_status_code status = srtOpenFile(path, &file, &bytes);
  if (status)
    return status;
  NpyHeader header;
  status = readHeader(file, bytes, &header, path);
  if (!status) {
    void *data = srtNpyAllocate(header.dataBytes);
    if (!data)
      status = srtError(SINTER_OUT_OF_MEMORY, "no memory for array '%s' of %" PRId64 " bytes", path, header.dataBytes);
    else if ((status = srtReadAt(file, header.headerBytes, data, header.dataBytes, path)))
      free(data);
    else
      status = srtNpyTensor(&header, data, tensor, path);
  }
  close(file);
  return status;
}

//===- Writing ------------------------------------------------------------------------------------===//

/// "" for a type that NumPy does not have.
static const char *codeOf(int32_t dtype) {
  for (size_t i = 0; i < sizeof codes / sizeof *codes; ++i)
    if (codes[i].dtype == dtype)
      return codes[i].code;
  return "";
}

int64_t srtNpyWriteHeader(const sinter_tensor *tensor, char *header) {
  const char *code = codeOf(tensor->dtype);
  int used = 10;
  used += snprintf(header + used, SRT_NPY_HEADER_ROOM - 10, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                   sinter_dtype_bytes(tensor->dtype) > 1 ? '<' : '|', code);
  for (int32_t d = 0; d < tensor->rank; ++d)
    used +=
        snprintf(header + used, (size_t)(SRT_NPY_HEADER_ROOM - used), d ? ", %" PRId64 : "%" PRId64, tensor->dims[d]);
  used += snprintf(header + used, (size_t)(SRT_NPY_HEADER_ROOM - used), tensor->rank == 1 ? ",), }" : "), }");
  int total = (used + 1 + 63) / 64 * 64;
  memset(header + used, ' ', (size_t)(total - used - 1));
  header[total - 1] = '\n';
  memcpy(header, "\x93NUMPY\x01\x00", 8);
  header[8] = (char)((total - 10) & 0xFF);
  header[9] = (char)((total - 10) >> 8);
  return total;
}

sinter_status_code srtNpyDense(const sinter_tensor *tensor, const void **dense, int64_t *bytes, void **copy,
                               const char *name) {
  *copy = NULL;
  int64_t count;
  if (tensor && sinter_dtype_bits(tensor->dtype) && !*codeOf(tensor->dtype))
    return srtError(SINTER_UNSUPPORTED, "writing '%s' requires an element type that npy files have, got %s", name,
                    sinter_dtype_name(tensor->dtype));
  if (!tensor || tensor->rank < 0 || tensor->rank > SINTER_MAX_RANK || !sinter_dtype_bytes(tensor->dtype) ||
      !srtTensorBytes(tensor->dtype, tensor->rank, tensor->dims, &count, bytes) || (count && !tensor->data))
    return srtError(SINTER_INVALID_ARGUMENT, "writing '%s' requires a tensor with a dtype, dims of 0 or more and data",
                    name);
  *dense = tensor->data;
  if (count == 0 || srtIsDense(tensor))
    return SINTER_OK;
  *copy = srtNpyAllocate(*bytes);
  if (!*copy)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for %" PRId64 " bytes to write '%s'", *bytes, name);
  srtCopyToDense(tensor, *copy);
  *dense = *copy;
  return SINTER_OK;
}

sinter_status_code sinter_npy_write(const char *path, const sinter_tensor *tensor) {
  const void *dense;
  int64_t bytes;
  void *copy;
  NewFile file;
  sinter_status_code status = srtNpyDense(tensor, &dense, &bytes, &copy, path ? path : "null");
  if (!status)
    status = srtCreateFile(path, &file);
  if (!status) {
    char header[SRT_NPY_HEADER_ROOM];
    status = srtWriteAll(file.file, header, srtNpyWriteHeader(tensor, header), path);
    if (!status)
      status = srtWriteAll(file.file, dense, bytes, path);
    status = srtFinishFile(&file, status);
  }
  free(copy);
  return status;
}
