// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Losses. What they mean is what torch's functions of the same names mean; classes lie along the last axis unless
// `axis` says otherwise. Prediction and target are of one float type, and one broadcasts to the shape of the other: [N,
// 1] and [N], of which N^2 losses would come, are an error.

#ifndef SINTER_TRACE_LOSSES_HPP
#define SINTER_TRACE_LOSSES_HPP

#include "ops_nn.hpp"

namespace sinter::inline SINTER_HOST {

/// Mean of |prediction - target|.
Tensor l1_loss(const Operand &prediction, const Tensor &target, Reduction reduction = Reduction::mean);
/// gap^2 / 2 up to `delta`, then delta * (|gap| - delta / 2).
Tensor huber_loss(const Operand &prediction, const Tensor &target, double delta = 1,
                  Reduction reduction = Reduction::mean);
/// gap^2 / (2 beta) up to `beta`, then |gap| - beta / 2.
Tensor smooth_l1_loss(const Operand &prediction, const Tensor &target, double beta = 1,
                      Reduction reduction = Reduction::mean);

struct BceOptions {
  Tensor weight = {};     // of elements; broadcasts
  Tensor pos_weight = {}; // of positive targets; broadcasts
  Reduction reduction = Reduction::mean;
};
/// Binary cross entropy of probabilities sigmoid(logits) and targets in [0, 1].
Tensor bce_with_logits(const Operand &logits, const Tensor &target, const BceOptions &options = {});

/// target * (log target - x) where x are logarithms of probabilities, 0 where the target is 0; with `log_target`
/// e^target * (target - x). batch_mean divides the sum by the size of the first axis.
Tensor kl_div(const Operand &x, const Tensor &target, bool log_target = false, Reduction reduction = Reduction::mean);

/// cross_entropy over logarithms of probabilities.
Tensor nll_loss(const Operand &log_probabilities, const Tensor &labels, const CrossEntropyOptions &options = {});

/// 1 - cos(a, b) where y is 1, max(0, cos(a, b) - margin) where it is -1; a, b [N, D], y [N].
Tensor cosine_embedding_loss(const Operand &a, const Tensor &b, const Tensor &y, double margin = 0,
                             Reduction reduction = Reduction::mean);
/// Cross entropy of each query with its key among all: logits queries keys^T / temperature, both [N, D] and scaled to
/// length 1 (van den Oord et al. 2018).
Tensor info_nce(const Operand &queries, const Tensor &keys, double temperature = 0.1,
                Reduction reduction = Reduction::mean);
/// max(0, -y (a - b) + margin)
Tensor margin_ranking_loss(const Operand &a, const Tensor &b, const Tensor &y, double margin = 0,
                           Reduction reduction = Reduction::mean);
/// max(0, |anchor - positive| - |anchor - negative| + margin), by Euclidean distances of rows.
Tensor triplet_margin_loss(const Operand &anchor, const Tensor &positive, const Tensor &negative, double margin = 1,
                           Reduction reduction = Reduction::mean);

/// -log of the probability of all alignments (Graves et al. 2006): log_probabilities [T, N, C], targets [N, S],
/// lengths [N]. The mean divides each by its target's length first, as torch does. A length that is longer than what it
/// counts, and a target within its length that is no class, are errors when it runs.
Tensor ctc_loss(const Operand &log_probabilities, const Tensor &targets, const Tensor &input_lengths,
                const Tensor &target_lengths, int64_t blank = 0, Reduction reduction = Reduction::mean);

} // namespace sinter::inline SINTER_HOST

#endif
