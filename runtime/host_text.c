// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Descriptions of hosts as text; host.h says how they look.

#include "file.h"
#include "host.h"
#include "status.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { maxTextBytes = 1 << 16, maxWords = 8 };

/// Reads a whole word as a number below 2^64.
static int readNumber(const char *word, int base, uint64_t *number) {
  if (!isxdigit((unsigned char)word[0]) || strlen(word) > 18)
    return 0;
  char *end;
  *number = strtoull(word, &end, base);
  return *end == 0;
}

static int readNumbers(char *const *words, int count, int base, uint64_t limit, uint64_t *numbers) {
  for (int i = 0; i < count; ++i)
    if (!readNumber(words[i], base, &numbers[i]) || numbers[i] > limit)
      return 0;
  return 1;
}

static int readCache(char *const *words, sinter_cache *caches) {
  uint64_t n[3];
  if (words[0][0] != 'L' || words[0][1] < '1' || words[0][1] > '3' || words[0][2] ||
      !readNumbers(words + 1, 3, 10, INT64_MAX, n))
    return 0;
  caches[words[0][1] - '1'] = (sinter_cache){(int64_t)n[0], (int64_t)n[1], (int64_t)n[2]};
  return 1;
}

/// One line's fact, split into words. 0 when it is none.
static int readFact(char *const *words, int count, sinter_host *host) {
  const char *kind = words[0];
  uint64_t n[6];
  if (strcmp(kind, "arch") == 0 && count == 2) {
    host->arch = strcmp(words[1], "x86-64") == 0    ? SINTER_ARCH_X86_64
                 : strcmp(words[1], "aarch64") == 0 ? SINTER_ARCH_AARCH64
                                                    : SINTER_ARCH_OTHER;
    return host->arch != SINTER_ARCH_OTHER;
  }
  if (strcmp(kind, "cpuid") == 0 && count == 7) {
    if (!readNumbers(words + 1, 6, 16, UINT32_MAX, n) || host->num_leaves == SINTER_HOST_MAX_LEAVES)
      return 0;
    host->leaves[host->num_leaves++] =
        (sinter_cpuid){(uint32_t)n[0], (uint32_t)n[1], (uint32_t)n[2], (uint32_t)n[3], (uint32_t)n[4], (uint32_t)n[5]};
    return 1;
  }
  if (strcmp(kind, "sysconf") == 0 && count == 5)
    return readCache(words + 1, host->sysconf_caches);
  if (strcmp(kind, "sysfs") == 0 && count == 5)
    return readCache(words + 1, host->sysfs_caches);
  if (strcmp(kind, "cores") == 0 && count == 4) {
    if (!readNumbers(words + 1, 3, 10, INT32_MAX, n))
      return 0;
    host->online_cores = (int32_t)n[0];
    host->affinity_cores = (int32_t)n[1];
    host->quota_percent = (int32_t)n[2];
    return 1;
  }
  uint64_t *registers[] = {&host->xcr0, &host->xcomp, &host->hwcap, &host->hwcap2, &host->midr};
  static const char *const names[] = {"xcr0", "xcomp", "hwcap", "hwcap2", "midr"};
  for (int i = 0; i < 5; ++i)
    if (strcmp(kind, names[i]) == 0 && count == 2)
      return readNumber(words[1], 16, registers[i]);
  return 0;
}

/// Cuts a line at its comment, which names the host if it is the first.
static void takeComment(char *line, sinter_host *host) {
  char *comment = strchr(line, '#');
  if (!comment)
    return;
  *comment++ = 0;
  while (*comment == ' ')
    ++comment;
  if (!host->name[0])
    snprintf(host->name, sizeof host->name, "%s", comment);
}

