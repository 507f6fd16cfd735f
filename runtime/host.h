// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host as data. What a machine offers follows from a description of it alone: what CPUID answers, what the operating
// system saves (XCR0), what it says of the CPU (hwcaps, caches), and how many cores a process gets. The description is
// of this machine, or of any other: tests hand one in (`sinter_host_use`, or a file named by the environment variable
// SINTER_HOST), and compiler and loader decide as they would there. A described host does not change what the machine
// can execute: code for more than it has ends with SIGILL.
//
// As text, a description has one fact a line; # starts a comment, numbers of CPUID and registers are hexadecimal:
//
//   # Xeon Platinum 8280                          the first comment names the host
//   arch x86-64                                   or aarch64
//   cpuid 7 0 00000000 d39ffffb 00000008 bc000600  leaf, subleaf, eax, ebx, ecx, edx; what is not there is not known
//   xcr0 2e7                                      left out without OSXSAVE
//   xcomp 60000                                   state that the kernel gives on request (AMX: 17 and 18)
//   hwcap 119fff / hwcap2 6000 / midr 411fd401    aarch64
//   sysconf L2 1048576 16 64                      a cache in bytes, ways and bytes a line (0: not told), and
//   sysfs L2 1048576 16 64                        what /sys says; L1 is the data cache
//   cores 8 4 250                                 online, in the affinity mask, CPU quota in percent of one (0: none)

// For the compiler, the loader and tests: no pointer may be null, unless it is said.

#ifndef SINTER_RUNTIME_HOST_H
#define SINTER_RUNTIME_HOST_H

#include "sinter.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SINTER_HOST_MAX_LEAVES 64

typedef enum sinter_arch { SINTER_ARCH_OTHER = 0, SINTER_ARCH_X86_64 = 1, SINTER_ARCH_AARCH64 = 2 } sinter_arch;

typedef struct sinter_cpuid {
  uint32_t leaf, subleaf, eax, ebx, ecx, edx;
} sinter_cpuid;

typedef struct sinter_cache {
  int64_t bytes, ways, line_bytes; // 0: not told
} sinter_cache;

typedef struct sinter_host {
  char name[96]; // the first comment of a file; empty for this machine
  int32_t arch;  // sinter_arch
  int32_t num_leaves;
  sinter_cpuid leaves[SINTER_HOST_MAX_LEAVES];
  uint64_t xcr0, xcomp;
  uint64_t hwcap, hwcap2, midr;
  sinter_cache sysconf_caches[3], sysfs_caches[3]; // L1 data, L2, L3
  int32_t online_cores, affinity_cores;            // 0: not told
  int32_t quota_percent;                           // of one core; 0: none
} sinter_host;

/// The host that this process decides by: the one of `sinter_host_use`, else the one that SINTER_HOST names, else this
/// machine. Read once. Null with an error when the file of SINTER_HOST cannot be read or is no description. Valid until
/// the process ends.
SINTER_API const sinter_host *sinter_host_get(void);

/// Lets this process decide by another host, which must stay; null goes back. For tests.
SINTER_API void sinter_host_use(const sinter_host *host);

/// Describes this machine, whatever SINTER_HOST says.
SINTER_API void sinter_host_read_machine(sinter_host *host);

/// Reads a description from a file.
SINTER_API sinter_status_code sinter_host_read_file(const char *path, sinter_host *host);

/// Reads a description from text; `origin` names it in errors.
SINTER_API sinter_status_code sinter_host_parse(const char *text, const char *origin, sinter_host *host);

/// Writes the description as text, cut to `bytes`. Returns the bytes that the whole needs, the terminator included.
SINTER_API int64_t sinter_host_print(const sinter_host *host, char *text, int64_t bytes);

/// The registers of a leaf; null when the description does not have it.
SINTER_API const sinter_cpuid *sinter_host_leaf(const sinter_host *host, uint32_t leaf, uint32_t subleaf);

/// 1 when code may use the extension there, 0 when not, -1 when this runtime does not know the name for that
/// architecture. Names are LLVM's ("avx512f", "fullfp16").
SINTER_API int32_t sinter_host_has(const sinter_host *host, const char *extension);

/// 1 when the CPU reports the extension, whether or not the operating system saves what it needs.
SINTER_API int32_t sinter_host_reports(const sinter_host *host, const char *extension);

/// The `index`-th extension that this runtime knows for an architecture; null past the last.
SINTER_API const char *sinter_host_extension(int32_t arch, int32_t index);

/// The highest level whose extensions are all there: "x86-64" to "x86-64-v4", "aarch64"; "" elsewhere.
SINTER_API const char *sinter_host_level(const sinter_host *host);

typedef enum sinter_host_answer {
  SINTER_HOST_RUNS = 0,
  SINTER_HOST_LACKS = 1,   // an extension or level that this runtime knows
  SINTER_HOST_UNKNOWN = 2, // a word that it does not know
  SINTER_HOST_OTHER = 3    // code for another architecture
} sinter_host_answer;

/// Whether code with these requirements runs there: levels and extensions ("x86-64-v3 avx512f"), separated by spaces or
/// commas, a leading '+' allowed, words with a leading '-' skipped. If not, the first word that stands against it (of a
/// level: its first missing extension) is in `word`.
SINTER_API sinter_host_answer sinter_host_runs(const sinter_host *host, const char *requirements, char *word,
                                               int64_t word_bytes);

/// Whether the kernel gives this process the state that code with these requirements needs beside what the host offers:
/// 1, or 0 when it was asked and refused. It is asked for AMX alone, and only where `host` is this machine.
SINTER_API int32_t sinter_host_permits(const sinter_host *host, const char *requirements);

/// How the kernel is asked for the state of AMX: 0, or errno. Another function than the kernel's also answers for hosts
/// that are not this machine; null goes back. For tests.
typedef int32_t (*sinter_state_request)(void);
SINTER_API void sinter_host_use_request(sinter_state_request request);

/// A cache by its level (1 is the data cache) and where its size comes from: "sysconf", "sysfs" or "cpuid"; null when
/// the description does not tell it. Several sources fill each other's gaps, the first that tells the size names it.
SINTER_API const char *sinter_host_cache(const sinter_host *host, int32_t level, sinter_cache *cache);

/// Threads that a process can keep busy there: the affinity mask, cut to the quota; at least 1.
SINTER_API int32_t sinter_host_cores(const sinter_host *host);

/// "GenuineIntel", "AuthenticAMD", "Microsoft Hv", ...: the vendor, and the hypervisor ("" without one).
SINTER_API void sinter_host_vendor(const sinter_host *host, char vendor[13], char hypervisor[13]);

#ifdef __cplusplus
}
#endif

#endif
