// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ir/file/Names.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace sinter;

// No op has a second version yet.
uint32_t file::opVersion(StringRef op) { return 1; }

bool file::isStorable(StringRef op) { return op.starts_with("sinter.") || op == "func.return" || op == "func.call"; }

bool file::isFunctionField(StringRef attribute) {
  return StringSwitch<bool>(attribute)
      .Cases({"sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs"}, true)
      .Default(false);
}
