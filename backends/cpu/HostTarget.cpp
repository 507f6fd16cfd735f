// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/HostTarget.h"
#include "backends/cpu/Extensions.h"
#include "backends/cpu/TargetDetails.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace sinter;
using namespace sinter::cpu;
using llvm::StringRef;

//===- Names by signature -------------------------------------------------------------------------===//

namespace {
struct Signature {
  StringRef vendor;
  unsigned family = 0, model = 0, stepping = 0;
};

/// CPUs of a vendor's family and a range of models. Where several share them, all are listed, the one with the most
/// extensions first.
struct KnownModel {
  StringRef vendor;
  unsigned family, first, last;
  StringRef names;
};
} // namespace

static const StringRef intel = "GenuineIntel", amd = "AuthenticAMD";

static const KnownModel knownModels[] = {
    {intel, 6, 0x0F, 0x0F, "core2"},
    {intel, 6, 0x16, 0x16, "core2"},
    {intel, 6, 0x17, 0x17, "penryn"},
    {intel, 6, 0x1A, 0x1A, "nehalem"},
    {intel, 6, 0x1C, 0x1C, "bonnell"},
    {intel, 6, 0x1D, 0x1D, "penryn"},
    {intel, 6, 0x1E, 0x1F, "nehalem"},
    {intel, 6, 0x25, 0x25, "westmere"},
    {intel, 6, 0x26, 0x27, "bonnell"},
    {intel, 6, 0x2A, 0x2A, "sandybridge"},
    {intel, 6, 0x2C, 0x2C, "westmere"},
    {intel, 6, 0x2D, 0x2D, "sandybridge"},
    {intel, 6, 0x2E, 0x2E, "nehalem"},
    {intel, 6, 0x2F, 0x2F, "westmere"},
    {intel, 6, 0x35, 0x36, "bonnell"},
    {intel, 6, 0x37, 0x37, "silvermont"},
    {intel, 6, 0x3A, 0x3A, "ivybridge"},
    {intel, 6, 0x3C, 0x3C, "haswell"},
    {intel, 6, 0x3D, 0x3D, "broadwell"},
    {intel, 6, 0x3E, 0x3E, "ivybridge"},
    {intel, 6, 0x3F, 0x3F, "haswell"},
    {intel, 6, 0x45, 0x46, "haswell"},
    {intel, 6, 0x47, 0x47, "broadwell"},
    {intel, 6, 0x4A, 0x4A, "silvermont"},
    {intel, 6, 0x4C, 0x4D, "silvermont"},
    {intel, 6, 0x4E, 0x4E, "skylake"},
    {intel, 6, 0x4F, 0x4F, "broadwell"},
    {intel, 6, 0x55, 0x55, "cooperlake cascadelake skylake-avx512"},
    {intel, 6, 0x56, 0x56, "broadwell"},
    {intel, 6, 0x57, 0x57, "knl"},
    {intel, 6, 0x5A, 0x5A, "silvermont"},
    {intel, 6, 0x5C, 0x5C, "goldmont"},
    {intel, 6, 0x5D, 0x5D, "silvermont"},
    {intel, 6, 0x5E, 0x5E, "skylake"},
    {intel, 6, 0x5F, 0x5F, "goldmont"},
    {intel, 6, 0x66, 0x66, "cannonlake"},
    {intel, 6, 0x6A, 0x6A, "icelake-server"},
    {intel, 6, 0x6C, 0x6C, "icelake-server"},
    {intel, 6, 0x7A, 0x7A, "goldmont-plus"},
    {intel, 6, 0x7D, 0x7E, "icelake-client"},
    {intel, 6, 0x85, 0x85, "knm"},
    {intel, 6, 0x86, 0x86, "tremont"},
    {intel, 6, 0x8A, 0x8A, "tremont"},
    {intel, 6, 0x8C, 0x8D, "tigerlake"},
    {intel, 6, 0x8E, 0x8E, "skylake"},
    {intel, 6, 0x8F, 0x8F, "sapphirerapids"},
    {intel, 6, 0x96, 0x96, "tremont"},
    {intel, 6, 0x97, 0x97, "alderlake"},
    {intel, 6, 0x9A, 0x9A, "alderlake"},
    {intel, 6, 0x9C, 0x9C, "tremont"},
    {intel, 6, 0x9E, 0x9E, "skylake"},
    {intel, 6, 0xA5, 0xA6, "skylake"},
    {intel, 6, 0xA7, 0xA7, "rocketlake"},
    {intel, 6, 0xAA, 0xAA, "meteorlake"},
    {intel, 6, 0xAC, 0xAC, "meteorlake"},
    {intel, 6, 0xAD, 0xAD, "graniterapids"},
    {intel, 6, 0xAE, 0xAE, "graniterapids-d"},
    {intel, 6, 0xAF, 0xAF, "sierraforest"},
    {intel, 6, 0xB5, 0xB5, "arrowlake"},
    {intel, 6, 0xB6, 0xB6, "grandridge"},
    {intel, 6, 0xB7, 0xB7, "raptorlake"},
    {intel, 6, 0xBA, 0xBA, "raptorlake"},
    {intel, 6, 0xBD, 0xBD, "lunarlake"},
    {intel, 6, 0xBE, 0xBE, "gracemont"},
    {intel, 6, 0xBF, 0xBF, "raptorlake"},
    {intel, 6, 0xC5, 0xC5, "arrowlake"},
    {intel, 6, 0xC6, 0xC6, "arrowlake-s"},
    {intel, 6, 0xCC, 0xCC, "pantherlake"},
    {intel, 6, 0xCF, 0xCF, "emeraldrapids"},
    {intel, 6, 0xDD, 0xDD, "clearwaterforest"},
    {amd, 0x0F, 0x00, 0xFF, "k8-sse3 k8"},
    {amd, 0x10, 0x00, 0xFF, "amdfam10"},
    {amd, 0x12, 0x00, 0xFF, "amdfam10"},
    {amd, 0x14, 0x00, 0xFF, "btver1"},
    {amd, 0x15, 0x00, 0xFF, "bdver4 bdver3 bdver2 bdver1"},
    {amd, 0x16, 0x00, 0xFF, "btver2"},
    {amd, 0x17, 0x00, 0x2F, "znver1"},
    {amd, 0x17, 0x30, 0xFF, "znver2"},
    {amd, 0x19, 0x00, 0xFF, "znver4 znver3"},
    {amd, 0x1A, 0x00, 0xFF, "znver5"},
};

