// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A host that looks at itself: what a process owns is as it was after it has compiled, linked, loaded and run. Its own
// program, so that the first compilation of a process is among what is looked at.

#include "Recorder.h"
#include <atomic>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <pthread.h>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace {

std::set<std::string> entries(const std::string &folder) {
  std::set<std::string> names;
  if (DIR *open = opendir(folder.c_str())) {
    int own = dirfd(open);
    while (dirent *entry = readdir(open))
      if (entry->d_name != std::to_string(own))
        names.insert(entry->d_name);
    closedir(open);
  }
  return names;
}

/// What belongs to the host, as text by name.
std::map<std::string, std::string> stateOfProcess() {
  std::map<std::string, std::string> state;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) != 0)
      continue;
    std::string mask;
    for (int other = 1; other < NSIG; ++other)
      mask += sigismember(&action.sa_mask, other) == 1 ? '1' : '0';
    char text[64];
    std::snprintf(text, sizeof text, "%p %x ", reinterpret_cast<void *>(action.sa_handler),
                  static_cast<unsigned>(action.sa_flags));
    state["action of signal " + std::to_string(signal)] = text + mask;
  }
  stack_t stack;
  sigaltstack(nullptr, &stack);
  state["signal stack"] = std::to_string(stack.ss_flags) + " " + std::to_string(stack.ss_size);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int signal = 1; signal < NSIG; ++signal)
    state["mask"] += sigismember(&mask, signal) == 1 ? '1' : '0';
  for (const std::string &name : entries("/proc/self/fd")) {
    char target[4096];
    ssize_t length = readlink(("/proc/self/fd/" + name).c_str(), target, sizeof target);
    state["descriptor " + name] = std::string(target, static_cast<size_t>(std::max<ssize_t>(length, 0)));
  }
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit) {
    struct rlimit value;
    if (getrlimit(static_cast<__rlimit_resource>(limit), &value) == 0)
      state["limit " + std::to_string(limit)] = std::to_string(value.rlim_cur) + " " + std::to_string(value.rlim_max);
  }
  char folder[4096];
  state["folder"] = getcwd(folder, sizeof folder) ? folder : "";
  mode_t files = umask(022);
  umask(files);
  state["umask"] = std::to_string(files);
  state["locale"] = setlocale(LC_ALL, nullptr);
  state["rounding"] = std::to_string(fegetround());
#if defined(__x86_64__)
  state["floats"] = std::to_string(__builtin_ia32_stmxcsr() & ~0x3Fu);
#endif
  for (char **variable = environ; *variable; ++variable)
    state["environment"] += std::string(*variable) + "\n";
  return state;
}

void expectSame(const std::map<std::string, std::string> &before, const char *after) {
  std::map<std::string, std::string> now = stateOfProcess();
  for (const auto &[name, value] : before)
    EXPECT_EQ(now[name], value) << name << " after " << after;
  for (const auto &[name, value] : now)
    EXPECT_TRUE(before.count(name)) << name << " is new after " << after << ": " << value;
}

/// Threads of the process; ones that end may take a moment to be gone.
size_t threadsNow(size_t expected) {
  size_t count = 0;
  for (int i = 0; i < 12000; ++i) {
    count = entries("/proc/self/task").size() - 2; // . and ..
    if (count == expected)
      break;
    usleep(5000);
  }
  return count;
}

/// What is written to standard output and error while it lives.
struct Printed {
  int saved[2], file;
  Printed() {
    std::fflush(nullptr);
    char path[] = "/tmp/sinter-printed-XXXXXX";
    file = mkstemp(path);
    unlink(path);
    for (int k : {0, 1}) {
      saved[k] = fcntl(k + 1, F_DUPFD_CLOEXEC, 100);
      dup2(file, k + 1);
    }
  }
  std::string finish() {
    std::fflush(nullptr);
    std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), ' ');
    if (pread(file, text.data(), text.size(), 0) < 0)
      text = "unreadable";
    for (int k : {0, 1}) {
      dup2(saved[k], k + 1);
      close(saved[k]);
    }
    close(file);
    return text;
  }
};

