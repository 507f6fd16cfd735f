// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Timeline.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "runtime/decimal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <ctime>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

using namespace mlir;
using namespace sinter::schedule;

constexpr size_t kNoParent = ~size_t(0);

static int64_t nanoseconds(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

static clockid_t processorClock(Timeline::Kind kind) {
  return kind == Timeline::Kind::Phase ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
}

static StringRef nameOf(Timeline::Kind kind) {
  switch (kind) {
  case Timeline::Kind::Phase:
    return "phase";
  case Timeline::Kind::Pass:
    return "pass";
  case Timeline::Kind::Analysis:
    return "analysis";
  case Timeline::Kind::Kernel:
    return "kernel";
  case Timeline::Kind::Step:
    return "step";
  }
  llvm_unreachable("all kinds have names");
}

struct Timeline::Impl {
  struct Event {
    Kind kind;
    std::string name, row;
    size_t thread, parent;
    int64_t begin, end = 0, processor;
    std::vector<std::pair<std::string, int64_t>> notes = {};
  };
  struct Thread {
    size_t number;
    std::vector<size_t> open;
  };

  std::mutex lock;
  int64_t start = nanoseconds(CLOCK_MONOTONIC), processorStart = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  std::thread::id first = std::this_thread::get_id();
  std::vector<Event> events;
  std::map<std::thread::id, Thread> threads = {{first, {0, {}}}};

  Thread &current() {
    auto [it, isNew] = threads.try_emplace(std::this_thread::get_id());
    if (isNew)
      it->second.number = threads.size() - 1;
    return it->second;
  }

  /// What this thread's next span lies in. The work of other threads belongs to the phase that the first one is in.
  size_t parentOf(const Thread &thread) {
    if (!thread.open.empty())
      return thread.open.back();
    for (size_t span : llvm::reverse(threads[first].open))
      if (events[span].kind == Kind::Phase)
        return span;
    return kNoParent;
  }
};

Timeline::Timeline() : impl(std::make_unique<Impl>()) {}
Timeline::~Timeline() = default;

size_t Timeline::begin(Kind kind, StringRef name, StringRef row) {
  std::lock_guard<std::mutex> guard(impl->lock);
  Impl::Thread &thread = impl->current();
  size_t span = impl->events.size(), parent = impl->parentOf(thread);
  thread.open.push_back(span);
  impl->events.push_back({kind, name.str(), (row.empty() ? name : row).str(), thread.number, parent,
                          nanoseconds(CLOCK_MONOTONIC), 0, nanoseconds(processorClock(kind))});
  return span;
}

void Timeline::end(size_t span) {
  std::lock_guard<std::mutex> guard(impl->lock);
  Impl::Event &event = impl->events[span];
  event.processor = nanoseconds(processorClock(event.kind)) - event.processor;
  event.end = nanoseconds(CLOCK_MONOTONIC);
  std::vector<size_t> &open = impl->current().open;
  assert(!open.empty() && open.back() == span && "spans of a thread nest");
  open.pop_back();
}

void Timeline::note(size_t span, StringRef key, int64_t value) {
  std::lock_guard<std::mutex> guard(impl->lock);
  impl->events[span].notes.emplace_back(key.str(), value);
}

//===- passes ----------------------------------------------------------------------------------------===//

namespace {
class Instrumentation : public PassInstrumentation {
public:
  explicit Instrumentation(Timeline &timeline) : timeline(timeline) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (isAdaptor(pass))
      return;
    int64_t ops = countOps(op);
    StringRef name = pass->getArgument().empty() ? pass->getName() : pass->getArgument();
    begin(timeline.begin(Timeline::Kind::Pass, name), ops);
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (isAdaptor(pass))
      return;
    Open open = end();
    timeline.note(open.span, "ops before", open.ops);
    timeline.note(open.span, "ops after", countOps(op));
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    if (!isAdaptor(pass))
      end();
  }
  void runBeforeAnalysis(StringRef name, TypeID id, Operation *op) override {
    begin(timeline.begin(Timeline::Kind::Analysis, name), 0);
  }
  void runAfterAnalysis(StringRef name, TypeID id, Operation *op) override { end(); }

private:
  struct Open {
    size_t span;
    int64_t ops;
  };

  /// MLIR's way to run passes over nested ops; their passes are measured one by one.
  static bool isAdaptor(Pass *pass) { return pass->getName().ends_with("OpToOpPassAdaptor"); }
  static int64_t countOps(Operation *op) {
    int64_t count = 0;
    op->walk([&](Operation *) { ++count; });
    return count;
  }
  void begin(size_t span, int64_t ops) {
    std::lock_guard<std::mutex> guard(lock);
    open[std::this_thread::get_id()].push_back({span, ops});
  }
  Open end() {
    Open last;
    {
      std::lock_guard<std::mutex> guard(lock);
      std::vector<Open> &mine = open[std::this_thread::get_id()];
      last = mine.back();
      mine.pop_back();
    }
    timeline.end(last.span);
    return last;
  }

  Timeline &timeline;
  std::mutex lock;
  std::map<std::thread::id, std::vector<Open>> open;
};
} // namespace

