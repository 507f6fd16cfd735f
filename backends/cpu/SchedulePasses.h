// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SINTER_BACKENDS_CPU_SCHEDULEPASSES_H
#define SINTER_BACKENDS_CPU_SCHEDULEPASSES_H

namespace sinter::cpu {

/// `--sinter-build-schedule` and `--sinter-lower-schedule`.
void registerSchedulePasses();

} // namespace sinter::cpu

#endif
