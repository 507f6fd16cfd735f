// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions compiled when they are called. A jitted function keeps one compiled form per signature: the structure of
// the arguments, and of each tensor its element type, rank and fixed sizes. A call compares its arguments with the
// signature used last, takes a session that is idle, and runs it on buffers from the pool.

#ifndef SINTER_TRACE_JIT_HPP
#define SINTER_TRACE_JIT_HPP

#include "module.hpp"
#include <mutex>

namespace sinter {

struct JitOptions {
  /// One per tensor in the arguments, in order, to name sizes that may differ from call to call; empty: all sizes are
  /// fixed.
  std::vector<Spec> specs = {};
  /// Look for compiled code in, and write it to, $XDG_CACHE_HOME/sinter/jit.
  bool disk_cache = false;
  int opt_level = 0;      // 1 to 3; 0: the default; -1: none
  int threads = 0;        // that run it; 0: all cores for large arguments, else one
  bool fast_math = false; // rewrites that change rounding, infinities and NaN
};

namespace detail {

/// A signature as numbers: per leaf its type and sizes (negative: any), per fixed part its bytes.
struct SignatureWriter {
  static constexpr bool paths = false;
  std::vector<int64_t> words;
  std::vector<Tensor> leaves;
  std::span<const Spec> specs;
  void tensor(const Tensor &leaf) {
    words.push_back(int64_t(leaf.dtype()) << 8 | leaf.rank());
    size_t at = leaves.size();
    for (int axis = 0; axis < leaf.rank(); ++axis)
      words.push_back(at < specs.size() && size_t(axis) < specs[at].dims.size() &&
                              !specs[at].dims[size_t(axis)].name.empty()
                          ? -1
                          : leaf.view().dims[axis]);
    leaves.push_back(leaf);
  }
  void fixed(const void *bytes, size_t count) {
    words.push_back(int64_t(count));
    for (auto *data = static_cast<const char *>(bytes); count;
         data += std::min<size_t>(count, 8), count -= std::min<size_t>(count, 8)) {
      int64_t word = 0;
      std::memcpy(&word, data, std::min<size_t>(count, 8));
      words.push_back(word);
    }
  }
};

/// Compares arguments with a signature, and collects views of their leaves on the way.
struct SignatureMatcher {
  static constexpr bool paths = false;
  const int64_t *next, *end;
  sinter_tensor *views;
  bool same = true;
  void tensor(const Tensor &leaf) {
    const Value *value = leaf.value();
    if (!same || !value || value->kind != Value::Kind::eager) {
      same = false;
      return;
    }
    const sinter_tensor &from = value->tensor;
    int rank = from.rank;
    if (end - next < 1 + rank || *next != (int64_t(from.dtype) << 8 | rank)) {
      same = false;
      return;
    }
    ++next;
    sinter_tensor &to = *views++;
    to.data = from.data;
    to.dtype = from.dtype;
    to.rank = rank;
    to.strides = nullptr;
    for (int axis = 0; axis < rank; ++axis, ++next) {
      to.dims[axis] = from.dims[axis];
      same &= *next == from.dims[axis] || *next < 0;
    }
  }
  void fixed(const void *bytes, size_t count) {
    size_t words = (count + 7) / 8;
    if (!same || end - next < int64_t(1 + words) || *next != int64_t(count)) {
      same = false;
      return;
    }
    same = std::memcmp(next + 1, bytes, count) == 0;
    next += 1 + words;
  }
};

inline bool logsRecompiles() {
  static const bool on = [] {
    const char *text = std::getenv("SINTER_LOG");
    return text && std::string_view(text).find("recompiles") != std::string_view::npos;
  }();
  return on;
}

/// What all compiled forms of a jitted function share that does not depend on its types.
class CompiledForm {
public:
  std::vector<int64_t> signature;
  std::vector<TensorType> inputs;
  std::vector<std::string> paths;
  std::map<std::string, std::string> fixed; // numbers and texts in the arguments, by path
  std::vector<TensorType> outputs;
  Module module;
  int threads = 1;

