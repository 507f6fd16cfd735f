// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "losses.hpp"
#include "Build.h"
#include "TensorNumber.h"
#include "compiler/train/Losses.h"
#include "ops_linalg.hpp"
#include "runtime/decimal.h"
#include "scan.hpp"

namespace sinter::inline SINTER_HOST {
namespace detail {

static Tensor reduced(const Tensor &loss, Reduction reduction) {
  switch (reduction) {
  case Reduction::none:
    return loss;
  case Reduction::sum:
    return loss.rank() ? sum(loss) : loss;
  case Reduction::mean:
    return loss.rank() ? mean(loss) : loss;
  case Reduction::batch_mean:
    if (loss.rank() == 0)
      return loss;
    return divide(sum(loss), astype(as_tensor(loss.dim(0)), loss.dtype()));
  }
  return loss;
}

/// Whether axes of `before` were repeated to make `after`.
static bool grew(const Tensor &before, const Tensor &after) {
  int missing = after.rank() - before.rank();
  for (int axis = 0; axis < after.rank(); ++axis)
    if (after.known_dim(axis) != 1 && (axis < missing || before.known_dim(axis - missing) == 1))
      return true;
  return false;
}

/// Brings operands of a loss to one float type and shape, which one of them has: [n, 1] and [n] are a mistake, of which
/// n^2 losses would come.
static void pair(Build &b, Tensor &x, Tensor &t) {
  b.agree({&x, &t});
  if (!b.failed())
    b.floats(x);
  Tensor ownX = x, ownT = t;
  b.broadcast({&x, &t});
  if (!b.failed() && grew(ownX, x) && grew(ownT, t))
    b.fail("operands of which one broadcasts to the other, got " + ownX.type().str() + " and " + ownT.type().str());
}

/// Whether sizes may be the same, as far as they are known.
static bool mayBeSame(int64_t one, int64_t other) { return one == other || one < 0 || other < 0; }

/// `tensor`, if there is one, has the type of `like` and broadcasts to its shape.
static void mustFit(Build &b, const char *what, const Tensor &tensor, const Tensor &like) {
  if (!tensor.defined() || b.failed())
    return;
  int missing = like.rank() - b.in(tensor).rank();
  bool fits = (tensor.weak() || tensor.dtype() == like.dtype()) && missing >= 0;
  for (int axis = 0; fits && axis < tensor.rank(); ++axis)
    fits = tensor.known_dim(axis) == 1 || mayBeSame(tensor.known_dim(axis), like.known_dim(axis + missing));
  if (!fits && !b.failed())
    b.fail(std::string(what) + " that broadcasts to " + like.type().str() + ", got " + tensor.type().str());
}

/// A loss of elements: `formula(x, target)`, of one type.
template <class Formula>
static Tensor elements(Build &b, const char *name, const Tensor &prediction, const Tensor &target, Reduction reduction,
                       Formula formula) {
  Tensor x = prediction, t = target;
  pair(b, x, t);
  if (b.failed())
    return b.error();
  FunctionScope scope(name);
  return reduced(formula(TensorNumber(x), TensorNumber(t)).tensor, reduction);
}
template <class Formula>
static Tensor elements(const char *name, const Operand &prediction, const Tensor &target, Reduction reduction,
                       Formula formula) {
  Build b(name, prediction.where);
  return elements(b, name, prediction.tensor, target, reduction, formula);
}

} // namespace detail

using detail::elements;
using detail::reduced;
using detail::TensorNumber;

Tensor mse_loss(const Operand &prediction, const Tensor &target, Reduction reduction) {
  return elements("mse_loss", prediction, target, reduction, [](auto x, auto t) { return formulas::squareLoss(x, t); });
}
Tensor l1_loss(const Operand &prediction, const Tensor &target, Reduction reduction) {
  return elements("l1_loss", prediction, target, reduction,
                  [](auto x, auto t) { return formulas::absoluteLoss(x, t); });
}
Tensor huber_loss(const Operand &prediction, const Tensor &target, double delta, Reduction reduction) {
  detail::Build b("huber_loss", prediction.where);
  if (!(delta > 0))
    return b.fail("delta above 0, got " + decimal(delta));
  return elements(b, "huber_loss", prediction.tensor, target, reduction,
                  [&](auto x, auto t) { return formulas::huberLoss(x, t, delta); });
}
Tensor smooth_l1_loss(const Operand &prediction, const Tensor &target, double beta, Reduction reduction) {
  detail::Build b("smooth_l1_loss", prediction.where);
  if (!(beta >= 0))
    return b.fail("beta of 0 or more, got " + decimal(beta));
  return elements(b, "smooth_l1_loss", prediction.tensor, target, reduction,
                  [&](auto x, auto t) { return formulas::smoothAbsoluteLoss(x, t, beta); });
}

Tensor bce_with_logits(const Operand &logits, const Tensor &target, const BceOptions &options) {
  const char *name = "bce_with_logits";
  detail::Build b(name, logits.where);
  Tensor x = logits.tensor, t = target;
  detail::pair(b, x, t);
  detail::mustFit(b, "a weight", options.weight, x);
  detail::mustFit(b, "pos_weight", options.pos_weight, x);
  Tensor loss = elements(b, name, x, t, Reduction::none, [&](TensorNumber x, TensorNumber t) {
    if (!options.pos_weight.defined())
      return formulas::binaryCrossEntropy(x, t);
    TensorNumber factor = subtract(options.pos_weight, 1);
    TensorNumber low = logarithm1p(exponential(-1.0 * magnitude(x))) + greatest(-1.0 * x, fill(x, 0));
    return (1.0 - t) * x + (factor * t + 1.0) * low;
  });
  return reduced(options.weight.defined() && !loss.error() ? multiply(loss, options.weight) : loss, options.reduction);
}

Tensor kl_div(const Operand &x, const Tensor &target, bool log_target, Reduction reduction) {
  return elements("kl_div", x, target, reduction, [&](TensorNumber a, TensorNumber t) {
    return log_target ? exponential(t) * (t - a) : formulas::divergence(a, t);
  });
}

//===--- classes --------------------------------------------------------------------------------------------------===//

namespace detail {

/// -sum of target * w * logarithms by distributions.
static Tensor byDistribution(const Tensor &logarithms, const Tensor &target, const CrossEntropyOptions &options,
                             const Tensor &weight) {
  int64_t classes = logarithms.known_dim(-1);
  Tensor wanted = target;
  if (options.smoothing > 0)
    wanted = add(multiply(1 - options.smoothing, wanted), options.smoothing / double(classes));
  Tensor parts = multiply(wanted, logarithms);
  Tensor loss = negative(sum(weight.defined() ? multiply(parts, weight) : parts, -1));
  if (options.reduction != Reduction::mean)
    return reduced(loss, options.reduction);
  int64_t rows = loss.known_size(); // over what is counted, not by weights, as torch does
  return rows >= 0 ? divide(sum(loss), double(rows)) : mean(loss);
}

/// By labels: those below 0 and `ignore` do not count; one past the classes is an error when it runs.
static Tensor byLabel(Build &b, const Tensor &logarithms, const Tensor &labels, const CrossEntropyOptions &options,
                      const Tensor &weight) {
  int last = logarithms.rank() - 1;
  Tensor at = convert(labels, DType::i64, b.where);
  if (options.ignore)
    at = where(equal(at, *options.ignore), full_like(at, -1), at);
  Tensor valid = greater_equal(at, 0);
  at = b.op("check_positions", {maximum(at, 0), b.sizeTensor(b.size(logarithms, last))},
            {{"axes", std::vector<int64_t>{last}}, {"tuples", false}, {"what", "labels"}});
  Tensor picked = b.op("gather_elements", {logarithms, b.unsqueeze(at, Shape{last})}, {{"axis", last}});
  picked = squeeze(picked, last);
  Tensor share = astype(valid, logarithms.dtype());
  if (weight.defined())
    share = multiply(share, take(weight, at, 0));
  Tensor loss = negative(multiply(where(valid, picked, zeros_like(picked)), share));
  if (options.smoothing > 0) {
    Tensor all = weight.defined() ? multiply(logarithms, weight) : logarithms;
    Tensor rest = negative(where(valid, sum(all, -1), zeros_like(picked)));
    loss = add(multiply(1 - options.smoothing, loss),
               multiply(options.smoothing / double(logarithms.known_dim(-1)), rest));
  }
  if (options.reduction != Reduction::mean)
    return reduced(loss, options.reduction);
  return loss.rank() ? divide(sum(loss), sum(share)) : divide(loss, share);
}

static Tensor ofClasses(Build &b, const Tensor &given, const Tensor &labels, const CrossEntropyOptions &options) {
  Tensor logarithms = given, target = labels, weight = options.weight;
  if (weight.defined() && !b.failed() && (weight.rank() != 1 || weight.dtype() != logarithms.dtype()))
    b.fail("a weight for each class of type " + std::string(dtype_name(logarithms.dtype())) + ", got " +
           weight.type().str());
  if (!b.failed() && options.smoothing != 0 && !(options.smoothing > 0 && options.smoothing < 1))
    b.fail("smoothing from 0 to below 1, got " + decimal(options.smoothing));
  if (b.failed())
    return b.error();
  int along = b.axis(options.axis, logarithms.rank());
  bool isDistribution = is_float(target.dtype());
  if (b.failed())
    return b.error();
  if (isDistribution ? !(target.type() == logarithms.type()) : target.rank() + 1 != logarithms.rank())
    return b.fail(isDistribution ? "a distribution of the type of the logits, got " + target.type().str() + " and " +
                                       logarithms.type().str()
                                 : "labels of one rank less than the logits, got " + target.type().str() + " and " +
                                       logarithms.type().str());
  for (int axis = 0; !isDistribution && axis < target.rank(); ++axis) {
    int64_t have = target.known_dim(axis), need = logarithms.known_dim(axis < along ? axis : axis + 1);
    if (have >= 0 && need >= 0 && have != need)
      return b.fail("labels of the shape of the logits without axis " + std::to_string(along) + ", got " +
                    target.type().str() + " and " + logarithms.type().str());
  }
  if (weight.defined() && weight.known_dim(0) >= 0 && logarithms.known_dim(along) >= 0 &&
      weight.known_dim(0) != logarithms.known_dim(along))
    return b.fail("a weight for each class, got " + weight.type().str() + " and " + logarithms.type().str());
  if (along != logarithms.rank() - 1) {
    logarithms = moveaxis(logarithms, along, -1);
    if (isDistribution)
      target = moveaxis(target, along, -1);
  }
  return isDistribution ? byDistribution(logarithms, target, options, weight)
                        : byLabel(b, logarithms, b.positions(target), options, weight);
}

} // namespace detail

Tensor cross_entropy(const Operand &logits, const Tensor &labels, const CrossEntropyOptions &options) {
  detail::Build b("cross_entropy", logits.where);
  Tensor value = b.floats(logits.tensor);
  b.in(labels);
  int along = b.axis(options.axis, value.rank());
  if (b.failed())
    return b.error();
  return detail::ofClasses(b, b.op("softmax", {value}, {{"axis", along}, {"logarithm", true}}), labels, options);
}

Tensor nll_loss(const Operand &log_probabilities, const Tensor &labels, const CrossEntropyOptions &options) {
  detail::Build b("nll_loss", log_probabilities.where);
  Tensor value = b.floats(log_probabilities.tensor);
  b.in(labels);
  return b.failed() ? b.error() : detail::ofClasses(b, value, labels, options);
}

//===--- pairs ----------------------------------------------------------------------------------------------------===//

Tensor cosine_embedding_loss(const Operand &a, const Tensor &b, const Tensor &y, double margin, Reduction reduction) {
  detail::Build build("cosine_embedding_loss", a.where);
  Tensor one = a.tensor, other = b;
  detail::pair(build, one, other);
  bool fits = !build.failed() && one.rank() > 0 && build.in(y).rank() == one.rank() - 1;
  for (int axis = 0; fits && axis < y.rank(); ++axis)
    fits = detail::mayBeSame(y.known_dim(axis), one.known_dim(axis));
  if (!fits && !build.failed())
    build.fail("rows [N, D] and y [N], got " + one.type().str() + " and " + y.type().str());
  if (build.failed())
    return build.error();
  auto length = [](const Tensor &v) { return add(sum(multiply(v, v), -1), 1e-12); }; // torch's epsilon
  Tensor cosine = divide(sum(multiply(one, other), -1), sqrt(multiply(length(one), length(other))));
  Tensor apart = maximum(subtract(cosine, margin), 0);
  return reduced(where(greater(y, 0), subtract(1, cosine), apart), reduction);
}

Tensor info_nce(const Operand &queries, const Tensor &keys, double temperature, Reduction reduction) {
  detail::Build b("info_nce", queries.where);
  Tensor rows = queries.tensor, others = keys;
  b.agree({&rows, &others});
  if (!b.failed())
    b.floats(rows);
  if (!b.failed() &&
      (rows.rank() != 2 || others.rank() != 2 || !detail::mayBeSame(rows.known_dim(1), others.known_dim(1)) ||
       (rows.known_dim(0) >= 0 && others.known_dim(0) >= 0 && others.known_dim(0) < rows.known_dim(0))))
    b.fail("queries [N, D] and keys [N or more, D], got " + rows.type().str() + " and " + others.type().str());
  if (!b.failed() && !(temperature > 0))
    b.fail("a temperature above 0, got " + decimal(temperature));
  if (b.failed())
    return b.error();
  auto unit = [](const Tensor &v) { return divide(v, maximum(sqrt(sum(multiply(v, v), -1, true)), 1e-12)); };
  Tensor logits = divide(matmul(unit(rows), matrix_transpose(unit(others))), temperature);
  CrossEntropyOptions options;
  options.reduction = reduction;
  return cross_entropy(Operand(logits, queries.where), iota({rows.dim(0)}), options);
}

Tensor margin_ranking_loss(const Operand &a, const Tensor &b, const Tensor &y, double margin, Reduction reduction) {
  detail::Build build("margin_ranking_loss", a.where);
  Tensor one = a.tensor, other = b, order = y;
  detail::pair(build, one, other);
  if (!build.failed())
    detail::pair(build, one, order);
  if (build.failed())
    return build.error();
  return reduced(maximum(add(negative(multiply(order, subtract(one, other))), margin), 0), reduction);
}

Tensor triplet_margin_loss(const Operand &anchor, const Tensor &positive, const Tensor &negative, double margin,
                           Reduction reduction) {
  detail::Build b("triplet_margin_loss", anchor.where);
  Tensor from = anchor.tensor, near = positive, far = negative;
  b.agree({&from, &near, &far});
  if (!b.failed())
    b.floats(from);
  if (!b.failed() && (from.rank() < 1 || near.rank() != from.rank() || far.rank() != from.rank()))
    b.fail("operands of one rank of at least 1, got " + from.type().str() + ", " + near.type().str() + " and " +
           far.type().str());
  b.broadcast({&from, &near, &far});
  if (b.failed())
    return b.error();
  auto distance = [&](const Tensor &other) {
    Tensor gap = add(subtract(from, other), 1e-6); // torch's pairwise_distance
    return sqrt(sum(multiply(gap, gap), -1));
  };
  return reduced(maximum(add(subtract(distance(near), distance(far)), margin), 0), reduction);
}

//===--- alignments -----------------------------------------------------------------------------------------------===//

Tensor ctc_loss(const Operand &log_probabilities, const Tensor &targets, const Tensor &input_lengths,
                const Tensor &target_lengths, int64_t blank, Reduction reduction) {
  detail::Build b("ctc_loss", log_probabilities.where);
  Tensor x = b.floats(log_probabilities.tensor);
  for (const Tensor *tensor : {&targets, &input_lengths, &target_lengths})
    b.integers(*tensor);
  if (!b.failed() && (x.rank() != 3 || targets.rank() != 2 || input_lengths.rank() != 1 || target_lengths.rank() != 1))
    b.fail("[T, N, C], [N, S], [N] and [N], got " + x.type().str() + ", " + targets.type().str() + ", " +
           input_lengths.type().str() + " and " + target_lengths.type().str());
  if (!b.failed() && !targets.known_shape().isStatic())
    b.fail("targets of fixed sizes, got " + targets.type().str());
  if (!b.failed()) {
    bool fits = true;
    for (int64_t rows : {x.known_dim(1), input_lengths.known_dim(0), target_lengths.known_dim(0)})
      fits = fits && detail::mayBeSame(rows, targets.known_dim(0));
    if (!fits)
      b.fail("as many rows of targets and lengths as log_probabilities [T, N, C] have, got " + x.type().str() + ", " +
             targets.type().str() + ", " + input_lengths.type().str() + " and " + target_lengths.type().str());
  }
  if (!b.failed() && (blank < 0 || (x.known_dim(2) >= 0 && blank >= x.known_dim(2))))
    b.fail("a blank that is a class, got " + std::to_string(blank) + " and " + x.type().str());
  if (b.failed())
    return b.error();
  // `values` where they count, which lie in [0, limit), or in [0, limit].
  auto within = [&](const Tensor &values, const Tensor &counts, const Size &limit, bool hasEnd, const char *message) {
    Tensor top = b.sizeTensor(limit),
           isOutside = logical_or(less(values, 0), hasEnd ? greater(values, top) : greater_equal(values, top));
    isOutside = logical_and(isOutside, counts);
    Tensor found = max(where(isOutside, values, full_like(values, std::numeric_limits<int64_t>::min())));
    return b.op("require", {logical_not(any(isOutside)), values, found, top}, {{"message", message}});
  };
  Tensor steps = within(astype(input_lengths, DType::i64), full({int64_t(1)}, true), b.size(x, 0), true,
                        "ctc_loss requires input lengths from 0 to T, got {} for T = {}");
  Tensor counts = within(astype(target_lengths, DType::i64), full({int64_t(1)}, true), targets.dim(1), true,
                         "ctc_loss requires target lengths from 0 to S, got {} for S = {}");
  // What lies behind a target's length is not read.
  Tensor isCounted = less(iota({int64_t(1), targets.known_dim(1)}, 1), expand_dims(counts, 1));
  Tensor labels = within(astype(targets, DType::i64), isCounted, b.size(x, 2), false,
                         "ctc_loss requires targets that are classes, got {} for {} classes");
  if (b.failed())
    return b.error();
  // Blanks around and between labels: states 0 to 2 S. Probabilities of 0 are a number that sums do not overflow.
  constexpr double never = -1e30;
  int64_t batch = targets.known_dim(0), states = 2 * targets.known_dim(1) + 1;
  Tensor empty = full_like(labels, blank);
  Tensor last = full({batch, int64_t(1)}, blank, DType::i64);
  Tensor path = concatenate({reshape(stack({empty, labels}, 2), {batch, states - 1}), last}, 1);
  Tensor impossible = full({batch, int64_t(1)}, never, x.dtype());
  auto shifted = [&](const Tensor &alpha, int64_t by) {
    std::vector<Tensor> parts(size_t(by), impossible);
    parts.push_back(alpha(ellipsis, slice(0, states - by)));
    return concatenate(parts, 1);
  };
  // From two states before, where that skips a blank between different labels.
  Tensor skips = full({batch, std::min<int64_t>(states, 2)}, false);
  if (states > 2)
    skips = concatenate(
        {skips, logical_and(not_equal(path(ellipsis, slice(2, states)), blank),
                            not_equal(path(ellipsis, slice(2, states)), path(ellipsis, slice(0, states - 2))))},
        1);
  Tensor place = iota({batch, states}, 1);
  Tensor first = full({batch, states}, never, x.dtype());
  auto emitted = [&](const Tensor &row) { return take_along_axis(row, path, 1); };
  auto both = [](const Tensor &p, const Tensor &q) {
    Tensor top = maximum(p, q);
    return add(top, log1p(exp(negative(abs(subtract(p, q))))));
  };
  using Carry = std::pair<Tensor, Tensor>; // alpha, the number of steps done
  auto [end, none] = scan(
      [&](const Carry &carry, const Tensor &row) {
        const auto &[alpha, time] = carry;
        Tensor here = emitted(row);
        Tensor begin = where(less(place, 2), here, first);
        Tensor moved = both(alpha, shifted(alpha, 1));
        if (states > 2)
          moved = where(skips, both(moved, shifted(alpha, 2)), moved);
        Tensor next = where(equal(time, 0), begin, maximum(add(moved, here), never));
        Tensor runs = expand_dims(less(time, steps), 1);
        return std::pair(Carry{where(runs, next, alpha), add(time, 1)}, std::tuple<>());
      },
      Carry{first, scalar(int64_t(0))}, x);
  Tensor count = expand_dims(counts, 1);
  auto stateAt = [&](const Tensor &position) { return squeeze(take_along_axis(end.first, position, 1), 1); };
  Tensor closed = stateAt(multiply(count, 2));
  Tensor open = stateAt(maximum(subtract(multiply(count, 2), 1), 0));
  Tensor isEmpty = equal(squeeze(count, 1), 0);
  Tensor loss = negative(where(isEmpty, closed, both(closed, open)));
  loss = where(greater(loss, 1e29), full_like(loss, std::numeric_limits<double>::infinity()), loss);
  if (reduction == Reduction::mean)
    return mean(divide(loss, maximum(astype(target_lengths, x.dtype()), 1)));
  return reduced(loss, reduction);
}

} // namespace sinter::inline SINTER_HOST
