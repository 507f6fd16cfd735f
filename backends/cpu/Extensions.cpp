// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/Extensions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace sinter::cpu;
using llvm::StringRef;

/// What generated code may use without being asked. Of the rest of what CPUs have, compiled tensors gain nothing
/// (system instructions, cryptography, AMD's SSE4A and XOP), or LLVM's code for it was run on no machine of ours
/// (AVX10.2, APX, SVE); such an extension is used, and required, where a target names it (`+egpr`).
static const StringRef x86CodeExtensions[] = {"sse3",         "ssse3",        "sse4.1",       "sse4.2",
                                              "crc32",        "popcnt",       "cx16",         "sahf",
                                              "movbe",        "avx",          "avx2",         "fma",
                                              "f16c",         "bmi",          "bmi2",         "lzcnt",
                                              "xsave",        "prfchw",       "gfni",         "avx512f",
                                              "avx512bw",     "avx512cd",     "avx512dq",     "avx512vl",
                                              "avx512ifma",   "avx512vbmi",   "avx512vbmi2",  "avx512vnni",
                                              "avx512bf16",   "avx512bitalg", "avx512fp16",   "avx512vpopcntdq",
                                              "avxvnni",      "avxvnniint8",  "avxvnniint16", "avxifma",
                                              "avxneconvert", "amx-tile",     "amx-bf16",     "amx-int8"};
static const StringRef armCodeExtensions[] = {"fullfp16", "dotprod", "rdm",  "complxnum",
                                              "sha3",     "bf16",    "i8mm", "cssc"};

static const StringRef x86Base[] = {"x87", "cmov", "cx8", "fxsr", "mmx", "sse", "sse2"};
static const StringRef armBase[] = {"fp-armv8", "neon"};

