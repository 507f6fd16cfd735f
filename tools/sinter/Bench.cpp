// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter bench: time per call through a session on prepared buffers.

#include "tools/sinter/KernelProfile.h"
#include "tools/sinter/Model.h"
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace sinter;
using namespace sinter::tool;

namespace {
struct BenchFlags {
  SharedOptions shared;
  std::string model, json;
  std::vector<std::string> inputs;
  double seconds = 2;
  KernelProfile profile;
};
} // namespace

static Exit bench(BenchFlags &flags) {
  Model model(flags.model, flags.shared);
  flags.profile.begin(model, {flags.model, flags.json});
  bool isDrawn = flags.inputs.size() < model.inputs().size();
  std::vector<HostTensor> inputs; // the session reads them where they are
  auto draw = [&](double scale) {
    inputs = readInputs(model.context(), model.inputs(), flags.inputs, "random:0", scale);
    return model.run(inputs); // compiles, makes the arena, touches every page
  };
  withSmallerDraws(isDrawn, draw, [](auto &, double, bool) { return std::optional(true); });
  sinter_session *session = model.session();

  using Clock = std::chrono::steady_clock;
  auto call = [&] {
    auto start = Clock::now();
    if (int32_t status = sinter_session_run(session))
      stopFor(status);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  auto begin = Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while (elapsed() < flags.seconds / 4)
    call(); // warm caches and clocks
  std::vector<double> times;
  begin = Clock::now();
  do
    times.push_back(call());
  while (elapsed() < flags.seconds && times.size() < 10'000'000);
  std::sort(times.begin(), times.end());
  auto quantile = [&](double q) { return times[static_cast<size_t>(q * (times.size() - 1))]; };

  sinter_memory_report memory = {};
  memory.struct_size = sizeof memory;
  sinter_session_memory(session, &memory);
  nlohmann::json report = {{"model", flags.model},
                           {"threads", sinter_session_threads(session)},
                           {"opt_level", flags.shared.optLevel},
                           {"calls", times.size()},
                           {"median_us", quantile(0.5)},
                           {"p10_us", quantile(0.1)},
                           {"p90_us", quantile(0.9)},
                           {"min_us", times.front()},
                           {"import_s", model.importSeconds()},
                           {"compile_s", model.compileSeconds()},
                           {"peak_bytes", memory.peak_bytes}};
  char figures[200];
  std::snprintf(figures, sizeof figures,
                "median %.2f us, p10 %.2f, p90 %.2f (%zu calls, %d threads); compiled in %.2f s", quantile(0.5),
                quantile(0.1), quantile(0.9), times.size(), sinter_session_threads(session), model.compileSeconds());
  std::cout << flags.model << ": " << figures << "\n";
  flags.profile.measure(session);
  if (!flags.json.empty())
    writeText(report.dump(2) + "\n", flags.json);
  return Exit::Success;
}

void sinter::tool::addBench(CLI::App &program, Exit &result) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App *command = program.add_subcommand("bench", "measure the time per call");
  flags->shared.addTo(*command);
  flags->shared.addPrecisionTo(*command);
  flags->shared.addCheckpointTo(*command);
  flags->shared.addDeviceTo(*command);
  command->add_option("model", flags->model, "model (.onnx, .sinter, .mlir, .smod or .so)")->required();
  command->add_option("--input", flags->inputs, "NAME=VALUE, as for run; others are random")
      ->allow_extra_args(false)
      ->take_all();
  command->add_option("--seconds", flags->seconds, "how long to measure (default 2)")->check(CLI::Range(0.01, 3600.0));
  command->add_option("--json", flags->json, "file to write the figures to");
  flags->profile.addTo(*command);
  command->callback([flags, &result] { result = bench(*flags); });
}
