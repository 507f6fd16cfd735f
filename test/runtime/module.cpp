// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules from shared libraries; function tables are in session.cpp, containers in smod.cpp.

#include "Files.h"
#include "Functions.h"
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {

TEST(SharedLibrary, ItsFunctionsAreFoundByEitherName) {
  for (const char *path : {TEST_LIBRARY, TEST_STEM_LIBRARY}) {
    sinter_module *module;
    ASSERT_EQ(sinter_module_open(path, nullptr, &module), SINTER_OK) << lastError();
    EXPECT_EQ(sinter_module_find_function(module, "scale"), 0);
    EXPECT_EQ(sinter_module_weights_bytes(module), 4);
    sinter_module_close(module);
  }
}

TEST(SharedLibrary, ItsCodeStaysWhileASessionLives) {
  sinter_module *module;
  ASSERT_EQ(sinter_module_open(TEST_LIBRARY, nullptr, &module), SINTER_OK);
  sinter_session *session;
  ASSERT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK);
  sinter_module_close(module);
  float x[3] = {1, 2, 3}, bias = 1;
  sinter_tensor inputs[2] = {view(x, {1, 3}), view(&bias, {})}, output;
  sinter_session_set_input(session, 0, &inputs[0]);
  sinter_session_set_input(session, 1, &inputs[1]);
  ASSERT_EQ(sinter_session_run(session), SINTER_OK);
  sinter_session_output(session, 0, &output);
  EXPECT_EQ(static_cast<float *>(output.data)[2], 7);
  sinter_session_destroy(session);
}

TEST(SharedLibrary, StaysUntilEveryHoldIsGivenBack) {
  sinter_module *module;
  ASSERT_EQ(sinter_module_open(TEST_LIBRARY, nullptr, &module), SINTER_OK);
  EXPECT_EQ(sinter_module_retain(module), module);
  sinter_module_close(module);
  EXPECT_EQ(sinter_module_find_function(module, "scale"), 0);
  sinter_module_close(module);
  EXPECT_EQ(sinter_module_retain(nullptr), nullptr);
}

TEST(Status, LibrariesOnTopRecordTheirOwnMessages) {
  EXPECT_EQ(sinter_set_error(SINTER_IO, "no such graph"), SINTER_IO);
  EXPECT_EQ(lastError(), "no such graph");
  EXPECT_EQ(sinter_set_error(SINTER_CORRUPT, nullptr), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "corrupt");
}

TEST(SharedLibrary, RefusesWhatIsNoModule) {
  Folder folder;
  sinter_module *module;
  EXPECT_EQ(sinter_module_open(TEST_NO_TABLE, nullptr, &module), SINTER_CORRUPT);
  EXPECT_EQ(lastError(),
            std::string("'") + TEST_NO_TABLE +
                "' requires the symbol sinter_functions or runtime_test_no_table_functions, found neither");
  std::string path = folder.write("m.so", "\177ELF");
  EXPECT_EQ(sinter_module_open(path.c_str(), nullptr, &module), SINTER_CORRUPT);
  EXPECT_EQ(lastError().find("cannot load '" + path + "'"), 0u) << lastError();
  path = folder.write("m.smod", "ab");
  EXPECT_EQ(sinter_module_open(path.c_str(), nullptr, &module), SINTER_CORRUPT);
  EXPECT_EQ(lastError(), "'" + path + "' requires the start of a .smod or of a shared library, got 61 62 00 00");
  EXPECT_EQ(sinter_module_open(folder.path.c_str(), nullptr, &module), SINTER_IO);
  EXPECT_EQ(sinter_module_open("/dev/null", nullptr, &module), SINTER_IO);
  EXPECT_EQ(lastError(), "'/dev/null' requires a regular file, got a device");
  EXPECT_EQ(sinter_module_open(folder.file("none").c_str(), nullptr, &module), SINTER_IO);
  EXPECT_EQ(sinter_module_open(nullptr, nullptr, &module), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_module_open("x", nullptr, nullptr), SINTER_INVALID_ARGUMENT);
}

} // namespace
