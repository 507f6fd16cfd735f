// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's archive of arrays: a zip file of `.npy` members, stored or deflated. Only the central directory
// is believed, since numpy leaves the sizes of local headers to zip64 fields.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

#include "file.h"
#include "hash.h"
#include "inflate.h"
#include "npy.h"
#include "status.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Larger directories are refused; numpy writes some 60 bytes an array.
static const int64_t maxDirectoryBytes = 64 << 20;

enum { endBytes = 22, zip64LocatorBytes = 20, zip64EndBytes = 56, entryBytes = 46, localBytes = 30 };
enum {
  entrySignature = 0x02014b50,
  localSignature = 0x04034b50,
  endSignature = 0x06054b50,
  zip64EndSignature = 0x06064b50,
  zip64LocatorSignature = 0x07064b50
};

typedef struct Member {
  char *name; // in the directory's memory, ".npy" cut off
  int method;
  uint32_t crc;
  int64_t packedBytes, bytes;
  int64_t offset; // of the local header
} Member;

struct sinter_npz {
  int file;
  int64_t fileBytes;
  char *path;
  char *directory;
  int64_t directoryOffset, directoryBytes;
  Member *members;
  int32_t count;
};

static uint32_t read16(const char *at) { return (unsigned char)at[0] | (uint32_t)(unsigned char)at[1] << 8; }
static uint32_t read32(const char *at) { return read16(at) | read16(at + 2) << 16; }
static uint64_t read64(const char *at) { return read32(at) | (uint64_t)read32(at + 4) << 32; }

static sinter_status_code damaged(const sinter_npz *npz, const char *what) {
  return srtError(SINTER_CORRUPT, "archive '%s' is no zip file that numpy writes: %s", npz->path, what);
}

//===- Directory ----------------------------------------------------------------------------------===//

/// Finds the end record, which a comment of up to 64 KiB may follow, and the place of the directory.
static sinter_status_code findDirectory(sinter_npz *npz, uint64_t *numEntries) {
  int64_t tailBytes =
      npz->fileBytes < endBytes + 65535 + zip64LocatorBytes ? npz->fileBytes : endBytes + 65535 + zip64LocatorBytes;
  int64_t tailOffset = npz->fileBytes - tailBytes;
  char *tail = malloc((size_t)tailBytes + 1);
  if (!tail)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", npz->path);
  sinter_status_code status = srtReadAt(npz->file, tailOffset, tail, tailBytes, npz->path);
  int64_t end = tailBytes - endBytes;
  while (!status && end >= 0 &&
         (read32(tail + end) != endSignature || (int64_t)read16(tail + end + 20) != tailBytes - end - endBytes))
    --end;
  if (!status && end < 0)
    status = damaged(npz, "no end of the central directory");
  if (status) {
    free(tail);
    return status;
  }
  *numEntries = read16(tail + end + 10);
  uint64_t bytes = read32(tail + end + 12), offset = read32(tail + end + 16);
  uint64_t limit = (uint64_t)(tailOffset + end);
  if ((*numEntries == 0xFFFF || bytes == 0xFFFFFFFF || offset == 0xFFFFFFFF) && end >= zip64LocatorBytes &&
      read32(tail + end - zip64LocatorBytes) == zip64LocatorSignature) {
    uint64_t at = read64(tail + end - zip64LocatorBytes + 8);
    char record[zip64EndBytes];
    if (at > limit || limit - at < zip64EndBytes)
      status = damaged(npz, "a zip64 end record outside of the file");
    else
      status = srtReadAt(npz->file, (int64_t)at, record, sizeof record, npz->path);
    if (!status && read32(record) != zip64EndSignature)
      status = damaged(npz, "no zip64 end record where the locator points");
    if (!status) {
      *numEntries = read64(record + 32);
      bytes = read64(record + 40);
      offset = read64(record + 48);
      limit = at;
    }
  }
  free(tail);
  if (status)
    return status;
  if (offset > limit || bytes > limit - offset || bytes > (uint64_t)maxDirectoryBytes)
    return damaged(npz, "a central directory outside of the file");
  if (*numEntries > bytes / entryBytes)
    return damaged(npz, "more entries than the central directory has room for");
  npz->directoryOffset = (int64_t)offset;
  npz->directoryBytes = (int64_t)bytes;
  return SINTER_OK;
}

