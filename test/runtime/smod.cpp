// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Files.h"
#include "Functions.h"
extern "C" {
#include "runtime/hash.h"
}
#include "runtime/smod.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>

using namespace sinter::test;

namespace {

const float weights[] = {2, 0, 0, 0};

struct Container {
  std::string manifest = "function scale", code = readFile(TEST_CODE);
  std::vector<sinter_smod_section> sections;

  Container() {
    add(SINTER_SMOD_MANIFEST, manifest.data(), manifest.size());
    add(SINTER_SMOD_CODE, code.data(), code.size());
    add(SINTER_SMOD_WEIGHTS, weights, sizeof weights);
  }
  void add(uint32_t kind, const void *data, size_t bytes, const char *requirements = nullptr, uint32_t priority = 0) {
    sinter_smod_section section = {};
    section.kind = kind;
    section.priority = priority;
    section.data = data;
    section.bytes = static_cast<int64_t>(bytes);
    section.requirements = requirements;
    sections.push_back(section);
  }
  sinter_status_code write(const std::string &path) const {
    return sinter_smod_write(path.c_str(), sections.data(), static_cast<int32_t>(sections.size()));
  }
};

sinter_status_code openAndClose(const std::string &path, const sinter_open_options *options = nullptr) {
  sinter_module *module;
  sinter_status_code status = sinter_module_open(path.c_str(), options, &module);
  EXPECT_EQ(module == nullptr, status != SINTER_OK);
  sinter_module_close(module);
  return status;
}

/// Runs `scale` on 1x3 ones with bias 10 and returns the first value.
float runScale(sinter_module *module) {
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  sinter_session *session;
  EXPECT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_OK) << lastError();
  float x[3] = {1, 1, 1}, bias = 10;
  sinter_tensor inputs[2] = {view(x, {1, 3}), view(&bias, {})}, output;
  sinter_session_set_input(session, 0, &inputs[0]);
  sinter_session_set_input(session, 1, &inputs[1]);
  EXPECT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_session_output(session, 0, &output), SINTER_OK);
  float result = *static_cast<float *>(output.data);
  sinter_session_destroy(session);
  return result;
}

TEST(Smod, RunsCodeWithItsWeights) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  ASSERT_EQ(container.write(path), SINTER_OK) << lastError();
  EXPECT_EQ(folder.count(), 1);
  sinter_module *module;
  sinter_open_options options = {};
  options.struct_size = sizeof options;
  options.map_weights = 1;
  ASSERT_EQ(sinter_module_open(path.c_str(), &options, &module), SINTER_OK) << lastError();
  EXPECT_EQ(runScale(module), 12);
  sinter_module_close(module);
  ASSERT_EQ(sinter_module_open(path.c_str(), nullptr, &module), SINTER_OK) << lastError();
  EXPECT_STREQ(sinter_module_function(module, 0)->name, "scale");
  EXPECT_EQ(sinter_module_weights_bytes(module), 4);
  int64_t bytes;
  const void *manifest = sinter_module_manifest(module, &bytes);
  EXPECT_EQ(std::string(static_cast<const char *>(manifest), static_cast<size_t>(bytes)), container.manifest);
  EXPECT_EQ(runScale(module), 12);
  sinter_module_close(module);
}

TEST(Smod, TwoModulesAtOnceKeepApart) {
  Folder folder;
  Container one, two;
  const float other[] = {5, 0};
  two.sections.back().data = other;
  two.sections.back().bytes = sizeof other;
  one.write(folder.file("1.smod"));
  two.write(folder.file("2.smod"));
  sinter_module *first, *second;
  ASSERT_EQ(sinter_module_open(folder.file("1.smod").c_str(), nullptr, &first), SINTER_OK);
  ASSERT_EQ(sinter_module_open(folder.file("2.smod").c_str(), nullptr, &second), SINTER_OK);
  EXPECT_EQ(runScale(first), 12);
  EXPECT_EQ(runScale(second), 15);
  EXPECT_NE(sinter_module_function(first, 0), sinter_module_function(second, 0));
  sinter_module_close(first);
  EXPECT_EQ(runScale(second), 15);
  ASSERT_EQ(sinter_module_open(folder.file("1.smod").c_str(), nullptr, &first), SINTER_OK);
  EXPECT_EQ(runScale(first), 12);
  sinter_module_close(first);
  sinter_module_close(second);
}

