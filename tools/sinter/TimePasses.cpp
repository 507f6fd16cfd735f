// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --time-passes: what a compilation spends its time on, as a table and as a file of events.

#include "backends/schedule/Timeline.h"
#include "tools/sinter/Command.h"
#include <filesystem>
#include <iostream>

using namespace sinter::tool;
namespace fs = std::filesystem;

void TimePasses::addTo(CLI::App &command) {
  command
      .add_flag("--time-passes{table}", file,
                "print what the time is spent on: phases, passes, kernels by emitter, code generation, linking; "
                "=FILE.json also writes a trace of events for chrome://tracing and Perfetto")
      ->check([](const std::string &text) {
        return text == "table" || text.ends_with(".json")
                   ? std::string()
                   : "requires no value or the name of a .json file, got '" + text + "'";
      });
}

void TimePasses::begin(const std::vector<std::string> &others, bool force) {
  if (file.empty())
    return;
  if (file != "table") {
    requireWritable(file, others, Kind::Text, force, "--time-passes");
    for (const std::string &other : others)
      if (!other.empty() && fs::absolute(other).lexically_normal() == fs::absolute(file).lexically_normal())
        throw Stop(Exit::File, file + ": --time-passes requires another file than " + other);
  }
  measured = std::make_shared<schedule::Timeline>();
}

void TimePasses::finish() {
  if (!measured)
    return;
  std::cerr << measured->table();
  if (file == "table")
    return;
  writeText(measured->trace(), file);
  std::cerr << "wrote " << file << "\n";
}
