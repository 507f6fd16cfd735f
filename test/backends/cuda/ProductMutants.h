// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mistakes put into the wide kernel of a product: the machine of test/cuda tells each, or the result differs from the
// evaluator's.

#ifndef SINTER_TEST_BACKENDS_CUDA_PRODUCTMUTANTS_H
#define SINTER_TEST_BACKENDS_CUDA_PRODUCTMUTANTS_H

#include "ProductCase.h"
#include <regex>

namespace sinter::cuda {

struct Mutant {
  const char *what, *pattern, *by;
  int n = 0; // which of the lines
  int64_t parts = 1;
  bool isDynamic = false;
};

/// The code with that line changed; empty where there is none.
inline std::string mutated(const std::string &code, const Mutant &mutant) {
  const std::regex pattern(mutant.pattern);
  std::string all;
  size_t begin = 0;
  int seen = 0;
  bool isMade = false;
  while (begin < code.size()) {
    size_t end = std::min(code.find('\n', begin), code.size());
    std::string line = code.substr(begin, end - begin);
    if (!isMade && std::regex_search(line, pattern) && seen++ == mutant.n) {
      line = std::regex_replace(line, pattern, mutant.by);
      isMade = true;
    }
    all += line + "\n";
    begin = end + 1;
  }
  return isMade ? all : "";
}

/// What is wrong with a product (neither turned nor fused) whose code is changed so; empty for nothing.
inline std::string wrongOf(const Case &c, const std::function<void(std::string &)> &edit) {
  cuda::editCode(edit);
  test::Program program(textOf(c), 2);
  cuda::editCode(nullptr);
  if (!program.error.empty())
    return program.error;
  std::vector<HostTensor> inputs;
  const llvm::SmallVector<int64_t> shapes[] = {{c.batch, c.m, c.k}, {c.batch, c.k, c.n}, {c.n}, {c.batch, c.m, c.n}};
  for (auto [type, shape] : llvm::zip(program.function().getArgumentTypes(), shapes))
    inputs.push_back(test::makeInput(mlir::getElementTypeOrSelf(type), {shape, {0.5, -0.25, 1, 0.75, 2}}));
  auto expected = program.evaluate(inputs);
  auto actual = program.run(inputs);
  if (!actual || !cuda::report().empty())
    return program.error + cuda::report();
  for (int64_t i = 0; i < (*actual)[0].numElements(); ++i)
    if (!(std::fabs((*actual)[0].getFloat(i) - (*expected)[0].getFloat(i)) <=
          1e-2 * std::fabs((*expected)[0].getFloat(i)) + 1e-2))
      return "element " + std::to_string(i);
  return "";
}

/// `change` makes the mistake in what is behind "wide ", or gives nothing.
inline void expectCaught(const Case &c, const char *what,
                         const std::function<std::string(const std::string &code)> &change) {
  bool isMade = false;
  const std::string told = wrongOf(c, [&](std::string &code) {
    const size_t at = code.find("wide "); // what is before is not run
    const std::string changed = change(code.substr(at));
    isMade = !changed.empty();
    if (isMade)
      code = code.substr(0, at) + changed;
  });
  EXPECT_TRUE(isMade) << what << "\n" << cuda::lastCode().substr(cuda::lastCode().find("=== sm_90a"));
  EXPECT_NE(told, "") << what;
}

inline void expectCaught(const Case &c, const Mutant &mutant) {
  expectCaught(c, mutant.what, [&](const std::string &code) { return mutated(code, mutant); });
}

} // namespace sinter::cuda

#endif