/// Replaces the sizes that do not fit in 32 bits by those of the zip64 field, in this order.
static int readZip64(const char *extra, int64_t extraBytes, uint64_t *bytes, uint64_t *packed, uint64_t *offset) {
  uint64_t *values[3] = {bytes, packed, offset};
  while (extraBytes >= 4) {
    int64_t id = read16(extra), size = read16(extra + 2);
    extra += 4;
    extraBytes -= 4;
    if (size > extraBytes)
      return 0;
    if (id == 1) {
      for (int i = 0; i < 3; ++i) {
        if (*values[i] != 0xFFFFFFFF)
          continue;
        if (size < 8)
          return 0;
        *values[i] = read64(extra);
        extra += 8;
        size -= 8;
      }
      return 1;
    }
    extra += size;
    extraBytes -= size;
  }
  return 1;
}

static sinter_status_code readEntries(sinter_npz *npz, uint64_t numEntries) {
  npz->directory = malloc((size_t)npz->directoryBytes + 1);
  npz->members = calloc((size_t)numEntries + 1, sizeof *npz->members);
  if (!npz->directory || !npz->members)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", npz->path);
  sinter_status_code status =
      srtReadAt(npz->file, npz->directoryOffset, npz->directory, npz->directoryBytes, npz->path);
  if (status)
    return status;
  char *at = npz->directory, *end = at + npz->directoryBytes;
  for (uint64_t i = 0; i < numEntries; ++i) {
    if (end - at < entryBytes || read32(at) != entrySignature)
      return damaged(npz, "a damaged central directory");
    int64_t nameBytes = read16(at + 28), extraBytes = read16(at + 30), commentBytes = read16(at + 32);
    if (end - at - entryBytes < nameBytes + extraBytes + commentBytes)
      return damaged(npz, "an entry that leaves the central directory");
    uint32_t flags = read16(at + 8), method = read16(at + 10), crc = read32(at + 16);
    uint64_t packed = read32(at + 20), bytes = read32(at + 24), offset = read32(at + 42);
    char *name = at + entryBytes;
    if (!readZip64(name + nameBytes, extraBytes, &bytes, &packed, &offset))
      return damaged(npz, "a damaged zip64 field");
    at = name + nameBytes + extraBytes + commentBytes;
    if (nameBytes < 5 || memcmp(name + nameBytes - 4, ".npy", 4) != 0)
      continue; // not an array
    name[nameBytes - 4] = 0;
    if (strlen(name) != (size_t)nameBytes - 4)
      return damaged(npz, "a name with a zero byte");
    if (flags & 1)
      return srtError(SINTER_UNSUPPORTED, "array '%s' of '%s' is encrypted", name, npz->path);
    if (method != 0 && method != 8)
      return srtError(SINTER_UNSUPPORTED,
                      "array '%s' of '%s' has compression method %u; 0 (stored) and 8 (deflate) are supported", name,
                      npz->path, method);
    if (offset > (uint64_t)npz->directoryOffset || packed > (uint64_t)npz->directoryOffset - offset ||
        (method == 0 && packed != bytes) || bytes / SRT_INFLATE_MAX_RATIO > packed)
      return srtError(SINTER_CORRUPT, "array '%s' of '%s' states sizes that cannot be", name, npz->path);
    npz->members[npz->count++] = (Member){.name = name,
                                          .method = (int)method,
                                          .crc = crc,
                                          .packedBytes = (int64_t)packed,
                                          .bytes = (int64_t)bytes,
                                          .offset = (int64_t)offset};
  }
  return SINTER_OK;
}

sinter_status_code sinter_npz_open(const char *path, sinter_npz **result) {
  if (!result)
    return srtError(SINTER_INVALID_ARGUMENT, "opening requires a place for the archive, got null");
  *result = NULL;
  int file;
  int64_t bytes;
  sinter_status_code status = srtOpenFile(path, &file, &bytes);
  if (status)
    return status;
  sinter_npz *npz = calloc(1, sizeof *npz);
  if (!npz) {
    close(file);
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  }
  npz->file = file;
  npz->fileBytes = bytes;
  size_t length = strlen(path) + 1;
  npz->path = malloc(length);
  uint64_t numEntries = 0;
  if (npz->path)
    memcpy(npz->path, path, length);
  else
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory to open '%s'", path);
  if (!status)
    status = findDirectory(npz, &numEntries);
  if (!status)
    status = readEntries(npz, numEntries);
  if (status)
    sinter_npz_close(npz);
  else
    *result = npz;
  return status;
}

void sinter_npz_close(sinter_npz *npz) {
  if (!npz)
    return;
  close(npz->file);
  free(npz->path);
  free(npz->directory);
  free(npz->members);
  free(npz);
}

