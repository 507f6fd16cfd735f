// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Link.h"
#include "lld/Common/Driver.h"
#include "runtime/output.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <functional>
#include <mutex>
#include <pthread.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace sinter;
using llvm::StringRef;

/// Removes folders of temporary files that processes that are no more have left: "sinter-PID-...". A process of another
/// container that shares the folder of temporary files is no more by its number, so that they stay for a day.
static void sweepFolders(StringRef root) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(root, error, /*follow_symlinks=*/false), end; !error && entry != end;
       entry.increment(error)) {
    StringRef rest = llvm::sys::path::filename(entry->path());
    pid_t process;
    struct stat info;
    if (rest.consume_front("sinter-") && !rest.consumeInteger(10, process) && process > 0 && rest.starts_with("-") &&
        kill(process, 0) != 0 && errno == ESRCH && lstat(entry->path().c_str(), &info) == 0 &&
        info.st_uid == geteuid() && S_ISDIR(info.st_mode) && time(nullptr) - info.st_mtime > 24 * 60 * 60)
      llvm::sys::fs::remove_directories(entry->path());
  }
}

TemporaryFolder::TemporaryFolder() {
  llvm::SmallString<128> root, made;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, root);
  static std::once_flag once;
  std::call_once(once, [&] { sweepFolders(root); });
  if (!llvm::sys::fs::createUniqueDirectory("sinter-" + llvm::Twine(getpid()), made))
    folder = made.str().str();
}

