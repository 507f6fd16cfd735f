// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Command.h"

int main(int argc, char **argv) { return sinter::tool::runProgram(argc, argv); }
