// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Recorder.h"
#include <cmath>
#include <filesystem>
#include <fstream>
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
  sinter_compile_options anew = {};
  anew.no_memory_cache = 1;
  EXPECT_EQ(Scaled(2).run(anew), 6);
  EXPECT_EQ(report().compiles, before.compiles + 5);
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
