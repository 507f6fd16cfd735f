// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code may use on a described host. Names are LLVM's; bits are those of the vendors' manuals and of Linux' hwcaps.

#include "cpu.h"
#include "threads.h"
#include <stdio.h>
#include <string.h>

/// The words that bits are looked up in.
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
  Leaf1E1Eax,
  Avx10, // bit N: version N of AVX10
  Ext1Ecx,
  Ext1Edx,
  Ext8Ebx,
  Hwcap,
  Hwcap2
};

/// What the operating system must save for an extension to be usable.
enum { NoState, AvxState, Avx512State, AmxState, ApxState };

typedef struct Extension {
  const char *name;
  uint8_t word, bit, state;
} Extension;

static const Extension x86Extensions[] = {
    {"x87", Leaf1Edx, 0, NoState},
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
    {"movrs", Leaf71Eax, 31, NoState},
    {"avxvnniint8", Leaf71Edx, 4, AvxState},
    {"avxneconvert", Leaf71Edx, 5, AvxState},
    {"amx-complex", Leaf71Edx, 8, AmxState},
    {"avxvnniint16", Leaf71Edx, 10, AvxState},
    {"prefetchi", Leaf71Edx, 14, NoState},
    {"usermsr", Leaf71Edx, 15, NoState},
    {"ccmp", Leaf71Edx, 21, ApxState},
    {"cf", Leaf71Edx, 21, ApxState},
    {"egpr", Leaf71Edx, 21, ApxState},
    {"ndd", Leaf71Edx, 21, ApxState},
    {"nf", Leaf71Edx, 21, ApxState},
    {"ppx", Leaf71Edx, 21, ApxState},
    {"push2pop2", Leaf71Edx, 21, ApxState},
    {"zu", Leaf71Edx, 21, ApxState},
    {"xsaveopt", LeafD1Eax, 0, NoState},
    {"xsavec", LeafD1Eax, 1, NoState},
    {"xsaves", LeafD1Eax, 3, NoState},
    {"ptwrite", Leaf14Ebx, 4, NoState},
    {"kl", Leaf19Ebx, 0, NoState},
    {"widekl", Leaf19Ebx, 2, NoState},
    {"amx-fp8", Leaf1E1Eax, 4, AmxState},
    {"amx-tf32", Leaf1E1Eax, 6, AmxState},
    {"amx-avx512", Leaf1E1Eax, 7, AmxState},
    {"amx-movrs", Leaf1E1Eax, 8, AmxState},
    {"avx10.1", Avx10, 1, Avx512State},
    {"avx10.2", Avx10, 2, Avx512State},
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

static const Extension armExtensions[] = {
    {"fp-armv8", Hwcap, 0, NoState},     {"neon", Hwcap, 1, NoState},         {"aes", Hwcap, 4, NoState}, // PMULL, too
    {"sha2", Hwcap, 6, NoState},         {"crc", Hwcap, 7, NoState},          {"lse", Hwcap, 8, NoState},
    {"fullfp16", Hwcap, 10, NoState},    {"rdm", Hwcap, 12, NoState},         {"jsconv", Hwcap, 13, NoState},
    {"complxnum", Hwcap, 14, NoState},   {"rcpc", Hwcap, 15, NoState},        {"ccpp", Hwcap, 16, NoState},
    {"sha3", Hwcap, 17, NoState},        {"sm4", Hwcap, 19, NoState},         {"dotprod", Hwcap, 20, NoState},
    {"sve", Hwcap, 22, NoState},         {"fp16fml", Hwcap, 23, NoState},     {"dit", Hwcap, 24, NoState},
    {"lse2", Hwcap, 25, NoState},        {"rcpc-immo", Hwcap, 26, NoState},   {"flagm", Hwcap, 27, NoState},
    {"ssbs", Hwcap, 28, NoState},        {"sb", Hwcap, 29, NoState},          {"pauth", Hwcap, 30, NoState},
    {"sve2", Hwcap2, 1, NoState},        {"sve-aes", Hwcap2, 3, NoState},     {"sve-bitperm", Hwcap2, 4, NoState},
    {"sve-sha3", Hwcap2, 5, NoState},    {"sve-sm4", Hwcap2, 6, NoState},     {"altnzcv", Hwcap2, 7, NoState},
    {"fptoint", Hwcap2, 8, NoState},     {"f32mm", Hwcap2, 10, NoState},      {"f64mm", Hwcap2, 11, NoState},
    {"i8mm", Hwcap2, 13, NoState},       {"bf16", Hwcap2, 14, NoState},       {"rand", Hwcap2, 16, NoState},
    {"bti", Hwcap2, 17, NoState},        {"mte", Hwcap2, 18, NoState},        {"sme", Hwcap2, 23, NoState},
    {"sme-i16i64", Hwcap2, 24, NoState}, {"sme-f64f64", Hwcap2, 25, NoState}, {"sme-fa64", Hwcap2, 30, NoState},
    {"wfxt", Hwcap2, 31, NoState},       {"cssc", Hwcap2, 34, NoState},       {"sve2p1", Hwcap2, 36, NoState},
    {"sme2", Hwcap2, 37, NoState},       {"sme2p1", Hwcap2, 38, NoState},     {"mops", Hwcap2, 43, NoState},
    {"hbc", Hwcap2, 44, NoState},        {"sve-b16b16", Hwcap2, 45, NoState}, {"rcpc3", Hwcap2, 46, NoState},
    {"lse128", Hwcap2, 47, NoState},     {"lut", Hwcap2, 49, NoState},        {"faminmax", Hwcap2, 50, NoState},
    {"fp8", Hwcap2, 51, NoState},        {"fp8fma", Hwcap2, 52, NoState},     {"fp8dot4", Hwcap2, 53, NoState},
    {"fp8dot2", Hwcap2, 54, NoState},
};

enum { numX86 = sizeof x86Extensions / sizeof *x86Extensions, numArm = sizeof armExtensions / sizeof *armExtensions };

static const struct {
  const char *name, *extensions;
  int32_t arch;
} levels[] = {
    // The highest first; each holds those below it.
    {"x86-64-v4", "x86-64-v3 avx512f avx512bw avx512cd avx512dq avx512vl", SINTER_ARCH_X86_64},
    {"x86-64-v3", "x86-64-v2 avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave", SINTER_ARCH_X86_64},
    {"x86-64-v2", "x86-64 sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf", SINTER_ARCH_X86_64},
    {"x86-64", "cmov cx8 fxsr mmx sse sse2", SINTER_ARCH_X86_64},
    {"aarch64", "fp-armv8 neon", SINTER_ARCH_AARCH64},
};
enum { numLevels = sizeof levels / sizeof *levels };

//===- Bits ---------------------------------------------------------------------------------------===//

const sinter_cpuid *sinter_host_leaf(const sinter_host *host, uint32_t leaf, uint32_t subleaf) {
  for (int32_t i = 0; i < host->num_leaves; ++i)
    if (host->leaves[i].leaf == leaf && host->leaves[i].subleaf == subleaf)
      return &host->leaves[i];
  return NULL;
}

/// A leaf that the CPU says it has. Intel's answer others with those of the last leaf, and Sandy Bridge answers subleaf
/// 1 of leaf 7 with bits of subleaf 0.
static const sinter_cpuid *answered(const sinter_host *host, uint32_t leaf, uint32_t subleaf) {
  const sinter_cpuid *first = sinter_host_leaf(host, leaf & 0x80000000, 0);
  if (!first || first->eax < leaf)
    return NULL;
  if (leaf == 7 && subleaf) {
    const sinter_cpuid *seven = sinter_host_leaf(host, 7, 0);
    if (!seven || seven->eax < subleaf)
      return NULL;
  }
  return sinter_host_leaf(host, leaf, subleaf);
}

static uint64_t wordOf(const sinter_host *host, int word) {
  static const struct {
    uint32_t leaf, subleaf;
    int offset;
  } places[] = {
      [Leaf1Edx] = {1, 0, 3},         [Leaf1Ecx] = {1, 0, 2},         [Leaf7Ebx] = {7, 0, 1},
      [Leaf7Ecx] = {7, 0, 2},         [Leaf7Edx] = {7, 0, 3},         [Leaf71Eax] = {7, 1, 0},
      [Leaf71Edx] = {7, 1, 3},        [LeafD1Eax] = {0xD, 1, 0},      [Leaf14Ebx] = {0x14, 0, 1},
      [Leaf19Ebx] = {0x19, 0, 1},     [Leaf1E1Eax] = {0x1E, 1, 0},    [Avx10] = {0x24, 0, 1},
      [Ext1Ecx] = {0x80000001, 0, 2}, [Ext1Edx] = {0x80000001, 0, 3}, [Ext8Ebx] = {0x80000008, 0, 1},
  };
  if (word == Hwcap)
    return host->hwcap;
  if (word == Hwcap2)
    return host->hwcap2;
  const sinter_cpuid *leaf = answered(host, places[word].leaf, places[word].subleaf);
  if (!leaf)
    return 0;
  uint32_t registers[4] = {leaf->eax, leaf->ebx, leaf->ecx, leaf->edx};
  uint32_t value = registers[places[word].offset];
  // CPUs with 3DNow! have PREFETCHW, also where they do not have its own bit (AMD's manual, volume 3).
  if (word == Ext1Ecx && leaf->edx >> 31)
    value |= 1u << 8;
  if (word != Avx10)
    return value;
  if (!(wordOf(host, Leaf71Edx) >> 19 & 1))
    return 0;
  uint32_t version = value & 0xFF; // version 3 has all that version 2 has
  return version >= 2 ? 6 : version == 1 ? 2 : 0;
}

/// XCR0 says nothing without OSXSAVE, and not all of what the kernel saves is given to a process that did not ask.
static int isSaved(const sinter_host *host, int state) {
  static const uint64_t needed[] = {
      [NoState] = 0, [AvxState] = 0x6, [Avx512State] = 0xE6, [AmxState] = 0x60000, [ApxState] = 0x80000};
  if (state == NoState)
    return 1;
  if (!(wordOf(host, Leaf1Ecx) >> 27 & 1))
    return 0;
  if (state == AmxState && (host->xcomp & needed[state]) != needed[state])
    return 0;
  return (host->xcr0 & needed[state]) == needed[state];
}

static const Extension *extensionsOf(int32_t arch, int32_t *count) {
  *count = arch == SINTER_ARCH_X86_64 ? numX86 : arch == SINTER_ARCH_AARCH64 ? numArm : 0;
  return arch == SINTER_ARCH_X86_64 ? x86Extensions : armExtensions;
}

static int isWord(const char *name, const char *word, size_t length) {
  return strlen(name) == length && memcmp(name, word, length) == 0;
}

static const Extension *findExtension(int32_t arch, const char *word, size_t length) {
  int32_t count;
  const Extension *list = extensionsOf(arch, &count);
  for (int32_t i = 0; i < count; ++i)
    if (isWord(list[i].name, word, length))
      return &list[i];
  return NULL;
}

static int reports(const sinter_host *host, const Extension *extension) {
  return (int)(wordOf(host, extension->word) >> extension->bit & 1);
}

static int offers(const sinter_host *host, const Extension *extension) {
  return reports(host, extension) && isSaved(host, extension->state);
}

int32_t sinter_host_has(const sinter_host *host, const char *name) {
  const Extension *extension = findExtension(host->arch, name, strlen(name));
  return extension ? offers(host, extension) : -1;
}

int32_t sinter_host_reports(const sinter_host *host, const char *name) {
  const Extension *extension = findExtension(host->arch, name, strlen(name));
  return extension ? reports(host, extension) : 0;
}

const char *sinter_host_extension(int32_t arch, int32_t index) {
  int32_t count;
  const Extension *list = extensionsOf(arch, &count);
  return index >= 0 && index < count ? list[index].name : NULL;
}

//===- Requirements -------------------------------------------------------------------------------===//

static sinter_host_answer answerWord(const sinter_host *host, const char *word, size_t length, const char **at,
                                     size_t *atLength);

static sinter_host_answer answerList(const sinter_host *host, const char *list, const char **at, size_t *atLength) {
  while (*list) {
    size_t length = strcspn(list, " ,");
    const char *word = list;
    list += length + (list[length] != 0);
    if (length == 0 || *word == '-')
      continue;
    int plus = *word == '+';
    sinter_host_answer answer = answerWord(host, word + plus, length - (size_t)plus, at, atLength);
    if (answer != SINTER_HOST_RUNS)
      return answer;
  }
  return SINTER_HOST_RUNS;
}

static sinter_host_answer answerWord(const sinter_host *host, const char *word, size_t length, const char **at,
                                     size_t *atLength) {
  *at = word;
  *atLength = length;
  for (int i = 0; i < numLevels; ++i)
    if (isWord(levels[i].name, word, length))
      return levels[i].arch == host->arch ? answerList(host, levels[i].extensions, at, atLength) : SINTER_HOST_OTHER;
  const Extension *extension = findExtension(host->arch, word, length);
  if (extension)
    return offers(host, extension) ? SINTER_HOST_RUNS : SINTER_HOST_LACKS;
  for (int32_t arch = SINTER_ARCH_X86_64; arch <= SINTER_ARCH_AARCH64; ++arch)
    if (findExtension(arch, word, length))
      return SINTER_HOST_OTHER;
  return SINTER_HOST_UNKNOWN;
}

sinter_host_answer sinter_host_runs(const sinter_host *host, const char *requirements, char *word, int64_t wordBytes) {
  if (wordBytes > 0)
    *word = 0;
  const char *at = "";
  size_t length = 0;
  sinter_host_answer answer = requirements ? answerList(host, requirements, &at, &length) : SINTER_HOST_RUNS;
  if (answer != SINTER_HOST_RUNS)
    snprintf(word, (size_t)wordBytes, "%.*s", (int)(length < 64 ? length : 64), at);
  return answer;
}

int srtAsksForState(const sinter_host *host, const char *requirements) {
  for (const char *at = requirements; *at;) {
    size_t length = strcspn(at, " ,");
    int plus = *at == '+';
    const Extension *extension = findExtension(host->arch, at + plus, length - (size_t)plus);
    if (extension && extension->state == AmxState)
      return 1;
    at += length + (at[length] != 0);
  }
  return 0;
}

const char *sinter_host_level(const sinter_host *host) {
  for (int i = 0; i < numLevels; ++i) {
    const char *at;
    size_t length;
    if (levels[i].arch == host->arch && answerList(host, levels[i].extensions, &at, &length) == SINTER_HOST_RUNS)
      return levels[i].name;
  }
  return "";
}

//===- Caches, cores, vendor ----------------------------------------------------------------------===//

/// Leaf 4 (Intel) and 0x8000001D (AMD) have the same fields.
static sinter_cache cacheOfLeaves(const sinter_host *host, int32_t level) {
  for (int32_t i = 0; i < host->num_leaves; ++i) {
    const sinter_cpuid *leaf = &host->leaves[i];
    if (leaf->leaf != 4 && leaf->leaf != 0x8000001D)
      continue;
    uint32_t type = leaf->eax & 0x1F; // 0 none, 1 data, 2 instructions, 3 both
    if ((type != 1 && type != 3) || (leaf->eax >> 5 & 7) != (uint32_t)level)
      continue;
    int64_t line = (leaf->ebx & 0xFFF) + 1, parts = (leaf->ebx >> 12 & 0x3FF) + 1, ways = (leaf->ebx >> 22) + 1;
    return (sinter_cache){line * parts * ways * ((int64_t)leaf->ecx + 1), ways, line};
  }
  return (sinter_cache){0};
}

const char *sinter_host_cache(const sinter_host *host, int32_t level, sinter_cache *cache) {
  memset(cache, 0, sizeof *cache);
  if (level < 1 || level > 3)
    return NULL;
  static const char *const names[] = {"sysconf", "sysfs", "cpuid"};
  sinter_cache found[] = {host->sysconf_caches[level - 1], host->sysfs_caches[level - 1], cacheOfLeaves(host, level)};
  const char *source = NULL;
  for (int i = 0; i < 3; ++i) {
    if (found[i].bytes <= 0)
      continue;
    if (!source) {
      source = names[i];
      *cache = found[i];
    }
    if (cache->ways <= 0)
      cache->ways = found[i].ways;
    if (cache->line_bytes <= 0)
      cache->line_bytes = found[i].line_bytes;
  }
  return source;
}

int32_t sinter_host_cores(const sinter_host *host) {
  return srtUsableCores(host->online_cores, host->affinity_cores, host->quota_percent);
}

static void copyText(char *text, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t words[3] = {a, b, c};
  memcpy(text, words, 12);
  for (int i = 0; i < 12; ++i)
    if (text[i] && (text[i] < ' ' || text[i] > '~'))
      text[i] = '?';
  text[12] = 0;
}

void sinter_host_vendor(const sinter_host *host, char vendor[13], char hypervisor[13]) {
  *vendor = *hypervisor = 0;
  const sinter_cpuid *leaf = sinter_host_leaf(host, 0, 0);
  if (leaf)
    copyText(vendor, leaf->ebx, leaf->edx, leaf->ecx);
  if (!(wordOf(host, Leaf1Ecx) >> 31))
    return;
  leaf = sinter_host_leaf(host, 0x40000000, 0);
  if (leaf)
    copyText(hypervisor, leaf->ebx, leaf->ecx, leaf->edx);
  if (!*hypervisor)
    strcpy(hypervisor, "unnamed");
}
