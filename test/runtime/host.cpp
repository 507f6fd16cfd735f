// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Detection as a function of a description, over the table of hosts.

#include "runtime/host.h"
#include "Functions.h"
#include "test/hosts/Hosts.h"
#include <filesystem>
#include <set>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
extern "C" {
#include "runtime/threads.h"
}

using namespace sinter::test;

namespace {

sinter_host parsed(const std::string &text) {
  sinter_host host;
  EXPECT_EQ(sinter_host_parse(text.c_str(), "text", &host), SINTER_OK) << sinter_last_error();
  return host;
}

std::string printed(const sinter_host &host) {
  std::string text(static_cast<size_t>(sinter_host_print(&host, nullptr, 0)), 0);
  EXPECT_EQ(sinter_host_print(&host, text.data(), static_cast<int64_t>(text.size())),
            static_cast<int64_t>(text.size()));
  text.pop_back();
  return text;
}

std::string refusal(const sinter_host &host, const char *requirements) {
  char word[65];
  sinter_host_answer answer = sinter_host_runs(&host, requirements, word, sizeof word);
  static const char *const names[] = {"runs", "lacks ", "unknown ", "other "};
  return answer == SINTER_HOST_RUNS ? names[0] : names[answer] + std::string(word);
}

const sinter_host &named(const std::string &name) {
  for (const ExpectedHost &expected : expectedHosts())
    if (expected.name == name)
      return expected.host;
  ADD_FAILURE() << "no host " << name;
  return expectedHosts().front().host;
}

TEST(Host, TableHasAllFilesOfTheFolder) {
  std::set<std::string> names;
  for (const ExpectedHost &expected : expectedHosts())
    names.insert(expected.name + ".host");
  EXPECT_GE(names.size(), 40u);
  for (const auto &entry : std::filesystem::directory_iterator(TEST_HOSTS))
    if (entry.path().extension() == ".host")
      EXPECT_TRUE(names.contains(entry.path().filename().string())) << entry.path();
}

TEST(Host, LevelAndExtensionsAreThoseOfTheVendor) {
  for (const ExpectedHost &expected : expectedHosts()) {
    SCOPED_TRACE(expected.name);
    EXPECT_EQ(sinter_host_level(&expected.host), expected.level);
    for (const std::string &extension : expected.has)
      EXPECT_EQ(sinter_host_has(&expected.host, extension.c_str()), 1) << extension;
    for (const std::string &extension : expected.lacks)
      EXPECT_EQ(sinter_host_has(&expected.host, extension.c_str()), 0) << extension;
  }
}

TEST(Host, CachesComeFromSysconfThenSysfsThenCpuid) {
  for (const ExpectedHost &expected : expectedHosts())
    for (int level = 1; level <= 3; ++level) {
      sinter_cache cache;
      const char *source = sinter_host_cache(&expected.host, level, &cache);
      EXPECT_EQ(cache.bytes, expected.cacheKiB[level - 1] * 1024) << expected.name << " L" << level;
      EXPECT_EQ(source != nullptr, cache.bytes != 0);
    }
  std::string leaves = "cpuid 0 0 16 756e6547 6c65746e 49656e69\ncpuid 4 0 121 1c0003f 3f 0\n";
  auto told = [&](const std::string &facts) {
    sinter_host host = parsed("arch x86-64\n" + leaves + facts);
    sinter_cache cache;
    const char *source = sinter_host_cache(&host, 1, &cache);
    return std::string(source ? source : "none") + " " + std::to_string(cache.bytes) + " " +
           std::to_string(cache.ways) + " " + std::to_string(cache.line_bytes);
  };
  EXPECT_EQ(told(""), "cpuid 32768 8 64");
  EXPECT_EQ(told("sysfs L1 49152 12 64\n"), "sysfs 49152 12 64");
  EXPECT_EQ(told("sysconf L1 65536 0 0\nsysfs L1 49152 12 32\n"), "sysconf 65536 12 32");
  EXPECT_EQ(told("sysconf L1 0 8 64\n"), "cpuid 32768 8 64");
  leaves.clear();
  EXPECT_EQ(told("sysconf L1 0 0 0\n"), "none 0 0 0");
}

TEST(Host, CoresAreTheAffinityMaskCutToTheQuota) {
  EXPECT_EQ(srtUsableCores(8, 0, 0), 8); // more than 1024 cores: no mask
  EXPECT_EQ(srtUsableCores(8, 4, 0), 4);
  EXPECT_EQ(srtUsableCores(8, 4, 250), 3);
  EXPECT_EQ(srtUsableCores(8, 4, 200), 2);
  EXPECT_EQ(srtUsableCores(8, 4, 1), 1);
  EXPECT_EQ(srtUsableCores(8, 4, 900), 4);
  EXPECT_EQ(srtUsableCores(0, 0, 0), 1);
  EXPECT_EQ(sinter_host_cores(&named("vm-sysfs-caches")), 2);
}

TEST(Host, RequirementsAreLevelsAndExtensions) {
  const sinter_host &haswell = named("haswell"), &graviton3 = named("graviton3");
  EXPECT_EQ(refusal(haswell, ""), "runs");
  EXPECT_EQ(refusal(haswell, "x86-64-v3 f16c"), "runs");
  EXPECT_EQ(refusal(haswell, "+avx2,+fma,-avx512f"), "runs");
  EXPECT_EQ(refusal(haswell, "x86-64-v4"), "lacks avx512f");
  EXPECT_EQ(refusal(haswell, "x86-64-v3 avx512vnni"), "lacks avx512vnni");
  EXPECT_EQ(refusal(named("nehalem"), "x86-64-v3"), "lacks avx");
  EXPECT_EQ(refusal(haswell, "x86-64-v5"), "unknown x86-64-v5");
  EXPECT_EQ(refusal(haswell, "x86-64-v3 telepathy"), "unknown telepathy");
  EXPECT_EQ(refusal(haswell, "aarch64"), "other aarch64");
  EXPECT_EQ(refusal(haswell, "neon"), "other neon");
  EXPECT_EQ(refusal(graviton3, "aarch64 sve bf16"), "runs");
  EXPECT_EQ(refusal(graviton3, "aarch64 sve2"), "lacks sve2");
  EXPECT_EQ(refusal(graviton3, "x86-64-v2"), "other x86-64-v2");
  EXPECT_EQ(refusal(named("vm-avx512-unsaved"), "x86-64-v4"), "lacks avx512f");
  EXPECT_EQ(refusal(named("vm-no-osxsave"), "x86-64-v3"), "lacks avx");
  EXPECT_EQ(refusal(named("vm-amx-refused"), "amx-tile"), "lacks amx-tile");
  EXPECT_EQ(refusal(named("sapphirerapids"), "amx-tile"), "runs");
}

TEST(Host, SandyBridgeHasNothingOfAnEchoedSubleaf) {
  // Some answer subleaf 1 of leaf 7 with what subleaf 0 says (reviews.llvm.org/D156963).
  std::string text = "arch x86-64\ncpuid 0 0 d 756e6547 6c65746e 49656e69\ncpuid 7 0 %d 0 0 9c000400\n"
                     "cpuid 7 1 0 0 0 9c000400\ncpuid 1 0 206a7 0 1fbae3bf bfebfbff\nxcr0 7\n";
  text.replace(text.find("%d"), 2, "0");
  sinter_host host = parsed(text);
  EXPECT_EQ(sinter_host_has(&host, "avxvnniint16"), 0);
  host.leaves[1].eax = 1;
  EXPECT_EQ(sinter_host_has(&host, "avxvnniint16"), 1);
}

TEST(Host, CpusWith3dnowHavePrefetchw) {
  std::string text = "arch x86-64\ncpuid 80000000 0 80000001 0 0 0\ncpuid 80000001 0 0 0 1 %d\n";
  sinter_host host = parsed(text.replace(text.find("%d"), 2, "2c100800"));
  EXPECT_EQ(sinter_host_has(&host, "prfchw"), 0);
  host.leaves[1].edx |= 1u << 31;
  EXPECT_EQ(sinter_host_has(&host, "prfchw"), 1);
}

int32_t doNothing(sinter_context *, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *, const void *) {
  return 0;
}

TEST(Host, LoadingAsksTheHostOfThisProcess) {
  Function function(doNothing, {{1}}, {{1}}, {});
  sinter_module *module = nullptr;
  auto refuse = [&](const char *host, const char *requirements) {
    UseHost use(named(host));
    function.function.cpu_features = requirements;
    EXPECT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_UNSUPPORTED);
    return std::string(sinter_last_error());
  };
  EXPECT_NE(refuse("zen3", "x86-64-v4 avx512bf16").find(" avx512f"), std::string::npos) << lastError();
  EXPECT_NE(refuse("graviton2", "aarch64 sve").find(" sve"), std::string::npos) << lastError();
  EXPECT_NE(refuse("graviton4", "x86-64-v3").find("other kinds of machines; compile it with --target=aarch64"),
            std::string::npos)
      << lastError();
  EXPECT_NE(refuse("zen5", "x86-64-v9").find(" x86-64-v9"), std::string::npos) << lastError();
  UseHost use(named("zen4"));
  function.function.cpu_features = "x86-64-v4 avx512bf16 gfni";
  EXPECT_EQ(sinter_module_open_function(&function.function, nullptr, &module), SINTER_OK) << lastError();
  sinter_module_close(module);
}

