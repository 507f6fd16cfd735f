// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Target.h"
#include "backends/cpu/Extensions.h"
#include "backends/cpu/HostTarget.h"
#include "backends/cpu/TargetDetails.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace sinter::cpu;
using llvm::StringRef;

namespace {
/// Caches of CPUs (L3: what one core's share of the chip may use) by LLVM's names, separated by spaces.
struct KnownCaches {
  StringRef cpus;
  int64_t l1KiB, l1Ways, l2KiB, l3KiB;
};
} // namespace

static const KnownCaches knownCaches[] = {
    {"nehalem westmere sandybridge ivybridge haswell broadwell skylake", 32, 8, 256, 8192},
    {"x86-64 x86-64-v2", 32, 8, 256, 8192},
    {"x86-64-v3 znver1 znver2 znver3", 32, 8, 512, 16384},
    {"x86-64-v4 skylake-avx512 skx cascadelake cooperlake", 32, 8, 1024, 16384},
    {"znver4", 32, 8, 1024, 32768},
    {"znver5", 48, 12, 1024, 32768},
    {"icelake-client rocketlake", 48, 12, 512, 16384},
    {"icelake-server tigerlake alderlake", 48, 12, 1280, 24576},
    {"raptorlake meteorlake sapphirerapids emeraldrapids graniterapids graniterapids-d diamondrapids", 48, 12, 2048,
     32768},
    {"gracemont sierraforest grandridge clearwaterforest", 32, 8, 2048, 8192},
    {"generic", 64, 4, 1024, 8192},
    {"neoverse-n1 neoverse-v1 neoverse-n2 cobalt-100", 64, 4, 1024, 32768},
    {"neoverse-v2 neoverse-v3 grace", 64, 4, 2048, 32768},
    {"apple-m1 apple-m2 apple-m3 apple-m4", 128, 8, 12288, 8192},
    {"cortex-a72", 32, 2, 1024, 2048},
};

Target sinter::cpu::targetOfExtensions(const Extensions &extensions, StringRef name, StringRef triple, StringRef cpu) {
  Target target;
  target.name = name.str();
  target.triple = triple.str();
  target.cpu = cpu.str();
  target.features = extensions.features();
  target.requiredFeatures = extensions.requirements();
  Extensions code = extensions.forCode();
  if (llvm::Triple(triple).isAArch64()) {
    target.vectorBytes = 16;
    target.vectorRegisters = 32;
    target.hasFma = true;
    target.hasRounding = true;
    target.hasHalfConversion = true;
    target.byteDots = code.has("dotprod") ? ByteDots::equal : ByteDots::none;
    target.hasBfloatDots = code.has("bf16");
  } else {
    bool wide = code.level() == "x86-64-v4";
    target.vectorBytes = wide ? 64 : code.has("avx2") ? 32 : 16;
    target.vectorRegisters = wide ? 32 : 16;
    target.hasFma = code.has("fma");
    target.hasRounding = code.has("sse4.1");
    target.hasMaskedMemory = wide;
    target.hasScaling = wide;
    target.hasHalfConversion = code.has("f16c");
    target.hasShortDots = true;
    target.hasBytePairs = code.has("ssse3");
    if (code.has(wide ? "avx512vnni" : "avxvnni"))
      target.byteDots = ByteDots::mixed;
    // Intel's cores with FP16 or AMX multiply pairs of bf16 at half the rate of f32 (measured); AMD's at twice the
    // rate.
    target.hasBfloatDots =
        wide && code.has("avx512bf16") && !extensions.has("avx512fp16") && !extensions.has("amx-bf16");
    target.hasBfloatRounding = wide && code.has("avx512bf16");
    target.hasHalfUnits = wide && cpu == "znver4";
    // Sums of tiles are read back in vectors of 16.
    bool hasTiles = wide && code.has("amx-tile");
    target.hasBfloatTiles = hasTiles && code.has("amx-bf16");
    target.hasByteTiles = hasTiles && code.has("amx-int8");
  }
  // Tiles of products are two vectors wide: of a wider panel each would leave every other line of the cache unread.
  target.panelBytes = 2 * target.vectorBytes;
  for (const KnownCaches &known : knownCaches) {
    llvm::SmallVector<StringRef> cpus;
    known.cpus.split(cpus, ' ');
    if (!llvm::is_contained(cpus, cpu))
      continue;
    target.l1Bytes = known.l1KiB << 10;
    target.l1Ways = known.l1Ways;
    target.l2Bytes = known.l2KiB << 10;
    target.l3Bytes = known.l3KiB << 10;
  }
  return target;
}

