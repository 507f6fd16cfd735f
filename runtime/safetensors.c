// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "safetensors.h"
#include "dtypes.h"
#include "file.h"
#include "json.h"
#include "status.h"
#include "strided.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The format's own limit on headers is 100 MB.
enum { maxHeaderBytes = 100000000, maxEntries = 1 << 20, maxDtypeBytes = 8 };

struct sinter_safetensors {
  int file;
  char *path;
  char *header; // JSON text as read
  char *names;  // strings, each at the place where it begins in the header or before
  int32_t count;
  SafetensorsEntry *entries; // by name
};

static const struct {
  const char *name;
  int32_t dtype;
} dtypes[] = {{"F64", SINTER_F64},   {"F32", SINTER_F32},          {"F16", SINTER_F16},
              {"BF16", SINTER_BF16}, {"BOOL", SINTER_I1},          {"I8", SINTER_I8},
              {"I16", SINTER_I16},   {"I32", SINTER_I32},          {"I64", SINTER_I64},
              {"U8", SINTER_U8},     {"U16", SINTER_U16},          {"U32", SINTER_U32},
              {"U64", SINTER_U64},   {"F8_E4M3", SINTER_F8E4M3FN}, {"F8_E5M2", SINTER_F8E5M2}};

//===- The header -----------------------------------------------------------------------------------===//

typedef struct Parser {
  const char *path;
  Json json;
  char *nextName; // what the strings need at most is the header's size
  int64_t dataBytes;
} Parser;

static sinter_status_code malformed(const Parser *parser, const char *required) {
  return srtError(SINTER_CORRUPT, "safetensors file '%s' requires %s at byte %lld of its header", parser->path,
                  required, (long long)(parser->json.at - parser->json.begin));
}

/// Reads a string that stays: at `nextName`, which moves behind it.
static const char *keepString(Parser *parser) {
  char *text = parser->nextName;
  int64_t length = srtJsonString(&parser->json, text);
  if (length < 0)
    return NULL;
  parser->nextName += length + 1;
  return text;
}

/// `{"key": "value", ...}`, which is skipped.
static sinter_status_code readMetadata(Parser *parser) {
  Json *json = &parser->json;
  if (!srtJsonTake(json, '{'))
    return malformed(parser, "an object of strings");
  if (srtJsonTake(json, '}'))
    return SINTER_OK;
  do {
    char *key = parser->nextName;
    if (srtJsonString(json, key) < 0 || !srtJsonTake(json, ':') || srtJsonString(json, key) < 0)
      return malformed(parser, "a name and a string");
  } while (srtJsonTake(json, ','));
  return srtJsonTake(json, '}') ? SINTER_OK : malformed(parser, "',' or '}'");
}

static sinter_status_code readField(Parser *parser, SafetensorsEntry *entry, int *seen) {
  Json *json = &parser->json;
  char *text = parser->nextName;
  if (srtJsonString(json, text) < 0)
    return malformed(parser, "a name");
  int field = strcmp(text, "dtype") == 0          ? 1
              : strcmp(text, "shape") == 0        ? 2
              : strcmp(text, "data_offsets") == 0 ? 4
                                                  : 0;
  if (!field || *seen & field)
    return malformed(parser, "dtype, shape and data_offsets, each once, and nothing else,");
  *seen |= field;
  if (!srtJsonTake(json, ':'))
    return malformed(parser, "':'");
  if (field == 1) {
    if (srtJsonString(json, text) < 0)
      return malformed(parser, "a string");
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i)
      if (strcmp(text, dtypes[i].name) == 0)
        entry->dtype = dtypes[i].dtype;
    if (!entry->dtype)
      return srtError(SINTER_UNSUPPORTED, "tensor '%s' of '%s' has the dtype %.16s, which is not supported",
                      entry->name, parser->path, text);
    return SINTER_OK;
  }
  if (!srtJsonTake(json, '['))
    return malformed(parser, "'['");
  int64_t values[SINTER_MAX_RANK];
  int32_t count = 0;
  if (!srtJsonTake(json, ']')) {
    do {
      if (count == SINTER_MAX_RANK)
        return srtError(SINTER_UNSUPPORTED, "tensor '%s' of '%s' requires at most %d dims", entry->name, parser->path,
                        SINTER_MAX_RANK);
      if (!srtJsonCount(json, &values[count++]))
        return malformed(parser, "an integer from 0 on");
    } while (srtJsonTake(json, ','));
    if (!srtJsonTake(json, ']'))
      return malformed(parser, "',' or ']'");
  }
  if (field == 2) {
    entry->rank = count;
    memcpy(entry->dims, values, (size_t)count * sizeof *values);
    return SINTER_OK;
  }
  if (count != 2 || values[0] > values[1] || values[1] > parser->dataBytes)
    return srtError(SINTER_CORRUPT, "tensor '%s' of '%s' requires data_offsets [begin, end] within %" PRId64 " bytes",
                    entry->name, parser->path, parser->dataBytes);
  entry->offset = values[0];
  entry->bytes = values[1] - values[0];
  return SINTER_OK;
}

