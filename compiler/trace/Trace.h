// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trace: the graph that a function of the user records while it runs.
//
// Every function and every body of control flow is a *frame*: what the user's code did, in order, as a log of steps.
// `if (tensor)` needs the code after it twice, once per outcome. So at a branch the frame opens a region and lets the
// code run to its end with the outcome true; then it runs the code again from its start. Steps before the branch are
// answered from the log (the i-th step gives what it gave before; another op is an error, since such code is not a
// function of its arguments), the branch gives false, and what follows goes to a second region. The two become a
// `cond`. Branches nest, because the code after a branch may branch again; frames nest, because a body may branch
// without the code around it being run again.

#ifndef SINTER_TRACE_TRACE_H
#define SINTER_TRACE_TRACE_H

#include "GraphScript.h"
#include "anytree.hpp"
#include <algorithm>
#include <array>
#include <unordered_map>

namespace sinter::inline SINTER_HOST::detail {

/// Constants that code takes into a graph without asking are at most this large.
inline constexpr int64_t kSilentConstantBytes = int64_t(1) << 20;
/// Paths that branches of the host may make which do not come together again, and runs of a function.
inline constexpr int kMaxPaths = 64;
inline constexpr int kMaxRuns = 1024;
/// A condition that branches this often on one path is a loop.
inline constexpr int kMaxRepeats = 16;

uint64_t hashBytes(uint64_t hash, const void *bytes, size_t count);
inline uint64_t hashText(uint64_t hash, const char *text) { return hashBytes(hash, text, std::strlen(text) + 1); }

/// The function of sinter.hpp whose ops are being computed or recorded, null outside of one.
const char *&currentFunction();
/// Messages about an op name the op: says in which function it is.
std::string inFunction(std::string message);
/// `message` of an op, or that nothing computes in the element type of one of its operands, where that is why.
std::string refusal(const char *op, std::span<const Tensor> operands, std::string message);
struct FunctionScope {
  explicit FunctionScope(const char *name) : before(std::exchange(currentFunction(), name)) {}
  ~FunctionScope() { currentFunction() = before; }
  FunctionScope(const FunctionScope &) = delete;
  const char *before;
};

sinter_value_type valueType(const TensorType &type);
TensorType tensorType(const sinter_value_type &type);

/// Takes over the elements of a tensor that the C library allocated.
Tensor adoptTensor(const sinter_tensor &owned, Where where);

inline std::string place(Where where) { return std::string(where.file_name()) + ":" + std::to_string(where.line()); }

std::string leakMessage(const Tensor &tensor);

/// A tensor that carries `error`.
Tensor errorTensor(const Error &error);

class Trace {
public:
  /// What a frame remembers of one thing that the user's code did.
  struct Step {
    uint64_t hash; // of the op and its attributes
    Where where;
    std::vector<uint32_t> operands;
    std::vector<Tensor> results;   // of an op or constant
    std::shared_ptr<void> outcome; // of control flow: what it returned, of type `tag`
    const void *tag = nullptr;
  };
  /// A branch of the host on the current path.
  struct Decision {
    size_t position; // steps before it
    uint32_t condition;
    Where where;
    bool outcome;
    uint32_t thenRegion;
    std::vector<TensorType> thenTypes; // of what the outcome true returned
    int thenPaths;
  };
  struct Frame {
    std::vector<Step> log;
    std::vector<Decision> decisions;
    size_t cursor = 0;   // the next step
    size_t branches = 0; // decisions that this run has come past
    int paths = 1;       // from the last decision that is open to the end
    int runs = 1;
    std::unordered_map<const Value *, Tensor>
        constants; // of this run, by the tensor on the host (which the step keeps)
    std::vector<Tensor> kept;
    Frame *parent = nullptr;

    /// The code starts again.
    void rerun() {
      cursor = branches = 0;
      paths = 1;
      constants.clear();
      kept.clear();
    }
  };

  /// A place in the recording.
  struct Mark {
    sinter_mark inGraph{};
    uint32_t inScript = 0;
  };
  Mark mark() { return scripted ? Mark{{}, scripted->mark()} : Mark{sinter_graph_mark(graph), 0}; }

  /// Makes `frame` the innermost frame. Unless it is finished, what it recorded is dropped when the scope ends.
  class FrameScope {
  public:
    FrameScope(Trace &trace, Frame &frame) : trace(trace), depth(trace.regions.size()), mark(trace.mark()) {
      frame.parent = trace.top;
      trace.top = &frame;
    }
    FrameScope(const FrameScope &) = delete;
    void finish() { finished = true; }
    ~FrameScope() {
      trace.top = trace.top->parent;
      if (finished)
        return;
      trace.dropRegions(depth, mark);
    }

  private:
    Trace &trace;
    size_t depth;
    Mark mark;
    bool finished = false;
  };

