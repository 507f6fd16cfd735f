// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Any bytes as the image of a code section, up to the table of functions, which no code of it has a part in. Changes go
// to the fields that the loader reads: headers, dynamic section, relocations, symbols, and the data that the table lies
// in.

#include "runtime/code.h"
#include "runtime/smod.h"
#include "runtime/table.h"
#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed);

static uint64_t nextNumber(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

/// A number that is near a limit, or near what was there.
static uint64_t oddNumber(uint64_t *state, uint64_t old) {
  static const uint64_t known[] = {0,     1,      2,         6,          7,          8,          16,        24,
                                   0xfff, 0x1000, 0x7ffffff, 0x3fffffff, 0x40000000, UINT32_MAX, INT64_MAX, UINT64_MAX};
  uint64_t kind = nextNumber(state) % 8;
  if (kind < 3)
    return known[nextNumber(state) % (sizeof known / sizeof *known)];
  if (kind < 6)
    return old + nextNumber(state) % 33 - 16;
  return kind == 6 ? old ^ UINT64_C(1) << nextNumber(state) % 64 : nextNumber(state) % 8192;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  Elf64_Ehdr header;
  uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
  if (size < sizeof header || nextNumber(&state) % 16 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  memcpy(&header, data, sizeof header);
  // Words of 8 bytes in the header, in the program headers, or anywhere else: tables are arrays of such.
  uint64_t where = nextNumber(&state) % 8, offset;
  if (where == 0)
    offset = nextNumber(&state) % sizeof header;
  else if (where < 3 && header.e_phoff < size)
    offset = header.e_phoff + nextNumber(&state) % (header.e_phnum * sizeof(Elf64_Phdr) + 1);
  else
    offset = nextNumber(&state) % size;
  size_t width = nextNumber(&state) % 3 == 0 ? 4 : 8;
  offset = offset / width * width;
  if (offset + width > size)
    return size;
  uint64_t word = 0;
  memcpy(&word, data + offset, width);
  word = oddNumber(&state, word);
  memcpy(data + offset, &word, width);
  return size;
}

/// A message may repeat a function's name, whatever that is.
static void requireMessage(void) {
  if (!*sinter_last_error())
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sinter_module module = {0};
  if (srtLoadCode("it", data, (int64_t)size, NULL, &module.code) == SINTER_OK) {
    if (!srtIsCodeOfMachine(data, (int64_t)size))
      abort();
    if (srtTakeTable(&module, module.code.functions) == SINTER_OK) {
      for (int32_t i = 0; i < module.numFunctions; ++i)
        if (!module.functions[i]->name || !srtCodeHolds(&module.code, module.functions[i], 1))
          abort();
    } else {
      requireMessage();
    }
    free(module.functions);
    srtUnloadCode(&module.code);
  } else {
    requireMessage();
  }
  sinter_code *code;
  if (sinter_code_load("it", data, (int64_t)size, &code) == SINTER_OK && !sinter_code_functions(code))
    abort();
  sinter_code_free(code);
  return 0;
}