/// y = exp(x) . w + x for x: [n, 8], with weights.
void recordProgram(Recorder &recorder, float bias) {
  sinter_dim n = recorder.symbol("n");
  auto x = recorder.begin({Recorder::type(SINTER_F32, {n, 8})}, "main")[0];
  sinter_value weights = recorder.constant<float>(SINTER_F32, std::vector<float>(8, bias), {8});
  sinter_value like = recorder.op("exp", {x});
  sinter_attr axes = {}, type = {}, segments = {};
  int64_t axis[] = {1}, sizes[] = {1, 0, 1};
  sinter_value_type wide = Recorder::type(SINTER_F32, {n, 8});
  axes.name = "axes", axes.kind = SINTER_ATTR_I64S, axes.count = 1, axes.i64s = axis;
  type.name = "type", type.kind = SINTER_ATTR_TYPE, type.type = &wide;
  segments.name = "operandSegmentSizes", segments.kind = SINTER_ATTR_I64S, segments.count = 3, segments.i64s = sizes;
  sinter_value spread = recorder.op("broadcast", {weights, x}, {axes, type, segments});
  recorder.end({recorder.op("add", {recorder.op("mul", {like, spread}), x})});
}

void run(sinter_module *module, float bias) {
  for (int32_t threads : {1, 3}) {
    sinter_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = threads;
    sinter_session *session = nullptr;
    ASSERT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_OK) << sinter_last_error();
    alignas(64) float data[16] = {};
    sinter_tensor x = {}, y = {};
    x.data = data;
    x.dtype = SINTER_F32;
    x.rank = 2;
    x.dims[0] = 2;
    x.dims[1] = 8;
    EXPECT_EQ(sinter_session_call(session, 1, &x, 1, &y), SINTER_OK) << sinter_last_error();
    EXPECT_EQ(static_cast<float *>(y.data)[15], bias);
    sinter_session_destroy(session);
  }
}

std::string folder() {
  static const std::string path = [] {
    std::string pattern = std::filesystem::temp_directory_path() / "sinter-embedding-XXXXXX";
    return std::string(mkdtemp(pattern.data()));
  }();
  return path;
}

std::atomic<int> arrived{0}, elsewhere{0};
pthread_t mainThread;
void onSignal(int) {
  ++arrived;
  if (!pthread_equal(pthread_self(), mainThread))
    ++elsewhere;
}

