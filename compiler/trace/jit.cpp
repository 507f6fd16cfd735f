// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "jit.hpp"
#include "CompiledForm.h"
#include "Functions.h"
#include "JitSignature.h"
#include "Walks.h"
#include "runtime/decimal.h"
#include <chrono>

namespace sinter::inline SINTER_HOST {
namespace detail {

void setLeaves(std::span<const AnyTree> trees, std::span<const Tensor> leaves) {
  size_t next = 0;
  for (const AnyTree &tree : trees)
    tree.each([&](Tensor &leaf) { leaf = leaves[next++]; });
}

/// A jitted function: what it was made with, and its compiled forms.
struct JitCore::State {
  State(JitOptions options, Where where) : options(std::move(options)), where(where) {}
  struct Entry {
    std::shared_ptr<CompiledForm> form;
    std::vector<Tensor> captured; // what the last inputs are called with
  };
  JitOptions options;
  Where where;
  std::shared_ptr<SiteForms> site; // null: nobody else has forms of this function
  bool isWhole = false;            // as JitSite says
  std::mutex lock;
  std::vector<std::unique_ptr<Entry>> entries; // never removed, so that `last` may be read without the lock
  std::atomic<Entry *> last{nullptr};
  std::vector<std::string> history;

  using Matches = FunctionRef<bool(const CompiledForm &)>;
  Entry *find(std::span<const AnyTree> args, AnyTree result, JitTrace trace, const JitProbe *probe, Matches matches);
  Entry *add(std::shared_ptr<CompiledForm> form, std::vector<Tensor> captured);
  void run(CompiledForm &form, sinter_tensor *views, AnyTree result);
  /// The same where some of `leaves`, the arguments' and captured ones, lie on a device.
  void runThere(CompiledForm &form, std::span<const Tensor> leaves, AnyTree result);
  /// Where `leaves` lie. False with an error in `problem` where that is several places, or not what the options say.
  bool placeOf(std::span<const Tensor> leaves, const capi::EagerDevice *&device, Tensor &problem) const;
  bool compile(CompiledForm &form, std::span<const Spec> specs, std::span<const Tensor> captured, AnyTree result,
               JitTrace trace) const;
  /// Writes what the options ask of a traced function into its graph and into `lowered`; false with the error in
  /// `problem`.
  bool lower(sinter_graph *graph, int32_t function, const capi::EagerDevice *device, sinter_compile_options &lowered,
             Tensor &problem) const;
  struct Probed;
  bool probeSite(std::span<const Spec> specs, const JitProbe &probe, Matches matches, Probed &probed) const;
  /// What the arguments must look like; false with the error in `problem`.
  bool specsOf(std::span<const Tensor> leaves, std::vector<Spec> &specs, Tensor &problem) const;
};

static constexpr size_t kInlineTensors = 16;

JitCore::JitCore(JitOptions options, Where where) : state(std::make_shared<State>(std::move(options), where)) {}
JitCore::JitCore(Where where, const JitSite &site) : JitCore(JitOptions{}, where) {
  state->site = findSite(where, site);
  state->isWhole = site.isWhole;
}

std::string JitCore::explain() const {
  std::lock_guard guard(state->lock);
  std::string text;
  for (const std::string &line : state->history)
    text += line + "\n";
  return text;
}
int JitCore::forms() const {
  std::lock_guard guard(state->lock);
  return int(state->history.size());
}

Profile JitCore::profile() const {
  std::lock_guard guard(state->lock);
  Profile profile;
  std::map<std::string, Profile::Kernel> byName;
  int64_t ns = 0;
  for (const std::unique_ptr<State::Entry> &entry : state->entries) {
    profile.calls += entry->form->calls;
    ns += entry->form->ns;
    std::string form =
        state->entries.size() > 1 ? "form " + std::to_string(&entry - state->entries.data() + 1) + " " : "";
    entry->form->eachIdle([&](sinter_session *session) {
      int32_t count = 0;
      if (sinter_session_profile(session, 0, nullptr, &count))
        return;
      std::vector<sinter_kernel_profile> kernels(size_t(count), sinter_kernel_profile{});
      if (sinter_session_profile(session, count, kernels.data(), &count))
        return;
      for (const sinter_kernel_profile &kernel : kernels) {
        Profile::Kernel &known = byName[form + kernel.name];
        known.calls += kernel.calls;
        known.seconds += double(kernel.ns) * 1e-9;
      }
    });
  }
  profile.seconds = double(ns) * 1e-9;
  for (auto &[name, kernel] : byName) {
    kernel.name = name;
    kernel.share = profile.seconds > 0 ? kernel.seconds / profile.seconds : 0;
    profile.kernels.push_back(kernel);
  }
  std::sort(profile.kernels.begin(), profile.kernels.end(),
            [](const auto &a, const auto &b) { return a.seconds > b.seconds; });
  return profile;
}

void JitCore::call(std::span<const AnyTree> args, AnyTree result, JitTrace trace, const JitProbe *probe) const {
  for (const AnyTree &arg : args)
    if (probe && isRecorded(arg))
      return result.poison(fail(state->where,
                                "a gradient of a function requires arguments without requires_grad, whose "
                                "gradients would be lost; detach them, or use NoGrad"));
  sinter_tensor inlineViews[kInlineTensors];
  std::vector<sinter_tensor> manyViews;
  sinter_tensor *views = inlineViews;
  sinter_tensor *next = views;
  auto matches = [&](const CompiledForm &form) {
    if (form.types.size() != args.size() + 1 || form.types.back() != result.ops)
      return false;
    for (size_t k = 0; k < args.size(); ++k)
      if (form.types[k] != args[k].ops)
        return false;
    if (form.inputs.size() > kInlineTensors) {
      manyViews.resize(form.inputs.size());
      views = manyViews.data();
    }
    SignatureMatcher matcher(form.signature, views);
    for (const AnyTree &arg : args)
      arg.visit(matcher);
    next = matcher.views;
    return matcher.same && matcher.next == matcher.end && matcher.device == form.ofArguments;
  };
  State::Entry *entry = state->last.load(std::memory_order_acquire);
  if (!entry || !matches(*entry->form)) {
    entry = state->find(args, result, trace, probe, matches);
    if (!entry)
      return;
  }
  if (entry->form->device) {
    std::vector<Tensor> leaves;
    for (const AnyTree &arg : args)
      arg.each([&](Tensor &leaf) { leaves.push_back(leaf); });
    leaves.insert(leaves.end(), entry->captured.begin(), entry->captured.end());
    return state->runThere(*entry->form, leaves, result);
  }
  for (const Tensor &tensor : entry->captured)
    *next++ = tensor.view();
  state->run(*entry->form, views, result);
}

void JitCore::State::run(CompiledForm &form, sinter_tensor *views, AnyTree result) {
  result.assign(form.prototype.get());
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
  result.each([&](Tensor &leaf) {
    const TensorType &type = form.outputs[next];
    sinter_tensor &output = outputs[next++];
    int64_t bytes = type.shape.elements() < 0 ? -1 : dtype_bytes(type.dtype, type.shape.elements());
    Value *value = bytes < 0 ? nullptr : Value::create(size_t(bytes));
    if (!value) {
      allStatic = false;
      output = sinter_tensor{};
      return;
    }
    value->tensor.dtype = int32_t(type.dtype);
    value->tensor.rank = type.shape.size();
    std::memcpy(value->tensor.dims, type.shape.data(), sizeof(int64_t) * size_t(type.shape.size()));
    value->where = where;
    output.data = value->tensor.data;
    output.dtype = value->tensor.dtype;
    output.rank = value->tensor.rank;
    output.strides = nullptr;
    std::memcpy(output.dims, type.shape.data(), sizeof(int64_t) * size_t(type.shape.size()));
    leaf = Tensor::adopt(value);
  });
  sinter_session *session = form.take();
  auto begin = options.profile ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  if (!session || sinter_session_call(session, int32_t(form.inputs.size()), views, int32_t(count), outputs)) {
    std::string message = sinter_last_error();
    if (session)
      form.give(session);
    return result.poison(fail(where, std::move(message)));
  }
  if (options.profile) {
    ++form.calls;
    form.ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  }
  if (!allStatic) {
    next = 0;
    result.each([&](Tensor &leaf) {
      const sinter_tensor &output = outputs[next++];
      if (leaf.defined())
        return;
      leaf =
          Tensor::empty(DType(output.dtype), Shape(std::span<const int64_t>(output.dims, size_t(output.rank))), where);
      if (size_t bytes = leaf.error() ? 0 : size_t(dtype_bytes(leaf.dtype(), leaf.known_size())))
        std::memcpy(leaf.view().data, output.data, bytes);
    });
  }
  form.give(session);
}

bool JitCore::State::placeOf(std::span<const Tensor> leaves, const capi::EagerDevice *&device, Tensor &problem) const {
  const Tensor *first;
  if (!onOneDevice("a jitted function", leaves, first, problem, where))
    return false;
  device = first ? deviceOf(*first) : nullptr;
  if (options.device.empty() || !device)
    return true;
  const capi::EagerDevice *asked = nullptr;
  if (capi::findEagerDevice(options.device, asked))
    problem = fail(where, sinter_last_error());
  else if (asked != device)
    problem = fail(where, "a jitted function for " + options.device + " requires arguments there or on the host, got " +
                              placed(*first) + " (move it with to)");
  return !problem.defined();
}

void JitCore::State::runThere(CompiledForm &form, std::span<const Tensor> leaves, AnyTree result) {
  const Tensor *first;
  if (Tensor problem; !onOneDevice("a jitted function", leaves, first, problem, where))
    return result.poison(problem);
  if (!sinter_module_stream(form.module.handle())) { // the device has no form of any of its kernels
    std::vector<sinter_tensor> views;
    for (const Tensor &leaf : leaves)
      views.push_back(leaf.view());
    run(form, views.data(), result);
    return result.each([&](Tensor &leaf) { leaf = leaf.error() ? leaf : moved(leaf, form.device, where); });
  }
  std::vector<capi::ThereTensor> outputs(form.outputs.size());
  sinter_session *session = form.take();
  auto begin = std::chrono::steady_clock::now();
  bool isDone = session && !capi::callThere(session, ThereOperands(leaves).list, outputs);
  std::string message = isDone ? "" : sinter_last_error();
  if (session)
    form.give(session);
  if (!isDone)
    return result.poison(fail(where, std::move(message)));
  if (options.profile) {
    ++form.calls;
    form.ns += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  }
  result.assign(form.prototype.get());
  size_t next = 0;
  result.each([&](Tensor &leaf) { leaf = adoptThere(*form.device, std::move(outputs[next++]), where); });
}

bool JitCore::State::specsOf(std::span<const Tensor> leaves, std::vector<Spec> &specs, Tensor &problem) const {
  for (const Tensor &leaf : leaves) {
    if (!leaf.defined() || leaf.error())
      problem = leaf.error() ? leaf : fail(where, "a jitted function requires tensors, got a Tensor() without a value");
    else if (leaf.traced())
      problem = fail(where, leakMessage(leaf));
    if (problem.defined())
      return false;
    specs.push_back(spec_of(leaf));
  }
  const std::vector<Spec> &asked = options.specs;
  if (asked.empty())
    return true;
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
    problem = fail(where, "a jitted function requires arguments like its specs " + wanted + ", got " + got);
    return false;
  }
  for (size_t k = 0; k < specs.size(); ++k)
    for (size_t axis = 0; axis < specs[k].dims.size(); ++axis)
      if (!asked[k].dims[axis].name.empty())
        specs[k].dims[axis] = asked[k].dims[axis];
  return true;
}

/// Threads cost more than they give where little is computed.
static int defaultThreads(const CompiledForm &form) {
  constexpr int64_t manyElements = 1 << 14;
  for (const auto &list : {form.inputs, form.outputs})
    for (const TensorType &type : list)
      if (type.shape.elements() < 0 || type.shape.elements() >= manyElements)
        return 0;
  return 1;
}

/// What became of a trace that only looks which function it is.
struct JitCore::State::Probed {
  std::shared_ptr<CompiledForm> form; // known by what the trace asked for; null: by its text, if at all
  std::string key;                    // the text
  std::vector<Tensor> captured;       // tensors from outside
  GraphScript script;                 // what the trace asked for, where all of it can be held
  bool hasScript = false;
};

/// Traces what the function is a gradient of: what it does with arguments of `specs`. False when that fails; then the
/// whole function fails in the same way.
bool JitCore::State::probeSite(std::span<const Spec> specs, const JitProbe &probe, Matches matches,
                               Probed &probed) const {
  std::vector<const GraphScript *> scripts;
  std::vector<std::shared_ptr<CompiledForm>> forms;
  for (auto known = site->scripts.rbegin(); known != site->scripts.rend(); ++known)
    if (matches(*known->form)) {
      scripts.push_back(&known->script);
      forms.push_back(known->form);
    }
  ScriptedGraph graph(scripts);
  Trace::Captures captures;
  auto traced = traceFunction(
      nullptr, "main", specs, {}, {}, where, probe.result,
      [&](std::span<const Tensor> leaves) { probe.trace(leaves, probe.result.tree); }, {}, &captures, &graph);
  if (traced.error)
    return false;
  probed.captured = std::move(captures.tensors);
  if (const GraphScript *followed = graph.followed()) {
    probed.form = forms[size_t(std::find(scripts.begin(), scripts.end(), followed) - scripts.begin())];
    return true;
  }
  probed.hasScript = graph.isWhole();
  if (probed.hasScript)
    probed.script = std::move(graph.script);
  const char *text = nullptr;
  if (sinter_graph_print(graph.graph(), &text))
    return false;
  probed.key = text + captures.log;
  return true;
}

/// What the compiler takes for JitOptions::device: null for this machine's CPU. False for another name.
static bool lowerDevice(const std::string &device, const char *&lowered) {
  bool isHost = device.empty() || device == "cpu";
  lowered = isHost ? nullptr : device.c_str();
  return isHost || capi::isDeviceName(device);
}

bool JitCore::State::lower(sinter_graph *graph, int32_t function, const capi::EagerDevice *device,
                           sinter_compile_options &lowered, Tensor &problem) const {
  if ((!options.checkpoint.empty() && sinter_graph_keep(graph, function, options.checkpoint.c_str())) ||
      (!options.precision.empty() && sinter_graph_precision(graph, options.precision.c_str()))) {
    problem = fail(where, sinter_last_error());
    return false;
  }
  lowered.struct_size = sizeof(lowered);
  lowered.opt_level = int32_t(options.opt_level);
  lowered.fast_math = options.fast_math;
  lowered.profile = options.profile;
  if (!lowerDevice(options.device, lowered.device)) {
    problem = fail(where, "a jitted function requires a device cpu, cuda or cuda:NUMBER, got '" + options.device + "'");
    return false;
  }
  if (device) // where the arguments are
    lowered.device = device->name.c_str();
  return true;
}

/// Traces and compiles; false after an error, which `result` then carries.
bool JitCore::State::compile(CompiledForm &form, std::span<const Spec> specs, std::span<const Tensor> captured,
                             AnyTree result, JitTrace trace) const {
  auto stop = [&](const Tensor &problem) {
    result.poison(problem);
    return false;
  };
  std::vector<Spec> all(specs.begin(), specs.end());
  for (const Tensor &tensor : captured)
    all.push_back(spec_of(tensor));
  sinter_graph *raw = nullptr;
  if (sinter_graph_create(&raw))
    return stop(fail(where, sinter_last_error()));
  std::unique_ptr<sinter_graph, void (*)(sinter_graph *)> graph(raw, sinter_graph_destroy);
  auto traced = traceFunction(
      raw, "main", all, {}, {}, where, result, [&](std::span<const Tensor> leaves) { trace(leaves, result.tree); },
      captured);
  if (traced.error)
    return stop(errorTensor(*traced.error));
  result.each([](Tensor &leaf) { leaf = Tensor(); });
  form.prototype = result.clone();
  form.outputs = std::move(traced.outputs);
  sinter_compile_options lowered{};
  if (Tensor problem; !lower(raw, traced.function, form.device, lowered, problem))
    return stop(problem);
  lowered.disk_cache = options.disk_cache;
  lowered.kernel_cache = options.kernel_cache;
  sinter_module *module = nullptr;
  if (sinter_graph_compile(raw, &lowered, &module))
    return stop(fail(where, sinter_last_error()));
  form.module = Module(module);
  form.threads = options.threads ? options.threads : defaultThreads(form);
  form.timesDevice = options.profile && lowered.device;
  return true;
}

std::string JitCore::dump(const char *phase, std::span<const AnyTree> args, AnyTree result, JitTrace trace) const {
  const State &s = *state;
  auto stop = [](const Tensor &problem) { return std::string("error: ") + problem.error()->what(); };
  SignatureWriter writer(s.options.specs);
  for (const AnyTree &arg : args)
    arg.visit(writer);
  std::vector<Spec> specs;
  const capi::EagerDevice *device = nullptr;
  if (Tensor problem; !s.specsOf(writer.leaves, specs, problem) || !s.placeOf(writer.leaves, device, problem))
    return stop(problem);
  sinter_graph *raw = nullptr;
  if (sinter_graph_create(&raw))
    return stop(fail(s.where, sinter_last_error()));
  std::unique_ptr<sinter_graph, void (*)(sinter_graph *)> graph(raw, sinter_graph_destroy);
  auto traced = traceFunction(raw, "main", specs, {}, {}, s.where, result,
                              [&](std::span<const Tensor> leaves) { trace(leaves, result.tree); }, {});
  if (traced.error)
    return stop(errorTensor(*traced.error));
  sinter_compile_options lowered{};
  if (Tensor problem; !s.lower(raw, traced.function, device, lowered, problem))
    return stop(problem);
  const char *text = nullptr;
  if (sinter_graph_dump(raw, phase, &lowered, &text))
    return stop(fail(s.where, sinter_last_error()));
  return text;
}

static bool logsRecompiles() {
  static const bool on = [] {
    const char *text = std::getenv("SINTER_LOG");
    return text && std::string_view(text).find("recompiles") != std::string_view::npos;
  }();
  return on;
}

JitCore::State::Entry *JitCore::State::add(std::shared_ptr<CompiledForm> form, std::vector<Tensor> captured) {
  Entry *before = last.load(std::memory_order_relaxed);
  std::string line = place(where) + ": compiled form " + std::to_string(entries.size() + 1) + ": " +
                     explainChange(before ? before->form.get() : nullptr, *form);
  if (logsRecompiles())
    std::fprintf(stderr, "sinter: %s\n", line.c_str());
  history.push_back(std::move(line));
  entries.push_back(std::make_unique<Entry>(Entry{std::move(form), std::move(captured)}));
  last.store(entries.back().get(), std::memory_order_release);
  return entries.back().get();
}

/// The entry for these arguments, compiled if need be. Null after an error, which `result` then carries.
JitCore::State::Entry *JitCore::State::find(std::span<const AnyTree> args, AnyTree result, JitTrace trace,
                                            const JitProbe *probe, Matches matches) {
  std::lock_guard guard(lock);
  for (const std::unique_ptr<Entry> &entry : entries)
    if (matches(*entry->form)) {
      last.store(entry.get(), std::memory_order_release);
      return entry.get();
    }
  std::unique_lock<std::mutex> siteGuard;
  if (site)
    siteGuard = std::unique_lock(site->lock);
  if (site && isWhole)
    for (const std::shared_ptr<CompiledForm> &form : site->forms)
      if (form->isBare && matches(*form))
        return add(form, {});
  SignatureWriter writer(options.specs);
  FixedValues walk;
  for (size_t k = 0; k < args.size(); ++k) {
    args[k].visit(writer);
    walk.enter(std::to_string(k));
    args[k].visit(walk);
    walk.leave();
  }
  std::vector<Spec> specs;
  if (Tensor problem; !specsOf(writer.leaves, specs, problem)) {
    result.poison(problem);
    return nullptr;
  }
  Probed probed;
  std::vector<Tensor> &captured = probed.captured;
  std::string &key = probed.key;
  if (site && probe && probeSite(specs, *probe, matches, probed)) {
    for (const Tensor &tensor : captured)
      key += tensor.device();
    if (probed.form)
      return matches(*probed.form), add(probed.form, std::move(captured)); // `matches` collects the views
    for (const std::shared_ptr<CompiledForm> &form : site->forms)
      if (form->key == key && matches(*form)) {
        if (probed.hasScript)
          site->add(std::move(probed.script), form);
        return add(form, std::move(captured));
      }
  }

  auto form = std::make_shared<CompiledForm>();
  std::vector<Tensor> all = writer.leaves;
  all.insert(all.end(), captured.begin(), captured.end());
  for (const Tensor &leaf : writer.leaves)
    form->ofArguments = deviceOf(leaf) ? deviceOf(leaf) : form->ofArguments;
  if (Tensor problem; !placeOf(all, form->device, problem)) {
    result.poison(problem);
    return nullptr;
  }
  for (const auto &list : {std::span<const Tensor>(writer.leaves), std::span<const Tensor>(captured)})
    for (const Tensor &leaf : list)
      form->inputs.push_back(leaf.type());
  for (const AnyTree &arg : args)
    form->types.push_back(arg.ops);
  form->types.push_back(result.ops);
  form->paths = std::move(walk.names);
  form->fixed = std::move(walk.values);
  form->signature = std::move(writer.words);
  form->isBare = !key.empty() && captured.empty();
  form->key = std::move(key);
  if (!compile(*form, specs, captured, result, trace))
    return nullptr;
  if (site)
    site->forms.push_back(form);
  if (probed.hasScript)
    site->add(std::move(probed.script), form);
  matches(*form); // collects the views
  return add(std::move(form), std::move(captured));
}

} // namespace detail

std::string Profile::str() const {
  PlainNumbers plain;
  char line[256];
  std::snprintf(line, sizeof line, "%lld calls, %.6f s\n", static_cast<long long>(calls), seconds);
  std::string text = line;
  for (const Kernel &kernel : kernels) {
    std::snprintf(line, sizeof line, "%5.1f %%  %12.6f s  %8lld calls  ", kernel.share * 100, kernel.seconds,
                  static_cast<long long>(kernel.calls));
    text += line + kernel.name + "\n";
  }
  return text;
}

Status jit_limit(int64_t most, Where where) {
  return sinter_jit_limit(most) ? detail::report(Error(sinter_last_error(), where)) : Status();
}
void jit_clear() {
  sinter_jit_clear();
  detail::clearSites();
}

} // namespace sinter::inline SINTER_HOST
