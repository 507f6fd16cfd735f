// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All attributes of the dialect: what is generated from here parses and prints any of them.

include "ir/Dialect.td"
include "ir/Schedules.td"