TEST(Smod, SectionsAreAlignedAndDescribed) {
  Folder folder;
  Container container;
  std::string other = "code of another kind", longList(100000, 'x');
  const sinter_smod_range ranges[] = {{0, 4}, {8, 8}};
  container.add(SINTER_SMOD_CODE, other.data(), other.size());
  container.sections.back().back_end = "cuda";
  container.sections.back().priority = 5; // no host code goes with it
  container.sections.back().has_sha256 = 1;
  container.add(SINTER_SMOD_CODE, container.code.data(), container.code.size(), longList.c_str(), 9);
  container.sections.back().ranges = ranges;
  container.sections.back().num_ranges = 2;
  container.write(folder.file("m.smod"));
  sinter_smod *smod;
  ASSERT_EQ(sinter_smod_open(folder.file("m.smod").c_str(), &smod), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_smod_version(smod), 2u);
  ASSERT_EQ(sinter_smod_count(smod), 5);
  for (int32_t i = 0; i < 5; ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(section->data) % 64, 0u);
    EXPECT_EQ(section->kind, container.sections[static_cast<size_t>(i)].kind);
    EXPECT_EQ(section->bytes, container.sections[static_cast<size_t>(i)].bytes);
  }
  EXPECT_STREQ(sinter_smod_section_at(smod, 0)->back_end, "");
  EXPECT_STREQ(sinter_smod_section_at(smod, 1)->back_end, "cpu");
  EXPECT_STREQ(sinter_smod_section_at(smod, 1)->requirements, "");
  EXPECT_FALSE(sinter_smod_section_at(smod, 1)->has_sha256);
  const sinter_smod_section *foreign = sinter_smod_section_at(smod, 3), *last = sinter_smod_section_at(smod, 4);
  EXPECT_STREQ(foreign->back_end, "cuda");
  char text[65], stored[65];
  sinter_sha256(other.data(), static_cast<int64_t>(other.size()), text);
  for (int i = 0; i < 32; ++i)
    snprintf(stored + 2 * i, 3, "%02x", foreign->sha256[i]);
  EXPECT_STREQ(stored, text);
  EXPECT_EQ(last->requirements, longList);
  EXPECT_EQ(last->priority, 9u);
  ASSERT_EQ(last->num_ranges, 2);
  EXPECT_EQ(last->ranges[1].offset, 8);
  EXPECT_EQ(last->ranges[1].bytes, 8);
  EXPECT_EQ(sinter_smod_section_at(smod, 5), nullptr);
  sinter_smod_close(smod);
  // The code that this machine cannot run is passed over, and so is another back end's.
  EXPECT_EQ(openAndClose(folder.file("m.smod")), SINTER_OK) << lastError();
}

TEST(Smod, HoldsAThousandSections) {
  Folder folder;
  Container container;
  while (container.sections.size() < SINTER_SMOD_MAX_SECTIONS)
    container.add(SINTER_SMOD_CODE, weights, 4, "no-such-feature");
  ASSERT_EQ(container.write(folder.file("m.smod")), SINTER_OK) << lastError();
  EXPECT_EQ(openAndClose(folder.file("m.smod")), SINTER_OK) << lastError();
  container.add(SINTER_SMOD_CODE, weights, 4);
  EXPECT_EQ(container.write(folder.file("m.smod")), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "writing a module requires a path and 0 to 1024 sections, got 1025");
}

TEST(Smod, AModuleWithoutCodeIsCorrupt) {
  Folder folder;
  Container container;
  container.sections.erase(container.sections.begin() + 1);
  std::string path = folder.file("m.smod");
  container.write(path);
  EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "module '" + path + "' has no code section");
}