TemporaryFolder::~TemporaryFolder() {
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

/// All of it, whatever interrupts; errno says why not.
static bool writeAll(int file, llvm::ArrayRef<char> bytes) {
  while (!bytes.empty()) {
    ssize_t written = ::write(file, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes = bytes.drop_front(static_cast<size_t>(written));
  }
  return true;
}

using Append = std::function<bool(llvm::ArrayRef<char>)>;

/// A file of what `write` appends, under its name when all of it is there. `write` says why it is not.
static bool writeWhole(StringRef path, bool executable, llvm::function_ref<std::string(const Append &)> write,
                       std::string &error) {
  sinter_output *output = nullptr;
  if (sinter_output_create(path.str().c_str(), executable, &output)) {
    error = sinter_last_error();
    return false;
  }
  error = write([output](llvm::ArrayRef<char> bytes) {
    return sinter_output_append(output, bytes.data(), static_cast<int64_t>(bytes.size())) == SINTER_OK;
  });
  if (sinter_output_finish(output, error.empty() ? SINTER_OK : SINTER_IO) && error.empty())
    error = sinter_last_error();
  return error.empty();
}

// Not with llvm::writeToOutput or any other TempFile: these replace fifteen of the process's signal handlers, to remove
// the file at a crash.
bool sinter::writeFile(StringRef path, llvm::ArrayRef<char> bytes, std::string &error) {
  auto fails = [&](int code) {
    error = ("cannot write '" + path + "': " + std::generic_category().message(code)).str();
    return false;
  };
  if (path == "-")
    return writeAll(STDOUT_FILENO, bytes) || fails(errno);
  llvm::sys::fs::file_status status;
  if (!llvm::sys::fs::status(path, status) && status.type() != llvm::sys::fs::file_type::regular_file) { // a pipe
    int file = open(path.str().c_str(), O_WRONLY | O_CLOEXEC);
    bool ok = file >= 0 && writeAll(file, bytes);
    int code = errno;
    if (file >= 0)
      close(file);
    return ok || fails(code);
  }
  return writeWhole(
      path, /*executable=*/false,
      [&](const Append &append) { return append(bytes) ? std::string() : std::string(sinter_last_error()); }, error);
}

bool TemporaryFolder::write(StringRef path, llvm::ArrayRef<char> bytes, std::string &error) const {
  std::error_code problem;
  llvm::raw_fd_ostream os(path, problem);
  if (!problem) {
    os.write(bytes.data(), bytes.size());
    os.close();
    problem = os.error();
    os.clear_error();
  }
  if (problem)
    error = ("cannot write '" + path + "': " + problem.message()).str();
  return !problem;
}

std::optional<std::string> sinter::readFile(StringRef path, std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                            /*IsVolatile=*/true); // not mapped: it may become shorter
  if (buffer)
    return (*buffer)->getBuffer().str();
  error = ("cannot read '" + path + "': " + buffer.getError().message()).str();
  return std::nullopt;
}

namespace {
/// What lld takes for its output file: a pipe, which a thread empties. lld and LLVM make a temporary file of anything
/// that may be a regular one, and with it replace fifteen of the process's signal handlers; a full disk would be
/// SIGBUS.
class LinkOutput {
public:
  /// Gives each part to `take`; false ends the link with an error.
  bool open(llvm::function_ref<bool(llvm::ArrayRef<char>)> take, std::string &error) {
    sink = take;
    int problem = pipe2(ends, O_CLOEXEC) != 0 ? errno : 0;
    // Signals are for the host's threads.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    if (!problem)
      problem = pthread_create(
          &reader, nullptr,
          [](void *self) -> void * {
            static_cast<LinkOutput *>(self)->drain();
            return nullptr;
          },
          this);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    isOpen = !problem;
    if (problem)
      error = "cannot link: " + std::generic_category().message(problem);
    return isOpen;
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends[1]); }
  /// Waits for the last part. False when one was not taken.
  bool finish() {
    close(ends[1]); // lld has closed its own
    ends[1] = -1;
    pthread_join(reader, nullptr);
    isOpen = false;
    return taken;
  }
  ~LinkOutput() {
    if (isOpen)
      finish();
    for (int end : ends)
      if (end >= 0)
        close(end);
  }

private:
  void drain() {
    std::vector<char> part(1 << 16);
    for (;;) {
      ssize_t count = read(ends[0], part.data(), part.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return;
      taken = taken && sink(llvm::ArrayRef(part.data(), static_cast<size_t>(count)));
    }
  }

  llvm::function_ref<bool(llvm::ArrayRef<char>)> sink;
  int ends[2] = {-1, -1};
  pthread_t reader;
  bool isOpen = false, taken = true;
};
} // namespace

static bool runLinker(llvm::ArrayRef<std::string> arguments, llvm::function_ref<bool(llvm::ArrayRef<char>)> take,
                      std::string &error) {
  static std::mutex mutex;
  static bool broken = false;
  std::lock_guard<std::mutex> lock(mutex);
  if (broken) {
    error = "the linker cannot run again after it crashed";
    return false;
  }
  LinkOutput output;
  if (!output.open(take, error))
    return false;
  std::string path = output.path();
  std::vector<const char *> words = {"ld.lld"};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  words.insert(words.end(), {"--threads=1", "-o", path.c_str()}); // more threads would stay for good
  std::string messages;
  llvm::raw_string_ostream os(messages);
  lld::Result result = lld::lldMain(words, os, os, {{lld::Gnu, &lld::elf::link}});
  broken = !result.canRunAgain;
  bool taken = output.finish();
  if (result.retCode == 0)
    return taken; // who did not take it knows why
  error = "linking failed: " + StringRef(messages).split('\n').first.str();
  return false;
}

std::optional<std::string> sinter::linkToMemory(llvm::ArrayRef<std::string> arguments, std::string &error) {
  std::string image;
  if (!runLinker(
          arguments,
          [&](llvm::ArrayRef<char> part) {
            image.append(part.data(), part.size());
            return true;
          },
          error))
    return std::nullopt;
  return image;
}

bool sinter::linkToFile(llvm::ArrayRef<std::string> arguments, StringRef path, bool executable, std::string &error) {
  auto link = [&](const Append &append) {
    std::string problem, message;
    bool linked = runLinker(
        arguments,
        [&](llvm::ArrayRef<char> part) { // on a thread with a last error of its own
          if (append(part))
            return true;
          problem = sinter_last_error();
          return false;
        },
        message);
    return linked ? std::string() : problem.empty() ? message : problem;
  };
  return writeWhole(path, executable, link, error);
}

/// How Debian names folders of a kind of machine.
static StringRef machineOf(const llvm::Triple &machine) {
  return machine.isAArch64() ? "aarch64-linux-gnu" : "x86_64-linux-gnu";
}

static bool isOtherMachine(const llvm::Triple &machine) {
  return machine.getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}

/// The first of `names` in a folder of the C library.
static std::optional<std::string> findSystemFile(const llvm::Triple &machine, llvm::ArrayRef<StringRef> names) {
  std::string kind = machineOf(machine).str();
  std::vector<std::string> folders = {"/usr/lib/" + kind, "/lib/" + kind, "/usr/" + kind + "/lib"};
  if (!isOtherMachine(machine))
    folders.insert(folders.end(), {"/usr/lib64", "/usr/lib"});
  for (const std::string &folder : folders)
    for (StringRef name : names) {
      llvm::SmallString<128> path(folder);
      llvm::sys::path::append(path, name);
      if (llvm::sys::fs::exists(path))
        return path.str().str();
    }
  return std::nullopt;
}

static std::vector<std::string> commonArguments(const llvm::Triple &machine) {
  bool arm = machine.isAArch64();
  return {"-m",
          arm ? "aarch64linux" : "elf_x86_64",
          "--gc-sections",
          "--as-needed",
          "-z",
          "noexecstack",
          "--hash-style=gnu",
          "--build-id=none"};
}

std::vector<std::string> sinter::codeArguments(llvm::ArrayRef<std::string> files, const llvm::Triple &machine) {
  std::vector<std::string> arguments = commonArguments(machine);
  arguments.insert(arguments.end(), {"-shared", "--exclude-libs=ALL", "-z", "relro", "-z", "now"});
  arguments.insert(arguments.end(), files.begin(), files.end());
  return arguments;
}

std::vector<std::string> sinter::sharedLibraryArguments(llvm::ArrayRef<std::string> files,
                                                        const llvm::Triple &machine) {
  std::vector<std::string> arguments = codeArguments(files, machine);
  // Math and memory functions; without these files (another machine's code) the names are looked up at load.
  for (StringRef name : {"libm.so.6", "libc.so.6"})
    if (std::optional<std::string> path = findSystemFile(machine, name))
      arguments.push_back(*path);
  return arguments;
}

std::optional<std::vector<std::string>> sinter::programArguments(llvm::ArrayRef<std::string> files,
                                                                 const llvm::Triple &machine, std::string &error) {
  bool arm = machine.isAArch64();
  std::vector<std::string> arguments = commonArguments(machine);
  arguments.insert(arguments.end(), {"-pie", "-z", "relro", "-z", "now", "--eh-frame-hdr", "-dynamic-linker",
                                     arm ? "/lib/ld-linux-aarch64.so.1" : "/lib64/ld-linux-x86-64.so.2"});
  auto add = [&](llvm::ArrayRef<StringRef> names) {
    if (std::optional<std::string> path = findSystemFile(machine, names)) {
      arguments.push_back(*path);
      return true;
    }
    error = ("a program requires " + names.front() + " of the C library, found none: install " +
             (isOtherMachine(machine) ? "libc6-dev-arm64-cross (Debian), or link a .o with a cross compiler"
                                      : "libc6-dev (Debian) or glibc-devel"))
                .str();
    return false;
  };
  if (!add(StringRef("Scrt1.o")) || !add(StringRef("crti.o")))
    return std::nullopt;
  arguments.insert(arguments.end(), files.begin(), files.end());
  // libc_nonshared.a holds what newer C libraries moved out of libc.so.6 (atexit, stat).
  if (!add({"libm.so.6"}) || !add({"libc.so.6"}))
    return std::nullopt;
  if (std::optional<std::string> path = findSystemFile(machine, {"libc_nonshared.a"}))
    arguments.push_back(*path);
  if (!add(StringRef("crtn.o")))
    return std::nullopt;
  return arguments;
}

std::optional<std::string> sinter::findRuntimeArchive(StringRef name, const llvm::Triple &machine, std::string &error) {
  Dl_info info;
  std::string folder;
  const char *given = std::getenv("SINTER_RUNTIME_DIR");
  if (given && *given)
    folder = given;
  else if (dladdr(reinterpret_cast<void *>(&sinter::findRuntimeArchive), &info) && info.dli_fname)
    folder = llvm::sys::path::parent_path(info.dli_fname).str();
  // Archives for other machines lie in folders of their own.
  std::vector<std::string> folders = {folder + "/" + machineOf(machine).str()};
  if (given || !isOtherMachine(machine))
    folders.push_back(folder);
  for (const std::string &place : folders) {
    llvm::SmallString<128> path(place);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  error = ("linking requires " + name + ", looked in " + llvm::join(folders, ", ")).str();
  if (isOtherMachine(machine))
    error += "; README.md (\"For other machines\") says how to build it for " + machineOf(machine).str();
  return std::nullopt;
}
