// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --time-passes: what a compilation spends its time on, as a table and as a file of events. Flags of this kind are one.

#include "backends/schedule/Timeline.h"
#include "tools/sinter/Command.h"
#include <filesystem>
#include <iostream>

using namespace sinter::tool;
namespace fs = std::filesystem;

void EventsFlag::addTo(CLI::App &command, const std::string &name, const std::string &help) {
  flag = name;
  command.add_flag(flag + "{table}", file, help)->check([](const std::string &text) {
    return text == "table" || text.ends_with(".json")
               ? std::string()
               : "requires no value or the name of a .json file, got '" + text + "'";
  });
}

void EventsFlag::require(const std::vector<std::string> &others, bool force) const {
  if (!hasFile())
    return;
  requireWritable(file, others, Kind::Text, force, flag);
  for (const std::string &other : others)
    if (!other.empty() && fs::absolute(other).lexically_normal() == fs::absolute(file).lexically_normal())
      throw Stop(Exit::File, file + ": " + flag + " requires another file than " + other);
}

void EventsFlag::write(const std::string &events) const {
  if (!hasFile())
    return;
  writeText(events, file);
  std::cerr << "wrote " << file << "\n";
}

void TimePasses::addTo(CLI::App &command) {
  events.addTo(command, "--time-passes",
               "print what the time is spent on: phases, passes, kernels by emitter, code generation, linking; "
               "=FILE.json also writes a trace of events for chrome://tracing and Perfetto");
}

void TimePasses::begin(const std::vector<std::string> &others, bool force) {
  if (!events.isAsked())
    return;
  events.require(others, force);
  measured = std::make_shared<schedule::Timeline>();
}

void TimePasses::finish() {
  if (!measured)
    return;
  std::cerr << measured->table();
  if (events.hasFile())
    events.write(measured->trace());
}
