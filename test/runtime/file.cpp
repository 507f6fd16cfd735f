// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are written: whole or not at all, where the name leads to, with the rights of what they replace.

#include "Files.h"
#include "Functions.h"
#include "runtime/output.h"
#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::test;
namespace fs = std::filesystem;

namespace {

std::vector<float> numbers(1 << 16, 1);

sinter_status_code save(const std::string &path) {
  sinter_tensor tensor = view(numbers.data(), {static_cast<int64_t>(numbers.size())});
  return sinter_npy_write(path.c_str(), &tensor);
}

TEST(File, KeepsALinkAndWritesWhereItLeads) {
  Folder folder;
  fs::create_directory(folder.path / "deep");
  fs::create_symlink("deep/inner", folder.path / "outer");
  fs::create_symlink("x.npy", folder.path / "deep/inner"); // relative to its own folder
  for (int time = 0; time < 2; ++time) {                   // first to what does not exist yet
    ASSERT_EQ(save(folder.file("outer")), SINTER_OK) << lastError();
    EXPECT_TRUE(fs::is_symlink(folder.path / "outer"));
    EXPECT_TRUE(fs::is_symlink(folder.path / "deep/inner"));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder.path / "deep/x.npy")));
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path / "deep"), fs::directory_iterator()), 2);
}

TEST(File, RefusesARingOfLinks) {
  Folder folder;
  fs::create_symlink("b", folder.path / "a");
  fs::create_symlink("a", folder.path / "b");
  EXPECT_EQ(save(folder.file("a")), SINTER_IO);
  EXPECT_EQ(folder.count(), 2);
}

TEST(File, KeepsTheRightsOfWhatItReplaces) {
  Folder folder;
  std::string path = folder.write("x.npy", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(save(path), SINTER_OK) << lastError();
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

TEST(File, RemovesWhatProcessesThatAreNoMoreLeft) {
  Folder folder;
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  std::string gone = std::to_string(child), here = std::to_string(getpid());
  folder.write("x.npy." + gone + "-7.tmp", "left by a runtime");
  folder.write("x.npy." + gone + "-00ff3a.tmp", "left by a compiler");
  fs::create_symlink("kept", folder.path / ("x.npy." + gone + "-8.tmp"));
  for (const char *kept : {"y.npy.", "x.npy.a", "x.npy.-"})
    folder.write(kept + gone + "-7.tmp", "somebody else's");
  folder.write("x.npy." + here + "-7.tmp", "of a process that is here");
  folder.write("x.npy." + gone + "-7.tmp.txt", "somebody else's");
  folder.write("x.npy." + gone + "-7z.tmp", "somebody else's");
  ASSERT_EQ(folder.count(), 9);
  ASSERT_EQ(save(folder.file("x.npy")), SINTER_OK) << lastError();
  EXPECT_EQ(folder.count(), 8);
}

std::string written(const std::string &path, const std::string &content, int executable, sinter_status_code status) {
  sinter_output *output = nullptr;
  EXPECT_EQ(sinter_output_create(path.c_str(), executable, &output), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_output_append(output, content.data(), static_cast<int64_t>(content.size())), SINTER_OK);
  EXPECT_EQ(sinter_output_append(output, nullptr, 0), SINTER_OK);
  EXPECT_EQ(sinter_output_finish(output, status), status);
  return fs::exists(path) ? readFile(path) : "none";
}

TEST(Output, IsThereWholeOrNotAtAll) {
  Folder folder;
  std::string path = folder.file("program");
  EXPECT_EQ(written(path, "first", 0, SINTER_LIMIT), "none");
  EXPECT_EQ(written(path, "second", 1, SINTER_OK), "second");
  EXPECT_EQ(access(path.c_str(), X_OK), 0);
  EXPECT_EQ(written(path, "third", 1, SINTER_IO), "second");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(written(path, "fourth", 1, SINTER_OK), "fourth");
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0750u);
  EXPECT_EQ(folder.count(), 1);
}

TEST(Output, RefusesNullAndWhatIsNoFile) {
  Folder folder;
  sinter_output *output = nullptr;
  EXPECT_EQ(sinter_output_create(nullptr, 0, &output), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_output_create("x", 0, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_output_append(nullptr, "x", 1), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_output_finish(nullptr, SINTER_OK), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_output_create(folder.file("").c_str(), 0, &output), SINTER_IO);
  EXPECT_EQ(sinter_output_create("/dev/full", 0, &output), SINTER_IO);
  EXPECT_EQ(sinter_output_create("/nowhere/at/all", 0, &output), SINTER_IO);
  EXPECT_EQ(output, nullptr);
}

TEST(File, LeavesTheOldFileWhereTheNewOneDoesNotFit) {
  Folder folder;
  std::string path = folder.write("x.npy", "old");
  pid_t child = fork();
  if (child == 0) { // limits are for good
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(save(path) == SINTER_IO && lastError().find("File too large") != std::string::npos ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(folder.count(), 1);
}

} // namespace
