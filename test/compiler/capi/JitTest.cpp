// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace {
namespace fs = std::filesystem;

sinter_jit_report report() {
  sinter_jit_report report = {};
  report.struct_size = sizeof report;
  EXPECT_EQ(sinter_jit_stats(&report), SINTER_OK);
  return report;
}

/// f(x) = x * factor, and a large constant so that weights are part of it.
struct Scaled {
  Recorder r;
  explicit Scaled(float factor, float weight = 1) {
    auto x = r.begin({r.type(SINTER_F32, {1024})});
    std::vector<float> weights(1024, weight);
    sinter_value w = r.constant<float>(SINTER_F32, weights, {1024});
    std::vector<int64_t> axes;
    sinter_value_type wide = r.type(SINTER_F32, {1024});
    sinter_value k = r.op("broadcast", {r.scalar(factor)}, {attr("axes", axes), attr("type", wide)});
    r.end({r.op("mul", {r.op("mul", {x[0], k}), w})});
  }
  float run(sinter_compile_options options = {}) {
    options.struct_size = sizeof options;
    sinter_module *module = nullptr;
    EXPECT_EQ(sinter_graph_compile(r.graph, &options, &module), SINTER_OK) << sinter_last_error();
    sinter_session *session = nullptr;
    EXPECT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << sinter_last_error();
    sinter_module_close(module);
    std::vector<float> x(1024, 3);
    sinter_tensor input = Recorder::tensor(x, {1024}), output = {};
    EXPECT_EQ(sinter_session_call(session, 1, &input, 1, &output), SINTER_OK) << sinter_last_error();
    float result = output.data ? static_cast<float *>(output.data)[1023] : NAN;
    sinter_session_destroy(session);
    return result;
  }
};

struct Folder {
  fs::path path = fs::path(testing::TempDir()) / ("sinter_jit_" + std::to_string(getpid()) + "_" +
                                                  testing::UnitTest::GetInstance()->current_test_info()->name());
  std::string text = path.string();
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(path))
      files.push_back(entry.path());
    return files;
  }
  sinter_compile_options options() const {
    sinter_compile_options options = {};
    options.disk_cache = 1;
    options.no_memory_cache = 1;
    options.cache_folder = text.c_str();
    return options;
  }
};
} // namespace

TEST(Jit, FindsWhatThisProcessCompiled) {
  sinter_jit_report before = report();
  EXPECT_EQ(Scaled(2).run(), 6);
  EXPECT_EQ(Scaled(2).run(), 6);
  EXPECT_EQ(report().compiles, before.compiles + 1);
  EXPECT_EQ(report().memory_hits, before.memory_hits + 1);
  EXPECT_GT(report().compile_ns, before.compile_ns);
  // Another number, weight or option is another module.
  EXPECT_EQ(Scaled(4).run(), 12);
  EXPECT_EQ(Scaled(2, 5).run(), 30);
  sinter_compile_options plain = {};
  plain.opt_level = -1;
  EXPECT_EQ(Scaled(2).run(plain), 6);
  EXPECT_EQ(report().compiles, before.compiles + 4);
  sinter_compile_options fast = {};
  fast.fast_math = 1;
  EXPECT_EQ(Scaled(2).run(fast), 6);
  EXPECT_EQ(report().compiles, before.compiles + 5);
  sinter_compile_options anew = {};
  anew.no_memory_cache = 1;
  EXPECT_EQ(Scaled(2).run(anew), 6);
  EXPECT_EQ(report().compiles, before.compiles + 6);
}

TEST(Jit, KeepsKernelsInAFolder) {
  Folder folder;
  sinter_compile_options options = {};
  options.no_memory_cache = 1;
  options.kernel_cache = 1;
  options.kernel_folder = folder.text.c_str();
  EXPECT_EQ(Scaled(2).run(options), 6);
  std::vector<fs::path> files = folder.files();
  ASSERT_FALSE(files.empty());
  auto longAgo = fs::file_time_type::clock::now() - std::chrono::hours(48);
  for (const fs::path &file : files)
    fs::last_write_time(file, longAgo);
  EXPECT_EQ(Scaled(2).run(options), 6);
  EXPECT_EQ(folder.files().size(), files.size());
  for (const fs::path &file : files) // was used
    EXPECT_GT(fs::last_write_time(file), longAgo + std::chrono::hours(24));
  options.kernel_bytes = 1; // less than any: what was stored last goes, too
  EXPECT_EQ(Scaled(4).run(options), 12);
  EXPECT_TRUE(folder.files().empty());
}