static Signature signatureOf(const sinter_host &host, StringRef vendor) {
  Signature signature;
  signature.vendor = vendor;
  if (const sinter_cpuid *leaf = sinter_host_leaf(&host, 1, 0)) {
    signature.family = leaf->eax >> 8 & 0xF;
    signature.model = leaf->eax >> 4 & 0xF;
    signature.stepping = leaf->eax & 0xF;
    if (signature.family == 6 || signature.family == 0xF)
      signature.model |= leaf->eax >> 12 & 0xF0;
    if (signature.family == 0xF)
      signature.family += leaf->eax >> 20 & 0xFF;
  }
  return signature;
}

/// LLVM's names for a CPU of this signature, the likeliest first.
static llvm::SmallVector<StringRef> namesOf(const sinter_host &host, const Signature &signature) {
  llvm::SmallVector<StringRef> names;
  if (host.arch == SINTER_ARCH_X86_64) {
    for (const KnownModel &known : knownModels)
      if (known.vendor == signature.vendor && known.family == signature.family && known.first <= signature.model &&
          signature.model <= known.last)
        known.names.split(names, ' ');
  } else if (host.midr) {
    StringRef name = llvm::sys::detail::getHostCPUNameForARM(host.midr, host.midr);
    if (name != "generic")
      names.push_back(name);
  }
  return names;
}

//===- Report -------------------------------------------------------------------------------------===//

