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

#ifndef SINTER_TRACE_TRACE_HPP
#define SINTER_TRACE_TRACE_HPP

#include "tree.hpp"
#include <algorithm>
#include <array>
#include <unordered_map>

namespace sinter::detail {

/// Constants that code takes into a graph without asking are at most this large.
inline constexpr int64_t kSilentConstantBytes = int64_t(1) << 20;
/// Paths that branches of the host may make which do not come together again, and runs of a function.
inline constexpr int kMaxPaths = 64;
inline constexpr int kMaxRuns = 1024;
/// A condition that branches this often on one path is a loop.
inline constexpr int kMaxRepeats = 16;

inline uint64_t hashBytes(uint64_t hash, const void *bytes, size_t count) {
  auto *data = static_cast<const unsigned char *>(bytes);
  for (; count >= 8; count -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  for (; count; --count)
    hash = (hash ^ *data++) * 1099511628211ull;
  return hash;
}
inline uint64_t hashText(uint64_t hash, const char *text) { return hashBytes(hash, text, std::strlen(text) + 1); }

/// The function of sinter.hpp whose ops are being computed or recorded, null outside of one.
inline const char *&currentFunction() {
  static thread_local const char *name = nullptr;
  return name;
}
/// Messages about an op name the op: says in which function it is.
inline std::string inFunction(std::string message) {
  const char *name = currentFunction();
  return !name || message.starts_with(name) ? message : std::string(name) + ": " + message;
}
struct FunctionScope {
  explicit FunctionScope(const char *name) : before(std::exchange(currentFunction(), name)) {}
  ~FunctionScope() { currentFunction() = before; }
  FunctionScope(const FunctionScope &) = delete;
  const char *before;
};

inline sinter_value_type valueType(const TensorType &type) {
  sinter_value_type result;
  result.dtype = int32_t(type.dtype);
  result.rank = type.shape.size();
  std::memcpy(result.dims, type.shape.data(), sizeof(int64_t) * size_t(type.shape.size()));
  return result;
}
inline TensorType tensorType(const sinter_value_type &type) {
  return {DType(type.dtype), Shape(std::span<const int64_t>(type.dims, size_t(type.rank)))};
}

/// Takes over the elements of a tensor that the C library allocated.
inline Tensor adoptTensor(const sinter_tensor &owned, Where where) {
  Value *value = Value::create(0);
  value->tensor = owned;
  value->where = where;
  value->drop = [](Value *self) { sinter_tensor_free(&self->tensor); };
  return Tensor::adopt(value);
}

inline std::string place(Where where) { return std::string(where.file_name()) + ":" + std::to_string(where.line()); }

inline std::string leakMessage(const Tensor &tensor) {
  return "a tensor leaked out of its trace: it was made at " + place(tensor.where()) +
         " while a function was traced; return it from that function instead of keeping it";
}

/// A tensor that carries `error`.
inline Tensor errorTensor(const Error &error) {
  Value *value = Value::create(0);
  value->kind = Value::Kind::error;
  value->tensor = {};
  value->tensor.dtype = SINTER_F32;
  value->error = new Error(error);
  value->where = error.where();
  return Tensor::adopt(value);
}

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

  /// Makes `frame` the innermost frame. Unless it is finished, what it recorded is dropped when the scope ends.
  class FrameScope {
  public:
    FrameScope(Trace &trace, Frame &frame)
        : trace(trace), depth(trace.regions.size()), mark(sinter_graph_mark(trace.graph)) {
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
    sinter_mark mark;
    bool finished = false;
  };

  static Trace *&currentSlot() {
    static thread_local Trace *trace = nullptr;
    return trace;
  }
  static Trace *current() { return currentSlot(); }

  /// `typesOnly`: nobody runs the graph; it only tells what types a function returns.
  explicit Trace(sinter_graph *graph, bool typesOnly = false)
      : graph(graph), outer(std::exchange(currentSlot(), this)), typesOnly(typesOnly) {}
  Trace(const Trace &) = delete;
  ~Trace() { currentSlot() = outer; }

  sinter_graph *handle() const { return graph; }
  bool isForTypes() const { return typesOnly; }
  /// The first error of this trace, in a program without exceptions.
  const Error *error() const { return failure.get(); }
  void note(const Error &error) {
    if (!failure)
      failure = std::make_unique<Error>(error);
  }

  //===- values -----------------------------------------------------------------------------------===//

  /// A handle on value `id` of the innermost open region.
  Tensor wrap(uint32_t id, Where where) {
    sinter_value_type type;
    if (sinter_graph_value_type(graph, id, &type))
      return fail(where, sinter_last_error());
    Value *value = Value::create(0);
    value->kind = Value::Kind::traced;
    value->tensor.data = nullptr;
    value->tensor.dtype = type.dtype;
    value->tensor.rank = type.rank;
    std::memcpy(value->tensor.dims, type.dims, sizeof(int64_t) * size_t(type.rank));
    value->id = id;
    value->depth = int32_t(regions.size());
    value->region = regions.empty() ? 0 : regions.back();
    value->where = where;
    return Tensor::adopt(value);
  }

  /// The value of the graph that stands for `tensor`, 0 after an error, which is in `problem`.
  uint32_t use(const Tensor &tensor, Where where, Tensor &problem) {
    if (!tensor.defined()) {
      problem = fail(where, "a traced function requires tensors, got a Tensor() without a value");
      return 0;
    }
    const Value *value = tensor.value();
    if (value->kind == Value::Kind::error) {
      problem = tensor;
      return 0;
    }
    if (value->kind == Value::Kind::eager)
      return useConstant(tensor, where, problem);
    size_t depth = size_t(value->depth);
    if (depth == 0 || depth > regions.size() || regions[depth - 1] != value->region) {
      problem = fail(where, leakMessage(tensor));
      return 0;
    }
    return value->id;
  }

  //===- steps --------------------------------------------------------------------------------------===//

  /// True when the next step of this run was recorded before: it is `step`. A step that differs ends the trace.
  bool replay(uint64_t hash, std::span<const uint32_t> operands, Where where, Step *&step, Tensor &problem) {
    Frame &frame = *top;
    step = nullptr;
    if (frame.cursor >= frame.log.size())
      return false;
    Step &known = frame.log[frame.cursor];
    bool early = frame.branches < frame.decisions.size() && frame.cursor >= frame.decisions[frame.branches].position;
    if (early || known.hash != hash || known.where.line() != where.line() ||
        !std::equal(operands.begin(), operands.end(), known.operands.begin(), known.operands.end())) {
      problem = nonDeterministic(where, early ? frame.decisions[frame.branches].where : known.where);
      return true;
    }
    ++frame.cursor;
    step = &known;
    return true;
  }

  /// A step that is new.
  Step &append(uint64_t hash, std::span<const uint32_t> operands, Where where) {
    Frame &frame = *top;
    frame.log.push_back({hash, where, {operands.begin(), operands.end()}, {}, nullptr, nullptr});
    ++frame.cursor;
    return frame.log.back();
  }

  /// What `remember` was given when the next step of this run is that one, else null.
  const void *known(uint64_t hash, const void *tag) {
    Frame &frame = *top;
    if (frame.cursor >= frame.log.size() || frame.log[frame.cursor].hash != hash || frame.log[frame.cursor].tag != tag)
      return nullptr;
    return frame.log[frame.cursor++].outcome.get();
  }
  void remember(uint64_t hash, Where where, std::shared_ptr<void> outcome, const void *tag) {
    Step &step = append(hash, {}, where);
    step.outcome = std::move(outcome);
    step.tag = tag;
  }

  /// Records an op, or repeats what it gave when this run comes by it again.
  bool record(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs, uint64_t hash,
              std::span<Tensor> results, int &count, Where where) {
    constexpr size_t room = 16;
    uint32_t inlineIds[room], *ids = inlineIds;
    std::vector<uint32_t> manyIds;
    if (operands.size() > room) {
      manyIds.resize(operands.size());
      ids = manyIds.data();
    }
    count = 1;
    if (failure) {
      results[0] = errorTensor(*failure);
      return false;
    }
    for (size_t k = 0; k < operands.size(); ++k) {
      ids[k] = 0;
      Tensor problem;
      if (operands[k].defined() && !(ids[k] = use(operands[k], where, problem))) {
        results[0] = problem;
        return false;
      }
    }
    std::span<const uint32_t> used(ids, operands.size());
    Step *step;
    if (Tensor problem; replay(hash, used, where, step, problem)) {
      if (!step) {
        results[0] = problem;
        return false;
      }
      count = int(step->results.size());
      std::copy_n(step->results.begin(), std::min(step->results.size(), results.size()), results.begin());
      return true;
    }
    locate(where);
    uint32_t outputs[room];
    int32_t given = 0;
    if (sinter_graph_op(graph, op, int32_t(used.size()), ids, int32_t(attrs.size()), attrs.data(),
                        int32_t(std::min(room, results.size())), outputs, &given)) {
      results[0] = fail(where, inFunction(graphMessage(where)));
      return false;
    }
    count = given;
    for (int k = 0; k < given; ++k)
      results[size_t(k)] = wrap(outputs[k], where);
    append(hash, used, where).results.assign(results.begin(), results.begin() + given);
    return true;
  }

  void locate(Where where) {
    if (located.file_name() == where.file_name() && located.line() == where.line() &&
        located.column() == where.column())
      return;
    located = where;
    sinter_graph_location(graph, where.file_name(), int32_t(where.line()), int32_t(where.column()),
                          where.function_name());
  }

  /// The C library's last message as an error at `where`. The message starts with the place, which the error adds
  /// itself.
  Tensor failGraph(Where where) { return fail(where, graphMessage(where)); }
  std::string graphMessage(Where where) {
    std::string message = sinter_last_error(), prefix = place(where) + ":";
    if (message.starts_with(prefix))
      if (size_t at = message.find(": ", prefix.size() - 1); at != std::string::npos)
        message.erase(0, at + 2);
    return message;
  }

  Tensor nonDeterministic(Where where, Where before) {
    return fail(where,
                "a function with `if (tensor)` runs once per outcome and requires the same ops each time up to the "
                "branch, got another one here than before, at " +
                    place(before) + "; use only its arguments, and no random numbers or counters of the host");
  }

  //===- regions --------------------------------------------------------------------------------------===//

  void enterRegion() { regions.push_back(++serials()); }
  void leaveRegion() { regions.pop_back(); }
  size_t openRegions() const { return regions.size(); }
  /// Back to `depth` open regions and to what the graph was at `mark`.
  void dropRegions(size_t depth, sinter_mark mark) {
    regions.resize(depth);
    sinter_graph_truncate(graph, mark);
  }

  /// The values of the leaves of `tree` in the innermost open region, where tensors of the host become constants.
  /// False after an error, which the leaves then carry.
  template <class Tree>
  bool materialize(Tree &tree, Where where, std::vector<uint32_t> &ids, std::vector<TensorType> &types) {
    bool good = true;
    eachLeaf(tree, [&](Tensor &leaf) {
      Tensor problem;
      uint32_t id = good ? use(leaf, where, problem) : 0;
      if (id) {
        ids.push_back(id);
        types.push_back(leaf.type());
        if (!leaf.traced())
          leaf = wrap(id, where);
      } else if (good) {
        good = false;
        leaf = problem;
      }
    });
    return good;
  }

  bool decide(const Tensor &condition); // branches.hpp

private:
  static std::atomic<uint64_t> &serials() {
    static std::atomic<uint64_t> last{0};
    return last;
  }

  uint32_t useConstant(const Tensor &tensor, Where where, Tensor &problem) {
    for (Frame *frame = top; frame; frame = frame->parent)
      if (auto known = frame->constants.find(tensor.value()); known != frame->constants.end())
        return known->second.value()->id;
    int64_t bytes = tensor.known_size() * dtype_bytes(tensor.dtype());
    if (bytes > kSilentConstantBytes && typesOnly)
      return useType(tensor, where, problem);
    if (bytes > kSilentConstantBytes && !tensor.value()->large) {
      problem = fail(where, "a captured constant requires at most 1 MiB, got " + std::to_string(bytes) + " bytes of " +
                                tensor.type().str() +
                                "; pass the tensor as an argument, or allow it with sinter::constant(tensor)");
      return 0;
    }
    uint64_t hash = hashBytes(uint64_t(tensor.dtype()) * 7919 + uint64_t(tensor.rank()), tensor.view().dims,
                              size_t(tensor.rank()) * 8);
    hash = hashBytes(hash, tensor.view().data, size_t(bytes));
    Step *step;
    if (!replay(hash, {}, where, step, problem)) {
      locate(where);
      uint32_t id = 0;
      if (sinter_graph_constant(graph, &tensor.view(), &id)) {
        problem = failGraph(where);
        return 0;
      }
      step = &append(hash, {}, where);
      step->results.push_back(wrap(id, where));
    } else if (!step) {
      return 0;
    }
    const Tensor &result = step->results[0];
    top->constants.emplace(tensor.value(), result);
    top->kept.push_back(tensor);
    return result.value()->id;
  }

  /// Zeros of the type of `tensor`, which cost nothing to hold.
  uint32_t useType(const Tensor &tensor, Where where, Tensor &problem) {
    int64_t zero = 0;
    sinter_tensor number{};
    number.dtype = int32_t(tensor.dtype());
    number.data = &zero;
    sinter_value_type type{};
    type.dtype = number.dtype;
    type.rank = tensor.rank();
    std::memcpy(type.dims, tensor.view().dims, sizeof(int64_t) * size_t(type.rank));
    const int64_t segments[] = {1, 0, 0};
    sinter_attr attrs[3] = {};
    attrs[0].name = "axes";
    attrs[0].kind = SINTER_ATTR_I64S;
    attrs[1].name = "type";
    attrs[1].kind = SINTER_ATTR_TYPE;
    attrs[1].type = &type;
    attrs[2].name = "operandSegmentSizes";
    attrs[2].kind = SINTER_ATTR_I64S;
    attrs[2].count = 3;
    attrs[2].i64s = segments;
    uint32_t id = 0, spread = 0;
    int32_t count = 0;
    locate(where);
    if (sinter_graph_constant(graph, &number, &id) ||
        sinter_graph_op(graph, "broadcast", 1, &id, 3, attrs, 1, &spread, &count))
      problem = failGraph(where);
    return spread;
  }

  sinter_graph *graph;
  Trace *outer;
  bool typesOnly;
  Frame *top = nullptr;
  std::vector<uint64_t> regions; // serial numbers of open functions and regions
  Where located{};
  std::unique_ptr<Error> failure;
  bool afterError = false;
};

inline Tensor fail(Where where, std::string message) {
  Error error(std::move(message), where);
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  if (Trace *trace = Trace::current())
    trace->note(error);
  return errorTensor(error);
#endif
}

inline void cannotRead(const Tensor &tensor, const char *what, Where where) {
  if (!tensor.defined())
    return hostError(Error(std::string(what) + " requires a tensor, got a Tensor() without a value", where));
  if (tensor.error())
    return hostError(*tensor.error());
  Error error(Trace::current() ? std::string(what) + " requires elements, got a tensor of a trace, made at " +
                                     place(tensor.where()) +
                                     ", which has none yet; use cond, while_loop or where, or return the tensor"
                               : leakMessage(tensor),
              where);
#if !SINTER_HAS_EXCEPTIONS
  if (Trace *trace = Trace::current())
    return trace->note(error);
#endif
  hostError(error);
}

} // namespace sinter::detail

#endif
