// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program that `--emit=exe` makes, linked here from a function written by hand.

#include "Files.h"
#include "Functions.h"
#include <array>
#include <cstdio>
#include <gtest/gtest.h>
#include <sys/wait.h>

using namespace sinter::test;

namespace {

struct Program : testing::Test {
  Folder folder;

  void SetUp() override {
    float x[6] = {1, 2, 3, 4, 5, 6}, bias = 0.5f;
    sinter_tensor tensor = view(x, {2, 3});
    ASSERT_EQ(sinter_npy_write(folder.file("x.npy").c_str(), &tensor), SINTER_OK);
    tensor = view(&bias, {});
    ASSERT_EQ(sinter_npy_write(folder.file("bias.npy").c_str(), &tensor), SINTER_OK);
  }

  /// Runs the program in the folder; returns "exit code|what it wrote".
  std::string run(const std::string &arguments) {
    std::string command = "cd " + folder.path.string() + " && exec -a prog " TEST_PROGRAM " " + arguments + " 2>&1",
                text;
    command = "bash -c '" + command + "'";
    FILE *pipe = popen(command.c_str(), "r");
    std::array<char, 4096> part;
    while (size_t bytes = fread(part.data(), 1, part.size(), pipe))
      text.append(part.data(), bytes);
    int status = pclose(pipe);
    return std::to_string(WEXITSTATUS(status)) + "|" + text;
  }
};

TEST_F(Program, WritesOutputsBesideByDefault) {
  EXPECT_EQ(run("x.npy bias.npy"), "0|wrote out_y.npy: f32 2x3\n");
  sinter_tensor tensor;
  ASSERT_EQ(sinter_npy_read(folder.file("out_y.npy").c_str(), &tensor), SINTER_OK);
  EXPECT_EQ(static_cast<float *>(tensor.data)[5], 12.5f);
  sinter_tensor_free(&tensor);
}

TEST_F(Program, TakesNamesAndPrints) {
  EXPECT_EQ(run("--input bias=@bias.npy --print x.npy --threads 1"),
            "0|out/y: f32 [2, 3]\n  2.5 4.5 6.5\n  8.5 10.5 12.5\n");
  EXPECT_FALSE(std::filesystem::exists(folder.file("out_y.npy")));
  EXPECT_EQ(run("--input bias=@bias.npy --input x=@x.npy --output out/y=@y=1.npy"), "0|wrote y=1.npy: f32 2x3\n");
}

TEST_F(Program, SaysHowItIsCalled) {
  std::string text = run("--help");
  EXPECT_NE(text.find("0|usage: prog [FILE.npy ...]"), std::string::npos) << text;
  EXPECT_NE(text.find("inputs\n  x: f32 [rows, 3]\n  bias: f32 []\noutputs\n  out/y: f32 [rows, 3]\n"),
            std::string::npos)
      << text;
}

TEST_F(Program, ErrorsAreOneLine) {
  EXPECT_EQ(run(""), "2|prog: no file for input: 'x' (see --help)\n");
  EXPECT_EQ(run("x.npy bias.npy x.npy"), "2|prog: more files than inputs: 'x.npy' (see --help)\n");
  EXPECT_EQ(run("bias.npy --input x=@x.npy"),
            "2|prog: one file is required for input 'x', got 'bias.npy' and 'x.npy' (see --help)\n");
  EXPECT_EQ(run("--input"), "2|prog: a value is required after: '--input' (see --help)\n");
  EXPECT_EQ(run("--input x=x.npy"), "2|prog: required is NAME=@FILE.npy, got: 'x=x.npy' (see --help)\n");
  EXPECT_EQ(run("--input z=@x.npy"), "2|prog: function 'scale' has no input 'z' (see --help)\n");
  EXPECT_EQ(run("--output z=@x.npy"), "2|prog: function 'scale' has no output 'z' (see --help)\n");
  EXPECT_EQ(run("--threads many x.npy"), "2|prog: required is --threads 0 to 1024, got: 'many' (see --help)\n");
  EXPECT_EQ(run("--fast"), "2|prog: unknown option: '--fast' (see --help)\n");
  EXPECT_EQ(run("x.npy none.npy"), "1|prog: cannot open 'none.npy': No such file or directory\n");
  EXPECT_EQ(run("bias.npy bias.npy"), "1|prog: input 'x' requires rank 2, got 0\n");
  EXPECT_EQ(run("x.npy bias.npy --output out/y=@none/y.npy"),
            "1|prog: cannot write 'none/y.npy': No such file or directory\n");
  float x[39] = {};
  sinter_tensor tensor = view(x, {13, 3});
  sinter_npy_write(folder.file("x.npy").c_str(), &tensor);
  EXPECT_EQ(run("x.npy bias.npy"), "1|prog: 13 rows are bad luck\n");
}

} // namespace
