// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Exit.h"
#include "compiler/Escapes.h"
#include "runtime/sinter.h"
#include <cstring>

using namespace sinter::tool;

/// `(kMax` and `(max` begin the name of a limit.
static const char *const kLimits[] = {"(kMax",
                                      "(max",
                                      "max_tape_bytes",
                                      "no memory",
                                      "more memory",
                                      "more stack",
                                      "out of memory",
                                      "Out of memory",
                                      "not enough memory",
                                      "size below 2^63",
                                      "Cannot allocate memory",
                                      "Too many open files",
                                      "Resource temporarily unavailable"};
static const char *const kFiles[] = {"No such file or directory",
                                     "no such file",
                                     "Permission denied",
                                     "Operation not permitted",
                                     "Not a directory",
                                     "Is a directory",
                                     "No space left on device",
                                     "File too large",
                                     "Disk quota exceeded",
                                     "Read-only file system",
                                     "File name too long",
                                     "Input/output error",
                                     "Too many levels of symbolic links",
                                     "requires a regular file",
                                     "requires the name of a regular file",
                                     "requires a folder that exists",
                                     "became shorter",
                                     "cannot make a temporary folder",
                                     "cannot be opened",
                                     "cannot be read:",
                                     "cannot read",
                                     "cannot write"};

/// What a user asked of checkpoints and cannot have.
static const char *const kChoices[] = {"for checkpoints", "checkpoints of named blocks"};

template <size_t N> static bool hasAny(const char *message, const char *const (&words)[N]) {
  for (const char *word : words)
    if (std::strstr(message, word))
      return true;
  return false;
}

Exit sinter::tool::classOf(const char *message, Exit otherwise) {
  return hasAny(message, kChoices)  ? Exit::Failure
         : hasAny(message, kLimits) ? Exit::Limit
         : hasAny(message, kFiles)  ? Exit::File
                                    : otherwise;
}

void sinter::tool::stopFor(int32_t status) {
  std::string message = sinter_last_error();
  switch (status) {
  case SINTER_OUT_OF_MEMORY:
    throw Stop(Exit::Limit, message);
  case SINTER_IO:
    throw Stop(classOf(message.c_str(), Exit::File), message);
  case SINTER_CORRUPT:
    throw Stop(Exit::Damage, message);
  case SINTER_UNSUPPORTED:
    throw Stop(Exit::Unsupported, message);
  default:
    throw Stop(std::strcmp(sinter_status_name(status), "limit") == 0 ? Exit::Limit : Exit::Failure, message);
  }
}

std::string sinter::tool::printable(const std::string &text) { return escapeControls(text, "\n\t"); }

/// Bytes of a file's text that a message shows: names may be as long as a file.
constexpr size_t kMostShown = 2000;

std::string sinter::tool::oneLine(const std::string &text) {
  std::string out = escapeControls(std::string_view(text).substr(0, kMostShown));
  if (text.size() > kMostShown)
    out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

int PrintableStream::Buffer::overflow(int character) {
  if (character == traits_type::eof())
    return traits_type::not_eof(character);
  char byte = traits_type::to_char_type(character);
  return xsputn(&byte, 1) == 1 ? character : traits_type::eof();
}

std::streamsize PrintableStream::Buffer::xsputn(const char *text, std::streamsize count) {
  std::string out = escapeControls({text, static_cast<size_t>(count)}, "\n\t\r");
  return to->sputn(out.data(), static_cast<std::streamsize>(out.size())) == static_cast<std::streamsize>(out.size())
             ? count
             : 0;
}

PrintableStream::PrintableStream(std::ostream &stream) : stream(stream), buffer(stream.rdbuf()) {
  stream.rdbuf(&buffer);
}

PrintableStream::~PrintableStream() { stream.rdbuf(buffer.to); }
