// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A whole optimizer over any type of numbers (Moves.h): accumulation, what is done to gradients, schedules, groups,
// moves, averages. `Store` keeps states from step to step:
//
//   get(name, like)      the state, first zeros like `like`
//   put(name, value)     replaces it; also that of a weight
//   number(k)            an N in f64 of rank 0
//   counter(name)        the state, an i64 of rank 0
//   start(name, k)       the state, an f32 of rank 0 that begins as k
//   rateInput()          the rate that the caller gives, in f64
//   matches(pattern, name)
//   readRows(table, rows), writeRows(table, rows, values)   rows past the table read anything and are not written
//   list(name, like, batches, first)   the state of a table: what `like`, of rows, is in so many batches, one behind
//                                   the other; each has the same room. All elements are `first` at first
//   sumRows(rows, values, size)     rows below `size` that differ, ascending, then `size`, and the sums of their values
//
// Moments and the number of steps are states called optimizer.KIND.WEIGHT and optimizer.step.

#ifndef SINTER_COMPILER_TRAIN_FORMULAS_H
#define SINTER_COMPILER_TRAIN_FORMULAS_H

#include "compiler/train/Codes.h"
#include "compiler/train/LossScale.h"
#include "compiler/train/Schedules.h"
#include <algorithm>
#include <map>