  static Trace *&currentSlot();
  static Trace *current() { return currentSlot(); }

  /// `typesOnly`: nobody runs the graph; it only tells what types a function returns. With `scripted`, whose function
  /// was begun, the graph is made when it must be.
  explicit Trace(sinter_graph *graph, bool typesOnly = false, ScriptedGraph *scripted = nullptr);
  Trace(const Trace &) = delete;
  ~Trace();

  sinter_graph *handle() const { return scripted ? scripted->graph() : graph; }
  bool isForTypes() const { return typesOnly; }
  /// The first error of this trace, in a program without exceptions.
  const Error *error() const { return failure.get(); }
  void note(const Error &error);

  //===- tensors of the host ----------------------------------------------------------------------===//

  /// Tensors that existed before the trace, in the order of use, and what the trace took from the host, in bytes: equal
  /// ones, equal traces as far as the host goes. Their elements stay open.
  struct Captures {
    std::vector<Tensor> tensors;
    std::string log;
  };
  /// From now on, tensors with elements are noted in `into`.
  void collect(Captures *into) { collected = into; }
  /// From now on `argument` stands for `captured`.
  void bind(const Tensor &captured, const Tensor &argument) { bound.emplace(captured.value(), argument); }

  //===- values -----------------------------------------------------------------------------------===//

  /// A handle on value `id` of the innermost open region.
  Tensor wrap(uint32_t id, Where where);

  /// The value of the graph that stands for `tensor`, 0 after an error, which is in `problem`.
  uint32_t use(const Tensor &tensor, Where where, Tensor &problem);

  //===- steps --------------------------------------------------------------------------------------===//

  /// True when the next step of this run was recorded before: it is `step`. A step that differs ends the trace.
  bool replay(uint64_t hash, std::span<const uint32_t> operands, Where where, Step *&step, Tensor &problem);

  /// A step that is new.
  Step &append(uint64_t hash, std::span<const uint32_t> operands, Where where);

  /// What `remember` was given when the next step of this run is that one, else null.
  const void *known(uint64_t hash, const void *tag);
  void remember(uint64_t hash, Where where, std::shared_ptr<void> outcome, const void *tag);

  /// Records an op, or repeats what it gave when this run comes by it again.
  bool record(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs, uint64_t hash,
              std::span<Tensor> results, int &count, Where where);

  void locate(Where where);

  /// Asks the graph for what is no op; `results` has the call's room. False after an error, which failGraph tells.
  bool ask(GraphCall &&call, uint32_t *results, int32_t &count, Where where);
  /// The same for one result.
  bool ask(GraphCall &&call, uint32_t &result, Where where) {
    int32_t count = 0;
    return ask(std::move(call), &result, count, where);
  }

  /// The C library's last message as an error at `where`. The message starts with the place, which the error adds
  /// itself.
  Tensor failGraph(Where where) { return fail(where, graphMessage(where)); }
  std::string graphMessage(Where where);

  Tensor nonDeterministic(Where where, Where before);

  //===- regions --------------------------------------------------------------------------------------===//

  void enterRegion() { regions.push_back(++serials()); }
  void leaveRegion() { regions.pop_back(); }
  size_t openRegions() const { return regions.size(); }
  /// Back to `depth` open regions and to what the graph was at `mark`.
  void dropRegions(size_t depth, const Mark &mark);

  /// The values of the leaves of `tree` in the innermost open region, where tensors of the host become constants.
  /// False after an error, which the leaves then carry.
  bool materialize(AnyTree tree, Where where, std::vector<uint32_t> &ids, std::vector<TensorType> &types);

  bool decide(const Tensor &condition); // Frames.cpp

private:
  static std::atomic<uint64_t> &serials();

  bool addConstant(const sinter_tensor &tensor, Where where, uint32_t &id);
  bool addOp(const char *op, std::span<const uint32_t> operands, std::span<const sinter_attr> attrs, int32_t room,
             uint32_t *results, int32_t &count, Where where);

  uint32_t useConstant(const Tensor &tensor, Where where, Tensor &problem);
  /// Its number when the elements of `tensor` may differ from trace to trace, else -1.
  int64_t collectCapture(const Tensor &tensor);

  /// Zeros of the type of `tensor`, which cost nothing to hold.
  uint32_t useType(const Tensor &tensor, Where where, Tensor &problem);

  sinter_graph *graph;
  ScriptedGraph *scripted;
  Trace *outer;
  bool typesOnly;
  uint64_t serial, outerSerial; // what values that are made meanwhile carry
  Captures *collected = nullptr;
  std::unordered_map<const Value *, Tensor> bound;
  Frame *top = nullptr;
  std::vector<uint64_t> regions; // serial numbers of open functions and regions
  Where located{};
  std::unique_ptr<Error> failure;
  bool afterError = false;
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
