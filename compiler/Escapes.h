// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that files hold may have control characters, which would end a line or steer a terminal.

#ifndef SINTER_COMPILER_ESCAPES_H
#define SINTER_COMPILER_ESCAPES_H

#include <string>
#include <string_view>

namespace sinter {

/// `text` with control characters, but those among `kept`, as escapes such as \x1b and \n: bytes below 32, 127, and the
/// second control set (U+0080 to U+009F, c2 80 to c2 9f in UTF-8).
std::string escapeControls(std::string_view text, std::string_view kept = "");

} // namespace sinter

#endif
