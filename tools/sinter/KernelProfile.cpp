// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/KernelProfile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::tool;
using Clock = std::chrono::steady_clock;

/// A run of more events keeps the first ones, and says so.
static constexpr int64_t kMostEvents = 1 << 20;
static constexpr int kMostRuns = 1000;
static constexpr double kSeconds = 0.3;

void KernelProfile::addTo(CLI::App &command) {
  flag.addTo(command, "--profile",
             "print what a run spends its time on, kernel by kernel, on the CPU and on a GPU; =FILE.json also writes "
             "the last run's events for chrome://tracing and Perfetto");
}

void KernelProfile::begin(Model &model, const std::vector<std::string> &others) {
  if (!flag.isAsked())
    return;
  if (!model.graph())
    throw Stop(Exit::Usage, "--profile requires a model that is compiled here (.onnx, .sinter, .mlir): code of a "
                            "module does not measure its kernels");
  model.graph()->setAttr("sinter.profile", mlir::UnitAttr::get(model.context()));
  flag.require(others, /*force=*/true);
}

static std::vector<sinter_kernel_event> eventsOf(sinter_session *session) {
  int64_t count = 0;
  if (int32_t status = sinter_session_events(session, 0, nullptr, &count))
    stopFor(status);
  std::vector<sinter_kernel_event> events(static_cast<size_t>(count));
  if (int32_t status = sinter_session_events(session, count, events.data(), &count))
    stopFor(status);
  return events;
}

namespace {
struct Row {
  std::string name;
  bool onDevice;
  int64_t calls = 0, ns = 0;
};
} // namespace

/// Chrome's trace event format: complete events, in microseconds since the run began.
static std::string traceOf(const std::vector<sinter_kernel_event> &events) {
  nlohmann::json list = nlohmann::json::array();
  for (bool onDevice : {false, true})
    if (std::any_of(events.begin(), events.end(),
                    [&](const auto &event) { return (event.on_device != 0) == onDevice; }))
      list.push_back({{"ph", "M"},
                      {"name", "thread_name"},
                      {"pid", 1},
                      {"tid", int(onDevice)},
                      {"args", {{"name", onDevice ? "device" : "CPU"}}}});
  for (const sinter_kernel_event &event : events)
    list.push_back({{"ph", "X"},
                    {"name", event.name},
                    {"pid", 1},
                    {"tid", int(event.on_device != 0)},
                    {"ts", event.begin_ns * 1e-3},
                    {"dur", (event.end_ns - event.begin_ns) * 1e-3}});
  return nlohmann::json{{"displayTimeUnit", "ns"}, {"traceEvents", list}}.dump(
             1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

void KernelProfile::measure(sinter_session *session) const {
  if (!flag.isAsked())
    return;
  if (int32_t status = sinter_session_trace(session, kMostEvents))
    stopFor(status);
  std::vector<Row> rows;
  int64_t runs = 0, wall = 0;
  std::vector<sinter_kernel_event> events;
  auto begin = Clock::now();
  do {
    auto start = Clock::now();
    if (int32_t status = sinter_session_run(session))
      stopFor(status);
    int64_t took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
    events = eventsOf(session);
    if (++runs == 1)
      continue; // the first one makes events of a device
    wall += took;
    for (const sinter_kernel_event &event : events) {
      auto row = std::find_if(rows.begin(), rows.end(), [&](const Row &row) {
        return row.onDevice == (event.on_device != 0) && row.name == event.name;
      });
      if (row == rows.end())
        row = rows.insert(row, {event.name, event.on_device != 0});
      ++row->calls;
      row->ns += event.end_ns - event.begin_ns;
    }
  } while (runs < 3 || (runs < kMostRuns && std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds));
  if (int32_t status = sinter_session_trace(session, 0))
    stopFor(status);
  --runs;

  llvm::sort(rows, [](const Row &a, const Row &b) { return std::tie(b.ns, a.name) < std::tie(a.ns, b.name); });
  int64_t inKernels = 0;
  for (const Row &row : rows)
    inKernels += row.ns;
  auto print = [&](const std::string &name, const char *where, double calls, int64_t ns) {
    char line[512];
    std::snprintf(line, sizeof line, "%10.2f %6.1f %9.6g  %-6s %s\n", ns * 1e-3 / runs, 100.0 * ns / wall, calls, where,
                  name.c_str());
    std::cout << line;
  };
  std::cout << "   us/run      %     calls  where  kernel (" << runs << " runs)\n";
  for (const Row &row : rows)
    print(row.name.substr(0, 400), row.onDevice ? "device" : "CPU", double(row.calls) / runs, row.ns);
  print("outside of kernels", "", 1, std::max<int64_t>(wall - inKernels, 0));
  if (int64_t(events.size()) == kMostEvents)
    std::cout << "a run has more than " << kMostEvents << " events, of which these are the first\n";
  if (flag.hasFile())
    flag.write(traceOf(events));
}