  /// A session that nobody uses, null with a message after an error.
  sinter_session *take() {
    if (sinter_session *session = idle.exchange(nullptr, std::memory_order_acquire))
      return session;
    {
      std::lock_guard guard(lock);
      if (!rest.empty()) {
        sinter_session *session = rest.back();
        rest.pop_back();
        return session;
      }
    }
    sinter_session_options options{};
    options.struct_size = sizeof(options);
    options.threads = threads;
    sinter_session *session = nullptr;
    return sinter_session_create(module.handle(), 0, &options, &session) ? nullptr : session;
  }
  void give(sinter_session *session) {
    sinter_session *expected = nullptr;
    if (idle.compare_exchange_strong(expected, session, std::memory_order_release))
      return;
    std::lock_guard guard(lock);
    rest.push_back(session);
  }
  CompiledForm() = default;
  CompiledForm(const CompiledForm &) = delete;
  ~CompiledForm() {
    if (sinter_session *session = idle.exchange(nullptr))
      sinter_session_destroy(session);
    for (sinter_session *session : rest)
      sinter_session_destroy(session);
  }

private:
  std::atomic<sinter_session *> idle{nullptr};
  std::mutex lock;
  std::vector<sinter_session *> rest;
};

/// "argument [0].w changed from f32[3] to f32[4]", for the log.
inline std::string explainChange(const CompiledForm *before, const CompiledForm &now) {
  if (!before)
    return "first call";
  std::string text;
  if (before->inputs.size() != now.inputs.size() || before->paths != now.paths)
    return "the structure of the arguments changed, from " + std::to_string(before->inputs.size()) + " to " +
           std::to_string(now.inputs.size()) + " tensors";
  for (size_t k = 0; k < now.inputs.size(); ++k)
    if (!(before->inputs[k] == now.inputs[k]))
      text += (text.empty() ? "" : ", ") + ("argument " + now.paths[k]) + " changed from " + before->inputs[k].str() +
              " to " + now.inputs[k].str();
  for (const auto &[path, value] : now.fixed)
    if (auto was = before->fixed.find(path); was != before->fixed.end() && was->second != value)
      text += (text.empty() ? "" : ", ") + ("argument " + path) + " changed from " + was->second + " to " + value;
  return text.empty() ? "a number or text in the arguments changed" : text;
}

} // namespace detail

/// A function that compiles itself; made by `jit`. Copies share what is compiled. May be called from several threads.
template <class F> class Jitted {
public:
  using Wrapped = F;
  Jitted(F f, JitOptions options, Where where)
      : state(std::make_shared<State>(std::move(f), std::move(options), where)) {}

  /// Inside of a trace the function becomes part of that trace.
  template <class... Args>
    requires std::is_invocable_v<F &, const detail::tree_t<Args> &...>
  auto operator()(const Args &...args) const {
    using Result = detail::tree_t<std::invoke_result_t<F &, const detail::tree_t<Args> &...>>;
    if (detail::Trace::current())
      return detail::treeCast<Result>(state->f(detail::asTree(args)...));
    return gather<Result>(detail::asTree(args)...);
  }

  /// One line per compilation: what had changed since the call before.
  std::string explain() const {
    std::lock_guard guard(state->lock);
    std::string text;
    for (const std::string &line : state->history)
      text += line + "\n";
    return text;
  }
  /// The number of compiled forms.
  int cache_size() const {
    std::lock_guard guard(state->lock);
    return int(state->history.size());
  }

private:
  template <class Result> struct Form : detail::CompiledForm {
    Result prototype{}; // with Tensor() for each output
    const void *tag = &detail::kTypeTag<Result>;
  };
  struct Entry {
    const void *tag; // of the argument and result types
    std::shared_ptr<detail::CompiledForm> form;
  };
  struct State {
    State(F f, JitOptions options, Where where) : f(std::move(f)), options(std::move(options)), where(where) {}
    F f;
    JitOptions options;
    Where where;
    std::mutex lock;
    std::vector<std::unique_ptr<Entry>> entries; // never removed, so that `last` may be read without the lock
    std::atomic<const Entry *> last{nullptr};
    std::vector<std::string> history;
  };
  template <class Result, class... Args> static const void *typeTag() {
    return &detail::kTypeTag<std::tuple<Result, Args...>>;
  }

  static constexpr size_t kInlineTensors = 16;

  template <class Result, class... Args> Result gather(const Args &...args) const {
    return run<Result, Args...>(std::tuple<const Args &...>(args...));
  }

  template <class Result, class... Args> Result run(const std::tuple<const Args &...> &args) const {
    sinter_tensor inlineViews[kInlineTensors];
    std::vector<sinter_tensor> manyViews;
    sinter_tensor *views = inlineViews;
    const void *tag = typeTag<Result, Args...>();
    auto matches = [&](const Entry *entry) {
      if (!entry || entry->tag != tag)
        return false;
      const detail::CompiledForm &form = *entry->form;
      if (form.inputs.size() > kInlineTensors) {
        manyViews.resize(form.inputs.size());
        views = manyViews.data();
      }
      detail::SignatureMatcher matcher{form.signature.data(), form.signature.data() + form.signature.size(), views};
      std::apply([&](const auto &...arg) { (detail::visitTree(arg, matcher), ...); }, args);
      return matcher.same && matcher.next == matcher.end;
    };
    const Entry *entry = state->last.load(std::memory_order_acquire);
    if (!matches(entry)) {
      Result failed{};
      entry = find<Result, Args...>(args, tag, matches, failed);
      if (!entry)
        return failed;
    }
    auto &form = static_cast<Form<Result> &>(*entry->form);
    return call<Result>(form, views);
  }

  template <class Result> Result call(Form<Result> &form, sinter_tensor *views) const {
    Result result = form.prototype;
    sinter_tensor inlineOutputs[kInlineTensors];
    std::vector<sinter_tensor> manyOutputs;
    sinter_tensor *outputs = inlineOutputs;
    size_t count = form.outputs.size();
    if (count > kInlineTensors) {
      manyOutputs.resize(count);
      outputs = manyOutputs.data();
    }
    size_t next = 0;
    bool allStatic = true;
    detail::eachLeaf(result, [&](Tensor &leaf) {
      const TensorType &type = form.outputs[next];
      sinter_tensor &output = outputs[next++];
      int64_t bytes = type.shape.elements() < 0 ? -1 : type.shape.elements() * dtype_bytes(type.dtype);
      if (bytes < 0) {
        allStatic = false;
        output = sinter_tensor{};
        return;
      }
      detail::Value *value = detail::Value::create(size_t(bytes));
      if (!value) {
        output = sinter_tensor{};
        allStatic = false;
        return;
      }
      value->tensor.dtype = int32_t(type.dtype);
      value->tensor.rank = type.shape.size();
      std::memcpy(value->tensor.dims, type.shape.data(), sizeof(int64_t) * size_t(type.shape.size()));
      value->where = state->where;
      output.data = value->tensor.data;
      output.dtype = value->tensor.dtype;
      output.rank = value->tensor.rank;
      output.strides = nullptr;
      std::memcpy(output.dims, type.shape.data(), sizeof(int64_t) * size_t(type.shape.size()));
      leaf = Tensor::adopt(value);
    });
    sinter_session *session = form.take();
    if (!session || sinter_session_call(session, int32_t(form.inputs.size()), views, int32_t(count), outputs)) {
      std::string message = sinter_last_error();
      if (session)
        form.give(session);
      detail::poison(result, detail::fail(state->where, std::move(message)));
      return result;
    }
    if (!allStatic) {
      next = 0;
      detail::eachLeaf(result, [&](Tensor &leaf) {
        const sinter_tensor &output = outputs[next++];
        if (leaf.defined())
          return;
        leaf = Tensor::empty(DType(output.dtype), Shape(std::span<const int64_t>(output.dims, size_t(output.rank))),
                             state->where);
        if (size_t bytes = leaf.error() ? 0 : size_t(leaf.known_size() * dtype_bytes(leaf.dtype())))
          std::memcpy(leaf.view().data, output.data, bytes);
      });
    }
    form.give(session);
    return result;
  }

  /// The entry for these arguments, compiled if need be. Null after an error, which `failed` then carries.
  template <class Result, class... Args, class Matches>
  [[gnu::noinline]] const Entry *find(const std::tuple<const Args &...> &args, const void *tag, Matches &matches,
                                      Result &failed) const {
    std::lock_guard guard(state->lock);
    const Entry *before = state->last.load(std::memory_order_relaxed);
    for (const std::unique_ptr<Entry> &entry : state->entries)
      if (matches(entry.get())) {
        state->last.store(entry.get(), std::memory_order_release);
        return entry.get();
      }
    Where where = state->where;
    detail::SignatureWriter writer{{}, {}, state->options.specs};
    std::apply([&](const auto &...arg) { (detail::visitTree(arg, writer), ...); }, args);
    auto stop = [&](const Tensor &problem) {
      detail::poison(failed, problem);
      return nullptr;
    };
    auto form = std::make_shared<Form<Result>>();
    std::vector<Spec> specs;
    for (const Tensor &leaf : writer.leaves) {
      if (!leaf.defined() || leaf.error())
        return stop(leaf.error()
                        ? leaf
                        : detail::fail(where, "a jitted function requires tensors, got a Tensor() without a value"));
      if (leaf.traced())
        return stop(detail::fail(where, detail::leakMessage(leaf)));
      form->inputs.push_back(leaf.type());
      specs.push_back(spec_of(leaf));
    }
    if (const std::vector<Spec> &asked = state->options.specs; !asked.empty()) {
      bool fits = asked.size() == specs.size();
      for (size_t k = 0; fits && k < specs.size(); ++k)
        fits = asked[k].dtype == specs[k].dtype && asked[k].dims.size() == specs[k].dims.size();
      for (size_t k = 0; fits && k < specs.size(); ++k)
        for (size_t axis = 0; axis < specs[k].dims.size(); ++axis)
          fits = fits && (!asked[k].dims[axis].name.empty() || asked[k].dims[axis].size == specs[k].dims[axis].size);
      if (!fits) {
        std::string wanted, got;
        for (const Spec &spec : asked)
          wanted += (wanted.empty() ? "" : ", ") + spec.str();
        for (const Spec &spec : specs)
          got += (got.empty() ? "" : ", ") + spec.str();
        return stop(
            detail::fail(where, "a jitted function requires arguments like its specs " + wanted + ", got " + got));
      }
      for (size_t k = 0; k < specs.size(); ++k)
        for (size_t axis = 0; axis < specs[k].dims.size(); ++axis)
          if (!asked[k].dims[axis].name.empty())
            specs[k].dims[axis] = asked[k].dims[axis];
    }
    form->paths = argumentPaths<Args...>(args);
    form->fixed = fixedValues<Args...>(args);
    form->signature = writer.words;

    sinter_graph *raw = nullptr;
    if (sinter_graph_create(&raw))
      return stop(detail::fail(where, sinter_last_error()));
    std::unique_ptr<sinter_graph, void (*)(sinter_graph *)> graph(raw, sinter_graph_destroy);
    std::tuple<Args...> examples(args);
    auto traced = detail::traceFunction(
        raw, "main", std::span<const Spec>(specs), {}, {}, where, [&](std::span<const Tensor> leaves) {
          return std::apply([&](const auto &...arg) { return detail::treeCast<Result>(state->f(arg...)); },
                            unflatten(examples, leaves));
        });
    if (traced.error) {
      failed = std::move(traced.result);
#if !SINTER_HAS_EXCEPTIONS
      return stop(detail::errorTensor(*traced.error));
#else
      return nullptr;
#endif
    }
    form->prototype = std::move(traced.result);
    detail::eachLeaf(form->prototype, [](Tensor &leaf) { leaf = Tensor(); });
    form->outputs = std::move(traced.outputs);

    sinter_compile_options options{};
    options.struct_size = sizeof(options);
    options.opt_level = state->options.opt_level;
    options.fast_math = state->options.fast_math;
    options.disk_cache = state->options.disk_cache;
    sinter_module *module = nullptr;
    if (sinter_graph_compile(raw, &options, &module))
      return stop(detail::fail(where, sinter_last_error()));
    form->module = Module(module);
    form->threads = state->options.threads ? state->options.threads : defaultThreads(*form);
    note(before ? before->form.get() : nullptr, *form, where);
    state->entries.push_back(std::make_unique<Entry>(Entry{tag, form}));
    state->last.store(state->entries.back().get(), std::memory_order_release);
    matches(state->entries.back().get()); // collects the views
    return state->entries.back().get();
  }

  /// Threads cost more than they give where little is computed.
  static int defaultThreads(const detail::CompiledForm &form) {
    constexpr int64_t manyElements = 1 << 14;
    for (const auto &list : {form.inputs, form.outputs})
      for (const TensorType &type : list)
        if (type.shape.elements() < 0 || type.shape.elements() >= manyElements)
          return 0;
    return 1;
  }

  template <class... Args> static std::vector<std::string> argumentPaths(const std::tuple<const Args &...> &args) {
    std::vector<std::string> paths;
    size_t k = 0;
    auto add = [&](const auto &arg) {
      for (const std::string &path : leaf_paths(arg))
        paths.push_back(std::to_string(k) + path);
      ++k;
    };
    std::apply([&](const auto &...arg) { (add(arg), ...); }, args);
    return paths;
  }

  template <class... Args>
  static std::map<std::string, std::string> fixedValues(const std::tuple<const Args &...> &args) {
    detail::FixedVisitor visitor;
    size_t k = 0;
    auto add = [&](const auto &arg) {
      visitor.enter(std::to_string(k++));
      detail::visitTree(arg, visitor);
      visitor.leave();
    };
    std::apply([&](const auto &...arg) { (add(arg), ...); }, args);
    return std::move(visitor.values);
  }

  void note(const detail::CompiledForm *before, const detail::CompiledForm &now, Where where) const {
    std::string line = detail::place(where) + ": compiled form " + std::to_string(state->entries.size() + 1) + ": " +
                       detail::explainChange(before, now);
    if (detail::logsRecompiles())
      std::fprintf(stderr, "sinter: %s\n", line.c_str());
    state->history.push_back(std::move(line));
  }

  std::shared_ptr<State> state;
};

/// `f`, compiled when it is first called with arguments of a new signature. `f` takes and returns trees of tensors;
/// numbers that are passed by themselves are tensors, numbers within structs are fixed.
template <class F> auto jit(F &&f, JitOptions options = {}, Where where = Where::current()) {
  return Jitted<std::decay_t<F>>(std::forward<F>(f), std::move(options), where);
}

/// Most compiled functions, and most kernels of functions that are computed at once, that this process keeps for code
/// that compiles the same again: at first 512 of each. What a jitted function or a module holds does not count.
inline Status jit_limit(int64_t most, Where where = Where::current()) {
  return sinter_jit_limit(most) ? detail::report(Error(sinter_last_error(), where)) : Status();
}
/// Gives all of them back.
inline void jit_clear() { sinter_jit_clear(); }

} // namespace sinter

#endif
