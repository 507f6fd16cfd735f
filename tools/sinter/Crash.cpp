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
#include <new>
#include <sys/stat.h>
#include <ucontext.h>
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

/// Copies the model, unless it is so large that the copies of a few crashes would fill a disk.
static void copyModel(int readme) {
  int from = open(reproducer.model, O_RDONLY | O_CLOEXEC);
  struct stat file = {};
  if (from < 0 || fstat(from, &file) != 0)
    return;
  if (file.st_size > (off_t(64) << 20)) {
    put(readme, "the model is over 64 MiB and was not copied\n");
    return;
  }
  int to = open(reproducer.copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  char block[16 * 1024];
  for (ssize_t bytes; to >= 0 && (bytes = read(from, block, sizeof block)) > 0;)
    if (write(to, block, static_cast<size_t>(bytes)) != bytes)
      break;
}

/// Ends the process for what is no defect; nothing is left to reproduce.
[[noreturn]] static void stop(Exit code, const char *what, const char *detail) {
  put(2, "sinter: error: ");
  put(2, what);
  put(2, detail);
  put(2, "\n");
  _exit(static_cast<int>(code));
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
    copyModel(readme);
    put(2, " (this is a defect of sinter; a reproducer is in ");
    put(2, reproducer.folder);
    put(2, ")");
  }
  put(2, "\n");
  _exit(static_cast<int>(Exit::Internal));
}

/// Whether a fault is at the stack's end: about where the stack pointer is.
static bool isStackFault(const siginfo_t *info, const void *context) {
#if defined(__x86_64__)
  auto top = static_cast<uintptr_t>(static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  auto top = static_cast<uintptr_t>(static_cast<const ucontext_t *>(context)->uc_mcontext.sp);
#else
  auto top = reinterpret_cast<uintptr_t>(nullptr);
#endif
  auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  constexpr uintptr_t frame = 64 * 1024; // a large one
  return info->si_code > 0 && at + frame > top && at < top + frame;
}

static void onSignal(int signal, siginfo_t *info, void *context) {
  if (signal == SIGSEGV && isStackFault(info, context))
    stop(Exit::Limit, "requires more stack than the process may have (ulimit -s)", "");
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
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_ONSTACK | SA_SIGINFO;
  for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT})
    sigaction(signal, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN); // writing fails with an error then, as on a full disk
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    if (Exit code = classOf(reason, Exit::Internal); code != Exit::Internal)
      stop(code, reason, "");
    leave("LLVM: ", reason);
  });
  auto noMemory = [] { stop(Exit::Limit, "requires more memory than the process may have (ulimit -v)", ""); };
  std::set_new_handler(noMemory); // also where no exception may pass
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *reason, bool) { stop(Exit::Limit, "requires more memory: ", reason); });
}

void sinter::tool::setCrashModel(const std::string &path) {
  store(reproducer.model, path);
  store(reproducer.copy, std::string(reproducer.folder) + "/" + std::filesystem::path(path).filename().string());
}