static sinter_status_code readEntry(Parser *parser, SafetensorsEntry *entry) {
  Json *json = &parser->json;
  if (!srtJsonTake(json, '{'))
    return malformed(parser, "an object");
  int seen = 0;
  do {
    sinter_status_code status = readField(parser, entry, &seen);
    if (status)
      return status;
  } while (srtJsonTake(json, ','));
  if (!srtJsonTake(json, '}') || seen != 7)
    return malformed(parser, "dtype, shape and data_offsets, each once, and nothing else,");
  int64_t count, bytes;
  if (!srtTensorBytes(entry->dtype, entry->rank, entry->dims, &count, &bytes) || bytes != entry->bytes) {
    char dims[SRT_DIMS_TEXT_BYTES];
    return srtError(SINTER_CORRUPT, "tensor '%s' of '%s' requires the bytes of %s %s, its data_offsets give %" PRId64,
                    entry->name, parser->path, sinter_dtype_name(entry->dtype),
                    srtDimsText(entry->dims, entry->rank, dims), entry->bytes);
  }
  return SINTER_OK;
}

static int compareNames(const void *a, const void *b) {
  return strcmp(((const SafetensorsEntry *)a)->name, ((const SafetensorsEntry *)b)->name);
}

static int comparePlaces(const void *a, const void *b) {
  const SafetensorsEntry *x = a, *y = b;
  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/// Data without gaps and overlaps, names that are distinct. Leaves the entries sorted by name.
static sinter_status_code checkEntries(sinter_safetensors *file, int64_t dataBytes) {
  int64_t end = 0;
  qsort(file->entries, (size_t)file->count, sizeof *file->entries, comparePlaces);
  for (int32_t i = 0; i < file->count; ++i) {
    if (file->entries[i].offset != end)
      return srtError(SINTER_CORRUPT,
                      "tensor '%s' of '%s' requires data at %" PRId64 ", behind the one before, got %" PRId64,
                      file->entries[i].name, file->path, end, file->entries[i].offset);
    end += file->entries[i].bytes;
  }
  if (end != dataBytes)
    return srtError(SINTER_CORRUPT,
                    "safetensors file '%s' requires tensors for %" PRId64 " bytes of data, got %" PRId64, file->path,
                    dataBytes, end);
  qsort(file->entries, (size_t)file->count, sizeof *file->entries, compareNames);
  for (int32_t i = 1; i < file->count; ++i)
    if (strcmp(file->entries[i - 1].name, file->entries[i].name) == 0)
      return srtError(SINTER_CORRUPT, "safetensors file '%s' names tensor '%s' twice", file->path,
                      file->entries[i].name);
  return SINTER_OK;
}

static sinter_status_code parseHeader(sinter_safetensors *file, int64_t headerBytes, int64_t dataBytes) {
  Parser parser = {.path = file->path,
                   .json = {file->header, file->header, file->header + headerBytes},
                   .nextName = file->names,
                   .dataBytes = dataBytes};
  Json *json = &parser.json;
  int32_t room = 0;
  if (headerBytes == 0 || *file->header != '{' || !srtJsonTake(json, '{'))
    return malformed(&parser, "'{'");
  if (!srtJsonTake(json, '}')) {
    do {
      const char *name = keepString(&parser);
      if (!name || !srtJsonTake(json, ':'))
        return malformed(&parser, "a name and ':'");
      sinter_status_code status;
      if (strcmp(name, "__metadata__") == 0) {
        status = readMetadata(&parser);
      } else {
        if (file->count == maxEntries)
          return srtError(SINTER_UNSUPPORTED, "safetensors file '%s' has more than %d tensors", file->path, maxEntries);
        if (file->count == room) {
          room = room ? 2 * room : 64;
          SafetensorsEntry *grown = realloc(file->entries, (size_t)room * sizeof *grown);
          if (!grown)
            return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", file->path);
          file->entries = grown;
        }
        SafetensorsEntry *entry = &file->entries[file->count++];
        *entry = (SafetensorsEntry){.name = name};
        status = readEntry(&parser, entry);
      }
      if (status)
        return status;
    } while (srtJsonTake(json, ','));
    if (!srtJsonTake(json, '}'))
      return malformed(&parser, "',' or '}'");
  }
  if (!srtJsonAtEnd(json))
    return malformed(&parser, "nothing but blanks");
  sinter_status_code status = checkEntries(file, dataBytes);
  for (int32_t i = 0; i < file->count; ++i)
    file->entries[i].offset += 8 + headerBytes;
  return status;
}

//===- Reading --------------------------------------------------------------------------------------===//

static sinter_status_code readHeader(sinter_safetensors *file, int64_t fileBytes) {
  unsigned char length[8];
  if (fileBytes < 8)
    return srtError(SINTER_CORRUPT, "safetensors file '%s' requires 8 bytes at least, got %" PRId64, file->path,
                    fileBytes);
  sinter_status_code status = srtReadAt(file->file, 0, length, 8, file->path);
  if (status)
    return status;
  uint64_t headerBytes = 0;
  for (int i = 7; i >= 0; --i)
    headerBytes = headerBytes << 8 | length[i];
  if (headerBytes > maxHeaderBytes || headerBytes > (uint64_t)fileBytes - 8)
    return srtError(SINTER_CORRUPT,
                    "safetensors file '%s' requires a header within its %" PRId64 " bytes and below %d, got %" PRIu64,
                    file->path, fileBytes, maxHeaderBytes, headerBytes);
  file->header = malloc(headerBytes + 1);
  file->names = malloc(headerBytes + maxDtypeBytes);
  if (!file->header || !file->names)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", file->path);
  status = srtReadAt(file->file, 8, file->header, (int64_t)headerBytes, file->path);
  return status ? status : parseHeader(file, (int64_t)headerBytes, fileBytes - 8 - (int64_t)headerBytes);
}

sinter_status_code sinter_safetensors_open(const char *path, sinter_safetensors **result) {
  if (!result || !path)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a path and a place for the file, got null");
  *result = NULL;
  sinter_safetensors *file = calloc(1, sizeof *file);
  if (file)
    file->path = strdup(path);
  if (!file || !file->path) {
    free(file);
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  }
  int64_t bytes;
  sinter_status_code status = srtOpenFile(path, &file->file, &bytes);
  if (status) {
    free(file->path);
    free(file);
    return status;
  }
  status = readHeader(file, bytes);
  if (status)
    sinter_safetensors_close(file);
  else
    *result = file;
  return status;
}

void sinter_safetensors_close(sinter_safetensors *file) {
  if (!file)
    return;
  close(file->file);
  free(file->entries);
  free(file->names);
  free(file->header);
  free(file->path);
  free(file);
}

int32_t sinter_safetensors_count(const sinter_safetensors *file) { return file ? file->count : 0; }

const char *sinter_safetensors_name(const sinter_safetensors *file, int32_t index) {
  return file && index >= 0 && index < file->count ? file->entries[index].name : NULL;
}

const SafetensorsEntry *srtSafetensorsFind(const sinter_safetensors *file, const char *name) {
  SafetensorsEntry key = {.name = name};
  return file->count ? bsearch(&key, file->entries, (size_t)file->count, sizeof key, compareNames) : NULL;
}

sinter_status_code srtSafetensorsRead(const sinter_safetensors *file, const SafetensorsEntry *entry, void *data) {
  if (!entry->bytes)
    return SINTER_OK;
  sinter_status_code status = srtReadAt(file->file, entry->offset, data, entry->bytes, file->path);
  if (!status && entry->dtype == SINTER_I1)
    srtNormalizeTruths(data, entry->bytes);
  return status;
}

sinter_status_code sinter_safetensors_read(const sinter_safetensors *file, const char *name, sinter_tensor *tensor) {
  if (!file || !name || !tensor)
    return srtError(SINTER_INVALID_ARGUMENT, "reading requires a file, a name and a place for the tensor, got null");
  memset(tensor, 0, sizeof *tensor);
  const SafetensorsEntry *entry = srtSafetensorsFind(file, name);
  if (!entry)
    return srtError(SINTER_INVALID_ARGUMENT, "safetensors file '%s' has no tensor '%s'", file->path, name);
  void *data = aligned_alloc(64, ((size_t)entry->bytes + 64) / 64 * 64);
  if (!data)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for tensor '%s' of %" PRId64 " bytes", name, entry->bytes);
  sinter_status_code status = srtSafetensorsRead(file, entry, data);
  if (status) {
    free(data);
    return status;
  }
  tensor->data = data;
  tensor->dtype = entry->dtype;
  tensor->rank = entry->rank;
  memcpy(tensor->dims, entry->dims, sizeof tensor->dims);
  return SINTER_OK;
}

//===- Writing --------------------------------------------------------------------------------------===//

/// Text that grows; after a failure `data` is null and stays so.
typedef struct Text {
  char *data;
  size_t used, room;
} Text;

static void append(Text *text, const char *bytes, size_t count) {
  if (!text->data)
    return;
  if (text->used + count > text->room) {
    text->room = 2 * (text->used + count);
    char *grown = realloc(text->data, text->room);
    if (!grown)
      free(text->data);
    text->data = grown;
    if (!grown)
      return;
  }
  memcpy(text->data + text->used, bytes, count);
  text->used += count;
}

static void appendNumber(Text *text, int64_t value) {
  char digits[24];
  append(text, digits, (size_t)snprintf(digits, sizeof digits, "%" PRId64, value));
}

static void appendString(Text *text, const char *string) {
  append(text, "\"", 1);
  for (; *string; ++string) {
    char escape[8];
    if (*string == '"' || *string == '\\' || (unsigned char)*string < 0x20)
      append(text, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*string));
    else
      append(text, string, 1);
  }
  append(text, "\"", 1);
}

