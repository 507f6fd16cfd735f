// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names are LLVM's (llvm/TargetParser/X86TargetParser.def); bits are those of the vendors' manuals.

#include "cpu.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#if defined(__x86_64__)

enum {
  Leaf1Edx,
  Leaf1Ecx,
  Leaf7Ebx,
  Leaf7Ecx,
  Leaf7Edx,
  Leaf71Eax,
  Leaf71Edx,
  LeafD1Eax,
  Leaf14Ebx,
  Leaf19Ebx,
  Ext1Ecx,
  Ext1Edx,
  Ext8Ebx,
  NumWords
};

/// What the operating system must save for a feature to be usable.
enum { NoState, AvxState, Avx512State, AmxState };

typedef struct Feature {
  const char *name;
  uint8_t word, bit, state;
} Feature;

static const Feature features[] = {
    {"cmov", Leaf1Edx, 15, NoState},
    {"cx8", Leaf1Edx, 8, NoState},
    {"mmx", Leaf1Edx, 23, NoState},
    {"fxsr", Leaf1Edx, 24, NoState},
    {"sse", Leaf1Edx, 25, NoState},
    {"sse2", Leaf1Edx, 26, NoState},
    {"sse3", Leaf1Ecx, 0, NoState},
    {"pclmul", Leaf1Ecx, 1, NoState},
    {"ssse3", Leaf1Ecx, 9, NoState},
    {"fma", Leaf1Ecx, 12, AvxState},
    {"cx16", Leaf1Ecx, 13, NoState},
    {"sse4.1", Leaf1Ecx, 19, NoState},
    {"sse4.2", Leaf1Ecx, 20, NoState},
    {"crc32", Leaf1Ecx, 20, NoState},
    {"movbe", Leaf1Ecx, 22, NoState},
    {"popcnt", Leaf1Ecx, 23, NoState},
    {"aes", Leaf1Ecx, 25, NoState},
    {"xsave", Leaf1Ecx, 27, NoState}, // OSXSAVE: the operating system uses it
    {"avx", Leaf1Ecx, 28, AvxState},
    {"f16c", Leaf1Ecx, 29, AvxState},
    {"rdrnd", Leaf1Ecx, 30, NoState},
    {"fsgsbase", Leaf7Ebx, 0, NoState},
    {"sgx", Leaf7Ebx, 2, NoState},
    {"bmi", Leaf7Ebx, 3, NoState},
    {"avx2", Leaf7Ebx, 5, AvxState},
    {"bmi2", Leaf7Ebx, 8, NoState},
    {"invpcid", Leaf7Ebx, 10, NoState},
    {"rtm", Leaf7Ebx, 11, NoState},
    {"avx512f", Leaf7Ebx, 16, Avx512State},
    {"avx512dq", Leaf7Ebx, 17, Avx512State},
    {"rdseed", Leaf7Ebx, 18, NoState},
    {"adx", Leaf7Ebx, 19, NoState},
    {"avx512ifma", Leaf7Ebx, 21, Avx512State},
    {"clflushopt", Leaf7Ebx, 23, NoState},
    {"clwb", Leaf7Ebx, 24, NoState},
    {"avx512cd", Leaf7Ebx, 28, Avx512State},
    {"sha", Leaf7Ebx, 29, NoState},
    {"avx512bw", Leaf7Ebx, 30, Avx512State},
    {"avx512vl", Leaf7Ebx, 31, Avx512State},
    {"avx512vbmi", Leaf7Ecx, 1, Avx512State},
    {"pku", Leaf7Ecx, 4, NoState},
    {"waitpkg", Leaf7Ecx, 5, NoState},
    {"avx512vbmi2", Leaf7Ecx, 6, Avx512State},
    {"shstk", Leaf7Ecx, 7, NoState},
    {"gfni", Leaf7Ecx, 8, NoState},
    {"vaes", Leaf7Ecx, 9, AvxState},
    {"vpclmulqdq", Leaf7Ecx, 10, AvxState},
    {"avx512vnni", Leaf7Ecx, 11, Avx512State},
    {"avx512bitalg", Leaf7Ecx, 12, Avx512State},
    {"avx512vpopcntdq", Leaf7Ecx, 14, Avx512State},
    {"rdpid", Leaf7Ecx, 22, NoState},
    {"cldemote", Leaf7Ecx, 25, NoState},
    {"movdiri", Leaf7Ecx, 27, NoState},
    {"movdir64b", Leaf7Ecx, 28, NoState},
    {"enqcmd", Leaf7Ecx, 29, NoState},
    {"uintr", Leaf7Edx, 5, NoState},
    {"avx512vp2intersect", Leaf7Edx, 8, Avx512State},
    {"serialize", Leaf7Edx, 14, NoState},
    {"tsxldtrk", Leaf7Edx, 16, NoState},
    {"pconfig", Leaf7Edx, 18, NoState},
    {"amx-bf16", Leaf7Edx, 22, AmxState},
    {"avx512fp16", Leaf7Edx, 23, Avx512State},
    {"amx-tile", Leaf7Edx, 24, AmxState},
    {"amx-int8", Leaf7Edx, 25, AmxState},
    {"sha512", Leaf71Eax, 0, AvxState},
    {"sm3", Leaf71Eax, 1, AvxState},
    {"sm4", Leaf71Eax, 2, AvxState},
    {"raoint", Leaf71Eax, 3, NoState},
    {"avxvnni", Leaf71Eax, 4, AvxState},
    {"avx512bf16", Leaf71Eax, 5, Avx512State},
    {"cmpccxadd", Leaf71Eax, 7, NoState},
    {"amx-fp16", Leaf71Eax, 21, AmxState},
    {"hreset", Leaf71Eax, 22, NoState},
    {"avxifma", Leaf71Eax, 23, AvxState},
    {"avxvnniint8", Leaf71Edx, 4, AvxState},
    {"avxneconvert", Leaf71Edx, 5, AvxState},
    {"amx-complex", Leaf71Edx, 8, AmxState},
    {"avxvnniint16", Leaf71Edx, 10, AvxState},
    {"prefetchi", Leaf71Edx, 14, NoState},
    {"usermsr", Leaf71Edx, 15, NoState},
    {"xsaveopt", LeafD1Eax, 0, NoState},
    {"xsavec", LeafD1Eax, 1, NoState},
    {"xsaves", LeafD1Eax, 3, NoState},
    {"ptwrite", Leaf14Ebx, 4, NoState},
    {"kl", Leaf19Ebx, 0, NoState},
    {"widekl", Leaf19Ebx, 2, NoState},
    {"sahf", Ext1Ecx, 0, NoState},
    {"lzcnt", Ext1Ecx, 5, NoState},
    {"sse4a", Ext1Ecx, 6, NoState},
    {"prfchw", Ext1Ecx, 8, NoState},
    {"xop", Ext1Ecx, 11, AvxState},
    {"lwp", Ext1Ecx, 15, NoState},
    {"fma4", Ext1Ecx, 16, AvxState},
    {"tbm", Ext1Ecx, 21, NoState},
    {"mwaitx", Ext1Ecx, 29, NoState},
    {"64bit", Ext1Edx, 29, NoState},
    {"clzero", Ext8Ebx, 0, NoState},
    {"rdpru", Ext8Ebx, 4, NoState},
    {"wbnoinvd", Ext8Ebx, 9, NoState},
};