sinter_status_code sinter_host_parse(const char *text, const char *origin, sinter_host *host) {
  memset(host, 0, sizeof *host);
  for (int number = 1; *text; ++number) {
    char line[256];
    size_t length = strcspn(text, "\n");
    if (length >= sizeof line)
      return srtError(SINTER_INVALID_ARGUMENT, "%s:%d: a line of a host description requires below %zu bytes, got %zu",
                      origin, number, sizeof line, length);
    memcpy(line, text, length);
    line[length] = 0;
    text += length + (text[length] == '\n');
    takeComment(line, host);
    char *words[maxWords], *at = line;
    int count = 0;
    for (;;) {
      at += strspn(at, " \t\r");
      if (!*at || count == maxWords)
        break;
      words[count++] = at;
      at += strcspn(at, " \t\r");
      if (*at)
        *at++ = 0;
    }
    if (count && (*at || !readFact(words, count, host)))
      return srtError(SINTER_INVALID_ARGUMENT, "%s:%d: no fact of a host description: '%s'", origin, number, words[0]);
  }
  if (host->arch == SINTER_ARCH_OTHER)
    return srtError(SINTER_INVALID_ARGUMENT, "%s: a host description requires a line 'arch x86-64' or 'arch aarch64'",
                    origin);
  return SINTER_OK;
}

sinter_status_code sinter_host_read_file(const char *path, sinter_host *host) {
  memset(host, 0, sizeof *host);
  int file;
  int64_t bytes;
  sinter_status_code status = srtOpenFile(path, &file, &bytes);
  if (status)
    return status;
  char *text = NULL;
  if (bytes > maxTextBytes)
    status = srtError(SINTER_INVALID_ARGUMENT, "'%s': a host description requires at most %d bytes, got %" PRId64, path,
                      maxTextBytes, bytes);
  else if (!(text = calloc(1, (size_t)bytes + 1)))
    status = srtError(SINTER_OUT_OF_MEMORY, "no memory for '%s'", path);
  if (!status)
    status = srtReadAt(file, 0, text, bytes, path);
  close(file);
  if (!status)
    status = sinter_host_parse(text, path, host);
  free(text);
  return status;
}

//===- Printing -----------------------------------------------------------------------------------===//

typedef struct Printer {
  char *text;
  int64_t bytes, used;
} Printer;

__attribute__((format(printf, 2, 3))) static void put(Printer *to, const char *format, ...) {
  int64_t left = to->bytes > to->used ? to->bytes - to->used : 0;
  va_list arguments;
  va_start(arguments, format);
  int wrote = vsnprintf(left ? to->text + to->used : NULL, (size_t)left, format, arguments);
  va_end(arguments);
  to->used += wrote > 0 ? wrote : 0;
}

static void putCaches(Printer *to, const char *kind, const sinter_cache *caches) {
  for (int i = 0; i < 3; ++i)
    if (caches[i].bytes)
      put(to, "%s L%d %" PRId64 " %" PRId64 " %" PRId64 "\n", kind, i + 1, caches[i].bytes, caches[i].ways,
          caches[i].line_bytes);
}

static void putRegister(Printer *to, const char *name, uint64_t value) {
  if (value)
    put(to, "%s %" PRIx64 "\n", name, value);
}

int64_t sinter_host_print(const sinter_host *host, char *text, int64_t bytes) {
  Printer to = {text, bytes, 0};
  if (host->name[0])
    put(&to, "# %s\n", host->name);
  put(&to, "arch %s\n",
      host->arch == SINTER_ARCH_X86_64    ? "x86-64"
      : host->arch == SINTER_ARCH_AARCH64 ? "aarch64"
                                          : "other");
  for (int32_t i = 0; i < host->num_leaves; ++i) {
    const sinter_cpuid *leaf = &host->leaves[i];
    put(&to, "cpuid %x %x %08x %08x %08x %08x\n", leaf->leaf, leaf->subleaf, leaf->eax, leaf->ebx, leaf->ecx,
        leaf->edx);
  }
  putRegister(&to, "xcr0", host->xcr0);
  putRegister(&to, "xcomp", host->xcomp);
  putRegister(&to, "hwcap", host->hwcap);
  putRegister(&to, "hwcap2", host->hwcap2);
  putRegister(&to, "midr", host->midr);
  putCaches(&to, "sysconf", host->sysconf_caches);
  putCaches(&to, "sysfs", host->sysfs_caches);
  if (host->online_cores || host->affinity_cores || host->quota_percent)
    put(&to, "cores %d %d %d\n", host->online_cores, host->affinity_cores, host->quota_percent);
  return to.used + 1;
}
