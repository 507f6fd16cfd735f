// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel is compiled as a module of its own, once for each schedule; their sessions run in turns, so that a slow
// moment hits all of them. What a kernel of a device takes its events tell, as in --profile.

#include "tools/sinter/Tune.h"
#include "compiler/Compile.h"
#include "compiler/Module.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tools/sinter/Tensors.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;

using Clock = std::chrono::steady_clock;

static constexpr int kRounds = 7, kConfirmations = 15;
static constexpr double kRoundUs = 1500;
static constexpr double kGain = 0.03, kLoss = 0.02, kErrors = 3;
static constexpr int kSteps = 3; // from one schedule to a better neighbour
/// Of one call of a kernel: launches, and copies of what it reads and writes.
static constexpr int64_t kMostEvents = 4096;

static double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

static double median(std::vector<double> &times) {
  std::sort(times.begin(), times.end());
  size_t middle = times.size() / 2;
  return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

TimeRatio tool::timeRatio(std::vector<double> one, std::vector<double> other) {
  auto relative = [](std::vector<double> &times, double &middle) {
    middle = median(times);
    double mean = 0, squares = 0, count = static_cast<double>(times.size());
    for (double time : times)
      mean += time / count;
    for (double time : times)
      squares += (time - mean) * (time - mean);
    return count > 1 ? 1.2533 * std::sqrt(squares / (count - 1) / count) / middle : 1.0; // of a normal sample's median
  };
  double before, after;
  double first = relative(one, before), second = relative(other, after);
  return {after / before, after / before * std::sqrt(first * first + second * second)};
}

namespace {
/// A kernel with one schedule, compiled, with a session on one thread and one on all cores; with one session where it
/// runs on a device.
class Compiled {
public:
  /// Null when the schedule or the kernel by itself cannot be compiled or run; `error` says why the code does not load.
  static std::unique_ptr<Compiled> make(ModuleOp alone, ScheduleAttr schedule, int optLevel, bool onDevice,
                                        const std::vector<HostTensor> &inputs, std::string &error);
  ~Compiled() {
    for (sinter_session *session : sessions)
      sinter_session_destroy(session);
  }

  /// Microseconds a call over `calls` of them, on a device what its kernels take; infinite after an error.
  double time(unsigned which, int64_t calls) {
    double onDevice = 0;
    auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) {
      if (sinter_session_run(sessions[which]))
        return INFINITY;
      if (isOnDevice)
        onDevice += kernelsOfLastRun(sessions[which]);
    }
    return (isOnDevice ? onDevice : since(start) * 1e6) / static_cast<double>(calls);
  }
  /// Microseconds that a call takes as the host sees it.
  double timeOfCall() {
    auto start = Clock::now();
    return sinter_session_run(sessions.front()) ? INFINITY : since(start) * 1e6;
  }

  size_t numSessions() const { return sessions.size(); }

private:
  static double kernelsOfLastRun(sinter_session *session);

  bool isOnDevice = false;
  CompiledModule module;
  std::unique_ptr<LoadedModule> loaded;
  std::vector<std::vector<int64_t>> dims;
  std::vector<sinter_session *> sessions;
};

struct Kernel {
  OwningOpRef<ModuleOp> alone;
  KernelOp op;
  std::vector<HostTensor> inputs;
  bool onDevice = false;
  std::unique_ptr<Compiled> code; // by the schedule that it has
  double us = 0, usOfCall = 0;
  int64_t uses = 0;
};

class Tuner {
public:
  Tuner(const schedule::Target &target, int optLevel, double seconds)
      : target(target), optLevel(optLevel), seconds(seconds) {}

  FailureOr<TuneReport> run(ModuleOp module, ScheduleFile &file);

private:
  using Times = std::array<std::vector<double>, 2>; // by session
  bool isOver() const { return since(start) > seconds; }
  void collect(ModuleOp module, ScheduleFile &file);
  /// Rounds of all of `codes` in turns.
  std::vector<Times> measure(ArrayRef<Compiled *> codes, double usOfCall, int rounds);
  /// The product of the ratios on one thread and on all cores, if it is measurably below 1; else 1.
  double gain(const Times &now, const Times &other);
  SmallVector<ScheduleAttr> neighbours(KernelOp kernel);
  void improve(Kernel &kernel, ScheduleFile &file);

  const schedule::Target &target;
  int optLevel;
  double seconds;
  Clock::time_point start = Clock::now();
  std::vector<Kernel> kernels;
  TuneReport report;
};
} // namespace

double Compiled::kernelsOfLastRun(sinter_session *session) {
  int64_t count = 0, ns = 0;
  std::vector<sinter_kernel_event> events(kMostEvents);
  if (sinter_session_events(session, kMostEvents, events.data(), &count))
    return INFINITY;
  bool isTold = false;
  for (const sinter_kernel_event &event : ArrayRef(events).take_front(static_cast<size_t>(count)))
    if (event.on_device && !StringRef(event.name).starts_with("copy ")) {
      ns += event.end_ns - event.begin_ns;
      isTold = true;
    }
  return isTold ? static_cast<double>(ns) * 1e-3 : INFINITY;
}

