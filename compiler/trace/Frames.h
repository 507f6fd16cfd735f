// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What control flow, loops and gradients are traced with: frames that run their code again, regions, and steps that are
// remembered.

#ifndef SINTER_TRACE_FRAMES_H
#define SINTER_TRACE_FRAMES_H

#include "Trace.h"

namespace sinter::inline SINTER_HOST::detail {

/// Runs `run`, which puts a tree of tensors of the innermost open region into `result`, once per path; then `result` is
/// the joined tree. Errors about what it returns are at `place`. After an error in a program without exceptions the
/// tree holds error tensors, or `trace.error()` is set.
void runFrame(Trace &trace, Where place, AnyTree result, FunctionRef<void()> run);

/// Two lists of leaves that must agree in number, element type and rank. `problem` gets the message otherwise.
bool leavesAgree(std::span<const TensorType> a, std::span<const TensorType> b, const std::vector<std::string> &paths,
                 std::string &problem);
/// True when a leaf that a trip returns may follow one of type `before`.
bool mayFollow(const TensorType &before, const TensorType &after);

/// Drops regions that were opened and what they hold, unless the op that takes them was built.
class BuildScope {
public:
  explicit BuildScope(Trace &trace) : trace(trace), depth(trace.openRegions()), mark(trace.mark()) {}
  BuildScope(const BuildScope &) = delete;
  void finish() { finished = true; }
  ~BuildScope() {
    if (!finished)
      trace.dropRegions(depth, mark);
  }

private:
  Trace &trace;
  size_t depth;
  Trace::Mark mark;
  bool finished = false;
};

/// One step of control flow: `result` becomes what it was when the code comes by it again, else what `build` makes it.
/// `build` returns false after an error, which the result then carries.
void controlStep(Trace &trace, const char *name, std::span<const uint32_t> ids, Where where, AnyTree result,
                 FunctionRef<bool()> build);

/// Makes the leaves of `tree` values of the trace; an error among them becomes that of all leaves of `result`.
bool materializeOrPoison(Trace &trace, AnyTree tree, Where where, std::vector<uint32_t> &ids,
                         std::vector<TensorType> &types, AnyTree result);

/// A region that was traced: what it returned, as values of the region.
struct TracedRegion {
  std::vector<uint32_t> ids;
  std::vector<TensorType> types;
  uint32_t region = 0; // 0 after an error
  Tensor problem;
};

/// Traces `body(arguments)`, where `arguments` are values of `types`, into a region; it fills `result`. Arguments with
/// an entry in `weak` are literals still.
TracedRegion traceRegion(Trace &trace, std::span<const TensorType> types, Where where, AnyTree result,
                         FunctionRef<void(std::span<const Tensor>)> body, const std::vector<bool> &weak = {});

/// Handles on results of an op, put into the leaves of `tree`.
void wrapLeaves(Trace &trace, AnyTree tree, std::span<const uint32_t> ids, Where where);

/// A rank-0 boolean. `what` names it in the message.
Tensor asPredicate(const Tensor &tensor, const char *what, Where where);
/// A rank-0 i64.
Tensor asIndex(const Tensor &tensor, const char *what, Where where);

using GraphHandle = std::unique_ptr<sinter_graph, void (*)(sinter_graph *)>;

} // namespace sinter::inline SINTER_HOST::detail

#endif
