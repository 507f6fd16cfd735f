// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter doctor: versions, what the machine offers, what is missing and how to get it.

#include "backends/cpu/Target.h"
#include "compiler/Link.h"
#include "runtime/sinter.h"
#include "tools/sinter/Command.h"
#include "llvm/Config/llvm-config.h"
#include <iostream>
#include <thread>

using namespace sinter;
using namespace sinter::tool;

static Exit doctor() {
  cpu::Target host = cpu::Target::host();
  std::cout << "sinter " SINTER_VERSION ", LLVM " LLVM_VERSION_STRING ", runtime ABI " << sinter_abi_version() << "\n"
            << "target: " << host.name << " (" << host.triple << ", " << host.cpu << ")\n"
            << "vectors: " << host.vectorBytes * 8 << " bits, " << host.vectorRegisters << " registers, FMA "
            << (host.hasFma ? "yes" : "no") << "\n"
            << "caches: L1 " << host.l1Bytes / 1024 << " KB " << host.l1Ways << "-way, L2 " << host.l2Bytes / 1024
            << " KB, L3 " << host.l3Bytes / 1024 << " KB\n"
            << "cores: " << std::thread::hardware_concurrency() << "\n";
  Exit result = Exit::Success;
  auto check = [&](const char *what, bool found, const std::string &error) {
    std::cout << what << ": " << (found ? "ok" : "missing: " + error) << "\n";
    if (!found)
      result = Exit::Failure;
  };
  std::string error;
  bool found = findRuntimeArchive("libsinter_rt.a", error).has_value();
  check("runtime archive (for --emit=so and exe)", found, error);
  error.clear();
  found = programArguments({}, host, error).has_value();
  check("start files of the C library (for --emit=exe)", found, error);
  return result;
}

void sinter::tool::addDoctor(CLI::App &program, Exit &result) {
  CLI::App *command = program.add_subcommand("doctor", "show versions, the machine, and what is missing");
  command->callback([&result] { result = doctor(); });
}
