// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens when the compiler itself fails: one line, a folder to reproduce it with, exit code 70.

#ifndef SINTER_TOOLS_SINTER_CRASH_H
#define SINTER_TOOLS_SINTER_CRASH_H

#include <string>

namespace sinter::tool {

/// From now on a process without more memory or stack ends with exit code 7, and a fatal signal in any thread, and
/// LLVM's own fatal errors, leave a folder with the model and the command line under the folder for temporary files and
/// end the process with exit code 70. Call once.
void installCrashHandler(int argc, char **argv);

/// The file that a reproducer holds a copy of; the last call counts.
void setCrashModel(const std::string &path);

} // namespace sinter::tool

#endif
