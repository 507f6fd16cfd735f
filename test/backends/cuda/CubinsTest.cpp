// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that a GPU need not compile: cubins behind the PTX of a module, and the cache of what the driver made. The
// machine takes for a cubin what its own linker makes, "\x7fELF of the machine, sm_90\n" and PTX.

#include "CudaProgram.h"
#include "test/backends/cpu/Execute.h"
#include <filesystem>
#include <fstream>

using namespace sinter;
namespace fs = std::filesystem;

static const char kText[] = R"(func.func @f(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = sinter.neg %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
})";

/// What the machine takes for code of a generation.
static std::string cubinOf(const std::string &ptx, const std::string &generation) {
  return "\x7f"
         "ELF of the machine, " +
         generation + "\n" + ptx + '\0';
}

static std::string entryOf(const std::string &cubin, const std::string &name) {
  return "\n=== cubin " + name + " " + std::to_string(cubin.size()) + "\n" + cubin;
}

/// The lines about kernels, and their PTX.
static std::pair<std::string, std::string> partsOf(const std::string &code) {
  size_t at = code.find("\n\n") + 2;
  return {code.substr(0, at), code.substr(at)};
}

namespace {
/// Opens and runs the program with code that is changed; the error of opening it otherwise.
struct Outcome {
  std::string error;
  uint64_t cubins = 0, links = 0;
};
} // namespace

static Outcome outcomeOf(std::function<void(std::string &)> edit) {
  cuda::editCode(std::move(edit));
  test::Program program(kText, 2, 1, /*isGraph=*/true);
  cuda::editCode(nullptr);
  Outcome outcome{program.error, cuda::count("cubin"), cuda::count("link")};
  if (!program.error.empty())
    return outcome;
  auto results = program.run({test::makeInput(mlir::Float32Type::get(&program.context), {{3, 4}, {}})});
  EXPECT_TRUE(results) << program.error << cuda::report();
  HostTensor x = test::makeInput(mlir::Float32Type::get(&program.context), {{3, 4}, {}});
  for (int64_t i = 0; results && i < 12; ++i)
    EXPECT_EQ((*results)[0].getFloat(i), -x.getFloat(i));
  EXPECT_EQ(cuda::report(), "");
  return outcome;
}

/// The PTX beside it is not looked at.
TEST(Cubins, TheOneThatFitsIsLoaded) {
  for (const char *generation : {"sm_80", "sm_86", "sm_90", "sm_90a", "sm_100"}) {
    SCOPED_TRACE(generation);
    bool fits = std::string(generation).starts_with("sm_90"); // the machine is of sm_90
    Outcome outcome = outcomeOf([&](std::string &code) {
      auto [lines, ptx] = partsOf(code);
      code = lines + (fits ? "no PTX" : ptx) + entryOf(cubinOf(ptx, generation), std::string("all ") + generation);
    });
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.cubins, fits ? 1u : 0u);
  }
  // Of several the best, wherever it stands; the other is none at all.
  Outcome outcome = outcomeOf([](std::string &code) {
    auto [lines, ptx] = partsOf(code);
    code = lines + "no PTX" + entryOf("other", "all sm_89") + entryOf(cubinOf(ptx, "sm_90"), "all sm_90") +
           entryOf("other", "wide sm_90a");
  });
  EXPECT_EQ(outcome.cubins, 1u) << outcome.error;
}

TEST(Cubins, OneThatTheDriverRefusesLeavesThePtx) {
  Outcome outcome = outcomeOf([](std::string &code) {
    code += entryOf("\x7f"
                    "ELF of another kind",
                    "all sm_90");
  });
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.cubins, 0u);
}

/// Entries that are cut off, longer than the code, or none.
TEST(Cubins, DamageIsAnError) {
  for (const char *damage : {"\n=== cubin all sm_90 100\nshort", "\n=== cubin all sm_90 -1\nx",
                             "\n=== cubin all sm_90 99999999999999999999\nx", "\n=== cubin all sm_90 1\nxyz",
                             "\n=== cubin all", "\n=== cubin all sm_90 0\n"}) {
    Outcome outcome = outcomeOf([&](std::string &code) { code += damage; });
    EXPECT_NE(outcome.error.find("makes no sense"), std::string::npos) << damage << ": " << outcome.error;
  }
  Outcome outcome = outcomeOf([&](std::string &code) { code += std::string("\0behind", 7); });
  EXPECT_NE(outcome.error.find("makes no sense"), std::string::npos) << outcome.error;
}

namespace {
/// A folder of SINTER_CUDA_CACHE, which goes away.
struct Cache {
  fs::path folder = fs::path(testing::TempDir()) / ("sinter-cubins-" + std::to_string(getpid()));
  Cache() {
    fs::remove_all(folder);
    setenv("SINTER_CUDA_CACHE", folder.c_str(), 1);
  }
  ~Cache() {
    unsetenv("SINTER_CUDA_CACHE");
    fs::remove_all(folder);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto &entry : fs::directory_iterator(folder))
      found.push_back(entry.path());
    return found;
  }
};
} // namespace

TEST(Cubins, WhatWasCompiledIsKept) {
  Cache cache;
  Outcome first = outcomeOf(nullptr), second = outcomeOf(nullptr);
  EXPECT_EQ(first.links, 1u);
  EXPECT_EQ(first.cubins, 1u);
  EXPECT_EQ(second.links, 0u);
  EXPECT_EQ(second.cubins, 1u);
  ASSERT_EQ(cache.files().size(), 1u);
  EXPECT_NE(cache.files()[0].string().find("-sm_90-13000.cubin"), std::string::npos);
  // Other PTX is other code.
  EXPECT_EQ(outcomeOf([](std::string &code) { code += "// changed\n"; }).links, 1u);
  EXPECT_EQ(cache.files().size(), 2u);
}

TEST(Cubins, DamagedFilesOfTheCacheAreMadeAnew) {
  Cache cache;
  EXPECT_EQ(outcomeOf(nullptr).links, 1u);
  fs::path path = cache.files().at(0);
  const auto size = fs::file_size(path);
  for (auto damage : {0, 1, 2}) {
    if (damage == 0)
      fs::resize_file(path, size - 1);
    else if (damage == 1)
      std::fstream(path, std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(size / 2)).put('~');
    else
      fs::resize_file(path, 0);
    EXPECT_EQ(outcomeOf(nullptr).links, 1u) << damage;
    EXPECT_EQ(outcomeOf(nullptr).links, 0u) << damage;
    EXPECT_EQ(fs::file_size(path), size);
  }
}

TEST(Cubins, AFolderThatCannotBeMadeIsAnError) {
  setenv("SINTER_CUDA_CACHE", "/dev/null/cache", 1);
  Outcome outcome = outcomeOf(nullptr);
  unsetenv("SINTER_CUDA_CACHE");
  EXPECT_NE(outcome.error.find("SINTER_CUDA_CACHE requires a folder"), std::string::npos) << outcome.error;
}

/// What is no PTX is told by the driver's log, as without a cache.
TEST(Cubins, MistakesInPtxAreToldWithACache) {
  Cache cache;
  Outcome outcome =
      outcomeOf([](std::string &code) { code = partsOf(code).first + ".version 8.0\n.target sm_80\nodd"; });
  EXPECT_NE(outcome.error.find("does not take its code"), std::string::npos) << outcome.error;
  EXPECT_TRUE(cache.files().empty());
  EXPECT_EQ(outcomeOf(nullptr).error, ""); // what the machine told is forgotten
}
