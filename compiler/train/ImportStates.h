// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which initializers of an ONNX model are states of the step that trains it.

#ifndef SINTER_COMPILER_TRAIN_IMPORTSTATES_H
#define SINTER_COMPILER_TRAIN_IMPORTSTATES_H

#include "compiler/onnx/Import.h"
#include "llvm/Support/Regex.h"
#include <memory>

namespace sinter {

/// Which weights a step trains, by regular expressions over their names.
class TrainedNames {
public:
  /// Either may be empty. False with the reason when one is no regular expression; `error` begins with `prefix` and the
  /// word "trainable" or "frozen", as the caller's users write them.
  bool parse(llvm::StringRef trainable, llvm::StringRef frozen, llvm::StringRef prefix, std::string &error);
  bool areAll() const { return !trainable && !frozen; }
  bool has(llvm::StringRef name) const {
    return (!trainable || trainable->match(name)) && (!frozen || !frozen->match(name));
  }
  /// Names of weights were asked for: then single numbers are weights, too.
  bool isNamed() const { return trainable != nullptr; }
  /// What is wrong with the expressions for a model whose initializers are `seen`: one finds nothing, or nothing is
  /// left. Empty when they fit or the model has none.
  std::string problem(llvm::ArrayRef<std::string> seen) const;

  /// Makes weights and statistics states. `batch` is the size of dynamic first dims in training, -1 for none; `seen`
  /// gets the names of what may be weights, and must live as long as `options`.
  void adjust(onnx::OnnxImportOptions &options, bool forInference, int64_t batch, std::vector<std::string> &seen) const;

private:
  std::string trainableText, frozenText, prefix;
  std::shared_ptr<llvm::Regex> trainable, frozen;
};

} // namespace sinter

#endif