namespace sinter::formulas {

/// A tensor that training moves.
template <class N> struct Moved {
  std::string name;
  N value, gradient; // of one static float type
  /// Of a table of which only some rows move: their numbers. `gradient` is theirs then.
  std::optional<N> rows = {};
};

/// Why tables cannot be moved by rows in this way; empty when they can.
inline std::string problemOfRows(const OptimizerSettings &settings) {
  using Kind = MoveSettings::Kind;
  auto isWhole = [](const MoveSettings &s) {
    return s.kind == Kind::lamb || s.kind == Kind::adafactor || s.kind == Kind::muon;
  };
  bool hasWhole = isWhole(settings);
  for (const OptimizerSettings::Group &group : settings.groups)
    hasWhole |= isWhole(group.move);
  if (hasWhole)
    return "a table moves by rows with sgd, adam, adamw, adagrad, rmsprop, adadelta, lion or ftrl; lamb, adafactor and "
           "muon need all of a gradient";
  if (settings.ema > 0)
    return "a table moves by rows; averages of weights change all rows in each step";
  if (settings.states == StateType::int8)
    return "a table moves by rows; moments in 8 bits share scales among rows (bf16 does not)";
  return "";
}

/// Why the patterns of groups do not fit tensors of these names: each is required to find one of them, as a pattern
/// that finds none is a mistake in writing. Empty when they do. `compile(pattern)` gives what tells whether a name
/// matches.
template <class Compile>
std::string problemOfGroups(const OptimizerSettings &settings, const std::vector<std::string> &names,
                            Compile &&compile) {
  for (const OptimizerSettings::Group &group : settings.groups) {
    if (std::any_of(names.begin(), names.end(), compile(group.pattern)))
      continue;
    std::string all;
    for (const std::string &name : names)
      all += (all.empty() ? "" : ", ") + name;
    return "a group of weights requires the name of one, none matches '" + group.pattern + "'; they are " +
           (all.empty() ? "none" : all);
  }
  return "";
}

template <class N, class Store> class Optimizer {
public:
  Optimizer(const OptimizerSettings &settings, Store &store) : settings(settings), store(store) {}

  /// Replaces the weights and all states. `loss` is what plateaus look at, may be null without one. Of scaled gradients
  /// the result is a mask of rank 0: whether the step counts, rather than being skipped.
  std::optional<N> run(std::vector<Moved<N>> weights, const N *loss) {
    N step = store.counter("optimizer.step");
    before = wide(step);
    if (settings.loss_scale.kind != LossScaleSettings::Kind::none)
      moves = counts = LossScale<N, Store>(settings.loss_scale, store).unscale(weights);
    if (settings.accumulate > 1)
      accumulate(weights);
    for (const OptimizerSettings::Change &change : settings.changes)
      apply(change, weights);
    std::optional<N> plateau;
    if (settings.schedule.kind == ScheduleSettings::Kind::plateau && loss)
      plateau = plateauFactor(wide(*loss));
    auto paceFor = [&](const MoveSettings &move) {
      N given = move.lr_is_input ? store.rateInput() : store.number(move.lr);
      N rate = scheduled(settings.schedule, given, *before);
      return paceOf(move, plateau ? rate * *plateau : rate, *before);
    };
    std::optional<Pace<N>> common;
    std::vector<std::optional<Pace<N>>> paces(settings.groups.size());
    for (const Moved<N> &weight : weights) {
      size_t group = 0;
      while (group < paces.size() && !store.matches(settings.groups[group].pattern, weight.name))
        ++group;
      bool isGrouped = group < paces.size();
      const MoveSettings &move = isGrouped ? settings.groups[group].move : settings;
      std::optional<Pace<N>> &pace = isGrouped ? paces[group] : common;
      if (!pace)
        pace = paceFor(move);
      Moments moments(*this, weight, move);
      Move<N, Moments> moveOf(move, *pace, moments, weight.rows.has_value());
      N now = moments.replace(weight.name, weight.value, moveOf(moments.part(weight.value), moments.gradient()));
      if (settings.ema > 0) { // the first average is the weight
        N seen = moments.part(now), old = moments.exact("ema", seen);
        moments.replaceExact("ema", choose(isAbove(*before, 0), averaged(settings.ema, old, seen), seen));
      }
    }
    put("optimizer.step", step, oneMore(step));
    return counts;
  }

private:
  /// The moments of one weight.
  class Moments {
  public:
    Moments(Optimizer &all, const Moved<N> &weight, const MoveSettings &move)
        : all(all), weight(weight), move(move),
          isInBlocks(typeOf(weight.value) == StateType::int8 && movesInBlocks(move.kind)) {}

    /// What moves of a tensor like the weight: some rows of a table, or the blocks that share scales, or all of it.
    N part(const N &whole) {
      if (weight.rows)
        return all.store.readRows(whole, *weight.rows);
      return isInBlocks ? inBlocks(whole, kBlock) : whole;
    }
    /// Replaces what moves of the state `name` and gives the whole; a call in which weights rest writes what was there.
    N replace(const std::string &name, const N &before, const N &value) {
      if (!weight.rows)
        return all.put(name, before, isInBlocks ? fromBlocks(value, before) : value);
      // Where gradients are summed, no row of a call in which weights rest is one of the table.
      N next = all.store.writeRows(before, *weight.rows,
                                   all.settings.accumulate > 1 ? value : all.chosen(part(before), value));
      all.store.put(name, next);
      return next;
    }
    N gradient() { return isInBlocks ? inBlocks(weight.gradient, kBlock) : weight.gradient; }

    N get(const std::string &kind, const N &like) {
      const N &full = fullOf(like);
      switch (typeOf(full)) {
      case StateType::weight:
        break;
      case StateType::bf16:
        return inTypeOf(part(kept(kind, upperHalf(fill(full, 0), all.store.number(0)))), like);
      case StateType::int8: {
        N zero = fill(full, 0), code = kept(kind, asByte(zero));
        N scale = kept(kind + "_scale", greatestAlong(inBlocks(zero, kBlock), 1));
        return decoded(code, scale, isOfSquares(kind, move.kind), like);
      }
      }
      return exact(kind, like);
    }
    N put(const std::string &kind, const N &value) {
      switch (typeOf(fullOf(value))) {
      case StateType::weight:
        return replaceExact(kind, value);
      case StateType::bf16:
        replace(nameOf(kind), old.at(kind), upperHalf(value, roundingOf(*all.before)));
        break;
      case StateType::int8: {
        Blocks<N> blocks = encoded(value, isOfSquares(kind, move.kind), roundingOf(*all.before));
        all.put(nameOf(kind), old.at(kind), fromBlocks(blocks.code, old.at(kind)));
        all.put(nameOf(kind + "_scale"), old.at(kind + "_scale"), blocks.scale);
      }
      }
      return value;
    }
    /// As `get`, of a state that is always in the weight's type; `replaceExact` puts it.
    N exact(const std::string &kind, const N &like) { return part(kept(kind, fullOf(like))); }
    N replaceExact(const std::string &kind, const N &value) {
      N next = replace(nameOf(kind), old.at(kind), value);
      return weight.rows || isInBlocks ? value : next;
    }

  private:
    StateType typeOf(const N &full) const {
      return isCoded(all.settings.states, full) ? all.settings.states : StateType::weight;
    }
    /// What a moment like `like`, of what moves, is part of.
    const N &fullOf(const N &like) const { return weight.rows || isInBlocks ? weight.value : like; }
    /// The whole state.
    const N &kept(const std::string &kind, const N &like) {
      return old.emplace(kind, all.store.get(nameOf(kind), like)).first->second;
    }
    std::string nameOf(const std::string &kind) const { return "optimizer." + kind + "." + weight.name; }

    Optimizer &all;
    const Moved<N> &weight;
    const MoveSettings &move;
    bool isInBlocks;
    std::map<std::string, N> old;
  };

  /// `value` where weights move in this call, else `old`.
  N chosen(const N &old, const N &value) { return moves ? choose(*moves, value, old) : value; }
  /// Replaces a state, unless weights rest in this call; then nothing of what follows is kept, either. So it may go on
  /// with what the state becomes: with `value` itself, both would be in memory.
  N put(const std::string &name, const N &old, const N &value) {
    N next = chosen(old, value);
    store.put(name, next);
    return next;
  }

  /// Sums gradients; weights move in every `settings.accumulate`-th call that counts.
  void accumulate(std::vector<Moved<N>> &weights) {
    N count = store.counter("optimizer.batches"), next = oneMore(count);
    auto isFirst = [&](const N &batch) { // of a sum
      N turns = wide(batch) / static_cast<double>(settings.accumulate);
      return isBelow(turns - floorOf(turns), 0.5 / static_cast<double>(settings.accumulate));
    };
    auto keep = [&](const std::string &name, const N &old, const N &value) {
      N kept = counts ? choose(*counts, value, old) : value;
      store.put(name, kept);
      return kept;
    };
    keep("optimizer.batches", count, next);
    N begins = isFirst(count), isLast = isFirst(next);
    moves = counts ? both(isLast, *counts) : isLast;
    for (Moved<N> &weight : weights) {
      if (weight.rows) {
        accumulateRows(weight, count);
        continue;
      }
      std::string name = "optimizer.gradient." + weight.name;
      N old = store.get(name, weight.gradient);
      N sum = keep(name, old, choose(begins, fill(old, 0), old) + weight.gradient);
      weight.gradient = 1.0 / static_cast<double>(settings.accumulate) * sum;
    }
  }

  /// Rows and values of the batches lie in lists, each batch in its place, which one that does not count leaves to the
  /// next. Rows of them all move at once, with their sums in the order of the batches; before, none does. Between calls
  /// the list has the rows that are still to move, and otherwise numbers past the table's end.
  void accumulateRows(Moved<N> &weight, const N &count) {
    auto batches = static_cast<double>(settings.accumulate);
    std::string ofRows = "optimizer.rows." + weight.name, ofValues = "optimizer.gradient." + weight.name;
    int64_t size = sizeOf(weight.value, 0);
    N rows = store.list(ofRows, *weight.rows, settings.accumulate, size);
    N values = store.list(ofValues, weight.gradient, settings.accumulate, 0);
    N none = fill(rows, static_cast<double>(size));
    double room = static_cast<double>(sizeOf(rows, 0)) / batches;
    N turns = wide(count) / batches, first = room * floorOf(batches * (turns - floorOf(turns)) + 0.5);
    N at = inTypeOf(first, rows) + placesOf(*weight.rows), from = wide(placesOf(rows)) - first;
    // A batch may have fewer rows than there is room.
    rows = choose(both(isAbove(from, -0.5), isBelow(from, room - 0.5)), none, rows);
    rows = store.writeRows(rows, at, *weight.rows);
    values = store.writeRows(values, at, weight.gradient);
    store.put(ofRows, choose(*moves, none, rows));
    store.put(ofValues, values);
    auto [moved, sums] = store.sumRows(choose(*moves, rows, none), values, size);
    weight.rows = moved;
    weight.gradient = 1.0 / batches * sums;
  }

  void apply(const OptimizerSettings::Change &change, std::vector<Moved<N>> &weights) {
    using Kind = OptimizerSettings::Change::Kind;
    if (change.kind == Kind::clip_norm) { // g *= min(1, clip / (|all g| + 1e-6))
      std::optional<N> sum;
      for (const Moved<N> &weight : weights) {
        N part = wide(total(weight.gradient * weight.gradient));
        sum = sum ? *sum + part : part;
      }
      if (!sum)
        return;
      N factor = least(store.number(change.value) / (squareRoot(*sum) + 1e-6), store.number(1));
      for (Moved<N> &weight : weights)
        weight.gradient = weight.gradient * inTypeOf(factor, weight.gradient);
      return;
    }
    for (Moved<N> &weight : weights) {
      N &g = weight.gradient;
      g = change.kind == Kind::scale ? change.value * g
                                     : greatest(least(g, fill(g, change.value)), fill(g, -change.value));
    }
  }

  /// As torch's ReduceLROnPlateau, which is asked after a step: this step has the factor that earlier losses made.
  N plateauFactor(const N &loss) {
    const ScheduleSettings &s = settings.schedule;
    N zero = store.number(0);
    N cuts = store.get("optimizer.plateau.cuts", zero), best = store.get("optimizer.plateau.best", zero),
      bad = store.get("optimizer.plateau.bad", zero), rest = store.get("optimizer.plateau.rest", zero);
    N one = store.number(1), isFirst = isBelow(*before, 0.5);
    N isBetter = either(isFirst, isAbove(best * (1 - s.threshold) - loss, 0));
    N newBest = choose(isBetter, loss, best), newBad = choose(isBetter, zero, bad + 1.0);
    N rests = isAbove(rest, 0.5);
    N newRest = choose(rests, rest - 1.0, rest);
    newBad = choose(rests, zero, newBad);
    N cut = isAbove(newBad, s.patience);
    put("optimizer.plateau.cuts", cuts, choose(cut, cuts + one, cuts));
    put("optimizer.plateau.best", best, newBest);
    put("optimizer.plateau.bad", bad, choose(cut, zero, newBad));
    put("optimizer.plateau.rest", rest, choose(cut, store.number(s.cooldown), newRest));
    return greatest(power(store.number(s.factor), cuts), store.number(s.final));
  }

  const OptimizerSettings &settings;
  Store &store;
  std::optional<N> before;
  std::optional<N> counts, moves; // masks: gradients are finite, and the last of those that are summed
};

} // namespace sinter::formulas

#endif
