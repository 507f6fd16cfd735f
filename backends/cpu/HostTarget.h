// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the description of a host to a target. Vector width and extensions follow from what the host offers alone; the
// name that LLVM has for the CPU only chooses what code is tuned for, and only where the host offers what that CPU has.

#ifndef SINTER_BACKENDS_CPU_HOSTTARGET_H
#define SINTER_BACKENDS_CPU_HOSTTARGET_H

#include "backends/cpu/Target.h"
#include "runtime/host.h"
#include <vector>

namespace sinter::cpu {

/// What code for this host is compiled for.
Target targetOfHost(const sinter_host &host);

/// Why the target is as it is, for people.
struct HostReport {
  std::string signature;            // "GenuineIntel family 6 model 207 stepping 2", "midr 0x411fd401"
  std::string hypervisor;           // "" without one
  std::string name;                 // what LLVM calls a CPU of this signature; "" when nobody knows
  std::string tuning;               // what code is tuned for
  std::string reason;               // why that
  std::vector<std::string> hidden;  // extensions of the CPU of that name that the host does not offer
  std::vector<std::string> unsaved; // extensions that CPUID reports and the operating system does not save
  std::string requirements;         // of code for this host
  std::string cacheSources[3];      // "sysconf", "sysfs", "cpuid", "assumed": L1, L2, L3
};

HostReport reportHost(const sinter_host &host);

} // namespace sinter::cpu

#endif
