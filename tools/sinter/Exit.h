// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a command ends: its exit code (README.md has the table), the failure that carries one, and text that a terminal
// can be given.

#ifndef SINTER_TOOLS_SINTER_EXIT_H
#define SINTER_TOOLS_SINTER_EXIT_H

#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <string>

namespace sinter::tool {

enum class Exit {
  Success = 0,
  Failure = 1,     // what was given does not fit (names, sizes, dtypes, values), or a run failed
  Usage = 2,       // the command line
  Unsupported = 3, // what sinter, this build or this machine does not have
  Mismatch = 4,    // check, grad: numbers differ
  File = 5,        // a file cannot be read or written, or must not be
  Damage = 6,      // a file is not what its name says, or contradicts itself
  Limit = 7,       // memory, stack, open files, or a limit that the message names
  Internal = 70,   // a defect of sinter
};

/// The class that a message shows, else `otherwise`: what messages of libraries, LLVM and the system say about files
/// and limits, and "(kMaxRank)", the name of a limit. Makes no call that a signal handler may not make.
Exit classOf(const char *message, Exit otherwise);

/// Ends a subcommand: `message` goes to stderr as "sinter: error: MESSAGE" (one line, or several for a list of
/// unsupported operators), `code` is the process's exit code. A Failure or Damage whose message shows another class is
/// of that class.
struct Stop : std::runtime_error {
  Stop(Exit code, const std::string &message)
      : std::runtime_error(message),
        code(code == Exit::Failure || code == Exit::Damage ? classOf(message.c_str(), code) : code) {}
  Exit code;
};

/// Throws Stop with the runtime's last message and the class of `status`.
[[noreturn]] void stopFor(int32_t status);

/// `text` with control characters as escapes such as \x1b, so that names in files do not steer a terminal. Lines stay.
std::string printable(const std::string &text);
/// The same for a name or a message of one line: line ends are escaped, too.
std::string oneLine(const std::string &text);

/// While it lives, what is written to `stream` goes through printable(). Tabs and carriage returns are kept.
class PrintableStream {
public:
  explicit PrintableStream(std::ostream &stream);
  ~PrintableStream();
  PrintableStream(const PrintableStream &) = delete;

private:
  class Buffer : public std::streambuf {
  public:
    explicit Buffer(std::streambuf *to) : to(to) {}
    std::streambuf *const to;

  protected:
    int overflow(int character) override;
    std::streamsize xsputn(const char *text, std::streamsize count) override;
    int sync() override { return to->pubsync(); }
  };
  std::ostream &stream;
  Buffer buffer;
};

} // namespace sinter::tool

#endif