/// Chooses what code is tuned for: a CPU of this signature all of whose extensions that code may use are there, and
/// whose level is the host's.
static void chooseTuning(const sinter_host &host, llvm::ArrayRef<StringRef> names, HostReport &report) {
  auto arch = static_cast<sinter_arch>(host.arch);
  Extensions offered = Extensions::ofHost(host).forCode();
  std::string level = offered.level().str();
  report.tuning = level == "aarch64" ? "generic" : level;
  if (names.empty()) {
    report.reason = "no CPU is known by this signature";
    return;
  }
  report.name = names.front().str();
  report.reason = report.name + " has extensions that are not offered here";
  for (StringRef name : names) {
    std::optional<Extensions> cpu = Extensions::ofCpu(arch, name);
    if (!cpu)
      continue;
    // Tiles of matrix units have no part in how other code is tuned, and virtual machines often hide them.
    std::string error;
    if (arch == SINTER_ARCH_X86_64)
      cpu->change("amx-tile", /*add=*/false, error);
    Extensions code = cpu->forCode();
    if (code.level() != offered.level()) {
      report.reason = (name + " is of level " + code.level()).str();
    } else if (offered.hasAll(code)) {
      report.tuning = report.name = name.str();
      report.reason = "all of its extensions that code uses are offered";
      return;
    }
  }
}

HostReport cpu::reportHost(const sinter_host &host) {
  HostReport report;
  auto arch = static_cast<sinter_arch>(host.arch);
  char vendor[13], hypervisor[13];
  sinter_host_vendor(&host, vendor, hypervisor);
  report.hypervisor = hypervisor;
  Signature signature = signatureOf(host, vendor);
  if (arch == SINTER_ARCH_X86_64)
    report.signature = (StringRef(vendor) + " family " + llvm::Twine(signature.family) + " model " +
                        llvm::Twine(signature.model) + " stepping " + llvm::Twine(signature.stepping))
                           .str();
  else
    report.signature = host.midr ? "midr 0x" + llvm::utohexstr(host.midr, /*LowerCase=*/true) : "no midr";
  chooseTuning(host, namesOf(host, signature), report);
  report.requirements = Extensions::ofHost(host).requirements();
  std::optional<Extensions> whole = report.name.empty() ? std::nullopt : Extensions::ofCpu(arch, report.name);
  for (int32_t i = 0; const char *extension = sinter_host_extension(host.arch, i); ++i) {
    if (sinter_host_has(&host, extension) == 1)
      continue;
    if (sinter_host_reports(&host, extension))
      report.unsaved.push_back(extension);
    else if (whole && whole->has(extension))
      report.hidden.push_back(extension);
  }
  for (int level = 1; level <= 3; ++level) {
    sinter_cache cache;
    const char *source = sinter_host_cache(&host, level, &cache);
    report.cacheSources[level - 1] = source && isCacheSize(level, cache.bytes) ? source : "assumed";
  }
  return report;
}

Target cpu::targetOfHost(const sinter_host &host) {
  Extensions extensions = Extensions::ofHost(host);
  HostReport report = reportHost(host);
  bool arm = host.arch == SINTER_ARCH_AARCH64;
  std::string triple = arm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
  llvm::Triple here(llvm::sys::getProcessTriple());
  if (arm ? here.isAArch64() : here.getArch() == llvm::Triple::x86_64)
    triple = here.str();
  Target target = targetOfExtensions(extensions, "native", triple, report.tuning);
  auto set = [&](int level, int64_t &bytes) {
    sinter_cache cache;
    sinter_host_cache(&host, level, &cache);
    if (isCacheSize(level, cache.bytes))
      bytes = cache.bytes;
    return cache;
  };
  sinter_cache first = set(1, target.l1Bytes);
  if (first.ways > 0 && first.ways <= 64)
    target.l1Ways = first.ways;
  if (first.line_bytes >= 16 && first.line_bytes <= 1024)
    target.cacheLineBytes = first.line_bytes;
  set(2, target.l2Bytes);
  set(3, target.l3Bytes);
  return target;
}
