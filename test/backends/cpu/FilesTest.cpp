// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled modules as files: each format is written and used.

#include "Execute.h"
#include "compiler/Link.h"
#include <dlfcn.h>

using namespace sinter;
using namespace sinter::test;

static const char text[] = R"(
    func.func @f(%x: tensor<?x2xf32> {sinter.name = "x", sinter.dims = ["n", 2]}) -> (tensor<?x2xf32> {sinter.name = "y"}) {
      %w = sinter.constant dense<[0.5, 2.0]> : tensor<2xf32>
      %0 = sinter.kernel map(%x, %w) : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32> {
      ^bb0(%a: tensor<?x2xf32>, %b: tensor<2xf32>):
        %c = sinter.broadcast %b like(%a) axes = [1] {type = tensor<?x2xf32>} : (tensor<2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
        %s = sinter.mul %a, %c : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
        sinter.yield(%s) : tensor<?x2xf32>
      }
      return %0 : tensor<?x2xf32>
    })";

namespace {
class Files : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(program.error, "");
    ASSERT_FALSE(folder.path().empty());
  }
  std::string write(llvm::StringRef name, OutputFormat format) {
    std::string path = folder.file(name), error;
    EXPECT_TRUE(writeModule(program.compiled, path, format, error)) << error;
    return path;
  }
  int shell(const std::string &command) { return std::system(command.c_str()); }

  Program program{text, 2};
  TemporaryFolder folder;
};
} // namespace

static void runOpened(const std::string &path) {
  sinter_module *module = nullptr;
  sinter_session *session = nullptr;
  ASSERT_EQ(sinter_module_open(path.c_str(), nullptr, &module), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << sinter_last_error();
  float data[6] = {1, 2, 3, 4, 5, 6};
  sinter_tensor input = {};
  input.data = data;
  input.dtype = SINTER_F32;
  input.rank = 2;
  input.dims[0] = 3;
  input.dims[1] = 2;
  sinter_tensor output;
  ASSERT_EQ(sinter_session_set_input(session, 0, &input), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_session_run(session), SINTER_OK) << sinter_last_error();
  ASSERT_EQ(sinter_session_output(session, 0, &output), SINTER_OK) << sinter_last_error();
  const float *values = static_cast<const float *>(output.data);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(values[i], data[i] * (i % 2 ? 2.0f : 0.5f));
  sinter_session_destroy(session);
  sinter_module_close(module);
}

TEST_F(Files, ContainerOpensAndRuns) { runOpened(write("model.smod", OutputFormat::Module)); }

TEST_F(Files, SharedLibraryOpensAndRuns) { runOpened(write("libmodel.so", OutputFormat::Shared)); }

TEST_F(Files, SharedLibraryNeedsTheCLibraryAlone) {
  std::string path = write("libmodel.so", OutputFormat::Shared);
  EXPECT_EQ(shell("llvm-readelf-22 -d " + path +
                  " | grep NEEDED | grep -vE 'lib(c|m|dl|pthread)\\.so|ld-linux' ; test $? -eq 1"),
            0);
}

TEST_F(Files, SharedLibraryHasPlainFunctions) {
  std::string path = write("libmodel.so", OutputFormat::Shared);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto *init = reinterpret_cast<void *(*)(int32_t)>(dlsym(library, "model_init"));
  auto *run = reinterpret_cast<int32_t (*)(void *, int64_t, const float *, float *)>(dlsym(library, "model_run"));
  auto *release = reinterpret_cast<void (*)(void *)>(dlsym(library, "model_free"));
  ASSERT_TRUE(init && run && release);
  EXPECT_FALSE(dlsym(library, "sinter_session_create")) << "the runtime inside is hidden";
  void *session = init(1);
  ASSERT_TRUE(session);
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  EXPECT_EQ(run(session, 2, x, y), 0);
  EXPECT_EQ(y[0], 0.5f);
  EXPECT_EQ(y[3], 8.0f);
  release(session);
  dlclose(library);
}

TEST_F(Files, ObjectAndHeaderLinkIntoCPrograms) {
  std::string error;
  for (bool archive : {false, true}) {
    std::string path = write(archive ? "model.a" : "model.o", archive ? OutputFormat::Archive : OutputFormat::Object);
    std::string source =
        "#include \"model.h\"\nint main(void) { model *m = model_init(1); float x[4] = {1, 2, 3, 4}, y[4];\n"
        "return !m || model_run(m, 2, x, y) || y[3] != 8.0f; }\n";
    ASSERT_TRUE(writeFile(folder.file("main.c"), source, error)) << error;
    std::optional<std::string> runtime =
        findRuntimeArchive("libsinter_rt.a", llvm::Triple(cpu::Target::host().triple), error);
    ASSERT_TRUE(runtime) << error;
    std::string program = folder.file("program");
    ASSERT_EQ(shell("clang-22 -fuse-ld=lld " + folder.file("main.c") + " " + path + " " + *runtime +
                    " -lm -lpthread -ldl -o " + program),
              0);
    EXPECT_EQ(shell(program), 0);
  }
}

TEST_F(Files, ProgramExplainsItself) {
  std::string path = write("model", OutputFormat::Program);
  EXPECT_EQ(shell(path + " --help > " + folder.file("help")), 0);
  std::string error;
  EXPECT_NE(readFile(folder.file("help"), error).value_or("").find("x: f32"), std::string::npos);
}

TEST_F(Files, UnwritablePathIsAnErrorThatNamesIt) {
  std::string error, path = folder.file("missing/model.so");
  for (OutputFormat format :
       {OutputFormat::Module, OutputFormat::Object, OutputFormat::Shared, OutputFormat::Program}) {
    EXPECT_FALSE(writeModule(program.compiled, path, format, error));
    EXPECT_NE(error.find("missing/model.so"), std::string::npos) << error;
  }
}
