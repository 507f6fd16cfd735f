// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What goes wrong with data is told with its place: file, record, byte. Functions of sinter::data throw Error and
// nothing else but std::bad_alloc; the C face (data.h) turns both into a status.

#ifndef SINTER_RUNTIME_DATA_ERROR_H
#define SINTER_RUNTIME_DATA_ERROR_H

#include "../sinter.h"
#include <stdexcept>
#include <string>

namespace sinter::data {

/// Where something was read. -1 and the empty string are unknown.
struct Place {
  std::string file;
  int64_t record = -1; // from 0
  int64_t offset = -1; // bytes from the start of the file, or of what it expands to where it is compressed

  /// `'a.csv' record 3 at byte 57`, or the empty string.
  std::string text() const;
};

class Error : public std::runtime_error {
public:
  /// `skippable`: what threw stands behind the bad record, and next() may be called again.
  Error(sinter_status_code code, const std::string &message, Place place = {}, bool skippable = false)
      : std::runtime_error(place.text().empty() ? message : place.text() + ": " + message), errorCode(code),
        errorPlace(std::move(place)), isSkippable(skippable) {}

  sinter_status_code code() const { return errorCode; }
  const Place &place() const { return errorPlace; }
  bool skippable() const { return isSkippable; }

private:
  sinter_status_code errorCode;
  Place errorPlace;
  bool isSkippable;
};

/// Throws the last error of a C call that failed.
void check(sinter_status_code status);

} // namespace sinter::data

#endif
