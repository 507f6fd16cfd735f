// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches of the host on tensors of a trace, and the frames that they run again. See Trace.h for the idea.

#include "Frames.h"
#include "Apply.h"

namespace sinter::inline SINTER_HOST::detail {

bool hostBranch(const Tensor &condition) {
  Trace *trace = Trace::current();
  if (condition.error() && !trace) {
    hostError(*condition.error());
    return false;
  }
  if (!trace) {
    hostError(Error(leakMessage(condition), condition.where()));
    return false;
  }
  return trace->decide(condition);
}

static std::string tooManyPaths() {
  return "branches of the host require at most " + std::to_string(kMaxPaths) +
         " paths through a function that do not come together again, and " + std::to_string(kMaxRuns) +
         " in all, got more; use where or cond, or put the branches into the bodies of cond, each of which has paths "
         "of "
         "its own";
}

bool Trace::decide(const Tensor &given) {
  // After an error the code runs on to its end without exceptions; an outcome that alternates ends its loops.
  if (failure || given.error())
    return afterError = !afterError;
  Where where = given.where();
  Tensor condition = given;
  if (condition.rank() != 0 && condition.known_size() == 1)
    condition = apply("reshape", {condition}, {Attr("type", TensorType{condition.dtype(), Shape{}})}, where);
  if (condition.rank() != 0) {
    fail(where, "a branch of the host requires a tensor of one element, got " + given.type().str() +
                    "; use all, any or where");
    return afterError = !afterError;
  }
  condition = convert(condition, DType::boolean, where);
  Tensor problem;
  uint32_t id = use(condition, where, problem);
  if (!id)
    return afterError = !afterError;
  Frame &frame = *top;
  if (frame.branches < frame.decisions.size()) {
    Decision &known = frame.decisions[frame.branches];
    if (known.position != frame.cursor || known.condition != id) {
      nonDeterministic(where, known.where);
      return afterError = !afterError;
    }
    ++frame.branches;
    return known.outcome;
  }
  if (frame.cursor < frame.log.size()) {
    nonDeterministic(where, frame.log[frame.cursor].where);
    return afterError = !afterError;
  }
  int repeats = 0;
  for (const Decision &decision : frame.decisions)
    repeats += decision.where.line() == where.line() && decision.where.column() == where.column();
  if (repeats >= kMaxRepeats) {
    fail(where, "a loop of the host on a tensor requires its values, which a trace does not have: this condition has "
                "branched " +
                    std::to_string(repeats) + " times on one path; use while_loop, for_loop or scan");
    return afterError = !afterError;
  }
  if (++frame.runs > kMaxRuns) {
    fail(where, tooManyPaths());
    return afterError = !afterError;
  }
  if (int32_t count; !ask(regionBegin({}), nullptr, count, where)) {
    failGraph(where);
    return afterError = !afterError;
  }
  enterRegion();
  frame.decisions.push_back({frame.cursor, id, where, true, 0, {}, 1});
  ++frame.branches;
  return true;
}

bool leavesAgree(std::span<const TensorType> a, std::span<const TensorType> b, const std::vector<std::string> &paths,
                 std::string &problem) {
  if (a.size() != b.size()) {
    problem = std::to_string(a.size()) + " and " + std::to_string(b.size()) + " tensors";
    return false;
  }
  for (size_t k = 0; k < a.size(); ++k)
    if (a[k].dtype != b[k].dtype || a[k].shape.size() != b[k].shape.size()) {
      problem = a[k].str() + " and " + b[k].str();
      if (k < paths.size() && !paths[k].empty())
        problem += " for " + paths[k];
      return false;
    }
  return true;
}

void runFrame(Trace &trace, Where place, AnyTree result, FunctionRef<void()> run) {
  Trace::Frame frame;
  Trace::FrameScope scope(trace, frame);
  for (;;) {
    frame.rerun();
    run();
    bool again = false;
    for (;;) {
      if (trace.error())
        return;
      std::vector<uint32_t> ids;
      std::vector<TensorType> types;
      Where where = frame.decisions.empty() ? place : frame.decisions.back().where;
      if (!trace.materialize(result, where, ids, types))
        return;
      if (frame.decisions.empty())
        break;
      Trace::Decision &decision = frame.decisions.back();
      uint32_t region = 0;
      int32_t count = 0;
      if (!trace.ask(regionEnd(ids), region, decision.where)) {
        result.poison(trace.failGraph(decision.where));
        return;
      }
      trace.leaveRegion();
      frame.log.resize(decision.position);
      if (decision.outcome) {
        decision.outcome = false;
        decision.thenRegion = region;
        decision.thenTypes = std::move(types);
        decision.thenPaths = frame.paths;
        if (!trace.ask(regionBegin({}), nullptr, count, decision.where)) {
          result.poison(trace.failGraph(decision.where));
          return;
        }
        trace.enterRegion();
        again = true;
        break;
      }
      std::string problem;
      if (!leavesAgree(decision.thenTypes, types, result.paths(), problem)) {
        result.poison(
            fail(decision.where, "both outcomes of a branch of the host require results of one type, got " + problem));
        return;
      }
      std::vector<uint32_t> joined(ids.size() + 1); // behind the number of ops that are shared
      if (!trace.ask(joinCall(decision.condition, decision.thenRegion, region, int32_t(ids.size())), joined.data(),
                     count, decision.where)) {
        result.poison(trace.failGraph(decision.where));
        return;
      }
      frame.paths = joined[0] ? std::max(frame.paths, decision.thenPaths) : frame.paths + decision.thenPaths;
      if (frame.paths > kMaxPaths) {
        result.poison(fail(decision.where, tooManyPaths()));
        return;
      }
      size_t next = 1;
      result.each([&](Tensor &leaf) { leaf = trace.wrap(joined[next++], decision.where); });
      frame.decisions.pop_back();
    }
    if (again)
      continue;
    scope.finish();
    return;
  }
}

} // namespace sinter::inline SINTER_HOST::detail
