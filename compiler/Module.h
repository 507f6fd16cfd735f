// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compilation gives: code, weights and signatures in memory, and how they become files or run at once.

#ifndef SINTER_COMPILER_MODULE_H
#define SINTER_COMPILER_MODULE_H

#include "backends/schedule/Backends.h"
#include "runtime/smod.h"

namespace sinter {

/// Forms of a compiled module on disk.
enum class OutputFormat {
  Module,  // .smod
  Object,  // .o, and a C header beside
  Archive, // .a, and a C header beside
  Shared,  // .so with the runtime inside, and a C header beside
  Program, // reads and writes npy
  Assembly // .s
};

struct CompiledModule {
  /// Where several are asked for, the one that demands least.
  schedule::Target target;
  unsigned optLevel = 2;
  bool fastMath = false;
  schedule::CodeModule code;
  /// The same functions for the other targets, each better than those before; their weights are in `code.weights`.
  struct Variant {
    schedule::Target target;
    schedule::CodeModule code;
  };
  std::vector<Variant> variants;
  /// Text of the phases that were asked for.
  std::string graph, fused;
  double graphMs = 0, codeMs = 0; // passes; back end
  /// What a .smod of the JIT's disk cache was compiled from; part of its manifest.
  std::string cacheKey;
  /// Whether a .smod states the SHA-256 of its sections.
  bool sha256 = false;
  /// Where the time of linking and writing is written down; null: nowhere.
  schedule::Timeline *timeline = nullptr;
};

/// What symbols of code in the file `path` begin with: its stem as a C identifier, without `lib`.
std::string symbolStem(llvm::StringRef path);

/// Writes `module` to `path` (and a header to the same path with suffix .h, where the format has one). Symbols that C
/// sees begin with the file's stem. Nothing is written when it fails; `error` says why.
bool writeModule(const CompiledModule &module, llvm::StringRef path, OutputFormat format, std::string &error);

/// The manifest of a .smod: JSON text for people and tools.
std::string printManifest(const CompiledModule &module);

/// Compiled code inside this process.
class LoadedModule {
public:
  /// Links and loads the code for the best target that this machine has. `module` must outlive the result: its weights
  /// are used where they are. Null when it fails.
  static std::unique_ptr<LoadedModule> load(const CompiledModule &module, std::string &error);
  ~LoadedModule();
  LoadedModule(const LoadedModule &) = delete;

  /// For sinter_session_create; functions are in the order of `module.code.functions`.
  sinter_module *get() const { return handle; }

private:
  LoadedModule() = default;
  bool link(const CompiledModule &module, const schedule::HostMachine &machine, const schedule::CodeModule &code,
            std::string &error);

  sinter_code *loaded = nullptr;
  std::vector<sinter_function> functions;
  std::vector<const sinter_function *> table;
  sinter_module *handle = nullptr;
};

} // namespace sinter

#endif
