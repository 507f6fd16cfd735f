// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of a CPU's extensions, by LLVM's names and with LLVM's implications, and what follows from a set: the level, the
// text that a module requires of the CPU, and the features that LLVM generates code with. The last two name the same
// extensions, so code cannot use what the loader does not check.

#ifndef SINTER_BACKENDS_CPU_EXTENSIONS_H
#define SINTER_BACKENDS_CPU_EXTENSIONS_H

#include "runtime/host.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sinter::cpu {

class Extensions {
public:
  explicit Extensions(sinter_arch arch) : arch(arch) {}

  /// Those that every CPU of the architecture has (SSE2, NEON).
  static Extensions base(sinter_arch arch);
  /// Those of a CPU or level that LLVM knows; nothing for other names.
  static std::optional<Extensions> ofCpu(sinter_arch arch, llvm::StringRef name);
  /// Those that code may use on a host. An extension without one that it implies, as virtual machines show them, is
  /// left out: LLVM would use both.
  static Extensions ofHost(const sinter_host &host);

  bool has(llvm::StringRef name) const { return names.count(name.str()); }
  bool hasAll(const Extensions &other) const;

  /// Adds an extension and what it implies; removes one and all that imply it. `word` is LLVM's or the architecture's
  /// name ("fullfp16" or "fp16"). False with the reason in `error`.
  bool change(llvm::StringRef word, bool add, std::string &error);

  /// The highest level that is whole ("x86-64-v3"), "aarch64".
  llvm::StringRef level() const;
  /// Only those that code which is not asked for more may use.
  Extensions forCode() const;
  /// The level, then what lies beyond it: "x86-64-v4 gfni avx512fp16".
  std::string requirements() const;
  /// LLVM's features: absent ones off, then present ones on.
  std::string features() const;

private:
  sinter_arch arch;
  std::set<std::string> names;
  std::set<std::string> asked; // by `change`
};

/// Every name of a CPU that LLVM knows for the architecture, levels included.
std::vector<llvm::StringRef> cpuNames(sinter_arch arch);

/// At most three of `names` that a user may have meant, the nearest first: "; near it: a, b"; empty without any.
std::string suggestions(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> names);

} // namespace sinter::cpu

#endif
