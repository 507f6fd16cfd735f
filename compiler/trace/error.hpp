// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors with the user's source line. With exceptions a failed call throws `sinter::Error`. Without them it yields an
// error tensor, which ops hand on; `jit` and `compile` report the first error, and reading an error tensor on the host
// calls a handler that ends the program unless the program has set another.

#ifndef SINTER_TRACE_ERROR_HPP
#define SINTER_TRACE_ERROR_HPP

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define SINTER_HAS_EXCEPTIONS 1
#else
#define SINTER_HAS_EXCEPTIONS 0
#endif

namespace sinter {

/// A place in the user's program.
using Where = std::source_location;

/// What went wrong, and where: `what()` is "file:line: message".
class Error : public std::exception {
public:
  Error(std::string message, Where where)
      : state(std::make_shared<State>(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " +
                                          message,
                                      std::move(message), where)) {}
  const char *what() const noexcept override { return state->text.c_str(); }
  /// Without the place.
  const std::string &message() const { return state->message; }
  const char *file() const { return state->where.file_name(); }
  int line() const { return int(state->where.line()); }
  Where where() const { return state->where; }

private:
  struct State {
    State(std::string text, std::string message, Where where)
        : text(std::move(text)), message(std::move(message)), where(where) {}
    std::string text, message;
    Where where;
  };
  std::shared_ptr<const State> state;
};

/// Called when the host reads an error tensor in a program without exceptions. If it returns, the read gives zeros.
using ErrorHandler = void (*)(const Error &);

namespace detail {

[[noreturn]] inline void abortOnError(const Error &error) {
  std::fprintf(stderr, "sinter: %s\n", error.what());
  std::abort();
}
inline ErrorHandler &errorHandler() {
  static ErrorHandler handler = abortOnError;
  return handler;
}

/// The host asked for a value that is not there.
inline void hostError(const Error &error) {
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  errorHandler()(error);
#endif
}

} // namespace detail

/// Sets what reading an error tensor does in a program without exceptions; returns the handler before.
inline ErrorHandler set_error_handler(ErrorHandler handler) {
  return std::exchange(detail::errorHandler(), handler ? handler : detail::abortOnError);
}

/// Success or the first error of a call that gives no tensor. With exceptions, such calls throw and only return
/// success.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : failure(std::make_shared<Error>(std::move(error))) {}
  bool ok() const { return !failure; }
  explicit operator bool() const { return ok(); }
  /// Null on success.
  const Error *error() const { return failure.get(); }

private:
  std::shared_ptr<const Error> failure;
};

namespace detail {

/// Throws; in a program without exceptions a status that holds the error.
inline Status report(const Error &error) {
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  return error;
#endif
}

} // namespace detail

} // namespace sinter

#endif