TEST(Embedding, LeavesTheProcessAsItWas) {
  mainThread = pthread_self();
  struct sigaction mine = {};
  mine.sa_handler = onSignal;
  mine.sa_flags = SA_RESTART;
  sigaddset(&mine.sa_mask, SIGUSR2);
  ASSERT_EQ(sigaction(SIGUSR1, &mine, nullptr), 0);
  ASSERT_EQ(sigaction(SIGTERM, &mine, nullptr), 0);
  std::string at = folder(), temporary = at + "/temporary";
  std::filesystem::create_directory(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  mode_t files = umask(022);
  umask(files);
  std::map<std::string, std::string> before = stateOfProcess();
  size_t threads = threadsNow(1);

  // Signals keep arriving, and only where the host takes them.
  std::atomic<bool> stop{false};
  sigset_t usr1, old;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, &old);
  std::thread sender([&] {
    while (!stop) {
      kill(getpid(), SIGUSR1);
      usleep(500);
    }
  });
  pthread_sigmask(SIG_SETMASK, &old, nullptr);

  Printed printed;
  for (float bias : {1.f, 2.f}) {
    Recorder recorder;
    recordProgram(recorder, bias);
    sinter_compile_options options = {};
    options.struct_size = sizeof options;
    options.threads = 4;
    sinter_module *module = nullptr;
    ASSERT_EQ(sinter_graph_compile(recorder.graph, &options, &module), SINTER_OK) << sinter_last_error();
    run(module, bias);
    sinter_module_close(module);
    options.disk_cache = 1;
    std::string cache = at + "/cache";
    options.cache_folder = cache.c_str();
    options.no_memory_cache = 1;
    ASSERT_EQ(sinter_graph_compile(recorder.graph, &options, &module), SINTER_OK) << sinter_last_error();
    run(module, bias);
    sinter_module_close(module);
  }
  {
    Recorder recorder;
    recordProgram(recorder, 3);
    sinter_compile_options options = {};
    options.struct_size = sizeof options;
    for (const char *name : {"m.smod", "m.so", "m.o", "m.a", "m.s", "m", "m.sinter", "m.mlir"}) {
      std::string path = at + "/" + name;
      bool graph = std::strstr(name, ".sinter") || std::strstr(name, ".mlir");
      ASSERT_EQ(graph ? sinter_graph_save(recorder.graph, path.c_str())
                      : sinter_graph_compile_file(recorder.graph, path.c_str(), &options),
                SINTER_OK)
          << name << ": " << sinter_last_error();
      struct stat file;
      ASSERT_EQ(stat(path.c_str(), &file), 0) << name;
      bool runs = !std::strcmp(name, "m") || !std::strcmp(name, "m.so");
      EXPECT_EQ(file.st_mode & 0777, (runs ? 0777u : 0666u) & ~files) << name;
      sinter_module *module = nullptr;
      sinter_graph *read = nullptr;
      if (graph) {
        ASSERT_EQ(sinter_graph_load(path.c_str(), &read), SINTER_OK) << sinter_last_error();
        sinter_graph_destroy(read);
      } else if (std::strstr(name, "m.s") && name[3]) {
        ASSERT_EQ(sinter_module_open(path.c_str(), nullptr, &module), SINTER_OK) << name << sinter_last_error();
        run(module, 3);
        sinter_module_close(module);
      }
    }
    // and what fails
    EXPECT_EQ(sinter_graph_compile_file(recorder.graph, (at + "/none/m.so").c_str(), &options), SINTER_IO);
    EXPECT_EQ(sinter_graph_compile_file(recorder.graph, (at + "/none/m.s").c_str(), &options), SINTER_IO);
    sinter_module *module = nullptr;
    EXPECT_NE(sinter_module_open((at + "/m.o").c_str(), nullptr, &module), SINTER_OK);
  }
  float values[4] = {1, 2, 3, 4};
  sinter_tensor operand = {}, result = {};
  operand.data = values;
  operand.dtype = SINTER_F32;
  operand.rank = 1;
  operand.dims[0] = 4;
  int32_t count = 0;
  ASSERT_EQ(sinter_eager("exp", 1, &operand, 0, nullptr, 1, &result, &count), SINTER_OK) << sinter_last_error();
  sinter_tensor_free(&result);
  EXPECT_EQ(printed.finish(), "");

  stop = true;
  sender.join();
  EXPECT_GT(arrived, 10);
  EXPECT_EQ(elsewhere, 0) << "signals handled on threads that are not the host's, of " << arrived;
  sinter_jit_clear();
  expectSame(before, "all of it");
  EXPECT_EQ(threadsNow(threads), threads);
  EXPECT_EQ(entries(at + "/temporary").size(), 2u) << "temporary files stayed"; // . and ..
  unsetenv("TMPDIR");
  std::filesystem::remove_all(at);
}

