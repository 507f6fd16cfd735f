// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU among the back ends of the compiler: the host.

#ifndef SINTER_BACKENDS_CPU_CPUKIND_H
#define SINTER_BACKENDS_CPU_CPUKIND_H

#include "backends/cpu/Target.h"
#include "backends/schedule/Backends.h"

namespace sinter::cpu {

/// A target as the compiler carries it.
std::shared_ptr<const schedule::HostMachine> machineOf(const Target &target);

/// The target of a machine of this back end, which owns it.
const Target &targetOf(const schedule::Machine &machine);

/// What code for `target` requires of a machine, as the loader reads it: the kind of machine at least.
std::string requirementsOf(const Target &target);

} // namespace sinter::cpu

#endif
