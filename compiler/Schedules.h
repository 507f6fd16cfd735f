// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules that were chosen by measuring, as a file that compilations take:
//
//   sinter-schedules 1
//   target native 8c1d0a3f55e07b21
//   # contraction 64x64xf32, 64x64xf32 -> 64x64xf32
//   kernel 0f32a6bd1c77e4d0 #sinter.schedule<contraction, lanes = 16, tile = [13, 2], chunk = 8388608, packing = [1]>
//
// Schedules belong to the target above them: its name, and a digest of all that compilation depends on. A kernel is
// known by a digest of its text (region, template, types, which inputs are constants) without its schedule and the
// elements of large constants. Lines that begin with # are for people.

#ifndef SINTER_COMPILER_SCHEDULES_H
#define SINTER_COMPILER_SCHEDULES_H

#include "backends/schedule/Backends.h"
#include <map>

namespace sinter {

/// 16 hexadecimal digits that tell a kernel from others.
std::string keyOf(KernelOp kernel);
/// `contraction 64x64xf32, 64x64xf32 -> 64x64xf32`
std::string describeKernel(KernelOp kernel);
/// `native 8c1d0a3f55e07b21`
std::string describeForSchedules(const schedule::Target &target);

class ScheduleFile {
public:
  struct Choice {
    std::string schedule; // an attribute's text
    std::string note;     // for people; may be empty
    bool isKept = false;  // the compiler's own: written as a comment, for people who want to change it
  };

  /// False with the reason in `error`, which names file and line: nothing is guessed in a damaged file.
  static bool read(const std::string &path, mlir::MLIRContext *context, ScheduleFile &file, std::string &error);
  std::string text() const;

  /// Has the file know `target`, even if nothing is better there.
  void begin(const schedule::Target &target) { byTarget[describeForSchedules(target)]; }
  void choose(const schedule::Target &target, KernelOp kernel, Choice choice);

  /// Whether anything is there for `target`, and the names of the targets for which there is.
  bool knows(const schedule::Target &target) const { return byTarget.count(describeForSchedules(target)) > 0; }
  std::string targets() const;
  /// How many kernels get a schedule there.
  size_t size(const schedule::Target &target) const;

  /// Gives kernels of `module`, at the end of the fused level, the schedules that are there for it. Fails with a
  /// diagnostic at a kernel that does not take its own. `used` receives the keys that were found.
  llvm::LogicalResult apply(mlir::ModuleOp module, const schedule::Target &target, int optLevel,
                            std::vector<std::string> &used) const;

private:
  std::map<std::string, std::map<std::string, Choice>> byTarget; // then by key
};

/// The kernels of `module`'s functions that have a schedule, each with the back end that has chosen it.
llvm::LogicalResult
walkKernels(mlir::ModuleOp module, const schedule::Target &target, int optLevel,
            llvm::function_ref<llvm::LogicalResult(KernelOp, schedule::Backend &, schedule::KernelSpec &)> visit);

/// A module with one function that computes what the kernel does: inputs that are constants are in it. Null where sizes
/// are not static, or where it reads or writes parts of larger buffers.
mlir::OwningOpRef<mlir::ModuleOp> moduleOf(KernelOp kernel);

} // namespace sinter

#endif
