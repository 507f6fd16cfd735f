// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#define _GNU_SOURCE
#include "host.h"
#include "cpu.h"
#include "status.h"
#include "threads.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

//===- What the CPU says --------------------------------------------------------------------------===//

#if defined(__x86_64__)

static const sinter_cpuid *readLeaf(sinter_host *host, uint32_t leaf, uint32_t subleaf) {
  if (host->num_leaves == SINTER_HOST_MAX_LEAVES)
    return NULL;
  sinter_cpuid *read = &host->leaves[host->num_leaves++];
  read->leaf = leaf;
  read->subleaf = subleaf;
  __cpuid_count(leaf, subleaf, read->eax, read->ebx, read->ecx, read->edx);
  return read;
}

/// Each leaf is a call of the hypervisor in a virtual machine (60 us were seen), so those that others rule out are not
/// read.
static void readExtensions(sinter_host *host) {
  host->arch = SINTER_ARCH_X86_64;
  uint32_t last = readLeaf(host, 0, 0)->eax;
  uint32_t leaf1Ecx = readLeaf(host, 1, 0)->ecx;
  if (last >= 7) {
    const sinter_cpuid *seven = readLeaf(host, 7, 0);
    uint32_t lastSubleaf = seven->eax, avx10 = 0;
    if (lastSubleaf >= 1)
      avx10 = readLeaf(host, 7, 1)->edx >> 19 & 1;
    if (last >= 0xD)
      readLeaf(host, 0xD, 1);
    if (last >= 0x14 && (seven->ebx >> 25 & 1))
      readLeaf(host, 0x14, 0);
    if (last >= 0x19 && (seven->ecx >> 23 & 1))
      readLeaf(host, 0x19, 0);
    if (last >= 0x1E && (seven->edx >> 24 & 1))
      readLeaf(host, 0x1E, 1);
    if (last >= 0x24 && avx10)
      readLeaf(host, 0x24, 0);
  }
  uint32_t lastExtended = readLeaf(host, 0x80000000, 0)->eax;
  if (lastExtended >= 0x80000001)
    readLeaf(host, 0x80000001, 0);
  if (lastExtended >= 0x80000008)
    readLeaf(host, 0x80000008, 0);
  if (leaf1Ecx >> 27 & 1) { // OSXSAVE; without it xgetbv is an invalid instruction
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    host->xcr0 = (uint64_t)high << 32 | low;
  }
#if defined(__linux__) && defined(SYS_arch_prctl)
  enum { getSupported = 0x1021 }; // ARCH_GET_XCOMP_SUPP
  uint64_t supported = 0;
  if ((host->xcr0 >> 17 & 1) && syscall(SYS_arch_prctl, getSupported, &supported) == 0)
    host->xcomp = supported;
#endif
}

/// What only people and cache sizes need.
static void readDetails(sinter_host *host) {
  if (sinter_host_leaf(host, 1, 0)->ecx >> 31)
    readLeaf(host, 0x40000000, 0);
  int isAmd = sinter_host_leaf(host, 0, 0)->ebx == 0x68747541; // "Auth"
  uint32_t leaf = isAmd ? 0x8000001D : 4;
  uint32_t last = sinter_host_leaf(host, isAmd ? 0x80000000 : 0, 0)->eax;
  const sinter_cpuid *extended = sinter_host_leaf(host, 0x80000001, 0);
  if (last < leaf || (isAmd && !(extended && (extended->ecx >> 22 & 1)))) // topology extensions
    return;
  for (uint32_t i = 0; i < 8; ++i) {
    const sinter_cpuid *cache = readLeaf(host, leaf, i);
    if (!cache || (cache->eax & 0x1F) == 0)
      return;
  }
}

#elif defined(__aarch64__)

static void readExtensions(sinter_host *host) {
  host->arch = SINTER_ARCH_AARCH64;
  host->hwcap = getauxval(AT_HWCAP);
  host->hwcap2 = getauxval(AT_HWCAP2);
  enum { hwcapCpuid = 11 };
  if (host->hwcap >> hwcapCpuid & 1) // the kernel answers reads of ID registers
    __asm__("mrs %0, midr_el1" : "=r"(host->midr));
}

static void readDetails(sinter_host *host) { (void)host; }

#else

static void readExtensions(sinter_host *host) { (void)host; }
static void readDetails(sinter_host *host) { (void)host; }

#endif

//===- What the system says -----------------------------------------------------------------------===//