TEST(Smod, EveryFlippedByteIsFound) {
  Folder folder;
  Container container;
  // The code is the largest part; its bytes are sampled below.
  std::string path = folder.file("m.smod");
  container.write(path);
  std::string good = readFile(path);
  std::mt19937 random(1);
  for (size_t at = 0; at < good.size(); at += at < 64 + 3 * 128 || at > good.size() - 100 ? 1 : 1 + random() % 400) {
    std::string bad = good;
    bad[at] ^= static_cast<char>(1u << random() % 8);
    sinter_smod *smod;
    sinter_status_code status = sinter_smod_open(folder.write("bad.smod", bad).c_str(), &smod);
    EXPECT_TRUE(status == SINTER_CORRUPT || (status == SINTER_UNSUPPORTED && at >= 4 && at < 8))
        << at << ": " << lastError();
    sinter_smod_close(smod);
  }
}

TEST(Smod, NamesTheDamagedSection) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  container.write(path);
  std::string good = readFile(path);
  auto damaged = [&](size_t at) {
    std::string bad = good;
    bad[at] ^= 1;
    folder.write("m.smod", bad);
    EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
    return lastError();
  };
  auto offset = [&](int section) { return *reinterpret_cast<const uint64_t *>(good.data() + 64 + 128 * section + 8); };
  EXPECT_EQ(damaged(offset(0)), "section 0 (manifest) of module '" + path + "' is damaged: hash");
  EXPECT_EQ(damaged(offset(1) + 100), "section 1 (code) of module '" + path + "' is damaged: hash");
  EXPECT_EQ(damaged(offset(2)), "section 2 (weights) of module '" + path + "' is damaged: hash");
  sinter_open_options options = {};
  options.struct_size = sizeof options;
  options.skip_weight_hash = 1;
  EXPECT_EQ(openAndClose(path, &options), SINTER_OK) << lastError(); // weights are not looked at
  EXPECT_EQ(damaged(64 + 16), "module '" + path + "' is damaged: hash of the header and section table");
  EXPECT_EQ(damaged(offset(1) - 1), "module '" + path + "' has non-zero padding before section 1");
  EXPECT_EQ(damaged(0), "'" + path + "' requires the start of a .smod or of a shared library, got 52 4d 4f 44");
}

/// Sets the hash of a changed table, as an attacker or a wrong writer would.
void seal(std::string &file) {
  memset(file.data() + 24, 0, 8);
  uint32_t version, count, details;
  memcpy(&version, file.data() + 4, 4);
  memcpy(&count, file.data() + 16, 4);
  memcpy(&details, file.data() + 20, 4);
  int64_t bytes = version == 1 ? int64_t(256) * count : int64_t(128) * count + details;
  bytes = std::min(bytes, static_cast<int64_t>(file.size()) - 64);
  uint64_t hash = srtXxh64(file.data() + 64, bytes, srtXxh64(file.data(), 64, 0));
  memcpy(file.data() + 24, &hash, 8);
}