static const struct {
  const char *name, *features;
} levels[] = {
    {"x86-64", "cmov cx8 fxsr mmx sse sse2"},
    {"x86-64-v2", "cmov cx8 fxsr mmx sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf"},
    {"x86-64-v3", "cmov cx8 fxsr mmx sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf avx avx2 bmi bmi2 f16c fma "
                  "lzcnt movbe xsave"},
    {"x86-64-v4", "cmov cx8 fxsr mmx sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf avx avx2 bmi bmi2 f16c fma "
                  "lzcnt movbe xsave avx512f avx512bw avx512cd avx512dq avx512vl"},
};

typedef struct Machine {
  uint32_t words[NumWords];
  int states[4];
} Machine;

static void readMachine(Machine *machine) {
  memset(machine, 0, sizeof *machine);
  uint32_t *w = machine->words, a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    w[Leaf1Edx] = d;
    // XSAVE counts as usable when the operating system turned it on.
    w[Leaf1Ecx] = c;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    w[Leaf7Ebx] = b;
    w[Leaf7Ecx] = c;
    w[Leaf7Edx] = d;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
      w[Leaf71Eax] = a;
      w[Leaf71Edx] = d;
    }
  }
  if (__get_cpuid_count(0xD, 1, &a, &b, &c, &d))
    w[LeafD1Eax] = a;
  if (__get_cpuid_count(0x14, 0, &a, &b, &c, &d))
    w[Leaf14Ebx] = b;
  if (__get_cpuid_count(0x19, 0, &a, &b, &c, &d))
    w[Leaf19Ebx] = b;
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    w[Ext1Ecx] = c;
    w[Ext1Edx] = d;
  }
  if (__get_cpuid(0x80000008, &a, &b, &c, &d))
    w[Ext8Ebx] = b;

  machine->states[NoState] = 1;
  if (w[Leaf1Ecx] >> 27 & 1) { // the operating system uses XSAVE
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    machine->states[AvxState] = (low & 0x6) == 0x6;
    machine->states[Avx512State] = (low & 0xE6) == 0xE6;
    machine->states[AmxState] = (low & 0x60000) == 0x60000;
  }
}