static const StringRef x86Levels[] = {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"};

static llvm::ArrayRef<StringRef> baseOf(sinter_arch arch) {
  return arch == SINTER_ARCH_X86_64 ? llvm::ArrayRef<StringRef>(x86Base) : armBase;
}

static llvm::ArrayRef<StringRef> codeExtensions(sinter_arch arch) {
  return arch == SINTER_ARCH_X86_64 ? llvm::ArrayRef<StringRef>(x86CodeExtensions) : armCodeExtensions;
}

//===- LLVM's implications ------------------------------------------------------------------------===//

/// By LLVM's or the architecture's name. LLVM's own prefix of features is cut.
static const llvm::AArch64::ExtensionInfo *findArm(StringRef word) {
  for (const llvm::AArch64::ExtensionInfo &info : llvm::AArch64::Extensions)
    if (!info.PosTargetFeature.empty() &&
        (info.PosTargetFeature.drop_front() == word || info.UserVisibleName == word || info.Alias == word))
      return &info;
  return nullptr;
}

/// Extensions that come along with one, or that go with it; it is among them.
static std::vector<std::string> impliedBy(sinter_arch arch, StringRef name, bool on) {
  std::vector<std::string> implied = {name.str()};
  if (arch == SINTER_ARCH_X86_64) {
    llvm::StringMap<bool> changed;
    llvm::X86::updateImpliedFeatures(name, on, changed);
    for (const auto &entry : changed)
      implied.push_back(entry.first().str());
    return implied;
  }
  const llvm::AArch64::ExtensionInfo *info = findArm(name);
  if (!info)
    return implied;
  llvm::AArch64::ExtensionSet set;
  if (!on)
    for (const llvm::AArch64::ExtensionInfo &other : llvm::AArch64::Extensions)
      set.Enabled.set(other.ID);
  on ? set.enable(info->ID) : set.disable(info->ID);
  for (const llvm::AArch64::ExtensionInfo &other : llvm::AArch64::Extensions)
    if (!other.PosTargetFeature.empty() && set.Enabled.test(other.ID) == on)
      implied.push_back(other.PosTargetFeature.drop_front().str());
  return implied;
}

static std::vector<std::string> namesOfCpu(sinter_arch arch, StringRef cpu) {
  std::vector<std::string> names;
  if (arch == SINTER_ARCH_X86_64) {
    llvm::SmallVector<StringRef> listed;
    llvm::X86::getFeaturesForCPU(cpu, listed);
    for (StringRef name : listed) // without what they imply
      llvm::append_range(names, impliedBy(arch, name, true));
    return names;
  }
  llvm::AArch64::ExtensionSet set;
  if (std::optional<llvm::AArch64::CpuInfo> info = llvm::AArch64::parseCpu(cpu))
    set.addCPUDefaults(*info);
  for (const llvm::AArch64::ExtensionInfo &info : llvm::AArch64::Extensions)
    if (!info.PosTargetFeature.empty() && set.Enabled.test(info.ID))
      names.push_back(info.PosTargetFeature.drop_front().str());
  return names;
}

std::vector<StringRef> sinter::cpu::cpuNames(sinter_arch arch) {
  llvm::SmallVector<StringRef> names;
  if (arch == SINTER_ARCH_X86_64)
    llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  else
    llvm::AArch64::fillValidCPUArchList(names);
  return {names.begin(), names.end()};
}

//===- Sets ---------------------------------------------------------------------------------------===//

Extensions Extensions::base(sinter_arch arch) {
  Extensions set(arch);
  for (StringRef name : baseOf(arch))
    set.names.insert(name.str());
  return set;
}

std::optional<Extensions> Extensions::ofCpu(sinter_arch arch, StringRef name) {
  if (!llvm::is_contained(cpuNames(arch), name))
    return std::nullopt;
  Extensions set = base(arch);
  for (std::string &extension : namesOfCpu(arch, name))
    set.names.insert(std::move(extension));
  return set;
}

Extensions Extensions::ofHost(const sinter_host &host) {
  auto arch = static_cast<sinter_arch>(host.arch);
  Extensions set = base(arch);
  for (int32_t i = 0; const char *name = sinter_host_extension(host.arch, i); ++i)
    if (sinter_host_has(&host, name) == 1)
      set.names.insert(name);
  std::erase_if(set.names, [&](const std::string &name) {
    return !llvm::all_of(impliedBy(arch, name, true), [&](const std::string &implied) {
      return llvm::is_contained(baseOf(arch), implied) || sinter_host_has(&host, implied.c_str()) == 1;
    });
  });
  // What is compiled for this process must not wait for the loader to find that the kernel refuses state.
  std::string error;
  if (set.has("amx-tile") && !sinter_host_permits(&host, "amx-tile"))
    set.change("amx-tile", /*add=*/false, error);
  return set;
}

bool Extensions::hasAll(const Extensions &other) const {
  return llvm::all_of(other.names, [&](const std::string &name) { return names.count(name); });
}

bool Extensions::change(StringRef word, bool add, std::string &error) {
  std::string name = word.str();
  if (const llvm::AArch64::ExtensionInfo *info = arch == SINTER_ARCH_AARCH64 ? findArm(word) : nullptr)
    name = info->PosTargetFeature.drop_front().str();
  std::vector<StringRef> known;
  for (int32_t i = 0; const char *extension = sinter_host_extension(arch, i); ++i)
    known.push_back(extension);
  if (!llvm::is_contained(known, name)) {
    error = ((add ? "+" : "-") + word + " is no extension of " + base(arch).level() +
             " CPUs that a host can be asked for" + suggestions(word, known))
                .str();
    return false;
  }
  std::vector<std::string> changed = impliedBy(arch, name, add);
  if (!add && llvm::any_of(baseOf(arch), [&](StringRef needed) { return llvm::is_contained(changed, needed); })) {
    error = ("-" + word + " cannot be: code for " + base(arch).level() + " CPUs always uses it").str();
    return false;
  }
  for (const std::string &extension : changed) {
    add ? (void)names.insert(extension) : (void)names.erase(extension);
    asked.erase(extension);
  }
  // What it implies is asked for with it.
  if (add)
    for (const std::string &extension : changed)
      if (llvm::is_contained(known, extension))
        asked.insert(extension);
  return true;
}

StringRef Extensions::level() const {
  if (arch == SINTER_ARCH_AARCH64)
    return "aarch64";
  for (StringRef level : x86Levels)
    if (llvm::all_of(namesOfCpu(arch, level), [&](const std::string &name) { return names.count(name); }))
      return level;
  return "x86-64";
}

Extensions Extensions::forCode() const {
  Extensions code = base(arch);
  // No CPU of the full width has a part of AVX-512; what shows a part (Knights Landing, some virtual machines) gets
  // none.
  bool wide = level() == "x86-64-v4";
  for (StringRef name : codeExtensions(arch))
    if (has(name) && (wide || !name.starts_with("avx512")))
      code.names.insert(name.str());
  code.names.insert(asked.begin(), asked.end());
  code.asked = asked;
  return code;
}

std::string Extensions::requirements() const {
  Extensions code = forCode();
  std::vector<std::string> words = {level().str()};
  std::vector<std::string> implied =
      arch == SINTER_ARCH_X86_64 ? namesOfCpu(arch, words[0]) : std::vector<std::string>();
  llvm::append_range(implied, baseOf(arch));
  for (const std::string &name : code.names)
    if (!llvm::is_contained(implied, name))
      words.push_back(name);
  return llvm::join(words, " ");
}

std::string Extensions::features() const {
  Extensions code = forCode();
  std::vector<std::string> list;
  for (StringRef name : codeExtensions(arch))
    if (!code.has(name))
      list.push_back("-" + name.str());
  for (const std::string &name : code.names)
    list.push_back("+" + name);
  return llvm::join(list, ",");
}

std::string sinter::cpu::suggestions(StringRef word, llvm::ArrayRef<StringRef> names) {
  std::vector<std::pair<unsigned, StringRef>> near;
  unsigned most = word.size() < 5 ? 1 : word.size() < 9 ? 2 : 3;
  for (StringRef name : names)
    if (unsigned distance = word.edit_distance_insensitive(name, /*AllowReplacements=*/true, most); distance <= most)
      near.emplace_back(distance, name);
  llvm::sort(near);
  std::string text;
  for (auto [distance, name] : llvm::ArrayRef(near).take_front(3))
    text += (text.empty() ? "; near it: " : ", ") + name.str();
  return text;
}
