// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Targets of hosts and targets by name. The oracle for extensions is LLVM's code generator: its own table of CPUs, from
// which the front end's lists, that targets are made of, are kept apart.

#include "backends/cpu/HostTarget.h"
#include "test/hosts/Hosts.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/TargetParser/X86TargetParser.h"
#include <cerrno>

using namespace sinter::cpu;
using llvm::StringRef;

namespace {

Target parsed(const std::string &text) {
  Target target;
  std::string error;
  EXPECT_TRUE(Target::parse(text, target, error)) << text << ": " << error;
  return target;
}

std::string refusal(const std::string &text) {
  Target target;
  std::string error;
  EXPECT_FALSE(Target::parse(text, target, error)) << text;
  return error;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(StringRef triple, StringRef cpu, StringRef features = "") {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64TargetMC();
  std::string error;
  llvm::Triple parsed(triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, error);
  return std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(parsed, cpu, features));
}

std::vector<std::string> namesOfLlvm() {
  llvm::SmallVector<StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  llvm::AArch64::fillValidCPUArchList(names);
  return {names.begin(), names.end()};
}

llvm::SmallVector<StringRef> wordsOf(const std::string &text, char separator) {
  llvm::SmallVector<StringRef> words;
  StringRef(text).split(words, separator);
  return words;
}

TEST(Target, HostsGetTheWidthOfTheirFeaturesAndASafeTuning) {
  for (const ExpectedHost &expected : expectedHosts()) {
    SCOPED_TRACE(expected.name);
    Target target = targetOfHost(expected.host);
    EXPECT_EQ(target.vectorBytes * 8, expected.bits);
    EXPECT_EQ(target.cpu, expected.tuning == "aarch64" ? "generic" : expected.tuning);
    EXPECT_EQ(wordsOf(target.requiredFeatures, ' ').front(), expected.level);
    char word[65];
    EXPECT_EQ(sinter_host_runs(&expected.host, target.requiredFeatures.c_str(), word, sizeof word), SINTER_HOST_RUNS)
        << word;
    for (int level = 0; level < 3; ++level)
      if (expected.cacheKiB[level])
        EXPECT_EQ((level == 0   ? target.l1Bytes
                   : level == 1 ? target.l2Bytes
                                : target.l3Bytes) >>
                      10,
                  expected.cacheKiB[level]);
    EXPECT_GE(target.l1Bytes, 8 << 10);
    EXPECT_GE(target.l2Bytes, 64 << 10);
    EXPECT_GE(target.l3Bytes, 256 << 10);
    EXPECT_GE(target.l1Ways, 1);
  }
}

/// What LLVM generates code with is what the loader checks: no feature is on that the host lacks, implied ones
/// included.
TEST(Target, CodeUsesNothingThatTheHostLacks) {
  for (const ExpectedHost &expected : expectedHosts()) {
    Target target = targetOfHost(expected.host);
    bool arm = expected.host.arch == SINTER_ARCH_AARCH64;
    auto info = subtarget(target.triple, arm ? "generic" : "x86-64", target.features);
    auto ordinary = subtarget(target.triple, arm ? "generic" : "x86-64");
    for (const llvm::SubtargetFeatureKV &feature : info->getEnabledProcessorFeatures())
      if (!ordinary->checkFeatures(std::string("+") + feature.Key))
        EXPECT_EQ(sinter_host_has(&expected.host, feature.Key), 1) << expected.name << " " << feature.Key;
  }
}

TEST(Target, EveryNameOfLlvmIsATarget) {
  std::vector<std::string> names = namesOfLlvm();
  EXPECT_GE(names.size(), 170u);
  for (const std::string &name : names) {
    SCOPED_TRACE(name);
    Target target = parsed("cpu:" + name);
    bool arm = llvm::Triple(target.triple).isAArch64();
    auto cpu = subtarget(target.triple, name);
    EXPECT_TRUE(cpu->isCPUStringValid(target.cpu));
    auto has = [&](StringRef feature) { return cpu->checkFeatures(("+" + feature).str()); };
    bool wide = !arm && has("avx512bw") && has("avx512dq") && has("avx512vl") && has("avx512cd");
    EXPECT_EQ(target.vectorBytes, wide ? 64 : !arm && has("avx2") ? 32 : 16);
    EXPECT_EQ(target.hasFma, arm || has("fma"));
    EXPECT_EQ(target.hasRounding, arm || has("sse4.1"));
    EXPECT_EQ(target.hasScaling, wide);
    // The requirement: a level, and beyond it only what the CPU has and the loader knows.
    llvm::SmallVector<StringRef> words = wordsOf(target.requiredFeatures, ' ');
    EXPECT_EQ(words.front(), arm                                                        ? "aarch64"
                             : wide                                                     ? "x86-64-v4"
                             : has("avx2") && has("fma") && has("bmi2") && has("movbe") ? "x86-64-v3"
                             : has("sse4.2") && has("popcnt") && has("cx16")            ? "x86-64-v2"
                                                                                        : "x86-64");
    sinter_host nothing = {};
    nothing.arch = arm ? SINTER_ARCH_AARCH64 : SINTER_ARCH_X86_64;
    for (StringRef word : llvm::ArrayRef(words).drop_front()) {
      EXPECT_TRUE(has(word)) << word.str();
      EXPECT_EQ(sinter_host_has(&nothing, word.str().c_str()), 0) << word.str();
    }
    // LLVM generates code with nothing else, by names that it knows.
    auto code = subtarget(target.triple, arm ? "generic" : "x86-64", target.features);
    for (const llvm::SubtargetFeatureKV &feature : code->getEnabledProcessorFeatures())
      EXPECT_TRUE(has(feature.Key) ||
                  subtarget(target.triple, arm ? "generic" : "x86-64")->checkFeatures(std::string("+") + feature.Key))
          << feature.Key;
    for (StringRef feature : wordsOf(target.features, ',')) {
      bool known = false;
      for (const llvm::SubtargetFeatureKV &listed : code->getAllProcessorFeatures())
        known |= feature.drop_front() == listed.Key;
      EXPECT_TRUE(known) << feature.str();
      EXPECT_EQ(code->checkFeatures(feature), true) << feature.str();
    }
  }
}

/// A module for a CPU opens on that CPU: LLVM's lists claim nothing for code that real ones lack.
TEST(Target, NamedTargetsRunOnTheirHosts) {
  int found = 0;
  for (const ExpectedHost &expected : expectedHosts()) {
    if (StringRef(expected.tuning).starts_with("x86-64"))
      continue;
    ++found;
    char word[65];
    // Virtual machines may hide AMX, which does not change the tuning.
    std::string name = expected.tuning;
    if (sinter_host_has(&expected.host, "amx-tile") == 0)
      name += ",-amx-tile";
    EXPECT_EQ(sinter_host_runs(&expected.host, parsed(name).requiredFeatures.c_str(), word, sizeof word),
              SINTER_HOST_RUNS)
        << expected.name << " " << word;
  }
  EXPECT_GE(found, 30);
}

TEST(Target, ExtensionsFollowLlvmsImplications) {
  EXPECT_EQ(parsed("x86-64-v3").requiredFeatures, "x86-64-v3");
  EXPECT_EQ(parsed("x86-64-v3,+avxvnni").requiredFeatures, "x86-64-v3 avxvnni");
  EXPECT_EQ(parsed("cpu:znver4,-avx512f").requiredFeatures, "x86-64-v3 gfni prfchw");
  EXPECT_EQ(parsed("cpu:znver4,-avx512f").vectorBytes, 32);
  EXPECT_EQ(parsed("cpu:znver4,-avx2").vectorBytes, 16);
  EXPECT_EQ(parsed("cpu:znver4,-avx").requiredFeatures, "x86-64-v2 bmi bmi2 gfni lzcnt movbe prfchw xsave");
  EXPECT_EQ(parsed("x86-64,+avx512bw").requiredFeatures,
            "x86-64 avx avx2 avx512bw avx512f f16c fma sse3 sse4.1 sse4.2 ssse3");
  EXPECT_EQ(parsed("x86-64-v3,+avx512vl,+avx512bw,+avx512dq,+avx512cd").requiredFeatures, "x86-64-v4");
  EXPECT_EQ(parsed("x86-64-v3,+avx512vl,+avx512bw,+avx512dq,+avx512cd").vectorBytes, 64);
  EXPECT_EQ(parsed("x86-64-v4,+avx512fp16,-avx512fp16").requiredFeatures, "x86-64-v4");
  EXPECT_EQ(parsed("x86-64-v4,+egpr").requiredFeatures, "x86-64-v4 egpr");
  EXPECT_EQ(parsed("aarch64").requiredFeatures, "aarch64");
  EXPECT_EQ(parsed("aarch64,+fp16,+sve").requiredFeatures, "aarch64 fullfp16 sve"); // Arm's names, too
  EXPECT_EQ(parsed("neoverse-v1,-bf16").requiredFeatures.find("bf16"), std::string::npos);
  EXPECT_EQ(parsed("neoverse-n1").requiredFeatures, "aarch64 dotprod fullfp16 rdm");
  EXPECT_EQ(parsed("cpu:generic").name, "generic");
}

TEST(Target, WrongTargetsAreRefusedWithWhatIsNear) {
  const std::string names =
      "a target must be native, a level (x86-64, x86-64-v2, x86-64-v3, x86-64-v4, aarch64) or a CPU "
      "that LLVM knows (znver5, sapphirerapids, neoverse-v2, ...), got '";
  EXPECT_EQ(refusal("skylake-avx51"), names + "skylake-avx51'; near it: skylake-avx512");
  EXPECT_EQ(refusal("x86-64-v5").substr(names.size(), 60), "x86-64-v5'; near it: x86-64-v2, x86-64-v3, x86-64-v4");
  EXPECT_EQ(refusal("pdp11"), names + "pdp11'");
  EXPECT_EQ(refusal(""), names + "'");
  EXPECT_EQ(refusal("i686"), names + "i686'"); // no 64 bits
  EXPECT_EQ(refusal("znver4,+avx513f"),
            "+avx513f is no extension of x86-64 CPUs that a host can be asked for; near it: avx512f");
  EXPECT_EQ(refusal("znver4,+neon"), "+neon is no extension of x86-64 CPUs that a host can be asked for");
  EXPECT_EQ(refusal("graviton"), names + "graviton'");
  EXPECT_EQ(refusal("neoverse-n1,+avx2"), "+avx2 is no extension of aarch64 CPUs that a host can be asked for");
  EXPECT_EQ(refusal("znver4,avx2"), "a CPU's name is followed by +EXTENSION or -EXTENSION, got 'avx2'");
  EXPECT_EQ(refusal("znver4,-sse2"), "-sse2 cannot be: code for x86-64 CPUs always uses it");
  EXPECT_EQ(refusal("aarch64,-fp"), "-fp cannot be: code for aarch64 CPUs always uses it");
}

TEST(Target, NativeIsTheHostOfThisProcess) {
  for (const ExpectedHost &expected : expectedHosts()) {
    UseHost use(expected.host);
    EXPECT_EQ(parsed("native").vectorBytes * 8, expected.bits) << expected.name;
    EXPECT_EQ(Target::host().requiredFeatures, parsed("cpu:native").requiredFeatures);
  }
  for (const ExpectedHost &expected : expectedHosts())
    if (expected.name == "icelake-server") {
      UseHost use(expected.host);
      Target target = parsed("native,-avx512f");
      EXPECT_EQ(target.requiredFeatures, "x86-64-v3 gfni prfchw");
      EXPECT_EQ(target.l2Bytes, 1280 << 10);
    }
}

/// Code for this process has no tiles where the kernel refuses their state, as the loader would find.
TEST(Target, NativeIsWithoutTilesWhereTheKernelRefusesThem) {
  for (const ExpectedHost &expected : expectedHosts())
    if (expected.name == "sapphirerapids") {
      EXPECT_TRUE(targetOfHost(expected.host).hasBfloatTiles);
      sinter_host_use_request([] { return EPERM; });
      Target refused = targetOfHost(expected.host);
      sinter_host_use_request(nullptr);
      EXPECT_FALSE(refused.hasBfloatTiles || refused.hasByteTiles);
      EXPECT_EQ(refused.requiredFeatures.find("amx"), std::string::npos);
      EXPECT_NE(refused.requiredFeatures.find("avx512fp16"), std::string::npos);
    }
}

/// LLVM's own detection, on the machine that runs this.
TEST(Target, ThisMachineIsWhatLlvmSeesOfIt) {
  sinter_host host;
  sinter_host_read_machine(&host);
  for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
    int32_t has = sinter_host_has(&host, feature.first().str().c_str());
    if (has >= 0 && !feature.first().starts_with("amx")) // the kernel may not give it
      EXPECT_EQ(has, feature.second) << feature.first().str();
  }
}

} // namespace