static int hasFeature(const Machine *machine, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i) {
    const Feature *f = &features[i];
    if (strlen(f->name) == length && memcmp(f->name, name, length) == 0)
      return (machine->words[f->word] >> f->bit & 1) && machine->states[f->state];
  }
  return 0;
}

#elif defined(__aarch64__)

static const struct {
  const char *name;
  int hwcap2;
  int bit;
} features[] = {
    {"fp-armv8", 0, 0}, {"neon", 0, 1},      {"aes", 0, 3},   {"sha2", 0, 6},     {"crc", 0, 7},
    {"lse", 0, 8},      {"fullfp16", 0, 10}, {"rdm", 0, 12},  {"dotprod", 0, 20}, {"fp16fml", 0, 23},
    {"sve", 0, 22},     {"sve2", 1, 1},      {"i8mm", 1, 13}, {"bf16", 1, 14},
};
static const struct {
  const char *name, *features;
} levels[] = {{"aarch64", "fp-armv8 neon"}};

typedef struct Machine {
  unsigned long words[2];
} Machine;

static void readMachine(Machine *machine) {
  machine->words[0] = getauxval(AT_HWCAP);
  machine->words[1] = getauxval(AT_HWCAP2);
}

static int hasFeature(const Machine *machine, const char *name, size_t length) {
  for (size_t i = 0; i < sizeof features / sizeof *features; ++i)
    if (strlen(features[i].name) == length && memcmp(features[i].name, name, length) == 0)
      return (int)(machine->words[features[i].hwcap2] >> features[i].bit & 1);
  return 0;
}

#endif

static int hasAll(const Machine *machine, const char *list, char *missing, size_t missingBytes) {
  for (const char *at = list; *at;) {
    size_t length = strcspn(at, " ,");
    const char *name = at;
    at += length + (at[length] != 0);
    if (length == 0 || *name == '-')
      continue;
    if (*name == '+') {
      ++name;
      --length;
    }
    const char *level = NULL;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i)
      if (strlen(levels[i].name) == length && memcmp(levels[i].name, name, length) == 0)
        level = levels[i].features;
    if (level ? hasAll(machine, level, missing, missingBytes) : hasFeature(machine, name, length))
      continue;
    if (!level)
      snprintf(missing, missingBytes, "%.*s", (int)(length < 64 ? length : 64), name);
    return 0;
  }
  return 1;
}

int srtCpuHas(const char *list, char *missing, size_t missingBytes) {
  if (missingBytes)
    *missing = 0;
  if (!list || !*list)
    return 1;
  Machine machine;
  readMachine(&machine);
  return hasAll(&machine, list, missing, missingBytes);
}