TEST(Smod, ASealedLieIsFound) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  container.write(path);
  std::string good = readFile(path);
  auto lie = [&](size_t at, uint64_t value, size_t bytes, sinter_status_code status) {
    std::string bad = good;
    memcpy(bad.data() + at, &value, bytes);
    seal(bad);
    folder.write("m.smod", bad);
    EXPECT_EQ(openAndClose(path), status) << at << ": " << lastError();
    return lastError();
  };
  std::string size = std::to_string(good.size());
  constexpr size_t entry = 128, code = 64 + entry, packed = 64 + 2 * entry;
  EXPECT_EQ(lie(4, 3, 4, SINTER_UNSUPPORTED), "module '" + path + "' has format version 3, this runtime reads 1 to 2");
  EXPECT_EQ(lie(8, 7, 8, SINTER_CORRUPT), "module '" + path + "' requires 7 bytes, got " + size);
  EXPECT_EQ(lie(16, 1025, 4, SINTER_CORRUPT), "module '" + path + "' requires at most 1024 sections, got 1025");
  EXPECT_EQ(lie(16, 1000, 4, SINTER_CORRUPT).find("module '" + path + "' requires 128"), 0u) << lastError();
  EXPECT_EQ(lie(20, 1, 4, SINTER_CORRUPT),
            "module '" + path + "' requires at most 16777216 bytes of details, a multiple of 8, got 1");
  EXPECT_EQ(lie(20, 0, 4, SINTER_CORRUPT),
            "module '" + path + "' requires details that begin and end with a zero byte");
  EXPECT_EQ(lie(40, 1, 4, SINTER_CORRUPT), "module '" + path + "' has non-zero reserved bytes");
  EXPECT_EQ(lie(64, 9, 4, SINTER_UNSUPPORTED), "section 0 of module '" + path + "' has the unknown kind 9");
  EXPECT_EQ(lie(64, SINTER_SMOD_PTX, 4, SINTER_UNSUPPORTED),
            "section 0 of module '" + path + "' has the unknown kind 3");
  EXPECT_EQ(lie(64, SINTER_SMOD_WEIGHTS, 4, SINTER_CORRUPT),
            "module '" + path + "' requires one weights section, got more");
  uint64_t begin = *reinterpret_cast<const uint64_t *>(good.data() + code + 8);
  EXPECT_EQ(lie(code + 8, 1 << 30, 8, SINTER_CORRUPT), "section 1 (code) of module '" + path + "' requires offset " +
                                                           std::to_string(begin) + " and an end within " + size +
                                                           " bytes, got offset 1073741824 and " +
                                                           std::to_string(container.code.size()) + " bytes");
  lie(64 + 16, ~0ull, 8, SINTER_CORRUPT); // bytes of the manifest
  lie(64 + 8, 64, 8, SINTER_CORRUPT);     // the manifest over the table
  lie(packed + 16, 4, 8, SINTER_CORRUPT); // shorter weights: bytes behind them
  EXPECT_EQ(lie(64 + 24, 1, 8, SINTER_CORRUPT), "section 0 (manifest) of module '" + path + "' is damaged: hash");
  std::string bounds = "section 1 (code) of module '" + path + "' requires its text and ranges within ";
  for (size_t field : {32, 36}) {
    EXPECT_EQ(lie(code + field, ~0u, 4, SINTER_CORRUPT).find(bounds), 0u) << lastError();
  }
  EXPECT_EQ(lie(code + 44, 1000, 4, SINTER_CORRUPT).find(bounds), 0u) << lastError();
  EXPECT_EQ(lie(code + 40, 4, 4, SINTER_CORRUPT).find(bounds), 0u) << lastError();
  EXPECT_EQ(lie(code + 40, ~0u - 7, 4, SINTER_CORRUPT).find(bounds), 0u) << lastError();
  for (size_t field : {48, 52, 64, 96})
    EXPECT_EQ(lie(code + field, 7, 4, SINTER_CORRUPT), "module '" + path + "' has non-zero reserved bytes") << field;
}

TEST(Smod, RangesLieWithinTheWeightsInOrder) {
  Folder folder;
  std::string path = folder.file("m.smod");
  const sinter_smod_range wrong[][2] = {
      {{0, 17}, {17, 0}}, {{8, 4}, {4, 4}}, {{0, 8}, {4, 8}}, {{0, -1}, {8, 1}}, {{-8, 8}, {8, 1}}};
  for (const auto &ranges : wrong) {
    Container container;
    container.sections[1].ranges = ranges;
    container.sections[1].num_ranges = 2;
    container.write(path);
    EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
    EXPECT_EQ(lastError(), "section 1 (code) of module '" + path +
                               "' requires ranges in ascending order within 16 bytes of weights");
  }
}

