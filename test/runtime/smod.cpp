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
    sections.push_back({kind, priority, data, static_cast<int64_t>(bytes), requirements});
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

TEST(Smod, RunsCodeWithMappedWeights) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod");
  ASSERT_EQ(container.write(path), SINTER_OK) << lastError();
  EXPECT_EQ(folder.count(), 1);
  sinter_module *module;
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
  // The number of the closed memory file is used again.
  ASSERT_EQ(sinter_module_open(folder.file("1.smod").c_str(), nullptr, &first), SINTER_OK);
  EXPECT_EQ(runScale(first), 12);
  sinter_module_close(first);
  sinter_module_close(second);
}

TEST(Smod, SectionsAreAlignedAndDescribed) {
  Folder folder;
  Container container;
  std::string ptx = ".version 8.0";
  container.add(SINTER_SMOD_PTX, ptx.data(), ptx.size());
  container.add(SINTER_SMOD_CODE, container.code.data(), container.code.size(), "no-such-feature", 9);
  container.write(folder.file("m.smod"));
  sinter_smod *smod;
  ASSERT_EQ(sinter_smod_open(folder.file("m.smod").c_str(), &smod), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_smod_count(smod), 5);
  for (int32_t i = 0; i < 5; ++i) {
    const sinter_smod_section *section = sinter_smod_section_at(smod, i);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(section->data) % 64, 0u);
    EXPECT_EQ(section->kind, container.sections[static_cast<size_t>(i)].kind);
    EXPECT_EQ(section->bytes, container.sections[static_cast<size_t>(i)].bytes);
  }
  EXPECT_STREQ(sinter_smod_section_at(smod, 4)->requirements, "no-such-feature");
  EXPECT_EQ(sinter_smod_section_at(smod, 4)->priority, 9u);
  EXPECT_EQ(sinter_smod_section_at(smod, 5), nullptr);
  sinter_smod_close(smod);
  // The code that this machine cannot run is passed over.
  EXPECT_EQ(openAndClose(folder.file("m.smod")), SINTER_OK) << lastError();
}

TEST(Smod, CodeForOtherMachinesOnlyIsUnsupported) {
  Folder folder;
  Container container;
  container.sections[1].requirements = "sse2 no-such-feature";
  std::string path = folder.file("m.smod");
  container.write(path);
  EXPECT_EQ(openAndClose(path), SINTER_UNSUPPORTED);
#if defined(__x86_64__)
  EXPECT_EQ(lastError(), "module '" + path + "' has code for other CPUs only: this machine lacks no-such-feature");
#endif
  container.sections.erase(container.sections.begin() + 1);
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
  for (size_t at = 0; at < good.size(); at += at < 64 + 3 * 256 || at > good.size() - 100 ? 1 : 1 + random() % 400) {
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
  auto offset = [&](int section) { return *reinterpret_cast<const uint64_t *>(good.data() + 64 + 256 * section + 8); };
  EXPECT_EQ(damaged(offset(0)), "section 0 (manifest) of module '" + path + "' is damaged: hash");
  EXPECT_EQ(damaged(offset(1) + 100), "section 1 (code) of module '" + path + "' is damaged: hash");
  EXPECT_EQ(damaged(offset(2)), "section 2 (weights) of module '" + path + "' is damaged: hash");
  sinter_open_options options = {sizeof options, 1};
  EXPECT_EQ(openAndClose(path, &options), SINTER_OK) << lastError(); // weights are not looked at
  EXPECT_EQ(damaged(64 + 16), "module '" + path + "' is damaged: hash of the header and section table");
  EXPECT_EQ(damaged(offset(1) - 1), "module '" + path + "' has non-zero padding before section 1");
  EXPECT_EQ(damaged(0), "'" + path + "' requires the start of a .smod or of a shared library, got 52 4d 4f 44");
}

/// Sets the hash of a changed table, as an attacker or a wrong writer would.
void seal(std::string &file) {
  memset(file.data() + 24, 0, 8);
  uint32_t count;
  memcpy(&count, file.data() + 16, 4);
  uint64_t hash = srtXxh64(file.data() + 64, int64_t(256) * count, srtXxh64(file.data(), 64, 0));
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
  EXPECT_EQ(lie(4, 2, 4, SINTER_UNSUPPORTED), "module '" + path + "' has format version 2, this runtime reads 1");
  EXPECT_EQ(lie(8, 7, 8, SINTER_CORRUPT), "module '" + path + "' requires 7 bytes, got " + size);
  EXPECT_EQ(lie(20, 1, 4, SINTER_CORRUPT), "module '" + path + "' has non-zero reserved bytes");
  EXPECT_EQ(lie(64, 9, 4, SINTER_UNSUPPORTED), "section 0 of module '" + path + "' has the unknown kind 9");
  EXPECT_EQ(lie(64, SINTER_SMOD_WEIGHTS, 4, SINTER_CORRUPT),
            "module '" + path + "' requires one weights section, got more");
  EXPECT_EQ(lie(64 + 256 + 8, 1 << 30, 8, SINTER_CORRUPT),
            "section 1 (code) of module '" + path + "' requires offset 896 and an end within " + size +
                " bytes, got offset 1073741824 and " + std::to_string(container.code.size()) + " bytes");
  lie(64 + 16, ~0ull, 8, SINTER_CORRUPT);   // bytes of the manifest
  lie(64 + 8, 64, 8, SINTER_CORRUPT);       // the manifest over the table
  lie(64 + 512 + 16, 4, 8, SINTER_CORRUPT); // shorter weights: hash
  EXPECT_EQ(lie(64 + 24, 1, 8, SINTER_CORRUPT), "section 0 (manifest) of module '" + path + "' is damaged: hash");

  std::string bad = good;
  memset(bad.data() + 64 + 32, 'x', 224);
  seal(bad);
  folder.write("m.smod", bad);
  EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "section 0 (manifest) of module '" + path + "' has unterminated requirements");

  bad = good;
  uint32_t many = 65;
  memcpy(bad.data() + 16, &many, 4);
  folder.write("m.smod", bad);
  EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "module '" + path + "' requires at most 64 sections, got 65");
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

TEST(Smod, CodeThatIsNoLibraryIsCorrupt) {
  Folder folder;
  Container container;
  std::string path = folder.file("m.smod"), text = "\177ELF and then nothing";
  container.sections[1].data = text.data();
  container.sections[1].bytes = static_cast<int64_t>(text.size());
  container.write(path);
  EXPECT_EQ(openAndClose(path), SINTER_CORRUPT);
  EXPECT_EQ(lastError().find("cannot load the code of '" + path + "': "), 0u) << lastError();
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
  container.sections.back() = {7, 0, weights, 4, nullptr};
  EXPECT_EQ(container.write(path), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(),
            "section 3 of module '" + path + "' requires a known kind, data and requirements below 224 bytes");
  std::string longList(224, 'x');
  container.sections.back() = {SINTER_SMOD_CODE, 0, weights, 4, longList.c_str()};
  EXPECT_EQ(container.write(path), SINTER_INVALID_ARGUMENT);
  container.sections.resize(65, container.sections[0]);
  EXPECT_EQ(container.write(path), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(folder.count(), 0);
  Container good;
  EXPECT_EQ(good.write(folder.file("none/m.smod")), SINTER_IO);
  EXPECT_EQ(folder.count(), 0);
}

} // namespace
