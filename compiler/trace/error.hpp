// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors with the user's source line. With exceptions a failed call throws `sinter::Error`. Without them it yields an
// error tensor, which ops hand on; `jit` and `compile` report the first error, and reading an error tensor on the host
// calls a handler that ends the program unless the program has set another.

#ifndef SINTER_TRACE_ERROR_HPP
#define SINTER_TRACE_ERROR_HPP

#include "host.hpp"
#include <exception>
#include <memory>
#include <sinter/sinter.h>
#include <source_location>
#include <string>
#include <utility>

namespace sinter::inline SINTER_HOST {

/// A place in the user's program.
using Where = std::source_location;

/// What kind of error it is; the values are those of the C ABI.
enum class StatusCode : int32_t {
  invalid_argument = SINTER_INVALID_ARGUMENT, // wrong shape, dtype, name, handle; whatever tracing refuses
  out_of_memory = SINTER_OUT_OF_MEMORY,
  io = SINTER_IO,                       // a file cannot be read or written
  corrupt = SINTER_CORRUPT,             // a file is not what its header says
  unsupported = SINTER_UNSUPPORTED,     // an operator, a version or a CPU feature that is not there
  cancelled = SINTER_CANCELLED,         // Session::cancel was called
  runtime_error = SINTER_RUNTIME_ERROR, // an op reported an error
  busy = SINTER_BUSY,                   // another thread uses the session
  limit = SINTER_LIMIT,                 // the process has reached a limit of the system: open files, executable memory
  internal = SINTER_INTERNAL            // a defect of Sinter: nothing that was given is wrong
};

/// What went wrong, and where: `what()` is "file:line: message".
class Error : public std::exception {
public:
  Error(std::string message, Where where, StatusCode code = StatusCode::invalid_argument);
  const char *what() const noexcept override;
  /// Without the place.
  const std::string &message() const;
  const char *file() const { return where().file_name(); }
  int line() const { return int(where().line()); }
  Where where() const;
  /// Of errors of files, modules, sessions and graphs, what the C ABI returned.
  StatusCode code() const;

private:
  struct State;
  std::shared_ptr<const State> state;
};

/// Called when the host reads an error tensor in a program without exceptions. If it returns, the read gives zeros.
using ErrorHandler = void (*)(const Error &);

namespace detail {

/// The host asked for a value that is not there.
void hostError(const Error &error);

} // namespace detail

/// Sets what reading an error tensor does in a program without exceptions; returns the handler before.
ErrorHandler set_error_handler(ErrorHandler handler);

/// Success or the first error of a call that gives no tensor. With exceptions, such calls throw and only return
/// success.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error);
  bool ok() const { return !failure; }
  explicit operator bool() const { return ok(); }
  /// Null on success.
  const Error *error() const { return failure.get(); }

private:
  std::shared_ptr<const Error> failure;
};

namespace detail {

/// Throws; in a program without exceptions a status that holds the error.
Status report(const Error &error);

} // namespace detail

} // namespace sinter::inline SINTER_HOST

#endif