static sinter_status_code describe(Text *text, const char *path, const char *const *names, const sinter_tensor *tensors,
                                   int32_t count) {
  int64_t offset = 0;
  append(text, "{", 1);
  for (int32_t i = 0; i < count; ++i) {
    const sinter_tensor *tensor = &tensors[i];
    const char *dtype = NULL;
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; ++k)
      if (dtypes[k].dtype == tensor->dtype)
        dtype = dtypes[k].name;
    if (names[i] && !dtype && sinter_dtype_bits(tensor->dtype))
      return srtError(SINTER_INVALID_ARGUMENT,
                      "tensor '%s' of '%s' requires an element type that safetensors files have, got %s", names[i],
                      path, sinter_dtype_name(tensor->dtype));
    int64_t elements, bytes;
    if (!names[i] || strcmp(names[i], "__metadata__") == 0 || !dtype || tensor->rank < 0 ||
        tensor->rank > SINTER_MAX_RANK ||
        !srtTensorBytes(tensor->dtype, tensor->rank, tensor->dims, &elements, &bytes) || (bytes && !tensor->data))
      return srtError(SINTER_INVALID_ARGUMENT, "tensor %d of '%s' requires a name, a dtype, dims of 0 or more and data",
                      i, path);
    append(text, i ? "," : "", i ? 1 : 0);
    appendString(text, names[i]);
    append(text, ":{\"dtype\":", 10);
    appendString(text, dtype);
    append(text, ",\"shape\":[", 10);
    for (int32_t d = 0; d < tensor->rank; ++d) {
      append(text, ",", d ? 1 : 0);
      appendNumber(text, tensor->dims[d]);
    }
    append(text, "],\"data_offsets\":[", 18);
    appendNumber(text, offset);
    if (__builtin_add_overflow(offset, bytes, &offset))
      return srtError(SINTER_INVALID_ARGUMENT, "safetensors file '%s' is too large", path);
    append(text, ",", 1);
    appendNumber(text, offset);
    append(text, "]}", 2);
  }
  append(text, "}", 1);
  while (text->data && (8 + text->used) % 64) // the data is aligned for those who map the file
    append(text, " ", 1);
  if (!text->data)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  if (text->used > maxHeaderBytes)
    return srtError(SINTER_INVALID_ARGUMENT, "safetensors file '%s' requires a header below %d bytes", path,
                    maxHeaderBytes);
  return SINTER_OK;
}