std::unique_ptr<Compiled> Compiled::make(ModuleOp alone, ScheduleAttr schedule, int optLevel, bool onDevice,
                                         const std::vector<HostTensor> &inputs, std::string &error) {
  ScopedDiagnosticHandler silent(alone.getContext(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = alone.clone();
  (*copy)->walk([&](KernelOp kernel) { kernel.setScheduleAttr(schedule); });
  Options options;
  options.optLevel = optLevel;
  options.target = ""; // the module says it
  options.threads = 1;
  FailureOr<CompiledModule> module = compileGraph(*copy, options);
  if (failed(module))
    return nullptr;
  auto made = std::make_unique<Compiled>();
  made->isOnDevice = onDevice;
  made->module = std::move(*module);
  made->loaded = LoadedModule::load(made->module, error);
  if (!made->loaded)
    return nullptr;
  int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  made->dims.resize(inputs.size());
  for (int threads : {1, cores}) {
    if (!made->sessions.empty() && (threads == 1 || onDevice))
      break; // of one core
    sinter_session_options how = {};
    how.struct_size = sizeof how;
    how.threads = threads;
    sinter_session *session = nullptr;
    if (sinter_session_create(made->loaded->get(), 0, &how, &session))
      return nullptr;
    made->sessions.push_back(session);
    if (onDevice && sinter_session_trace(session, kMostEvents))
      return nullptr;
    for (size_t i = 0; i < inputs.size(); ++i) {
      sinter_tensor view = viewOf(inputs[i], made->dims[i]);
      if (sinter_session_set_input(session, static_cast<int32_t>(i), &view))
        return nullptr;
    }
    if (sinter_session_run(session)) // makes the arena, touches every page
      return nullptr;
  }
  return made;
}

void Tuner::collect(ModuleOp module, ScheduleFile &file) {
  std::map<std::string, size_t> known;
  (void)walkKernels(module, target, optLevel, [&](KernelOp op, schedule::Backend &backend, schedule::KernelSpec &) {
    auto [entry, isNew] = known.try_emplace(keyOf(op), kernels.size());
    if (!isNew) {
      if (entry->second < kernels.size())
        ++kernels[entry->second].uses;
      return success();
    }
    ++report.kernels;
    std::string text;
    llvm::raw_string_ostream(text) << op.getScheduleAttr();
    file.choose(target, op, {text, describeKernel(op), /*isKept=*/true});
    Kernel kernel;
    kernel.onDevice = backend.name() != target.host->kind().name();
    kernel.alone = moduleOf(op);
    bool hasInputs = kernel.alone && cast<func::FuncOp>(kernel.alone->getBody()->front()).getNumArguments() > 0;
    if (!hasInputs) {
      ++report.unmeasured;
      entry->second = SIZE_MAX;
      return success();
    }
    kernel.op = op;
    kernel.uses = 1;
    for (Type input : cast<func::FuncOp>(kernel.alone->getBody()->front()).getArgumentTypes()) {
      auto type = cast<RankedTensorType>(input);
      // Integers may be positions or sizes: zero is in range for both.
      bool isDrawn = isa<FloatType>(type.getElementType());
      kernel.inputs.push_back(isDrawn ? randomTensor(type, kernel.inputs.size() + 1)
                                      : HostTensor(type.getElementType(), type.getShape()));
    }
    kernels.push_back(std::move(kernel));
    return success();
  });
}

std::vector<Tuner::Times> Tuner::measure(ArrayRef<Compiled *> codes, double usOfCall, int rounds) {
  std::vector<Times> result(codes.size());
  auto calls = static_cast<int64_t>(std::clamp(kRoundUs / std::max(usOfCall, 0.05), 1.0, 1e5));
  for (unsigned which = 0; which < codes.front()->numSessions(); ++which)
    for (int round = 0; round < rounds + 1; ++round)
      for (size_t i = 0; i < codes.size(); ++i) {
        size_t turn = round % 2 ? codes.size() - 1 - i : i;
        double time = codes[turn]->time(which, calls);
        if (round > 0) // the first one warms up
          result[turn][which].push_back(time);
      }
  return result;
}

double Tuner::gain(const Times &now, const Times &other) {
  double product = 1, variance = 0;
  for (unsigned which = 0; which < 2; ++which) {
    if (now[which].empty())
      continue;
    TimeRatio ratio = timeRatio(now[which], other[which]);
    if (!(ratio.value < 1 + kLoss))
      return 1;
    product *= ratio.value;
    variance += ratio.error * ratio.error;
  }
  return 1 - product > std::max(kGain, kErrors * std::sqrt(variance)) ? product : 1;
}

SmallVector<ScheduleAttr> Tuner::neighbours(KernelOp kernel) {
  SmallVector<ScheduleAttr> result;
  (void)walkKernels(kernel->getParentOfType<ModuleOp>(), target, optLevel,
                    [&](KernelOp, schedule::Backend &backend, schedule::KernelSpec &spec) {
                      result = backend.neighbours(spec);
                      return success();
                    });
  return result;
}

void Tuner::improve(Kernel &kernel, ScheduleFile &file) {
  KernelOp inside;
  kernel.alone->walk([&](KernelOp found) { inside = found; });
  ScheduleAttr first = inside.getScheduleAttr();
  SmallVector<ScheduleAttr> tried{first};
  std::string error;
  std::unique_ptr<Compiled> original, best = std::move(kernel.code);
  ScheduleAttr chosen = first;
  double finalGain = 1;
  for (int step = 0; step < kSteps && !isOver(); ++step) {
    std::vector<std::unique_ptr<Compiled>> codes;
    std::vector<ScheduleAttr> schedules;
    inside.setScheduleAttr(chosen);
    for (ScheduleAttr schedule : neighbours(inside)) {
      if (isOver() || llvm::is_contained(tried, schedule))
        continue;
      tried.push_back(schedule);
      if (auto code = Compiled::make(*kernel.alone, schedule, optLevel, kernel.onDevice, kernel.inputs, error)) {
        codes.push_back(std::move(code));
        schedules.push_back(schedule);
        ++report.candidates;
      }
    }
    if (codes.empty())
      break;
    SmallVector<Compiled *> turns{best.get()};
    for (auto &code : codes)
      turns.push_back(code.get());
    std::vector<Times> times = measure(turns, kernel.usOfCall, kRounds);
    size_t winner = 0;
    double least = 1;
    for (size_t i = 1; i < times.size(); ++i)
      if (double now = gain(times.front(), times[i]); now < least) {
        least = now;
        winner = i;
      }
    if (winner == 0)
      break;
    // The best of many is too good by chance: it has to win again, against the default.
    Compiled *reference = original ? original.get() : best.get();
    std::vector<Times> again = measure({reference, turns[winner]}, kernel.usOfCall, kConfirmations);
    double confirmed = gain(again[0], again[1]);
    if (!(confirmed < finalGain))
      break;
    finalGain = confirmed;
    chosen = schedules[winner - 1];
    if (!original)
      original = std::move(best);
    best = std::move(codes[winner - 1]);
  }
  inside.setScheduleAttr(first);
  if (chosen == first)
    return;
  ++report.better;
  std::string text;
  llvm::raw_string_ostream(text) << chosen;
  char note[64];
  std::snprintf(note, sizeof note, ": %.3g of the default's time, ", finalGain);
  std::string before;
  llvm::raw_string_ostream(before) << first;
  file.choose(target, kernel.op, {text, describeKernel(kernel.op) + note + before});
}

FailureOr<TuneReport> Tuner::run(ModuleOp module, ScheduleFile &file) {
  collect(module, file);
  std::string error;
  for (Kernel &kernel : kernels) {
    if (isOver() && &kernel != &kernels.front()) // one tells whether this machine runs the code
      break;
    kernel.code =
        Compiled::make(*kernel.alone, kernel.op.getScheduleAttr(), optLevel, kernel.onDevice, kernel.inputs, error);
    if (!error.empty())
      return module.emitError("not supported: --tune requires code that this machine runs: " + error);
    if (kernel.code) {
      kernel.us = std::min(kernel.code->time(0, 1), kernel.code->time(0, 1));
      kernel.usOfCall = kernel.onDevice ? kernel.code->timeOfCall() : kernel.us;
    }
    if (!std::isfinite(kernel.us))
      kernel.code = nullptr;
    if (!kernel.code)
      ++report.unmeasured;
  }
  llvm::sort(kernels, [](const Kernel &a, const Kernel &b) {
    return a.us * static_cast<double>(a.uses) > b.us * static_cast<double>(b.uses);
  });
  for (Kernel &kernel : kernels) {
    if (isOver() || !kernel.code)
      continue;
    ++report.measured;
    improve(kernel, file);
  }
  report.seconds = since(start);
  return report;
}

FailureOr<TuneReport> tool::tune(ModuleOp module, const schedule::Target &target, int optLevel, double seconds,
                                 ScheduleFile &file) {
  return Tuner(target, optLevel, seconds).run(module, file);
}

std::string TuneReport::line() const {
  char text[200];
  std::snprintf(text, sizeof text,
                "tuned %zu of %zu kernels in %.0f s (%zu schedules tried, %zu kernels cannot be measured alone): "
                "%zu have a better schedule",
                measured, kernels, seconds, candidates, unmeasured, better);
  return text;
}
