// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a validation measures, gathered batch by batch. Scores are an output of the model before softmax or sigmoid,
// targets an input of the step:
//
// * classes: scores [n, ..., classes] (or [n, classes, ...]) and labels [n, ...]; labels below 0 do not count; targets
//   of the scores' own dims are distributions, of which the highest is the label
// * two classes by one score: scores [n] or [n, 1] and labels 0 or 1; a score above 0 says 1
//
//   accuracy       share of labels that have the highest score; of equal scores the first class counts
//   top5           share of labels among the 5 highest (any number)
//   f1             of class 1 where there are two, else the mean over the classes that are labels or are predicted
//   auc            area under the ROC curve, equal scores counting half; of more classes the mean of each against the
//                  rest
//   cross_entropy  mean of -log softmax(scores)[label], of one score of -log sigmoid
//   perplexity     its exponential
//   mse, mae       mean squared and absolute difference of outputs and targets of as many elements
//
// `accuracy:scores,labels` names an output of `infer` and an input of the step; without it they are the only ones.

#ifndef SINTER_RUNTIME_TRAIN_METRICS_H
#define SINTER_RUNTIME_TRAIN_METRICS_H

#include "../sinter.h"
#include <cstdint>
#include <memory>
#include <string>

namespace sinter::train {

class Metric {
public:
  virtual ~Metric() = default;
  /// Takes in a batch. Throws data::Error where shapes or types do not fit, or a label is past the classes.
  virtual void add(const sinter_tensor &output, const sinter_tensor &target) = 0;
  /// Of all batches since the start; NaN where nothing defines it (no label, one class alone for auc).
  virtual double value() const = 0;
  virtual void clear() = 0;

  std::string name{};             // "top5"
  std::string output{}, target{}; // as it was asked for; empty: the only one
  bool isHigherBetter = true;
};

/// The metric that `text` names. Throws data::Error with the names that there are.
std::unique_ptr<Metric> makeMetric(const std::string &text);

} // namespace sinter::train

#endif