/// `weights` as far as the ranges say; megabytes, so that the rest is given back.
TEST(Smod, WeightsOutsideOfTheRangesAreNotKept) {
  Folder folder;
  Container container;
  std::vector<float> large(4 << 20, 3.0f);
  container.sections[2].data = large.data();
  container.sections[2].bytes = static_cast<int64_t>(large.size() * sizeof(float));
  const sinter_smod_range ranges[] = {{0, 4}, {8 << 20, 1 << 20}};
  container.sections[1].ranges = ranges;
  container.sections[1].num_ranges = 2;
  container.write(folder.file("m.smod"));
  auto resident = [] {
    std::ifstream file("/proc/self/statm");
    int64_t size, pages;
    file >> size >> pages;
    return pages * 4096;
  };
  int64_t before = resident();
  sinter_module *module;
  ASSERT_EQ(sinter_module_open(folder.file("m.smod").c_str(), nullptr, &module), SINTER_OK) << lastError();
  EXPECT_LT(resident() - before, 8 << 20) << "of 16 MiB";
  EXPECT_EQ(runScale(module), 13);
  sinter_module_close(module);
}

TEST(Smod, EveryTruncationIsFound) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  container.write(path);
  std::string good = readFile(path);
  for (size_t bytes = 0; bytes < good.size(); bytes += bytes < 1000 ? 7 : 1001) {
    folder.write("m.smod", good.substr(0, bytes));
    EXPECT_EQ(openAndClose(path), SINTER_CORRUPT) << bytes << ": " << lastError();
  }
  folder.write("m.smod", good + "x");
  EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
}

TEST(Smod, MissingWeightsAreFound) {
  Folder folder;
  Container container;
  container.sections.pop_back();
  std::string path = folder.file("m.smod");
  container.write(path);
  EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "function 'scale' requires 4 bytes of weights beside its code, got 0");
}

TEST(Smod, TheWriterRefusesWhatTheReaderWould) {
  Folder folder;
  std::string path = folder.file("m.smod");
  Container container;
  container.add(SINTER_SMOD_WEIGHTS, weights, 4);
  EXPECT_EQ(container.write(path), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "module '" + path + "' requires one weights section, got more");
  container.sections.pop_back();
  container.add(7, weights, 4);
  EXPECT_EQ(container.write(path), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "section 3 of module '" + path + "' requires a known kind, data and ranges");
  container.sections.pop_back();
  std::string longList((16 << 20) - 8, 'x');
  container.add(SINTER_SMOD_CODE, weights, 4, longList.c_str());
  EXPECT_EQ(container.write(path), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "module '" + path + "' requires at most 16777216 bytes of requirements and ranges");
  EXPECT_EQ(folder.count(), 0);
  Container good;
  EXPECT_EQ(good.write(folder.file("none/m.smod")), SINTER_IO);
  EXPECT_EQ(folder.count(), 0);
}

//===- A process with limits, and files that change -----------------------------------------------===//

int numDescriptors() {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

/// A limit of this process for as long as it lives.
struct Limit {
  int which;
  rlimit old;
  Limit(int which, rlim_t value) : which(which) {
    getrlimit(static_cast<__rlimit_resource>(which), &old);
    rlimit now = {value, old.rlim_max};
    setrlimit(static_cast<__rlimit_resource>(which), &now);
  }
  ~Limit() { setrlimit(static_cast<__rlimit_resource>(which), &old); }
};

TEST(Smod, AnOpenModuleHoldsNoDescriptor) {
  Folder folder;
  Container container;
  container.write(folder.file("m.smod"));
  int before = numDescriptors();
  std::vector<sinter_module *> modules(200);
  Limit limit(RLIMIT_NOFILE, static_cast<rlim_t>(before + 10));
  for (sinter_module *&module : modules)
    ASSERT_EQ(sinter_module_open(folder.file("m.smod").c_str(), nullptr, &module), SINTER_OK) << lastError();
  EXPECT_EQ(numDescriptors(), before);
  EXPECT_EQ(runScale(modules.back()), 12);
  for (sinter_module *module : modules)
    sinter_module_close(module);
}

TEST(Smod, TooManyOpenFilesIsALimitAndNoDamage) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  container.write(path);
  sinter_status_code status;
  std::string message;
  {
    Limit limit(RLIMIT_NOFILE, 0);
    status = openAndClose(path);
    message = lastError();
  }
  EXPECT_EQ(status, SINTER_LIMIT);
  EXPECT_EQ(message, "cannot open '" + path + "': Too many open files");
  EXPECT_STREQ(sinter_status_name(SINTER_LIMIT), "limit");
  EXPECT_EQ(openAndClose(folder.file("none.smod")), SINTER_IO);
}

