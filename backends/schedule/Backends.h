// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The back ends of this program by name. Each registers itself, so that the compiler walks them and names none:
//
//   class TinyKind : public BackendKind { ... };
//   static RegisterBackend<TinyKind> registered;
//
// One of them is the host: schedules become its code, which begins each call and starts the kernels of the others.

#ifndef SINTER_BACKENDS_SCHEDULE_BACKENDS_H
#define SINTER_BACKENDS_SCHEDULE_BACKENDS_H

#include "backends/schedule/Backend.h"
#include "backends/schedule/Timeline.h"
#include "mlir/Pass/PassManager.h"
#include <memory>

namespace sinter::schedule {

class BackendKind;

/// A machine that a back end makes code for. Belongs to no MLIRContext: compiled modules outlive theirs.
class Machine {
public:
  virtual ~Machine();
  virtual const BackendKind &kind() const = 0;
  /// What modules say of it: `sinter.target` of the host's (a TargetAttr), an entry of `sinter.devices` else.
  virtual mlir::Attribute attribute(mlir::MLIRContext *context) const = 0;

  std::string name;             // as --target says it
  std::string requirements;     // of the machine that loads the code, in the words of the back end's runtime
  std::string code;             // equal for machines with the same instructions
  std::string key;              // all that compilation depends on, for caches
  std::vector<int64_t> demands; // greater, in the order of vectors, for a machine that offers more
};

/// One whose code the linker reads.
class HostMachine : public Machine {
public:
  std::string triple; // LLVM's
  std::string cpu;    // LLVM's name of what code is tuned for
};

/// What one form of a module is for: a host, and the back ends beside it, which are asked for each kernel in the order
/// of their names.
struct Target {
  std::shared_ptr<const HostMachine> host;
  std::vector<std::shared_ptr<const Machine>> devices = {};

  /// "x86-64-v3+cuda:sm_80"
  std::string name() const;
};

/// A folder of object code, and how much it may hold.
struct KernelStore {
  std::string folder; // empty: the user's
  int64_t maxBytes = int64_t(1) << 30;
};

struct CodeOptions {
  int optLevel = 2;
  unsigned threads = 1;
  /// Symbols of the object code begin with it.
  std::string prefix = "sinter";
  bool keepSchedule = false; // text of the schedules
  bool keepLoops = false;    // text of the loops level: schedules and kernels
  bool keepLLVM = false;
  bool keepAssembly = false;
  /// Stop before machine code (with keepSchedule or keepLoops).
  bool loopsOnly = false;
  /// Constants of code for other targets, which these join; null for a block of their own.
  Weights *weights = nullptr;
  /// Where the time is written down; null: nowhere.
  Timeline *timeline = nullptr;
  /// Where the host keeps object code of kernels from one compilation to the next; none by default.
  std::optional<KernelStore> kernelStore = std::nullopt;
};

/// A back end as the compiler sees it before there is a module.
class BackendKind {
public:
  virtual ~BackendKind();
  /// "cpu": what --target, `schedule.kernel` and the sections of a .smod call it.
  virtual llvm::StringRef name() const = 0;
  virtual bool isHost() const { return false; }

  /// The machine that --target names: the text behind "NAME:", empty for the usual one. Null, with the reason in
  /// `error`, for one that is not known.
  virtual std::shared_ptr<const Machine> parse(llvm::StringRef text, std::string &error) const = 0;
  /// The machine of what `Machine::attribute` gave; null, with the reason in `error`, for anything else.
  virtual std::shared_ptr<const Machine> read(mlir::Attribute attribute, std::string &error) const = 0;

  /// True when a kernel with this op as its root is better than what the op decomposes into, or, for a convolution over
  /// three axes, than one over two. A target with devices asks them alone; one that says yes must take such kernels
  /// unless the host has a form for them, too.
  virtual bool keepsComposite(mlir::Operation *op) const { return false; }
  /// True when it takes the kernel, on every machine: others become one kernel an op. `sizes` is the analysis of the
  /// function around it.
  virtual bool takesKernel(KernelOp kernel, ShapeAnalysis &sizes) const = 0;
  /// Adds its own passes over functions to the end of the fused phase, before schedules are chosen.
  virtual void addPasses(mlir::OpPassManager &functions, int optLevel) const {}

  /// The back end for one module. `machine` is of this kind and outlives the result.
  virtual std::unique_ptr<Backend> create(const Machine &machine, int optLevel) const = 0;

