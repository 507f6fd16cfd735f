// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <unistd.h>

using namespace sinter::cpu;
using llvm::StringRef;

/// Extensions of instructions that generated code may contain, for the check at load. The rest of what LLVM reports
/// about a CPU (system instructions, tuning) says nothing about our code.
static const StringRef codeFeatures[] = {"sse3",       "ssse3",        "sse4.1",
                                         "sse4.2",     "popcnt",       "cx16",
                                         "movbe",      "avx",          "avx2",
                                         "fma",        "f16c",         "bmi",
                                         "bmi2",       "lzcnt",        "gfni",
                                         "avx512f",    "avx512bw",     "avx512cd",
                                         "avx512dq",   "avx512vl",     "avx512ifma",
                                         "avx512vbmi", "avx512vbmi2",  "avx512vnni",
                                         "avx512bf16", "avx512bitalg", "avx512vpopcntdq",
                                         "avx512fp16", "avxvnni",      "fullfp16",
                                         "dotprod",    "bf16"};

/// The highest level whose features are all there, then the extensions beyond it: "x86-64-v4 gfni avx512fp16". A list
/// of every extension grows with each generation of CPUs; the level says most of it in one word that the loader knows,
/// too.
static std::string requirementsOf(const llvm::StringMap<bool> &features) {
  auto has = [&](StringRef name) { return features.lookup(name); };
  llvm::SmallVector<StringRef> required, implied;
  for (StringRef level : {"x86-64-v4", "x86-64-v3", "x86-64-v2"}) {
    llvm::SmallVector<StringRef> ofLevel;
    llvm::X86::getFeaturesForCPU(level, ofLevel);
    // Features without a check at load (x87, cx8 ...) are those of every 64-bit CPU.
    llvm::erase_if(ofLevel, [](StringRef name) { return !llvm::is_contained(codeFeatures, name); });
    if (!llvm::all_of(ofLevel, has))
      continue;
    required.push_back(level);
    implied = ofLevel;
    break;
  }
  for (StringRef name : codeFeatures)
    if (has(name) && !llvm::is_contained(implied, name))
      required.push_back(name);
  return llvm::join(required, " ");
}

/// Sets what follows from the features.
static void deriveFromFeatures(Target &target, const llvm::StringMap<bool> &features) {
  auto has = [&](StringRef name) { return features.lookup(name); };
  target.requiredFeatures = requirementsOf(features);

  if (llvm::Triple(target.triple).isAArch64()) {
    target.vectorBytes = 16;
    target.vectorRegisters = 32;
    target.hasFma = true;
    return;
  }
  // avx512f is implied by the others, and the lists of named CPUs leave out what is implied.
  bool wide = has("avx512bw") && has("avx512dq") && has("avx512vl");
  target.vectorBytes = wide ? 64 : has("avx2") ? 32 : 16;
  target.vectorRegisters = wide ? 32 : 16;
  target.hasFma = has("fma");
  target.hasMaskedMemory = wide;
}

static std::string printFeatures(const llvm::StringMap<bool> &features) {
  llvm::SubtargetFeatures list;
  llvm::SmallVector<std::pair<StringRef, bool>> sorted;
  for (const auto &entry : features)
    sorted.emplace_back(entry.first(), entry.second);
  llvm::sort(sorted); // the text is part of cache keys
  for (auto [name, on] : sorted)
    list.AddFeature(name, on);
  return list.getString();
}

static void readCaches(Target &target) {
  auto read = [](int name, int64_t &value) {
    if (long found = sysconf(name); found > 0)
      value = found;
  };
#ifdef _SC_LEVEL1_DCACHE_SIZE
  read(_SC_LEVEL1_DCACHE_SIZE, target.l1Bytes);
  read(_SC_LEVEL1_DCACHE_ASSOC, target.l1Ways);
  read(_SC_LEVEL1_DCACHE_LINESIZE, target.cacheLineBytes);
  read(_SC_LEVEL2_CACHE_SIZE, target.l2Bytes);
  read(_SC_LEVEL3_CACHE_SIZE, target.l3Bytes);
#endif
}

Target Target::host() {
  Target target;
  target.name = "native";
  target.triple = llvm::sys::getProcessTriple();
  target.cpu = llvm::sys::getHostCPUName().str();
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  target.features = printFeatures(features);
  deriveFromFeatures(target, features);
  readCaches(target);
  return target;
}

namespace {
struct NamedTarget {
  StringRef name, triple, cpu;
  int64_t l1Bytes, l1Ways, l2Bytes, l3Bytes;
};
} // namespace

static const NamedTarget namedTargets[] = {
    {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", 32 << 10, 8, 512 << 10, 16 << 20},
    {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", 32 << 10, 8, 1 << 20, 16 << 20},
    {"znver4", "x86_64-unknown-linux-gnu", "znver4", 32 << 10, 8, 1 << 20, 32 << 20},
    {"znver5", "x86_64-unknown-linux-gnu", "znver5", 48 << 10, 12, 1 << 20, 32 << 20},
    {"aarch64", "aarch64-unknown-linux-gnu", "generic", 64 << 10, 4, 1 << 20, 8 << 20},
};

bool Target::parse(StringRef text, Target &target, std::string &error) {
  StringRef name = text;
  name.consume_front("cpu:");
  if (name == "native") {
    target = host();
    return true;
  }
  for (const NamedTarget &known : namedTargets) {
    if (known.name != name)
      continue;
    target = Target();
    target.name = name.str();
    target.triple = known.triple.str();
    target.cpu = known.cpu.str();
    llvm::StringMap<bool> features;
    if (llvm::Triple(known.triple).isX86()) {
      llvm::SmallVector<StringRef> implied;
      llvm::X86::getFeaturesForCPU(known.cpu, implied);
      for (StringRef feature : implied)
        features[feature] = true;
    }
    deriveFromFeatures(target, features);
    target.l1Bytes = known.l1Bytes;
    target.l1Ways = known.l1Ways;
    target.l2Bytes = known.l2Bytes;
    target.l3Bytes = known.l3Bytes;
    return true;
  }
  llvm::SmallVector<StringRef> names = {"native"};
  for (const NamedTarget &known : namedTargets)
    names.push_back(known.name);
  error = ("a target must be one of " + llvm::join(names, ", ") + ", got '" + text + "'").str();
  return false;
}
