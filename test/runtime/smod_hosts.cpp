// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code for many machines: which is taken, and what is said when none is. And files of version 1.

#include "Files.h"
#include "Functions.h"
#include "test/hosts/Hosts.h"
extern "C" {
#include "runtime/hash.h"
}
#include "runtime/smod.h"
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {

#if defined(__x86_64__)
constexpr const char *baseline = "x86-64", *beyond = "x86-64-v2 no-such-feature";
#else
constexpr const char *baseline = "aarch64", *beyond = "aarch64 no-such-feature";
#endif

/// A module of manifest-less code sections with these requirements, priorities 0, 1, ...
struct Sections {
  Folder folder;
  std::string code = readFile(TEST_CODE), path = folder.file("m.smod");
  std::vector<sinter_smod_section> sections;

  Sections &add(const char *requirements, const char *backEnd = "cpu") {
    sinter_smod_section section = {};
    section.kind = SINTER_SMOD_CODE;
    section.priority = static_cast<uint32_t>(sections.size());
    section.data = code.data();
    section.bytes = static_cast<int64_t>(code.size());
    section.requirements = requirements;
    section.back_end = backEnd;
    sections.push_back(section);
    return *this;
  }
  /// The index of what this machine takes, or -1.
  int32_t choose() {
    EXPECT_EQ(sinter_smod_write(path.c_str(), sections.data(), static_cast<int32_t>(sections.size())), SINTER_OK);
    sinter_smod *smod;
    EXPECT_EQ(sinter_smod_open(path.c_str(), &smod), SINTER_OK) << lastError();
    int32_t index;
    EXPECT_EQ(sinter_smod_choose(smod, &index), index < 0 ? SINTER_UNSUPPORTED : SINTER_OK);
    sinter_smod_close(smod);
    return index;
  }
};

TEST(SmodHosts, TheBestThatRunsIsTaken) {
  EXPECT_EQ(Sections().add("").add(baseline).add(beyond).choose(), 1);
  EXPECT_EQ(Sections().add(baseline).add("").choose(), 1);
  EXPECT_EQ(Sections().add(baseline).add("", "cuda").choose(), 0);
  Sections same;
  same.add("").add(baseline);
  same.sections[1].priority = 0;
  EXPECT_EQ(same.choose(), 0) << "the first among equals";
}

TEST(SmodHosts, CodeForAnotherKindOfMachineIsPassedOver) {
  Sections module;
  module.add("").add("");
  std::string foreign = module.code;
  foreign[18] = foreign[18] == 62 ? static_cast<char>(183) : 62; // e_machine: x86-64 and aarch64
  module.sections[1].data = foreign.data();
  EXPECT_EQ(module.choose(), 0);
  module.sections[0].data = foreign.data();
  EXPECT_EQ(module.choose(), -1);
  EXPECT_EQ(
      lastError().find("module '" + module.path +
                       "' has no code for this machine: all of it is for other kinds of machines; compile it with"),
      0u)
      << lastError();
}

TEST(SmodHosts, ARefusalNamesTheNearestAndWhatHelps) {
  Sections module;
  module.add("no-such-one no-such-two").add(beyond).add("no-such-three, no-such-four");
  EXPECT_EQ(module.choose(), -1);
  std::string begin =
      "module '" + module.path + "' has no code for this machine: the nearest (" + beyond +
      ") requires no-such-feature, which this machine lacks; compile it with --target=native here, or with ";
  EXPECT_EQ(lastError().substr(0, begin.size()), begin);
  sinter_module *opened;
  EXPECT_EQ(sinter_module_open(module.path.c_str(), nullptr, &opened), SINTER_UNSUPPORTED);
  EXPECT_EQ(lastError().substr(0, begin.size()), begin);
}

#if defined(__x86_64__)
/// The process decides by a Sapphire Rapids, and the kernel answers a request for the state of AMX with `answer`.
struct Asking {
  static inline int32_t answer, requests;
  explicit Asking(int32_t given) {
    answer = given;
    requests = 0;
    for (const ExpectedHost &expected : expectedHosts())
      if (expected.name == "sapphirerapids")
        sinter_host_use(&expected.host);
    sinter_host_use_request([] {
      ++requests;
      return answer;
    });
  }
  ~Asking() {
    sinter_host_use_request(nullptr);
    sinter_host_use(nullptr);
  }
};

TEST(SmodHosts, TheKernelIsAskedForStateThatCodeNeeds) {
  Asking asking(0);
  EXPECT_EQ(Sections().add("x86-64").add("x86-64-v4").choose(), 1);
  EXPECT_EQ(Asking::requests, 0);
  EXPECT_EQ(Sections().add("x86-64-v4").add("x86-64-v4 amx-bf16 amx-tile").choose(), 1);
  EXPECT_EQ(Asking::requests, 1);
  EXPECT_EQ(Sections().add("x86-64-v4 amx-fp16").add("x86-64-v4").choose(), 1) << "amx-fp16 is not there";
  EXPECT_EQ(Asking::requests, 1);
}

TEST(SmodHosts, WithoutTheStateOtherCodeIsTaken) {
  Asking asking(ENOSPC); // an alternative stack for signals is too small
  EXPECT_EQ(Sections().add("x86-64-v4").add("x86-64-v4 +amx-tile").choose(), 0);
  Sections module;
  module.add("x86-64-v4 amx-tile");
  EXPECT_EQ(module.choose(), -1);
  EXPECT_EQ(lastError(), "module '" + module.path +
                             "' has no code for this machine: the nearest (x86-64-v4 amx-tile) requires the state of "
                             "AMX, which the kernel refuses to this process (No space left on device); compile it "
                             "with -amx-tile, too");
  EXPECT_EQ(Sections().add("x86-64-v4, amx-tile").add("x86-64-v3").choose(), 1);
}
#endif

//===- Variants of a function ---------------------------------------------------------------------===//

template <int value>
int32_t answer(sinter_context *context, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *,
               const void *) {
  auto *out = static_cast<float *>(context->output(context, 0, nullptr, 0));
  *out = value;
  return SINTER_OK;
}

struct Variants {
  Function first{answer<1>, {}, {{}}}, second{answer<2>, {}, {{}}}, third{answer<3>, {}, {{}}};
  const sinter_function *others[2] = {&second.function, &third.function};

  Variants(const char *one, const char *two, const char *three) {
    first.function.cpu_features = one;
    second.function.cpu_features = two;
    third.function.cpu_features = three;
    second.function.priority = 1;
    third.function.priority = 2;
    first.function.variants = others;
    first.function.num_variants = 2;
  }
  float run() {
    Session session(first);
    EXPECT_EQ(session.status, SINTER_OK) << lastError();
    sinter_tensor output;
    EXPECT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
    EXPECT_EQ(sinter_session_output(session, 0, &output), SINTER_OK);
    return *static_cast<float *>(output.data);
  }
};

TEST(Variants, TheBestThatRunsIsTaken) {
  EXPECT_EQ(Variants("", "", "").run(), 3);
  EXPECT_EQ(Variants("", baseline, beyond).run(), 2);
  EXPECT_EQ(Variants(baseline, beyond, beyond).run(), 1);
  EXPECT_EQ(Variants(beyond, nullptr, beyond).run(), 2);
  Variants old("", "", "");
  old.first.function.struct_size = offsetof(sinter_function, variants); // before variants were added
  EXPECT_EQ(old.run(), 1);
}

TEST(Variants, ARefusalNamesTheNearest) {
  Variants variants("no-such-one no-such-two", beyond, "no-such-three no-such-four");
  Session session(variants.first);
  EXPECT_EQ(session.status, SINTER_UNSUPPORTED);
  std::string begin = "function 'main' has no code for this machine: the nearest (" + std::string(beyond) +
                      ") requires no-such-feature, which this machine lacks; compile it with ";
  EXPECT_EQ(lastError().substr(0, begin.size()), begin);
}

TEST(Variants, OnesThatDifferInWhatTheyTakeAreRefused) {
  auto refuse = [](auto change, const std::string &message) {
    Variants variants("", "", "");
    change(variants);
    EXPECT_EQ(Session(variants.first).status, SINTER_CORRUPT);
    EXPECT_EQ(lastError(), message);
  };
  std::string differs = "variant 1 of function 'main' requires its inputs, outputs and states";
  refuse([](Variants &v) { v.third.types[0].dtype = SINTER_F64; }, differs);
  refuse([](Variants &v) { v.third.names[0] = "q", v.third.types[0].name = "q"; }, differs);
  refuse([](Variants &v) { v.third.function.name = "other"; }, differs);
  refuse([](Variants &v) { v.third.function.num_outputs = 0; }, differs);
  refuse([](Variants &v) { v.others[0] = nullptr; }, "function 'main' has a variant that is null");
  refuse([](Variants &v) { v.first.function.num_variants = -1; }, "function 'main' states -1 variants");
  refuse([](Variants &v) { v.first.function.num_variants = 64; }, "function 'main' states 64 variants");
  refuse([](Variants &v) { v.first.function.variants = nullptr; }, "function 'main' states 2 variants");
}

//===- Version 1 ----------------------------------------------------------------------------------===//
//
// Inputs/version-1.smod and version-1-libm.smod were written by the compiler of November 2026 from y = tanh(x * w), w =
// [0.5, 2, 3, 4], with --target=x86-64-v3 and at -O2 and -O0: the latter calls tanhf, from libm.so.6 with its version.

const char *const files[] = {TEST_INPUTS "/version-1.smod", TEST_INPUTS "/version-1-libm.smod"};

TEST(Version1, ModulesAreReadAndRun) {
  for (const char *path : files) {
    sinter_smod *smod;
    ASSERT_EQ(sinter_smod_open(path, &smod), SINTER_OK) << lastError();
    EXPECT_EQ(sinter_smod_version(smod), 1u);
    ASSERT_EQ(sinter_smod_count(smod), 3);
    EXPECT_STREQ(sinter_smod_section_at(smod, 1)->requirements, "x86-64-v3");
    EXPECT_STREQ(sinter_smod_section_at(smod, 1)->back_end, "cpu");
    int32_t index;
    bool runs = sinter_smod_choose(smod, &index) == SINTER_OK;
    sinter_smod_close(smod);
    if (!runs)
      GTEST_SKIP() << "no x86-64-v3: " << lastError();
    sinter_module *module;
    ASSERT_EQ(sinter_module_open(path, nullptr, &module), SINTER_OK) << lastError();
    sinter_session *session;
    ASSERT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << lastError();
    float x[4] = {1, 1, -1, 0};
    sinter_tensor input = view(x, {1, 4}), output;
    sinter_session_set_input(session, 0, &input);
    ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
    sinter_session_output(session, 0, &output);
    const float *y = static_cast<const float *>(output.data);
    EXPECT_NEAR(y[0], 0.46211716f, 1e-6);
    EXPECT_NEAR(y[1], 0.96402758f, 1e-6);
    EXPECT_NEAR(y[2], -0.99505475f, 1e-6);
    EXPECT_EQ(y[3], 0);
    sinter_session_destroy(session);
    sinter_module_close(module);
  }
}

TEST(Version1, ASealedLieIsFound) {
  Folder folder;
  std::string good = readFile(files[0]), path = folder.file("m.smod");
  auto lie = [&](size_t at, uint64_t value, size_t bytes) {
    std::string bad = good;
    memcpy(bad.data() + at, &value, bytes);
    memset(bad.data() + 24, 0, 8);
    uint64_t hash = srtXxh64(bad.data() + 64, 3 * 256, srtXxh64(bad.data(), 64, 0));
    memcpy(bad.data() + 24, &hash, 8);
    folder.write("m.smod", bad);
    sinter_smod *smod;
    EXPECT_NE(sinter_smod_open(path.c_str(), &smod), SINTER_OK) << at;
    return lastError();
  };
  EXPECT_EQ(lie(20, 1, 4), "module '" + path + "' has non-zero reserved bytes");
  EXPECT_EQ(lie(64, 9, 4), "section 0 of module '" + path + "' has the unknown kind 9");
  EXPECT_EQ(lie(64 + 16, ~0ull, 8).find("section 0 (manifest) of module '" + path + "' requires offset 832 and"), 0u);
  EXPECT_EQ(lie(64 + 24, 1, 8), "section 0 (manifest) of module '" + path + "' is damaged: hash");
  memset(good.data() + 64 + 32, 'x', 224);
  EXPECT_EQ(lie(64 + 32, 'x', 1), "section 0 (manifest) of module '" + path + "' has unterminated requirements");
}

TEST(Version1, EveryFlippedByteIsFound) {
  Folder folder;
  std::string good = readFile(files[1]);
  for (size_t at = 0; at < good.size(); at += at < 1000 ? 3 : 61) {
    std::string bad = good;
    bad[at] ^= 4;
    sinter_smod *smod;
    EXPECT_NE(sinter_smod_open(folder.write("bad.smod", bad).c_str(), &smod), SINTER_OK) << at;
    sinter_smod_close(smod);
  }
}

} // namespace
