// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel around a few ops, against the evaluator at every level.

#ifndef SINTER_TEST_BACKENDS_CPU_KERNELCASE_H
#define SINTER_TEST_BACKENDS_CPU_KERNELCASE_H

#include "Execute.h"

namespace sinter::test {

/// A function of one kernel: `arguments` and `results` are types, `body` names the arguments %a, %b, ... and what it
/// yields %r0, %r1, ....
inline std::string kernelText(llvm::StringRef kernelTemplate, llvm::ArrayRef<std::string> arguments,
                              llvm::ArrayRef<std::string> results, llvm::StringRef body) {
  std::string typed, inner, outer, types, resultTypes, yields, returned;
  for (auto [i, type] : llvm::enumerate(arguments)) {
    std::string comma = i ? ", " : "", name(1, static_cast<char>('a' + i));
    typed += comma + "%arg_" + name + ": " + type;
    outer += comma + "%arg_" + name;
    inner += comma + "%" + name + ": " + type;
    types += comma + type;
  }
  for (auto [i, type] : llvm::enumerate(results)) {
    std::string comma = i ? ", " : "";
    resultTypes += comma + type;
    yields += comma + "%r" + std::to_string(i);
    returned += comma + "%k" + (results.size() > 1 ? "#" + std::to_string(i) : "");
  }
  std::string count = results.size() > 1 ? ":" + std::to_string(results.size()) : "";
  return "func.func @f(" + typed + ") -> (" + resultTypes + ") {\n  %k" + count + " = sinter.kernel " +
         kernelTemplate.str() + "(" + outer + ") : (" + types + ") -> (" + resultTypes + ") {\n  ^bb0(" + inner +
         "):\n" + body.str() + "\n    sinter.yield(" + yields + ") : " + resultTypes + "\n  }\n  return " + returned +
         " : " + resultTypes + "\n}\n";
}

inline void expectKernel(llvm::StringRef kernelTemplate, llvm::ArrayRef<std::string> arguments,
                         llvm::ArrayRef<std::string> results, llvm::StringRef body,
                         llvm::ArrayRef<std::vector<Feed>> feeds, double tolerance = 1e-5) {
  std::string text = kernelText(kernelTemplate, arguments, results, body);
  SCOPED_TRACE(text);
  expectMatches(text, feeds, tolerance);
}

} // namespace sinter::test

#endif