/// y = x[i] of five numbers; gives the status, or y where the call is right.
static std::pair<int32_t, float> gathered(int32_t policy, int64_t position, size_t optionsSize) {
  Recorder r;
  auto arguments = r.begin({r.type(SINTER_F32, {5}), r.type(SINTER_I64, {1})});
  r.end({r.op("gather", {arguments[0], arguments[1]}, {attr("axis", int64_t{0})})});
  sinter_compile_options options = {};
  options.struct_size = static_cast<uint32_t>(optionsSize);
  options.index_policy = policy;
  sinter_module *module = nullptr;
  EXPECT_EQ(sinter_graph_compile(r.graph, &options, &module), SINTER_OK) << sinter_last_error();
  sinter_session *session = nullptr;
  EXPECT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << sinter_last_error();
  sinter_module_close(module);
  std::vector<float> x{10, 11, 12, 13, 14};
  sinter_tensor inputs[2] = {Recorder::tensor(x, {5}), {}}, output = {};
  inputs[1].data = &position;
  inputs[1].dtype = SINTER_I64;
  inputs[1].rank = 1;
  inputs[1].dims[0] = 1;
  int32_t status = sinter_session_call(session, 2, inputs, 1, &output);
  float result = !status && output.data ? *static_cast<float *>(output.data) : 0;
  sinter_session_destroy(session);
  return {status, result};
}

TEST(Jit, ChecksPositionsAsTheOptionsSay) {
  constexpr size_t whole = sizeof(sinter_compile_options), before = offsetof(sinter_compile_options, index_policy);
  EXPECT_EQ(gathered(SINTER_INDEX_AS_RECORDED, 7, whole), std::pair(int32_t{SINTER_OK}, 14.0f));
  EXPECT_EQ(gathered(SINTER_INDEX_CLAMP, 7, whole), std::pair(int32_t{SINTER_OK}, 14.0f));
  EXPECT_EQ(gathered(SINTER_INDEX_ERROR, 7, whole).first, SINTER_RUNTIME_ERROR);
  EXPECT_EQ(gathered(SINTER_INDEX_ERROR, -2, whole), std::pair(int32_t{SINTER_OK}, 13.0f));
  // A caller that was compiled before the field was there.
  EXPECT_EQ(gathered(SINTER_INDEX_ERROR, 7, before), std::pair(int32_t{SINTER_OK}, 14.0f));
}

TEST(Jit, KeepsModulesOnDisk) {
  Folder folder;
  sinter_jit_report before = report();
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  ASSERT_EQ(folder.files().size(), 1u);
  EXPECT_EQ(folder.files()[0].extension(), ".smod");
  EXPECT_EQ(fs::status(folder.path).permissions(), fs::perms::owner_all);
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  EXPECT_EQ(report().disk_hits, before.disk_hits + 1);
  EXPECT_EQ(report().compiles, before.compiles + 1);
}

TEST(Jit, ReplacesDamagedAndForeignFiles) {
  Folder folder;
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  fs::path file = folder.files().at(0);
  sinter_jit_report before = report();
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
    bytes << "damage";
  }
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  EXPECT_EQ(report().disk_rejected, before.disk_rejected + 1);
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  EXPECT_EQ(report().disk_hits, before.disk_hits + 1);
  // A good file under another one's name: the key is compared, not its hash.
  fs::path other;
  EXPECT_EQ(Scaled(7).run(folder.options()), 21);
  for (const fs::path &path : folder.files())
    if (path != file)
      other = path;
  fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  EXPECT_EQ(report().disk_rejected, before.disk_rejected + 2);
  fs::resize_file(file, 10);
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
}

