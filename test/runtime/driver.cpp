// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules with code of other back ends: which driver gets it, and what is said when there is none.

#include "runtime/driver.h"
#include "Files.h"
#include "Functions.h"
#include "runtime/smod.h"
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {

/// A driver that takes what requires "good" and begins with "code".
struct Fake {
  static inline int loaded = 0, ended = 0;
  static inline int32_t failWith = 0;
  static inline bool wrongVersion = false;
  static inline sinter_device_code seen;

  static int32_t runs(const sinter_driver *, const char *requirements, char *why) {
    std::snprintf(why, SINTER_DRIVER_TEXT_BYTES, "this machine is good alone");
    return std::strcmp(requirements, "good") == 0;
  }
  static int32_t load(const sinter_driver *, const sinter_device_code *code, const sinter_device **result, char *why) {
    seen = *code;
    if (failWith) {
      std::memset(why, 'x', SINTER_DRIVER_TEXT_BYTES); // not even terminated
      return failWith;
    }
    if (code->bytes < 4 || std::memcmp(code->payload, "code", 4) != 0) {
      std::snprintf(why, SINTER_DRIVER_TEXT_BYTES, "it does not begin with code");
      return SINTER_CORRUPT;
    }
    auto *device = new sinter_device();
    device->version = wrongVersion ? SINTER_DEVICE_VERSION + 1 : SINTER_DEVICE_VERSION;
    device->struct_size = sizeof *device;
    device->end = [](const sinter_device *, sinter_context *) { ++ended; };
    *result = device;
    ++loaded;
    return SINTER_OK;
  }
  static void unload(const sinter_driver *, const sinter_device *device) {
    --loaded;
    delete device;
  }
};

const sinter_driver fake = {SINTER_DRIVER_VERSION, sizeof fake, "fake", nullptr, Fake::runs, Fake::load,
                            Fake::unload,          nullptr,     nullptr};

class Drivers : public testing::Test {
protected:
  Drivers() {
    EXPECT_EQ(sinter_driver_register("fake", &fake), SINTER_OK);
    Fake::failWith = 0;
    Fake::wrongVersion = false;
    Fake::ended = 0;
    add("cpu", "", code, 0);
  }
  ~Drivers() override {
    EXPECT_EQ(sinter_driver_register("fake", nullptr), SINTER_OK);
    EXPECT_EQ(Fake::loaded, 0);
  }

  void add(const char *backEnd, const char *requirements, const std::string &bytes, uint32_t priority) {
    sinter_smod_section section = {};
    section.kind = SINTER_SMOD_CODE;
    section.priority = priority;
    section.back_end = backEnd;
    section.requirements = requirements;
    section.data = bytes.data();
    section.bytes = static_cast<int64_t>(bytes.size());
    sections.push_back(section);
  }
  sinter_status_code open(sinter_module **module) {
    sinter_smod_section weights = {};
    weights.kind = SINTER_SMOD_WEIGHTS;
    weights.data = &weight;
    weights.bytes = sizeof weight;
    std::vector<sinter_smod_section> all = sections;
    all.push_back(weights);
    EXPECT_EQ(sinter_smod_write(path.c_str(), all.data(), static_cast<int32_t>(all.size())), SINTER_OK) << lastError();
    return sinter_module_open(path.c_str(), nullptr, module);
  }
  std::string refusal(sinter_status_code status) {
    sinter_module *module = nullptr;
    EXPECT_EQ(open(&module), status);
    EXPECT_EQ(module, nullptr);
    EXPECT_EQ(Fake::loaded, 0);
    return lastError();
  }

  Folder folder;
  std::string code = readFile(TEST_CODE), kernels = "code of kernels", path = folder.file("m.smod");
  std::vector<sinter_smod_section> sections;
  float weight = 3;
};

TEST_F(Drivers, AModuleLoadsItsCodeAndEndsItsSessions) {
  add("fake", "good", kernels, 0);
  sinter_module *module = nullptr;
  ASSERT_EQ(open(&module), SINTER_OK) << lastError();
  EXPECT_EQ(Fake::loaded, 1);
  EXPECT_EQ(Fake::seen.bytes, static_cast<int64_t>(kernels.size()));
  EXPECT_EQ(Fake::seen.weight_bytes, static_cast<int64_t>(sizeof weight));
  sinter_session *session = nullptr;
  ASSERT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << lastError();
  sinter_module_close(module);
  EXPECT_EQ(Fake::loaded, 1) << "the session holds it";
  sinter_session_destroy(session);
  EXPECT_EQ(Fake::ended, 1);
}

TEST_F(Drivers, WithoutADriverTheMessageNamesTheFileTheBackEndAndWhatHelps) {
  add("absent", "", kernels, 0);
  EXPECT_EQ(refusal(SINTER_UNSUPPORTED),
            "module '" + path +
                "' has no code for this machine: this program has no driver for the back end 'absent': found no "
                "libsinter_absent.so; install it, name its folder by SINTER_DRIVER_DIR, or compile with a target for "
                "the CPU alone, too");
}

TEST_F(Drivers, NamesThatAreNoNamesOfFilesAreRefused) {
  add("../evil", "", kernels, 0);
  EXPECT_EQ(refusal(SINTER_UNSUPPORTED),
            "module '" + path + "' has no code for this machine: '../evil' is no name of a back end");
}

TEST_F(Drivers, WhatTheMachineLacksIsSaid) {
  add("fake", "better", kernels, 0);
  EXPECT_EQ(refusal(SINTER_UNSUPPORTED), "module '" + path +
                                             "' has no code for this machine: the back end 'fake' requires better: "
                                             "this machine is good alone");
}

TEST_F(Drivers, TheBestWhoseDevicesAreThereIsTaken) {
  add("cpu", "", code, 1);
  add("absent", "", kernels, 1);
  add("cpu", "", code, 2);
  add("fake", "better", kernels, 2);
  sinter_module *module = nullptr;
  ASSERT_EQ(open(&module), SINTER_OK) << lastError();
  EXPECT_EQ(Fake::loaded, 0) << "the CPU's alone";
  sinter_module_close(module);
  sections.back().requirements = "good";
  ASSERT_EQ(open(&module), SINTER_OK) << lastError();
  EXPECT_EQ(Fake::loaded, 1);
  sinter_module_close(module);
}

TEST_F(Drivers, DamagedCodeIsTheDriversToRefuse) {
  std::string damaged = "xode of kernels";
  add("fake", "good", damaged, 0);
  EXPECT_EQ(refusal(SINTER_CORRUPT),
            "cannot load the code of '" + path + "' for the back end 'fake': it does not begin with code");
  sections.back().bytes = 0;
  refusal(SINTER_CORRUPT);
  Fake::failWith = SINTER_OUT_OF_MEMORY;
  EXPECT_EQ(refusal(SINTER_OUT_OF_MEMORY).substr(0, 22), "cannot load the code o");
}

TEST_F(Drivers, DevicesOfAnotherVersionAreRefused) {
  add("fake", "good", kernels, 0);
  Fake::wrongVersion = true;
  EXPECT_EQ(refusal(SINTER_UNSUPPORTED), "the device of back end 'fake' has version " +
                                             std::to_string(SINTER_DEVICE_VERSION + 1) + ", this runtime takes " +
                                             std::to_string(SINTER_DEVICE_VERSION));
}

TEST_F(Drivers, TwoSectionsOfOneBackEndForOneHostAreRefused) {
  add("fake", "good", kernels, 0);
  add("fake", "good", kernels, 0);
  EXPECT_EQ(refusal(SINTER_CORRUPT),
            "module '" + path + "' requires one section of the back end 'fake' beside the host's, got more");
}

TEST_F(Drivers, ADriverIsRefusedForItsNameItsFunctionsAndItsVersion) {
  EXPECT_EQ(sinter_driver_register("Fake", &fake), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "a driver requires a name of small letters, digits and underscores, got 'Fake'");
  EXPECT_EQ(sinter_driver_register(nullptr, &fake), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_driver_register("other", &fake), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "driver 'other' requires its name and functions");
  sinter_driver newer = fake;
  newer.version = 2;
  EXPECT_EQ(sinter_driver_register("fake", &newer), SINTER_UNSUPPORTED);
  EXPECT_EQ(lastError(), "driver 'fake' has version 2, this runtime takes 1");
  EXPECT_EQ(sinter_driver_find("fake"), &fake);
}

TEST_F(Drivers, OneIsLoadedFromTheFolderThatIsNamed) {
  folder.write("libsinter_broken.so", "no library");
  setenv("SINTER_DRIVER_DIR", folder.path.c_str(), 1);
  EXPECT_EQ(sinter_driver_find("broken"), nullptr);
  EXPECT_NE(lastError().find("libsinter_broken.so"), std::string::npos) << lastError();
  std::filesystem::copy_file(TEST_LIBRARY, folder.file("libsinter_other.so"));
  EXPECT_EQ(sinter_driver_find("other"), nullptr);
  EXPECT_EQ(lastError(), "libsinter_other.so requires the symbol sinter_driver_other, found none");
  std::filesystem::copy_file(TEST_DRIVER, folder.file("libsinter_loaded.so"));
  const sinter_driver *driver = sinter_driver_find("loaded");
  ASSERT_NE(driver, nullptr) << lastError();
  EXPECT_STREQ(driver->name, "loaded");
  EXPECT_EQ(sinter_driver_find("loaded"), driver) << "it stays";
  unsetenv("SINTER_DRIVER_DIR");
}

} // namespace