std::unique_ptr<PassInstrumentation> Timeline::passes() { return std::make_unique<Instrumentation>(*this); }

//===- what people see -------------------------------------------------------------------------------===//

namespace {
struct Row {
  std::string name;
  unsigned depth;
  int64_t calls = 0, wall = 0, processor = 0, before = -1, after = -1;
  std::vector<size_t> children = {};
  std::map<std::string, size_t> byName = {};
};
} // namespace

static void print(llvm::raw_ostream &os, const std::vector<Row> &rows, size_t index, int64_t whole) {
  const Row &row = rows[index];
  auto seconds = [](int64_t time) { return static_cast<double>(time) * 1e-9; };
  std::string ops = row.before < 0 ? "" : std::to_string(row.before) + " > " + std::to_string(row.after);
  os << llvm::format("%10.4f %10.4f %6.1f %% %7lld %17s  ", seconds(row.wall), seconds(row.processor),
                     whole ? 100.0 * static_cast<double>(row.wall) / static_cast<double>(whole) : 0.0,
                     static_cast<long long>(row.calls), ops.c_str());
  os.indent(2 * row.depth) << row.name << '\n';
  for (size_t child : row.children)
    print(os, rows, child, whole);
}

std::string Timeline::table() const {
  std::lock_guard<std::mutex> guard(impl->lock);
  std::vector<Row> rows = {{"all", 0}};
  rows[0].calls = 1;
  rows[0].wall = nanoseconds(CLOCK_MONOTONIC) - impl->start;
  rows[0].processor = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - impl->processorStart;
  std::vector<size_t> rowOf;
  for (const Impl::Event &event : impl->events) {
    size_t parent = event.parent == kNoParent ? 0 : rowOf[event.parent];
    auto [it, isNew] = rows[parent].byName.try_emplace(event.row, rows.size());
    size_t index = it->second;
    if (isNew) {
      rows[parent].children.push_back(index);
      rows.push_back({event.row, rows[parent].depth + 1});
    }
    rowOf.push_back(index);
    Row &row = rows[index];
    row.calls += 1;
    row.wall += event.end - event.begin;
    row.processor += event.processor;
    for (const auto &[key, value] : event.notes) {
      if (key == "ops before")
        row.before = std::max<int64_t>(row.before, 0) + value;
      if (key == "ops after")
        row.after = std::max<int64_t>(row.after, 0) + value;
    }
  }
  std::string text = "    wall s      CPU s    share   calls    ops of all calls  step\n";
  llvm::raw_string_ostream os(text);
  print(os, rows, 0, rows[0].wall);
  return text;
}

std::string Timeline::trace() const {
  std::lock_guard<std::mutex> guard(impl->lock);
  std::string text;
  llvm::raw_string_ostream os(text);
  PlainNumbers plain;
  llvm::json::OStream json(os);
  auto micros = [](int64_t time) { return static_cast<double>(time) / 1000; };
  json.object([&] {
    json.attribute("displayTimeUnit", "ms");
    json.attributeArray("traceEvents", [&] {
      for (const auto &[id, thread] : impl->threads)
        json.object([&] {
          json.attribute("ph", "M");
          json.attribute("name", "thread_name");
          json.attribute("pid", 1);
          json.attribute("tid", static_cast<int64_t>(thread.number));
          json.attributeObject("args", [&] {
            json.attribute("name", thread.number ? "thread " + std::to_string(thread.number) : "main");
          });
        });
      for (const Impl::Event &event : impl->events)
        json.object([&] {
          json.attribute("ph", "X");
          json.attribute("name", event.name);
          json.attribute("cat", nameOf(event.kind));
          json.attribute("pid", 1);
          json.attribute("tid", static_cast<int64_t>(event.thread));
          json.attribute("ts", micros(event.begin - impl->start));
          json.attribute("dur", micros(event.end - event.begin));
          json.attributeObject("args", [&] {
            json.attribute("cpu us", micros(event.processor));
            if (event.row != event.name)
              json.attribute("of", event.row);
            for (const auto &[key, value] : event.notes)
              json.attribute(key, value);
          });
        });
    });
  });
  os << '\n';
  return text;
}