static void readSysconf(sinter_host *host) {
#ifdef _SC_LEVEL1_DCACHE_SIZE
  static const int names[3][3] = {
      {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL1_DCACHE_LINESIZE},
      {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE},
      {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE},
  };
  for (int i = 0; i < 3; ++i) {
    long bytes = sysconf(names[i][0]), ways = sysconf(names[i][1]), line = sysconf(names[i][2]);
    host->sysconf_caches[i] = (sinter_cache){bytes > 0 ? bytes : 0, ways > 0 ? ways : 0, line > 0 ? line : 0};
  }
#endif
}

/// The number at the start of a file of /sys, times 1024 with a K behind it; 0 without the file.
static int64_t readSysNumber(int index, const char *name, char *word) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
  FILE *file = fopen(path, "re");
  if (!file)
    return 0;
  long long number = 0;
  char text[32] = "", unit = 0;
  if (fgets(text, sizeof text, file) && sscanf(text, "%lld%c", &number, &unit) >= 1 && unit == 'K')
    number *= 1024;
  fclose(file);
  if (word)
    sscanf(text, "%15s", word);
  return number > 0 ? number : 0;
}

static void readSysfs(sinter_host *host) {
  for (int index = 0; index < 8; ++index) {
    char type[16] = "";
    readSysNumber(index, "type", type);
    int64_t level = readSysNumber(index, "level", NULL);
    if (level < 1 || level > 3 || strcmp(type, "Instruction") == 0)
      continue;
    host->sysfs_caches[level - 1] =
        (sinter_cache){readSysNumber(index, "size", NULL), readSysNumber(index, "ways_of_associativity", NULL),
                       readSysNumber(index, "coherency_line_size", NULL)};
  }
}

void sinter_host_read_machine(sinter_host *host) {
  memset(host, 0, sizeof *host);
  readExtensions(host);
  readDetails(host);
  readSysconf(host);
  readSysfs(host);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  host->online_cores = online > 0 ? (int32_t)online : 0;
  srtCoreLimits(&host->affinity_cores, &host->quota_percent);
}

//===- The host that this process decides by ------------------------------------------------------===//

static _Atomic(const sinter_host *) chosen; // of sinter_host_use
static pthread_once_t onceBrief = PTHREAD_ONCE_INIT, onceWhole = PTHREAD_ONCE_INIT;
static sinter_host brief, whole;
static int named; // SINTER_HOST is set: 1 when it could be read, else -1
static char problem[SRT_MESSAGE_BYTES];

static void readBrief(void) {
  const char *path = secure_getenv("SINTER_HOST");
  if (!path || !*path) {
    readExtensions(&brief);
    return;
  }
  named = sinter_host_read_file(path, &brief) == SINTER_OK ? 1 : -1;
  if (named < 0)
    snprintf(problem, sizeof problem, "%s", sinter_last_error());
}

/// One that need not know of caches and cores.
const sinter_host *srtBriefHost(void) {
  const sinter_host *host = atomic_load_explicit(&chosen, memory_order_acquire);
  if (host)
    return host;
  pthread_once(&onceBrief, readBrief);
  if (named >= 0)
    return &brief;
  srtError(SINTER_INVALID_ARGUMENT, "SINTER_HOST: %s", problem);
  return NULL;
}

static void readWhole(void) { sinter_host_read_machine(&whole); }

const sinter_host *sinter_host_get(void) {
  const sinter_host *host = srtBriefHost();
  if (host != &brief || named)
    return host;
  pthread_once(&onceWhole, readWhole);
  return &whole;
}

//===- State that the kernel gives on request -----------------------------------------------------===//

static _Atomic(sinter_state_request) otherRequest; // of sinter_host_use_request

void sinter_host_use_request(sinter_state_request request) {
  atomic_store_explicit(&otherRequest, request, memory_order_release);
}

/// The kernel keeps the permission for all threads of the process, those that exist, too.
static int requestAmx(void) {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  enum { requestPermission = 0x1023, tileData = 18 }; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

int srtMayRun(const sinter_host *host, const char *requirements, int *why) {
  *why = 0;
  sinter_state_request request = atomic_load_explicit(&otherRequest, memory_order_acquire);
  int isMachine = (host == &brief && !named) || host == &whole;
  if ((!isMachine && !request) || !srtAsksForState(host, requirements))
    return 1;
  *why = request ? request() : requestAmx();
  return *why == 0;
}

int32_t sinter_host_permits(const sinter_host *host, const char *requirements) {
  int why;
  return srtMayRun(host, requirements, &why);
}

void sinter_host_use(const sinter_host *host) { atomic_store_explicit(&chosen, host, memory_order_release); }