  /// Dialects and translations that its passes and `create` need; passes for tools that build pipelines from text.
  virtual void registerDialects(mlir::DialectRegistry &registry) const {}
  virtual void registerPasses() const {}
};

/// The same functions for another machine.
struct TableVariant {
  llvm::ArrayRef<Signature> functions;
  const HostMachine *machine = nullptr;
};

/// How the constants look that describe compiled functions to the runtime (`sinter_function`, runtime/abi.h).
struct TableOptions {
  /// Name of the table: an array of `const sinter_function *` that ends with null.
  std::string symbol = "sinter_functions";
  /// Symbol of the weights when they are linked in; empty when they come from a file beside the code.
  std::string weights;
  int64_t weightsBytes = 0;
  /// Also export the table under this name, for programs that look it up in a shared library; empty for no.
  std::string alias;
  /// Stem of plain C functions STEM_init, STEM_run, STEM_free and STEM_error over runtime/embed.h; empty for none. With
  /// several functions in the module the names are STEM_FUNCTION_init and so on. Functions with states become one
  /// object: STEM_init, STEM_FUNCTION for each, STEM_save, STEM_load, STEM_free and STEM_error.
  std::string plain;
  /// Better ones of the functions, each better than those before. The table and plain functions run on the table's own
  /// machine, which must offer no more than each of these; opening takes the last one that the machine has.
  llvm::SmallVector<TableVariant> variants = {};
};

/// The host: what it makes is linked into files.
class HostKind : public BackendKind {
public:
  bool isHost() const final { return true; }

  /// Lets code for all of `machines` read constants in one layout, which a module of several targets holds once.
  virtual void shareConstants(llvm::MutableArrayRef<std::shared_ptr<const HostMachine>> machines) const = 0;

  /// Compiles every public function of `module`, which is at the fused level and is changed (attributes of kernels).
  /// `devices` are asked for each kernel first; what they refuse is computed here, on copies where they have a memory
  /// of their own.
  virtual llvm::FailureOr<CodeModule> compile(mlir::ModuleOp module, const HostMachine &machine,
                                              llvm::ArrayRef<Backend *> devices, const CodeOptions &options) const = 0;

  // Object files as bytes; they fail with the reason in `error`.
  /// The table of these functions.
  virtual llvm::FailureOr<std::string> tableObject(llvm::ArrayRef<Signature> functions, const TableOptions &options,
                                                   const HostMachine &machine, std::string &error) const = 0;
  /// What all of `objects` call and no library holds; empty when they need nothing.
  virtual llvm::FailureOr<std::string> supportObject(llvm::ArrayRef<std::string> objects, const HostMachine &machine,
                                                     std::string &error) const = 0;
  /// Writes `bytes` to the file at `path`, read-only and 64-byte aligned under the hidden `symbol`: weights may be
  /// large.
  virtual bool writeDataObject(llvm::StringRef path, llvm::StringRef symbol, llvm::ArrayRef<char> bytes,
                               const HostMachine &machine, std::string &error) const = 0;
};

/// Adds a back end for the life of the program, before anything is compiled.
void registerBackend(std::unique_ptr<BackendKind> kind);

template <typename Kind> struct RegisterBackend {
  RegisterBackend() { registerBackend(std::make_unique<Kind>()); }
};

/// All of them, in the order of their names.
llvm::ArrayRef<std::unique_ptr<BackendKind>> backendKinds();
/// Null for no back end of that name.
const BackendKind *findBackend(llvm::StringRef name);
const HostKind &hostBackend();

/// The attribute of modules that names devices: a dictionary of what `Machine::attribute` gives, by back end.
constexpr llvm::StringLiteral kDevicesAttr = "sinter.devices";

/// One target: the host's text ("x86-64-v3,+avx512f", with or without "cpu:" in front), then back ends after "+":
/// "cpu+cuda:sm_80". A device by itself goes with the machine that runs the compiler. False with the reason in `error`.
bool parseTarget(llvm::StringRef text, Target &target, std::string &error);

/// What `module` says that it is for, if it says so (`target.host` is null then). False with the reason in `error` when
/// that makes no sense.
bool readTarget(mlir::ModuleOp module, Target &target, std::string &error);
/// Has `module` say what it is for; an empty target takes that away.
void writeTarget(mlir::ModuleOp module, const Target &target);

/// The devices of a target, for one module.
class Devices {
public:
  Devices(const Target &target, int optLevel);
  llvm::ArrayRef<Backend *> list() const { return raw; }

private:
  llvm::SmallVector<std::unique_ptr<Backend>> owned;
  llvm::SmallVector<Backend *> raw;
};

} // namespace sinter::schedule

#endif