TEST(Jit, KeepsTheFolderBelowItsCap) {
  Folder folder;
  sinter_compile_options options = folder.options();
  sinter_jit_report before = report();
  EXPECT_EQ(Scaled(2).run(options), 6);
  options.cache_bytes = static_cast<int64_t>(fs::file_size(folder.files().at(0))) * 5 / 2; // two
  fs::path first = folder.files().at(0);
  fs::last_write_time(first, fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(Scaled(3).run(options), 9);
  EXPECT_EQ(Scaled(4).run(options), 12);
  EXPECT_EQ(folder.files().size(), 2u);
  EXPECT_FALSE(fs::exists(first));
  EXPECT_EQ(report().disk_evicted, before.disk_evicted + 1);
}

TEST(Jit, LeavesFilesOfOthersInItsFolder) {
  Folder folder;
  fs::create_directories(folder.path);
  fs::permissions(folder.path, fs::perms::owner_all);
  std::string digest(64, 'a'), upper(64, 'A');
  std::vector<std::string> others = {"letter.txt",    "mine.smod",     digest,
                                     digest + ".txt", upper + ".smod", "a.smod.1-0.tmp"};
  auto put = [&](const std::string &name) {
    std::ofstream(folder.path / name) << "words";
    fs::last_write_time(folder.path / name, fs::file_time_type::clock::now() - std::chrono::hours(50));
  };
  for (const std::string &name : others)
    put(name);
  put(digest + ".smod.12-0.tmp"); // of a write that was broken off
  put(digest + ".smod");
  sinter_compile_options options = folder.options();
  options.cache_bytes = 1;
  EXPECT_EQ(Scaled(2).run(options), 6);
  for (const std::string &name : others)
    EXPECT_TRUE(fs::exists(folder.path / name)) << name;
  EXPECT_FALSE(fs::exists(folder.path / (digest + ".smod.12-0.tmp")));
  EXPECT_FALSE(fs::exists(folder.path / (digest + ".smod")));
}

TEST(Jit, RequiresAFolderOfTheUserAlone) {
  Folder folder;
  fs::create_directories(folder.path);
  fs::permissions(folder.path, fs::perms::owner_all | fs::perms::group_read);
  Scaled scaled(2);
  sinter_compile_options options = folder.options();
  options.struct_size = sizeof options;
  sinter_module *module = nullptr;
  EXPECT_EQ(sinter_graph_compile(scaled.r.graph, &options, &module), SINTER_IO);
  EXPECT_EQ(sinter_last_error(),
            "the disk cache requires a folder that only its owner, this user, may enter, got '" + folder.text + "'");
  fs::remove_all(folder.path);
  std::ofstream(folder.path) << "a file";
  EXPECT_EQ(sinter_graph_compile(scaled.r.graph, &options, &module), SINTER_IO);
  EXPECT_EQ(sinter_last_error(), "the disk cache requires a folder, got '" + folder.text + "'");
  options.cache_bytes = -1;
  EXPECT_EQ(sinter_graph_compile(scaled.r.graph, &options, &module), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_jit_stats(nullptr), SINTER_INVALID_ARGUMENT);
}

namespace {
/// What compiling with `options` says, empty for success.
std::string messageOf(sinter_compile_options options) {
  Scaled scaled(2);
  options.struct_size = sizeof options;
  sinter_module *module = nullptr;
  if (sinter_graph_compile(scaled.r.graph, &options, &module))
    return sinter_last_error();
  sinter_module_close(module);
  return "";
}

/// An environment variable for as long as this lives.
struct Environment {
  std::string name, before;
  bool was;
  Environment(const char *name, const char *value) : name(name), was(std::getenv(name)) {
    if (was)
      before = std::getenv(name);
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~Environment() {
    if (was)
      setenv(name.c_str(), before.c_str(), 1);
    else
      unsetenv(name.c_str());
  }
};
} // namespace

TEST(Jit, SaysWhatCompilingTakesIfTheEnvironmentAsks) {
  Environment asked("SINTER_TIME_PASSES", "1");
  sinter_compile_options anew = {};
  anew.no_memory_cache = 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(Scaled(2).run(anew), 6);
  std::string table = testing::internal::GetCapturedStderr();
  for (const char *step : {" all\n", " passes\n", " sinter-form-kernels\n", " object code\n", " code generation\n"})
    EXPECT_NE(table.find(step), std::string::npos) << step << table;
}

TEST(Jit, RefusesLinksAndPlacesWithoutFolders) {
  Folder real, link{};
  link.path += "_link";
  link.text = link.path.string();
  EXPECT_EQ(messageOf(real.options()), "");
  fs::create_directory_symlink(real.path, link.path);
  EXPECT_EQ(messageOf(link.options()), "the disk cache requires a folder, got '" + link.text + "'");
  fs::remove(link.path);
  link.text = "/proc/none/jit";
  EXPECT_EQ(messageOf(link.options()),
            "cannot make the folder of the disk cache '/proc/none/jit': No such file or directory");
}

TEST(Jit, SaysWhenTheFolderCannotBeWritten) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  Folder folder;
  fs::create_directories(folder.path);
  fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(messageOf(folder.options()).find("Permission denied"), std::string::npos);
  fs::permissions(folder.path, fs::perms::owner_all);
}

TEST(Jit, IsBelowTheUsersCacheByDefault) {
  Folder folder;
  sinter_compile_options options = folder.options();
  options.cache_folder = nullptr;
  {
    Environment cache("XDG_CACHE_HOME", folder.text.c_str());
    EXPECT_EQ(Scaled(2).run(options), 6);
  }
  fs::path own = folder.path / "sinter" / "jit";
  EXPECT_EQ(fs::status(own).permissions(), fs::perms::owner_all);
  EXPECT_EQ(std::distance(fs::directory_iterator(own), fs::directory_iterator()), 1);
  Environment cache("XDG_CACHE_HOME", nullptr), home("HOME", nullptr);
  EXPECT_EQ(messageOf(options), "the disk cache requires XDG_CACHE_HOME or HOME, got neither");
}

TEST(Jit, IgnoresADamagedHeader) {
  Folder folder;
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
  fs::path file = folder.files().at(0);
  for (std::streamoff at : {0, 8, 16, 32, 64, 100}) {
    sinter_jit_report before = report();
    {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      bytes.seekp(at);
      bytes << "\x7f\x7f\x7f\x7f";
    }
    EXPECT_EQ(Scaled(2).run(folder.options()), 6) << at;
    EXPECT_EQ(report().disk_rejected, before.disk_rejected + 1) << at;
  }
  std::ofstream(file, std::ios::trunc);
  EXPECT_EQ(Scaled(2).run(folder.options()), 6);
}

TEST(Jit, IsOneOfSeveralProcesses) { // which JIT.ServesSeveralProcesses starts
  const char *text = std::getenv("SINTER_TEST_JIT_FOLDER");
  if (!text)
    GTEST_SKIP() << "started by another test only";
  Folder folder{};
  folder.text = text;
  sinter_compile_options options = folder.options();
  options.cache_bytes = std::atoll(std::getenv("SINTER_TEST_JIT_BYTES"));
  for (float factor : {2.f, 3.f, 2.f, 3.f})
    EXPECT_EQ(Scaled(factor).run(options), 3 * factor);
}

TEST(Jit, ServesSeveralProcesses) {
  Folder folder;
  for (const char *bytes : {"0", "1"}) { // room enough; none, so that each throws out what the others have written
    std::string one = "SINTER_TEST_JIT_BYTES=" + std::string(bytes) + " SINTER_TEST_JIT_FOLDER='" + folder.text +
                      "' timeout 300 '" + fs::read_symlink("/proc/self/exe").string() +
                      "' --gtest_filter=Jit.IsOneOfSeveralProcesses > /dev/null",
                command;
    for (int k = 0; k < 3; ++k)
      command += one + " & p" + std::to_string(k) + "=$!; ";
    EXPECT_EQ(std::system((command + "wait $p0 && wait $p1 && wait $p2").c_str()), 0) << bytes;
    for (const fs::path &file : folder.files())
      EXPECT_EQ(file.extension(), ".smod"); // nothing half written stays
    if (*bytes == '0')
      EXPECT_EQ(folder.files().size(), 2u);
  }
}