static int compareStrings(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static sinter_status_code requireDistinct(const char *path, const char *const *names, int32_t count) {
  const char **sorted = malloc(((size_t)count + 1) * sizeof *sorted);
  if (!sorted)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  memcpy(sorted, names, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compareStrings);
  sinter_status_code status = SINTER_OK;
  for (int32_t i = 1; i < count && !status; ++i)
    if (strcmp(sorted[i - 1], sorted[i]) == 0)
      status = srtError(SINTER_INVALID_ARGUMENT, "safetensors file '%s' requires distinct names, got '%s' twice", path,
                        sorted[i]);
  free(sorted);
  return status;
}

static sinter_status_code writeElements(int file, const sinter_tensor *tensor, const char *path) {
  int64_t count, bytes;
  srtTensorBytes(tensor->dtype, tensor->rank, tensor->dims, &count, &bytes);
  if (!bytes)
    return SINTER_OK;
  if (srtIsDense(tensor))
    return srtWriteAll(file, tensor->data, bytes, path);
  void *dense = malloc((size_t)bytes);
  if (!dense)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  srtCopyToDense(tensor, dense);
  sinter_status_code status = srtWriteAll(file, dense, bytes, path);
  free(dense);
  return status;
}

sinter_status_code sinter_safetensors_write(const char *path, const char *const *names, const sinter_tensor *tensors,
                                            int32_t count) {
  if (!path || count < 0 || (count && (!names || !tensors)))
    return srtError(SINTER_INVALID_ARGUMENT, "writing requires a path, names and tensors");
  Text text = {.data = malloc(1024), .room = 1024};
  sinter_status_code status = describe(&text, path, names, tensors, count);
  if (!status)
    status = requireDistinct(path, names, count);
  NewFile file;
  if (!status)
    status = srtCreateFile(path, &file);
  if (status) {
    free(text.data);
    return status;
  }
  file.durable = 1;
  unsigned char length[8];
  for (int i = 0; i < 8; ++i)
    length[i] = (unsigned char)((uint64_t)text.used >> 8 * i);
  status = srtWriteAll(file.file, length, 8, path);
  if (!status)
    status = srtWriteAll(file.file, text.data, (int64_t)text.used, path);
  free(text.data);
  for (int32_t i = 0; i < count && !status; ++i)
    status = writeElements(file.file, &tensors[i], path);
  return srtFinishFile(&file, status);
}