int32_t sinter_npz_count(const sinter_npz *npz) { return npz ? npz->count : 0; }

const char *sinter_npz_name(const sinter_npz *npz, int32_t index) {
  return npz && index >= 0 && index < npz->count ? npz->members[index].name : NULL;
}

//===- Reading ------------------------------------------------------------------------------------===//

/// Reads and expands a member into `data`, room for `member->bytes`.
static sinter_status_code readMember(const sinter_npz *npz, const Member *member, char *data) {
  char local[localBytes];
  if (npz->directoryOffset - member->offset < localBytes)
    return srtError(SINTER_CORRUPT, "array '%s' of '%s' lies outside of the file", member->name, npz->path);
  sinter_status_code status = srtReadAt(npz->file, member->offset, local, localBytes, npz->path);
  if (status)
    return status;
  int64_t start = member->offset + localBytes + read16(local + 26) + read16(local + 28);
  if (read32(local) != localSignature || start > npz->directoryOffset ||
      member->packedBytes > npz->directoryOffset - start)
    return srtError(SINTER_CORRUPT, "array '%s' of '%s' lies outside of the file", member->name, npz->path);
  if (member->method == 0) {
    status = srtReadAt(npz->file, start, data, member->bytes, npz->path);
  } else {
    unsigned char *packed = malloc((size_t)member->packedBytes + 1);
    if (!packed)
      return srtError(SINTER_OUT_OF_MEMORY, "no memory for array '%s' of '%s'", member->name, npz->path);
    status = srtReadAt(npz->file, start, packed, member->packedBytes, npz->path);
    const char *error = NULL;
    if (!status)
      error = srtInflate(packed, member->packedBytes, (unsigned char *)data, member->bytes);
    free(packed);
    if (error)
      return srtError(SINTER_CORRUPT, "array '%s' of '%s' is damaged: deflate stream with %s", member->name, npz->path,
                      error);
  }
  if (!status && srtCrc32(0, data, member->bytes) != member->crc)
    return srtError(SINTER_CORRUPT, "array '%s' of '%s' is damaged: checksum", member->name, npz->path);
  return status;
}

sinter_status_code sinter_npz_read(const sinter_npz *npz, const char *name, sinter_tensor *tensor) {
  if (!npz || !name || !tensor)
    return srtError(SINTER_INVALID_ARGUMENT,
                    "reading requires an archive, a name and a place for the tensor, got null");
  memset(tensor, 0, sizeof *tensor);
  const Member *member = NULL;
  for (int32_t i = 0; i < npz->count && !member; ++i)
    if (strcmp(npz->members[i].name, name) == 0)
      member = &npz->members[i];
  if (!member)
    return srtError(SINTER_INVALID_ARGUMENT, "archive '%s' has no array '%s'", npz->path, name);
  char *data = srtNpyAllocate(member->bytes);
  if (!data)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory for array '%s' of %" PRId64 " bytes", name, member->bytes);
  NpyHeader header;
  int64_t headerBytes = 0;
  sinter_status_code status = readMember(npz, member, data);
  if (!status)
    status = srtNpyPrefix(data, member->bytes, &headerBytes, name);
  if (!status && headerBytes > member->bytes)
    status = srtError(SINTER_CORRUPT, "array '%s' is truncated in its header", name);
  if (!status)
    status = srtNpyHeader(data, headerBytes, &header, name);
  if (!status && header.dataBytes != member->bytes - headerBytes)
    status = srtError(SINTER_CORRUPT, "array '%s' requires %" PRId64 " bytes of data, got %" PRId64, name,
                      header.dataBytes, member->bytes - headerBytes);
  if (status) {
    free(data);
    return status;
  }
  memmove(data, data + headerBytes, (size_t)header.dataBytes);
  return srtNpyTensor(&header, data, tensor, name);
}

//===- Writing ------------------------------------------------------------------------------------===//

static void write16(char *at, uint32_t value) {
  at[0] = (char)(value & 0xFF);
  at[1] = (char)(value >> 8);
}

static void write32(char *at, uint32_t value) {
  write16(at, value & 0xFFFF);
  write16(at + 2, value >> 16);
}

/// What the local header and the directory say alike, from the version needed to the name's length.
static void writeFields(char *at, uint32_t crc, int64_t bytes, size_t nameBytes) {
  write16(at, 20);          // version needed
  write16(at + 2, 1 << 11); // names are UTF-8
  write16(at + 8, 0x21);    // 1980-01-01, so that equal arrays give equal files
  write32(at + 10, crc);
  write32(at + 14, (uint32_t)bytes);
  write32(at + 18, (uint32_t)bytes);
  write16(at + 22, (uint32_t)nameBytes);
}

