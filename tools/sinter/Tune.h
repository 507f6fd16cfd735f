// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules chosen by measuring on this machine and its GPU (sinter compile --tune).

#ifndef SINTER_TOOLS_SINTER_TUNE_H
#define SINTER_TOOLS_SINTER_TUNE_H

#include "compiler/Schedules.h"

namespace sinter::tool {

struct TuneReport {
  size_t kernels = 0, measured = 0, better = 0, candidates = 0;
  size_t unmeasured = 0; // of open sizes, or that do not run by themselves
  double seconds = 0;

  /// One line.
  std::string line() const;
};

/// Measures schedules near those that the kernels of `module` have, which is at the end of the fused level and is not
/// changed, the dearest kernels first, until `seconds` are over. Those that are measurably better on one thread or on
/// all cores, and on neither worse, or on the device that runs them, are put into `file`. Fails with a diagnostic when
/// this machine does not run the code.
llvm::FailureOr<TuneReport> tune(mlir::ModuleOp module, const schedule::Target &target, int optLevel, double seconds,
                                 ScheduleFile &file);

/// Of two samples of times in turns: their medians' quotient, other over one, and its standard error.
struct TimeRatio {
  double value = 1, error = 0;
};
TimeRatio timeRatio(std::vector<double> one, std::vector<double> other);

} // namespace sinter::tool

#endif