TEST(Host, DescriptionsSurvivePrinting) {
  for (const ExpectedHost &expected : expectedHosts()) {
    std::string text = printed(expected.host);
    EXPECT_EQ(printed(parsed(text)), text) << expected.name;
    char small[10];
    EXPECT_EQ(sinter_host_print(&expected.host, small, sizeof small), static_cast<int64_t>(text.size()) + 1);
    EXPECT_EQ(std::string(small), text.substr(0, 9));
  }
}

TEST(Host, BadDescriptionsAreRefused) {
  auto refuse = [](const std::string &text) {
    sinter_host host;
    EXPECT_EQ(sinter_host_parse(text.c_str(), "x.host", &host), SINTER_INVALID_ARGUMENT) << text;
    return std::string(sinter_last_error());
  };
  EXPECT_EQ(refuse(""), "x.host: a host description requires a line 'arch x86-64' or 'arch aarch64'");
  EXPECT_EQ(refuse("arch mips\n"), "x.host:1: no fact of a host description: 'arch'");
  for (const char *line :
       {"cpuid 1 0 2 3 4", "cpuid 1 0 2 3 4 5 6", "cpuid 1 0 2 3 4 123456789", "cpuid 1 0 2 3 4 x", "xcr0", "xcr0 -1",
        "xcr0 11111111111111111111", "sysconf L4 1 2 3", "sysconf L1 1 2", "sysfs L1 -1 2 3", "cores 1 2", "magic 1",
        "cores 1 2 99999999999", "hwcap 1 2 3 4 5 6 7 8 9"}) {
    std::string text = line;
    EXPECT_EQ(refuse("arch x86-64\n" + text + "\n"),
              "x.host:2: no fact of a host description: '" + text.substr(0, text.find(' ')) + "'");
  }
  EXPECT_EQ(refuse("#" + std::string(300, 'a')),
            "x.host:1: a line of a host description requires below 256 bytes, got 301");
  std::string many = "arch x86-64\n";
  for (int i = 0; i <= SINTER_HOST_MAX_LEAVES; ++i)
    many += "cpuid 4 " + std::to_string(i % 9) + " 0 0 0 0\n";
  EXPECT_EQ(refuse(many), "x.host:66: no fact of a host description: 'cpuid'");
  sinter_host host;
  EXPECT_EQ(sinter_host_read_file("/nowhere.host", &host), SINTER_IO);
}