void Target::dropTileRequirements() {
  llvm::SmallVector<StringRef> words;
  StringRef(requiredFeatures).split(words, ' ', -1, /*KeepEmpty=*/false);
  llvm::erase_if(words, [](StringRef word) { return word.starts_with("amx-"); });
  requiredFeatures = llvm::join(words, " ");
}

Target Target::host() {
  if (const sinter_host *described = sinter_host_get())
    return targetOfHost(*described);
  sinter_host machine; // `parse` tells what is wrong with the description
  sinter_host_read_machine(&machine);
  return targetOfHost(machine);
}

/// Applies "+ext" and "-ext" in order.
static bool applyChanges(Extensions &extensions, llvm::ArrayRef<StringRef> changes, std::string &error) {
  for (StringRef change : changes) {
    if (change.size() < 2 || (change[0] != '+' && change[0] != '-')) {
      error = ("a CPU's name is followed by +EXTENSION or -EXTENSION, got '" + change + "'").str();
      return false;
    }
    if (!extensions.change(change.drop_front(), change[0] == '+', error))
      return false;
  }
  return true;
}

/// What `targetOfHost` says, asked once for the same host: each op that runs by itself is compiled for it.
static Target knownTargetOfHost(const sinter_host &host) {
  static std::mutex &mutex = *new std::mutex;
  static std::string &lastHost = *new std::string;
  static Target &lastTarget = *new Target;
  StringRef bytes(reinterpret_cast<const char *>(&host), sizeof host);
  std::lock_guard<std::mutex> guard(mutex);
  if (lastHost != bytes) {
    lastTarget = targetOfHost(host);
    lastHost = bytes.str();
  }
  return lastTarget;
}

static bool parseNative(StringRef text, llvm::ArrayRef<StringRef> changes, Target &target, std::string &error) {
  const sinter_host *host = sinter_host_get();
  if (!host) {
    error = sinter_last_error();
    return false;
  }
  target = knownTargetOfHost(*host);
  if (changes.empty())
    return true;
  Extensions extensions = Extensions::ofHost(*host);
  if (!applyChanges(extensions, changes, error))
    return false;
  Target changed = targetOfExtensions(extensions, text, target.triple, target.cpu);
  changed.l1Bytes = target.l1Bytes;
  changed.l1Ways = target.l1Ways;
  changed.l2Bytes = target.l2Bytes;
  changed.l3Bytes = target.l3Bytes;
  changed.cacheLineBytes = target.cacheLineBytes;
  target = changed;
  return true;
}

bool Target::parse(StringRef text, Target &target, std::string &error) {
  StringRef rest = text;
  rest.consume_front("cpu:");
  llvm::SmallVector<StringRef> words;
  rest.split(words, ',');
  StringRef name = words.front();
  auto changes = llvm::ArrayRef(words).drop_front();
  if (name == "native")
    return parseNative(rest, changes, target, error);
  StringRef cpu = name == "aarch64" ? "generic" : name;
  for (sinter_arch arch : {SINTER_ARCH_X86_64, SINTER_ARCH_AARCH64}) {
    std::optional<Extensions> extensions = Extensions::ofCpu(arch, cpu);
    if (!extensions)
      continue;
    if (!applyChanges(*extensions, changes, error))
      return false;
    StringRef triple = arch == SINTER_ARCH_X86_64 ? "x86_64-unknown-linux-gnu" : "aarch64-unknown-linux-gnu";
    target = targetOfExtensions(*extensions, rest, triple, cpu);
    return true;
  }
  std::vector<StringRef> names = cpuNames(SINTER_ARCH_X86_64);
  llvm::append_range(names, cpuNames(SINTER_ARCH_AARCH64));
  names.insert(names.end(), {"native", "aarch64"});
  error = ("a target must be native, a level (x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64) or a CPU that LLVM "
           "knows (znver5, sapphirerapids, neoverse-v2, ...), got '" +
           name + "'" + suggestions(name, names))
              .str();
  return false;
}
