// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a dtype that is known at run time to the type of C++.

#ifndef SINTER_RUNTIME_DATA_NUMBERS_H
#define SINTER_RUNTIME_DATA_NUMBERS_H

#include "Value.h"

namespace sinter::data {

/// Calls `f.template operator()<T>()` with the type of a dtype of C++, else returns false: f16, complex and the like.
template <typename F> bool tryWithType(int32_t dtype, F f) {
  switch (dtype) {
  case SINTER_F64:
    return f.template operator()<double>(), true;
  case SINTER_F32:
    return f.template operator()<float>(), true;
  case SINTER_I1:
    return f.template operator()<bool>(), true;
  case SINTER_I8:
    return f.template operator()<int8_t>(), true;
  case SINTER_I16:
    return f.template operator()<int16_t>(), true;
  case SINTER_I32:
    return f.template operator()<int32_t>(), true;
  case SINTER_I64:
    return f.template operator()<int64_t>(), true;
  case SINTER_U8:
    return f.template operator()<uint8_t>(), true;
  case SINTER_U16:
    return f.template operator()<uint16_t>(), true;
  case SINTER_U32:
    return f.template operator()<uint32_t>(), true;
  case SINTER_U64:
    return f.template operator()<uint64_t>(), true;
  default:
    return false;
  }
}

/// The same; other dtypes are an error that names the column.
template <typename F> void withType(int32_t dtype, const std::string &column, F f) {
  if (!tryWithType(dtype, f))
    throw Error(SINTER_UNSUPPORTED,
                "column '" + column + "' requires f32, f64, i1, i8 to i64 or ui8 to ui64, got " + dtypeName(dtype));
}

} // namespace sinter::data

#endif
