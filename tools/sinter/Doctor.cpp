// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// sinter doctor: versions, what the host offers and what compiled code makes of it, what is missing and how to get it.

#include "backends/cpu/HostTarget.h"
#include "compiler/Link.h"
#include "runtime/driver.h"
#include "runtime/host.h"
#include "tools/sinter/Command.h"
#include "tools/sinter/Ptxas.h"
#include "llvm/Config/llvm-config.h"
#include <iostream>

using namespace sinter;
using namespace sinter::tool;

static std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

static std::string printHost(const sinter_host &host) {
  std::string text(static_cast<size_t>(sinter_host_print(&host, nullptr, 0)), 0);
  sinter_host_print(&host, text.data(), static_cast<int64_t>(text.size()));
  text.pop_back();
  return text;
}

static void printCpu(const cpu::HostReport &report) {
  std::cout << "cpu: " << report.signature;
  if (!report.hypervisor.empty())
    std::cout << ", under the hypervisor " << report.hypervisor;
  std::cout << (report.name.empty() ? "" : ", " + report.name) << "\n";
  if (!report.hidden.empty())
    std::cout << "not offered, though " << report.name << " has it: " << join(report.hidden) << "\n";
  if (!report.unsaved.empty())
    std::cout << "not usable, since the system does not save its registers: " << join(report.unsaved) << "\n";
}

static void printTarget(const sinter_host &host, const cpu::Target &target, const cpu::HostReport &report) {
  std::cout << "target: " << report.requirements << " (" << target.triple << ")\n"
            << "tuned for: " << report.tuning << ", since " << report.reason << "\n"
            << "vectors: " << target.vectorBytes * 8 << " bits, " << target.vectorRegisters << " registers, FMA "
            << (target.hasFma ? "yes" : "no") << "\n"
            << "caches: L1 " << target.l1Bytes / 1024 << " KB " << target.l1Ways << "-way (" << report.cacheSources[0]
            << "), L2 " << target.l2Bytes / 1024 << " KB (" << report.cacheSources[1] << "), L3 "
            << target.l3Bytes / 1024 << " KB (" << report.cacheSources[2] << ")\n"
            << "cores: " << sinter_host_cores(&host) << " usable, " << host.online_cores << " online, "
            << host.affinity_cores << " in the affinity mask, ";
  if (host.quota_percent)
    std::cout << "CPU quota of " << host.quota_percent << " % of one\n";
  else
    std::cout << "no CPU quota\n";
}

/// GPUs, which nobody needs: what is missing is no failure.
static void printGpus() {
  char text[4096] = "", why[SINTER_DRIVER_TEXT_BYTES] = "";
  const sinter_driver *driver = sinter_driver_find("cuda");
  if (!driver || !driver->describe || driver->describe(driver, text, sizeof text, why))
    std::cout << "gpus: none: " << (driver ? why : sinter_last_error()) << "\n";
  else
    std::cout << "gpus: " << text;
  std::optional<std::string> ptxas = findPtxas();
  std::cout << "ptxas (for --cubins and inspect --kernels): " << ptxas.value_or("not installed") << "\n";
}

static Exit doctor(bool describes) {
  const sinter_host *host = sinter_host_get();
  if (!host)
    throw Stop(Exit::Usage, sinter_last_error());
  if (describes) {
    std::cout << printHost(*host);
    return Exit::Success;
  }
  cpu::Target target = cpu::targetOfHost(*host);
  cpu::HostReport report = cpu::reportHost(*host);
  std::cout << "sinter " SINTER_VERSION ", LLVM " LLVM_VERSION_STRING ", runtime ABI " << sinter_abi_version() << "\n";
  if (const char *path = std::getenv("SINTER_HOST"); path && *path)
    std::cout << "host: described by " << path << (*host->name ? ", " : "") << host->name << "\n";
  printCpu(report);
  printTarget(*host, target, report);
  Exit result = Exit::Success;
  auto check = [&](const char *what, bool found, const std::string &error) {
    std::cout << what << ": " << (found ? "ok" : "missing: " + error) << "\n";
    if (!found)
      result = Exit::Failure;
  };
  std::string error;
  bool found = findRuntimeArchive("libsinter_rt.a", llvm::Triple(target.triple), error).has_value();
  check("runtime archive (for --emit=so and exe)", found, error);
  error.clear();
  found = programArguments({}, llvm::Triple(target.triple), error).has_value();
  check("start files of the C library (for --emit=exe)", found, error);
  printGpus();
  return result;
}

void sinter::tool::addDoctor(CLI::App &program, Exit &result) {
  CLI::App *command = program.add_subcommand("doctor", "show versions, what this host offers, and what is missing");
  auto describes = std::make_shared<bool>(false);
  command->add_flag("--describe", *describes,
                    "print the facts about this host that all follows from, as SINTER_HOST reads them");
  command->callback([describes, &result] { result = doctor(*describes); });
}
