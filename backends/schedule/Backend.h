// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a back end is to the rest of the compiler: it says which kernels it takes, chooses how their code looks, packs
// their constants and makes their code. Everything else about a function (sizes, memory, the order of launches) is
// decided without it and stands in the schedule.
//
//   fused function ──> KernelTable ── specify, refusal, settle, packing, describe ──> Backend
//                          │ launches
//                          v
//                      SchedulePlan ──> ScheduleEmitter ──> schedule text ── compile ──> Backend ──> code objects
//
// An object of the class is for one target and one module: it keeps the code of that module's kernels.

#ifndef SINTER_BACKENDS_SCHEDULE_BACKEND_H
#define SINTER_BACKENDS_SCHEDULE_BACKEND_H

#include "backends/schedule/Code.h"
#include "backends/schedule/Dialect.h"
#include "backends/schedule/KernelLaunch.h"
#include "llvm/ADT/StringMap.h"

namespace sinter::schedule {

class Backend {
public:
  virtual ~Backend();

  /// "cpu": what `schedule.kernel` and the sections of a .smod call it.
  virtual llvm::StringRef name() const = 0;

  /// Its kernels read and write a memory of their own, which only its launches and copies reach. Then `describe` must
  /// leave `writesSizes` false, and sizes of results follow from what the host knows.
  virtual bool hasOwnMemory() const { return false; }

  /// Its runtime runs loops and branches by itself (`schedule.repeat`, `schedule.choose`). For one with a memory of its
  /// own.
  virtual bool runsControl() const { return false; }

  /// Tensors of one element are values of the schedule, which computes kernels of them alone. Without, everything lies
  /// in memory.
  virtual bool holdsElements() const { return true; }

  /// The kernel by itself, as the other functions want it; a back end may add to it (its target). With `outer`, sizes
  /// of the function around are known.
  virtual std::unique_ptr<KernelSpec> specify(KernelOp kernel, ShapeAnalysis *outer) = 0;

  /// Why the back end cannot run the kernel (an op or a type that it does not know); empty when it can.
  virtual std::string refusal(KernelSpec &spec) = 0;

  /// Called with each way to write a kernel that does not take it, and why.
  using Refused = llvm::function_ref<void(llvm::StringRef emitter, llvm::StringRef why)>;
  /// Gives a kernel without a `#sinter.schedule` its own; checks one that it has. Fails with a diagnostic at the op
  /// when nothing takes it, or when the schedule does not fit.
  virtual llvm::LogicalResult settle(KernelSpec &spec, Refused refused = nullptr) = 0;

  /// True when the code of a settled kernel may read and write parts of larger buffers, as its `strides` say.
  virtual bool takesStrides(KernelSpec &spec) { return false; }

  /// Bytes of a join up to which its parts are written where it has them although their rows lie apart then. Of larger
  /// ones each pass over a part moves what lies between its rows, too, which costs more than a copy.
  virtual int64_t joinedBytes() { return 0; }

  /// Bytes of tensors that one kernel writes and the next reads which stay in a cache between the two; 0 where nothing
  /// is known of caches.
  virtual int64_t windowBytes() { return 0; }

  /// Schedules beside the one of a settled kernel, that it may have instead: what tuning measures. All fit.
  virtual llvm::SmallVector<ScheduleAttr> neighbours(KernelSpec &spec) { return {}; }

  /// The inputs that the kernel's schedule reads packed.
  virtual llvm::SmallVector<Packing> packing(KernelSpec &spec) { return {}; }

  /// What the code of a settled kernel needs and promises. Called once for each distinct kernel, under the symbol that
  /// launches name; the spec and its op live until the module is compiled.
  virtual KernelTraits describe(KernelSpec &spec, llvm::StringRef symbol) = 0;

  /// Called once before `code`, when all schedules of the module are written: a back end that runs loops by itself may
  /// make one kernel of a `schedule.repeat`, and says so in its `as`. Fails with a diagnostic where a loop is to be one
  /// kernel and cannot.
  virtual llvm::LogicalResult chooseLoops(mlir::ModuleOp schedules) { return llvm::success(); }

  /// The code of all kernels that were described, as the back end's runtime loads it. The host's back end has none: its
  /// code is what schedules become.
  virtual llvm::FailureOr<CodeObject> code(mlir::Location loc) { return CodeObject(); }
};

/// What the function around a `schedule.kernel` knew of its sizes: the analysis of its region.
class CodeSizes : public ShapeAnalysis {
public:
  CodeSizes(CodeOp code, DimContext &context);
};

/// The kernels of a module: each distinct one has code once. Two kernel ops are the same code when their regions,
/// attributes and sizes (up to names of symbols) are equal.
class KernelTable {
public:
  struct Entry {
    std::string symbol;
    Backend *backend = nullptr;
    std::unique_ptr<KernelSpec> spec; // of the first kernel op with this code
    KernelTraits traits;
    unsigned uses = 0; // kernel ops with this code
    double describeMs = 0;
  };

  /// Symbols are PREFIX_k0_map, ... A kernel goes to the first of `devices` that takes it, else to the host; all of
  /// `devices` have one memory.
  KernelTable(Backend &host, std::string prefix, llvm::ArrayRef<Backend *> devices = {})
      : hostBackend(host), devices(devices), prefix(std::move(prefix)) {}

  /// The back end that computes a kernel, and the kernel by itself as that one wants it.
  std::pair<Backend *, std::unique_ptr<KernelSpec>> place(KernelOp kernel, ShapeAnalysis &sizes);

  /// Finds or makes the code of a kernel, by its schedule, which it gets here if nobody chose one. Fails with a
  /// diagnostic at the op that no back end takes, or whose schedule does not fit.
  llvm::FailureOr<KernelLaunch> add(KernelOp kernel, ShapeAnalysis &sizes);

  /// Adds a `schedule.kernel` for each kernel to the end of `module`.
  void write(mlir::ModuleOp module);

  Backend &host() const { return hostBackend; }
  /// Where tensors lie: the name of the back end with a memory of its own, if there is one.
  llvm::StringRef memory() const;
  /// True when that back end runs loops and branches by itself.
  bool runsControl() const;
  llvm::ArrayRef<Entry> entries() const { return all; }

private:
  Backend &hostBackend;
  llvm::SmallVector<Backend *> devices;
  std::string prefix;
  std::vector<Entry> all;
  llvm::StringMap<llvm::SmallVector<unsigned, 1>> bySignature;
};

} // namespace sinter::schedule

#endif
