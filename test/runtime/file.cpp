// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are written: whole or not at all, where the name leads to, with the rights of what they replace.

#include "Files.h"
#include "Functions.h"
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