TEST(Smod, ALimitOfFileSizesDoesNotMatter) {
  Folder folder;
  Container container;
  container.write(folder.file("m.smod"));
  Limit limit(RLIMIT_FSIZE, 16); // a file that is written past it ends the process: SIGXFSZ
  sinter_module *module;
  ASSERT_EQ(sinter_module_open(folder.file("m.smod").c_str(), nullptr, &module), SINTER_OK) << lastError();
  EXPECT_EQ(runScale(module), 12);
  sinter_module_close(module);
}

TEST(Smod, AnOpenModuleSurvivesItsFileBeingCut) {
  Folder folder;
  Container container;
  std::vector<float> large(1 << 20, 2.0f);
  container.sections[2].data = large.data();
  container.sections[2].bytes = static_cast<int64_t>(large.size() * sizeof(float));
  std::string path = folder.file("m.smod");
  container.write(path);
  sinter_open_options options = {};
  options.struct_size = sizeof options;
  options.skip_weight_hash = 1;
  sinter_module *module;
  ASSERT_EQ(sinter_module_open(path.c_str(), &options, &module), SINTER_OK) << lastError();
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(runScale(module), 12);
  int64_t bytes;
  const char *manifest = static_cast<const char *>(sinter_module_manifest(module, &bytes));
  EXPECT_EQ(std::string(manifest, static_cast<size_t>(bytes)), container.manifest);
  sinter_module_close(module);
}

//===- Digests ------------------------------------------------------------------------------------===//

TEST(Smod, AnExpectedDigestPinsTheFile) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  container.write(path);
  char digest[65], again[65];
  ASSERT_EQ(sinter_sha256_file(path.c_str(), digest), SINTER_OK);
  std::string content = readFile(path);
  sinter_sha256(content.data(), static_cast<int64_t>(content.size()), again);
  EXPECT_STREQ(digest, again);
  sinter_open_options options = {};
  options.struct_size = sizeof options;
  for (int map : {0, 1}) {
    options.map_weights = map;
    options.sha256 = digest;
    EXPECT_EQ(openAndClose(path, &options), SINTER_OK) << lastError();
    std::string other(64, 'a');
    options.sha256 = other.c_str();
    EXPECT_EQ(openAndClose(path, &options), SINTER_CORRUPT);
    EXPECT_EQ(lastError(), "module '" + path + "' requires the SHA-256 " + other + ", got " + digest);
  }
  options.sha256 = "abc";
  EXPECT_EQ(openAndClose(path, &options), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "an expected SHA-256 requires 64 hexadecimal digits, got 'abc'");
  options.sha256 = digest;
  EXPECT_EQ(openAndClose(TEST_LIBRARY, &options), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), std::string("an expected SHA-256 requires a .smod, got the shared library '") + TEST_LIBRARY +
                             "', which the system loads");
  EXPECT_EQ(sinter_sha256_file(folder.file("none").c_str(), digest), SINTER_IO);
}

TEST(Smod, AStoredDigestThatDisagreesIsNamed) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  container.sections[0].has_sha256 = 1;
  container.write(path);
  std::string bad = readFile(path);
  bad[64 + 64] ^= 1;
  seal(bad);
  folder.write("m.smod", bad);
  sinter_smod *smod;
  EXPECT_EQ(sinter_smod_open(path.c_str(), &smod), SINTER_CORRUPT);
  char digest[65];
  sinter_sha256(container.manifest.data(), static_cast<int64_t>(container.manifest.size()), digest);
  std::string message = "section 0 (manifest) of module '" + path + "' has SHA-256 " + digest + ", its table says ";
  EXPECT_EQ(lastError().substr(0, message.size()), message);
}

} // namespace
