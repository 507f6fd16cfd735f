// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code in memory: the ELF shared objects of code sections, loaded without a file. The system's loader would
// need one (and a descriptor for as long as the code lives), runs what an image asks it to, and trusts every number in
// it. Ours takes exactly what Sinter's linker makes and refuses the rest before a byte of it is used:
//
//   ELF64, little-endian, ET_DYN, of this machine; at most 16 program headers
//   PT_LOAD    in ascending order, inside the file, on pages of their own; R, RX (one) or RW, never WX
//   PT_DYNAMIC one; tables for symbols, strings, GNU hash and relocations, and flags that ask for what is done anyway
//   PT_PHDR, PT_GNU_RELRO (which becomes read-only after relocation), PT_GNU_STACK (not executable); nothing else:
//              no interpreter, no thread-local storage
//   relocations: relative, and addresses of symbols of the image or of the functions below; no DT_INIT and its like
//   imports    functions of C and of its mathematics that srtFindImport knows, whatever libraries (libc, libm) it
//              names, the devices of the module, and ops that the program registered
//
// What it gives up: dladdr and dl_iterate_phdr do not know the code. Compiled code has no unwind tables in either case.

#ifndef SINTER_RUNTIME_CODE_H
#define SINTER_RUNTIME_CODE_H

#include "devices.h"

/// Most bytes of an image, in the file and in memory.
#define SRT_MAX_CODE_BYTES (INT64_C(1) << 30)

typedef struct Code {
  char *base;                              // of address 0 of the image
  int64_t bytes;                           // of the image in memory
  int64_t text, textBytes;                 // where in it instructions are
  const sinter_function *const *functions; // `sinter_functions`, which the image must export
} Code;

/// Loads `image`, copying it. `devices` (null: none) are those that it may call. Messages begin with "cannot load the
/// code of 'path': ". Fails with SINTER_CORRUPT (what our linker does not make), SINTER_UNSUPPORTED (another machine's,
/// an import that this runtime does not offer), SINTER_OUT_OF_MEMORY or SINTER_LIMIT (the system does not let memory
/// become executable).
sinter_status_code srtLoadCode(const char *path, const void *image, int64_t bytes, const Devices *devices, Code *code);

/// Nothing is done for a Code of zeros.
void srtUnloadCode(Code *code);

/// True when `image` begins as an ELF file of this machine does.
int srtIsCodeOfMachine(const void *image, int64_t bytes);

/// True when [pointer, pointer + bytes) lies in the loaded image.
int srtCodeHolds(const Code *code, const void *pointer, int64_t bytes);

/// True when `pointer` is among the image's instructions.
int srtCodeRuns(const Code *code, const void *pointer);

/// The function called `name` that compiled code may call, or null.
void *srtFindImport(const char *name);

#endif
