// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The handler runs where memory may be damaged and locks may be held. So everything that it prints or names is put
// together before the first signal, and it makes system calls only: it copies the model file as it is, rather than
// printing a graph.

#include "tools/sinter/Crash.h"
#include "tools/sinter/Command.h"
#include "llvm/Support/ErrorHandling.h"
#include <atomic>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace sinter::tool;

namespace {
/// Fixed storage that the handler reads.
struct Reproducer {
  char folder[512];
  char readme[600];
  char copy[700];
  char model[4096];
  char commandLine[8192];
  alignas(16) char stack[64 * 1024];
};
} // namespace

static Reproducer reproducer;
static std::atomic_flag crashed = ATOMIC_FLAG_INIT;

template <size_t N> static void store(char (&to)[N], const std::string &text) {
  std::strncpy(to, text.c_str(), N - 1);
  to[N - 1] = 0;
}

/// What is lost when this fails is part of a report about a crash; there is nobody to tell.
static void put(int file, const char *text) {
  if (write(file, text, std::strlen(text)) < 0)
    return;
}

static void copyModel() {
  int from = open(reproducer.model, O_RDONLY | O_CLOEXEC);
  int to = open(reproducer.copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  char block[16 * 1024];
  for (ssize_t bytes; from >= 0 && to >= 0 && (bytes = read(from, block, sizeof block)) > 0;)
    if (write(to, block, static_cast<size_t>(bytes)) != bytes)
      break;
}

[[noreturn]] static void leave(const char *what, const char *detail) {
  if (crashed.test_and_set())
    _exit(static_cast<int>(Exit::Internal)); // a second failure, of another thread or of this handler
  put(2, "sinter: internal error: ");
  put(2, what);
  put(2, detail);
  if (mkdir(reproducer.folder, 0700) == 0) {
    int readme = open(reproducer.readme, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    put(readme, "sinter " SINTER_VERSION "\n");
    put(readme, what);
    put(readme, detail);
    put(readme, "\n");
    put(readme, reproducer.commandLine);
    put(readme, "\n");
    copyModel();
    put(2, " (this is a defect of sinter; a reproducer is in ");
    put(2, reproducer.folder);
    put(2, ")");
  }
  put(2, "\n");
  _exit(static_cast<int>(Exit::Internal));
}

static void onSignal(int signal) {
  const char *name = signal == SIGSEGV  ? "segmentation fault"
                     : signal == SIGBUS ? "bus error"
                     : signal == SIGILL ? "illegal instruction"
                     : signal == SIGFPE ? "arithmetic exception"
                                        : "abort";
  leave(name, "");
}

void sinter::tool::installCrashHandler(int argc, char **argv) {
  std::error_code error;
  std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error)
    folder = "/tmp";
  folder += "/sinter-reproducer-" + std::to_string(getpid());
  store(reproducer.folder, folder);
  store(reproducer.readme, folder + "/README");
  std::string words;
  for (int i = 0; i < argc; ++i)
    words += (i ? " " : "") + std::string(argv[i]);
  store(reproducer.commandLine, words);

  // A stack that overflowed cannot run the handler.
  stack_t stack = {};
  stack.ss_sp = reproducer.stack;
  stack.ss_size = sizeof reproducer.stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) { leave("LLVM: ", reason); });
}

void sinter::tool::setCrashModel(const std::string &path) {
  store(reproducer.model, path);
  store(reproducer.copy, std::string(reproducer.folder) + "/" + std::filesystem::path(path).filename().string());
}