TEST(Embedding, CompilesInChildrenToo) {
  Recorder recorder;
  recordProgram(recorder, 4);
  sinter_module *module = nullptr;
  ASSERT_EQ(sinter_graph_compile(recorder.graph, nullptr, &module), SINTER_OK) << sinter_last_error();
  pid_t child = fork();
  if (child == 0) {
    alarm(600);
    Recorder own;
    recordProgram(own, 5);
    sinter_module *made = nullptr;
    if (sinter_graph_compile(own.graph, nullptr, &made))
      _exit(1);
    run(made, 5);
    run(module, 4);
    sinter_jit_clear();
    _exit(testing::Test::HasFailure() ? 2 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  run(module, 4);
  sinter_module_close(module);
}

TEST(Embedding, ForksWhileAnotherThreadCompiles) {
  Recorder recorder;
  recordProgram(recorder, 7);
  sinter_module *module = nullptr;
  ASSERT_EQ(sinter_graph_compile(recorder.graph, nullptr, &module), SINTER_OK) << sinter_last_error();
  run(module, 7);
  std::atomic<bool> ends{false};
  std::atomic<int> compiled{0};
  std::thread compiler([&] {
    for (float bias = 100; !ends; ++bias) {
      Recorder own;
      recordProgram(own, bias);
      sinter_module *made = nullptr;
      EXPECT_EQ(sinter_graph_compile(own.graph, nullptr, &made), SINTER_OK) << sinter_last_error();
      sinter_module_close(made);
      ++compiled;
    }
  });
  while (compiled == 0)
    usleep(1000);
  std::fflush(nullptr);
  // Wherever in the compiler the other thread is: the child runs what there was and ends, by itself or as programs do.
  for (int k = 0; k < 24 || compiled < 3; ++k) {
    pid_t child = fork();
    if (child == 0) {
      alarm(600);
      run(module, 7);
      int code = testing::Test::HasFailure() ? 2 : 0;
      if (k % 2)
        _exit(code);
      exit(code);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "child " << k;
    if (status)
      break;
  }
  ends = true;
  compiler.join();
  run(module, 7);
  sinter_module_close(module);
}

TEST(Embedding, SurvivesLimits) {
  // In children, whose limits end with them: compiling works or says what it lacks, and nobody is killed.
  struct {
    __rlimit_resource limit;
    rlim_t value;
  } limits[] = {{RLIMIT_FSIZE, 0}, {RLIMIT_FSIZE, 600}, {RLIMIT_FSIZE, 6000}, {RLIMIT_NOFILE, 8}, {RLIMIT_NPROC, 0}};
  Recorder recorder;
  recordProgram(recorder, 6);
  std::string at = folder() + "-limits";
  std::filesystem::create_directory(at);
  for (auto [limit, value] : limits) {
    pid_t child = fork();
    if (child == 0) {
      alarm(600);
      struct rlimit lowered = {value, value};
      setrlimit(limit, &lowered);
      std::string saved = at + "/m.mlir", shared = at + "/m.so";
      sinter_compile_options options = {};
      options.struct_size = sizeof options;
      options.no_memory_cache = 1;
      options.threads = 4;
      sinter_module *module = nullptr;
      bool clear = true;
      for (sinter_status_code status :
           {sinter_graph_compile(recorder.graph, &options, &module), sinter_graph_save(recorder.graph, saved.c_str()),
            sinter_graph_compile_file(recorder.graph, shared.c_str(), &options)})
        clear &= status == SINTER_OK || status == SINTER_IO || status == SINTER_OUT_OF_MEMORY;
      if (!clear)
        _exit(3);
      if (module)
        run(module, 6);
      _exit(testing::Test::HasFailure() ? 2 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "limit " << limit << " of " << value;
  }
  std::filesystem::remove_all(at);
}

TEST(Embedding, KeepsAsManyModulesAsItIsTold) {
  auto descriptors = [] { return entries("/proc/self/fd").size(); };
  auto report = [] {
    sinter_jit_report report = {};
    report.struct_size = sizeof report;
    EXPECT_EQ(sinter_jit_stats(&report), SINTER_OK);
    return report;
  };
  sinter_jit_clear();
  EXPECT_EQ(report().modules_kept, 0);
  EXPECT_EQ(report().eager_kept, 0);
  size_t before = descriptors();
  ASSERT_EQ(sinter_jit_limit(3), SINTER_OK);
  for (int k = 0; k < 6; ++k) {
    Recorder recorder;
    recordProgram(recorder, 10.f + static_cast<float>(k));
    sinter_module *module = nullptr;
    ASSERT_EQ(sinter_graph_compile(recorder.graph, nullptr, &module), SINTER_OK) << sinter_last_error();
    sinter_module_close(module);
    EXPECT_LE(report().modules_kept, 3);
  }
  EXPECT_EQ(report().modules_kept, 3);
  float values[64] = {};
  for (int32_t rank = 1; rank <= 6; ++rank) { // a kernel of each
    sinter_tensor operand = {}, result = {};
    operand.data = values;
    operand.dtype = SINTER_F32;
    operand.rank = rank;
    for (int32_t axis = 0; axis < rank; ++axis)
      operand.dims[axis] = 2;
    int32_t count = 0;
    ASSERT_EQ(sinter_eager("exp", 1, &operand, 0, nullptr, 1, &result, &count), SINTER_OK) << sinter_last_error();
    sinter_tensor_free(&result);
    EXPECT_LE(report().eager_kept, 3);
  }
  EXPECT_LE(descriptors(), before + 7);
  ASSERT_EQ(sinter_jit_limit(1), SINTER_OK);
  EXPECT_LE(report().modules_kept, 1);
  EXPECT_EQ(sinter_jit_limit(-1), SINTER_INVALID_ARGUMENT);
  EXPECT_STREQ(sinter_last_error(), "jit limit requires a number of modules of 0 or more, got -1");
  sinter_jit_clear();
  EXPECT_EQ(descriptors(), before);
  sinter_jit_limit(512);
}

} // namespace
