// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter_each: many command lines of `sinter`, each in a process of its own that costs no start: the libraries are
// there already. Standard input has the words of each, ended by zero bytes, and an empty word after the last. For each,
// standard output gets a line `CODE MS KIB BYTES` (exit code or 128 + signal, processor time, the most memory that it
// held, length of what it told on standard error) and then that text.

#include "tools/sinter/Command.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <iterator>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sinter::tool;

/// For a process that runs away: no case needs as much.
constexpr rlim_t kSeconds = 30, kBytes = rlim_t(8) << 30;

[[noreturn]] static void runCase(std::vector<std::string> &words, int errors) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(nothing, 0);
  dup2(nothing, 1);
  dup2(errors, 2);
  rlimit time = {kSeconds, kSeconds + 1};
  setrlimit(RLIMIT_CPU, &time);
  alarm(20 * kSeconds); // one that sleeps
#if !defined(__SANITIZE_ADDRESS__) && !__has_feature(address_sanitizer)
  rlimit memory = {kBytes, kBytes};
  setrlimit(RLIMIT_AS, &memory);
#endif
  std::vector<char *> argv = {const_cast<char *>("sinter")};
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  exit(runProgram(static_cast<int>(argv.size()) - 1, argv.data()));
}

static void runAndReport(std::vector<std::string> &words) {
  int errors = memfd_create("errors", MFD_CLOEXEC);
  pid_t child = fork();
  if (child == 0)
    runCase(words, errors);
  int status = 0;
  rusage used = {};
  while (child > 0 && wait4(child, &status, 0, &used) < 0 && errno == EINTR)
    ;
  long ms =
      (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
  off_t bytes = lseek(errors, 0, SEEK_END);
  std::string text(static_cast<size_t>(bytes), 0);
  ssize_t got = pread(errors, text.data(), text.size(), 0);
  close(errors);
  std::printf("%d %ld %ld %zd\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ms, used.ru_maxrss,
              got);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

int main() {
  std::vector<std::string> words;
  for (std::string word; std::getline(std::cin, word, '\0');) {
    if (!word.empty()) {
      words.push_back(word);
      continue;
    }
    runAndReport(words);
    words.clear();
  }
  return 0;
}