typedef struct Writer {
  NewFile file;
  int64_t offset;
  char *directory;
  int64_t directoryBytes;
} Writer;

static sinter_status_code append(Writer *writer, const void *data, int64_t bytes) {
  writer->offset += bytes;
  return srtWriteAll(writer->file.file, data, bytes, writer->file.path);
}

static sinter_status_code appendMember(Writer *writer, const char *name, const sinter_tensor *tensor) {
  const void *dense;
  int64_t dataBytes;
  void *copy;
  sinter_status_code status = srtNpyDense(tensor, &dense, &dataBytes, &copy, name);
  if (status)
    return status;
  char header[SRT_NPY_HEADER_ROOM];
  int64_t headerBytes = srtNpyWriteHeader(tensor, header), bytes = headerBytes + dataBytes;
  size_t nameBytes = strlen(name) + 4;
  if (bytes >= UINT32_MAX || writer->offset >= UINT32_MAX - bytes - 70000) {
    free(copy);
    return srtError(SINTER_UNSUPPORTED, "archive '%s' requires less than 4 GiB, array '%s' exceeds it",
                    writer->file.path, name);
  }
  uint32_t crc = srtCrc32(srtCrc32(0, header, headerBytes), dense, dataBytes);
  char *entry = writer->directory + writer->directoryBytes;
  memset(entry, 0, entryBytes);
  write32(entry, entrySignature);
  write16(entry + 4, 20);
  writeFields(entry + 6, crc, bytes, nameBytes);
  write32(entry + 42, (uint32_t)writer->offset);
  memcpy(entry + entryBytes, name, nameBytes - 4);
  memcpy(entry + entryBytes + nameBytes - 4, ".npy", 4);
  writer->directoryBytes += entryBytes + (int64_t)nameBytes;

  char local[localBytes] = {0};
  write32(local, localSignature);
  writeFields(local + 4, crc, bytes, nameBytes);
  status = append(writer, local, localBytes);
  if (!status)
    status = append(writer, entry + entryBytes, (int64_t)nameBytes);
  if (!status)
    status = append(writer, header, headerBytes);
  if (!status)
    status = append(writer, dense, dataBytes);
  free(copy);
  return status;
}

static sinter_status_code checkNames(const char *path, const char *const *names, int32_t count, int64_t *total) {
  *total = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (!names[i] || !*names[i] || strlen(names[i]) > 60000)
      return srtError(SINTER_INVALID_ARGUMENT, "array %d of '%s' requires a name of 1 to 60000 bytes", i, path);
    for (int32_t j = 0; j < i; ++j)
      if (strcmp(names[i], names[j]) == 0)
        return srtError(SINTER_INVALID_ARGUMENT, "archive '%s' requires different names, got '%s' twice", path,
                        names[i]);
    *total += entryBytes + 4 + (int64_t)strlen(names[i]);
  }
  return SINTER_OK;
}

sinter_status_code sinter_npz_write(const char *path, const char *const *names, const sinter_tensor *tensors,
                                    int32_t count) {
  if (!path || count < 0 || count > 65000 || (count && (!names || !tensors)))
    return srtError(SINTER_INVALID_ARGUMENT, "writing an archive requires a path and 0 to 65000 arrays, got %d", count);
  int64_t directoryBytes;
  sinter_status_code status = checkNames(path, names, count, &directoryBytes);
  if (status)
    return status;
  Writer writer = {.directory = malloc((size_t)directoryBytes + 1)};
  if (!writer.directory)
    return srtError(SINTER_OUT_OF_MEMORY, "no memory to write '%s'", path);
  status = srtCreateFile(path, &writer.file);
  if (status) {
    free(writer.directory);
    return status;
  }
  for (int32_t i = 0; i < count && !status; ++i)
    status = appendMember(&writer, names[i], &tensors[i]);
  char end[endBytes] = {0};
  write32(end, endSignature);
  write16(end + 8, (uint32_t)count);
  write16(end + 10, (uint32_t)count);
  write32(end + 12, (uint32_t)writer.directoryBytes);
  write32(end + 16, (uint32_t)writer.offset);
  if (!status)
    status = append(&writer, writer.directory, writer.directoryBytes);
  if (!status)
    status = append(&writer, end, endBytes);
  free(writer.directory);
  return srtFinishFile(&writer.file, status);
}
