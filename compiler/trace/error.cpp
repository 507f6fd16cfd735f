// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "error.hpp"
#include <cstdio>
#include <cstdlib>

namespace sinter::inline SINTER_HOST {

struct Error::State {
  State(std::string text, std::string message, Where where, StatusCode code)
      : text(std::move(text)), message(std::move(message)), where(where), code(code) {}
  std::string text, message;
  Where where;
  StatusCode code;
};

Error::Error(std::string message, Where where, StatusCode code)
    : state(
          std::make_shared<State>(std::string(where.file_name()) + ":" + std::to_string(where.line()) + ": " + message,
                                  std::move(message), where, code)) {}
const char *Error::what() const noexcept { return state->text.c_str(); }
const std::string &Error::message() const { return state->message; }
Where Error::where() const { return state->where; }
StatusCode Error::code() const { return state->code; }

namespace detail {

[[noreturn]] static void abortOnError(const Error &error) {
  std::fprintf(stderr, "sinter: %s\n", error.what());
  std::abort();
}
static ErrorHandler errorHandler = abortOnError;

void hostError(const Error &error) {
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  errorHandler(error);
#endif
}

Status report(const Error &error) {
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  return error;
#endif
}

} // namespace detail

ErrorHandler set_error_handler(ErrorHandler handler) {
  return std::exchange(detail::errorHandler, handler ? handler : detail::abortOnError);
}

Status::Status(Error error) : failure(std::make_shared<Error>(std::move(error))) {}

} // namespace sinter::inline SINTER_HOST