TEST(Host, ThisMachineIsDescribed) {
  sinter_host host;
  sinter_host_read_machine(&host);
  EXPECT_GT(host.online_cores, 0);
  EXPECT_STRNE(sinter_host_level(&host), "");
  EXPECT_EQ(printed(parsed(printed(host))), printed(host));
#if defined(__x86_64__)
  // The compiler's own reading of CPUID and XCR0.
  __builtin_cpu_init();
  EXPECT_EQ(sinter_host_has(&host, "ssse3"), !!__builtin_cpu_supports("ssse3"));
  EXPECT_EQ(sinter_host_has(&host, "avx2"), !!__builtin_cpu_supports("avx2"));
  EXPECT_EQ(sinter_host_has(&host, "fma"), !!__builtin_cpu_supports("fma"));
  EXPECT_EQ(sinter_host_has(&host, "avx512f"), !!__builtin_cpu_supports("avx512f"));
  EXPECT_EQ(sinter_host_has(&host, "avx512bf16"), !!__builtin_cpu_supports("avx512bf16"));
  EXPECT_EQ(sinter_host_has(&host, "gfni"), !!__builtin_cpu_supports("gfni"));
#endif
}

TEST(Host, EveryLevelHoldsTheOneBelow) {
  for (const ExpectedHost &expected : expectedHosts()) {
    bool above = false;
    for (const char *level : {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"}) {
      bool runs = refusal(expected.host, level) == "runs";
      EXPECT_TRUE(runs || !above) << expected.name << " " << level;
      above |= runs;
    }
  }
}

} // namespace
