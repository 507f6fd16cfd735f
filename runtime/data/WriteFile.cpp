// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records as files. Each appears under its name when it is whole.

#include "Numbers.h"
#include "Open.h"
extern "C" {
#include "../file.h"
#include "../log.h"
}
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <zlib.h>

using namespace sinter::data;

//===- Text -----------------------------------------------------------------------------------------===//

/// f16 and bf16 as f32, others as they are.
static Value widened(const Value &value) {
  if (value.dtype() != SINTER_F16 && value.dtype() != SINTER_BF16)
    return value;
  auto memory = allocate(value.count() * static_cast<int64_t>(sizeof(float)));
  for (int64_t i = 0; i < value.count(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, value.data() + 2 * i, sizeof bits);
    float wide = srtWiden(bits, value.dtype() == SINTER_F16 ? 5 : 8);
    std::memcpy(memory.get() + 4 * i, &wide, sizeof wide);
  }
  return Value(SINTER_F32, value.dims(), std::move(memory));
}

template <typename T> static std::string textOf(T number) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(number)) // without a sign
      return "nan";
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

namespace {
/// Writes a record as JSON: what nlohmann's values would cost for each element is text here.
class JsonText {
public:
  JsonText(const Record &record, bool isStrict) : isStrict(isStrict) {
    text = "{";
    for (int64_t c = 0; c < record.size(); ++c) {
      text += c ? ", " : "";
      name = &record.name(c);
      string(*name);
      text += ": ";
      const Value &value = record.value(c);
      if (!value.isRagged()) {
        elements(value);
        continue;
      }
      text += "[";
      for (int64_t r = 0; r < value.rows(); ++r) {
        text += r ? ", " : "";
        elements(value.row(r));
      }
      text += "]";
    }
    text += "}";
  }
  std::string text;

private:
  void string(std::string_view bytes) {
    using Json = nlohmann::json;
    try {
      text += Json(std::string(bytes))
                  .dump(-1, ' ', false, isStrict ? Json::error_handler_t::strict : Json::error_handler_t::replace);
    } catch (const Json::exception &) {
      throw Error(SINTER_UNSUPPORTED, "column '" + *name + "' requires UTF-8 to be JSON");
    }
  }

  void elements(const Value &given) {
    const Value value = widened(given);
    if (value.dtype() == Bytes) {
      arrays(value.dims(), 0, 0, [&](int64_t i) { string(value.bytes(i)); });
      return;
    }
    withType(value.dtype(), *name, [&]<typename T>() {
      auto all = value.as<T>();
      arrays(value.dims(), 0, 0, [&](int64_t i) {
        T x = all[static_cast<size_t>(i)];
        if constexpr (std::is_same_v<T, bool>)
          text += x ? "true" : "false";
        else if (!std::isfinite(static_cast<double>(x)))
          text += "null"; // JSON has neither
        else
          text += textOf(x);
      });
    });
  }

  /// Element by element, in brackets for each dim; returns where it stopped through `at`.
  template <typename Put> int64_t arrays(const Dims &dims, int32_t d, int64_t at, Put put) {
    if (d == dims.rank())
      return put(at), at + 1;
    text += "[";
    for (int64_t i = 0; i < dims[d]; ++i) {
      text += i ? ", " : "";
      at = arrays(dims, d + 1, at, put);
    }
    text += "]";
    return at;
  }

  bool isStrict;
  const std::string *name = nullptr;
};
} // namespace

std::string sinter::data::jsonOf(const Record &record, bool isStrict) { return JsonText(record, isStrict).text; }

/// A field of a table.
static std::string fieldOf(const Value &value, const std::string &name, char separator) {
  if (value.isRagged() || value.count() != 1)
    throw Error(SINTER_UNSUPPORTED, "column '" + name + "' requires scalars to be in a table, got " +
                                        (value.isRagged() ? "ragged rows" : value.dims().text()));
  if (value.dtype() != Bytes) {
    std::string text;
    Value wide = widened(value);
    withType(wide.dtype(), name, [&]<typename T>() {
      if constexpr (std::is_same_v<T, bool>)
        text = wide.as<bool>()[0] ? "true" : "false";
      else
        text = textOf(wide.as<T>()[0]);
    });
    return text;
  }
  std::string text(value.bytes());
  // Quoted where it could be read as something else: a number, a missing value.
  if (!text.empty() && text.find_first_of(std::string("\"\r\n ") + separator) == text.npos &&
      std::isalpha(static_cast<unsigned char>(text[0])) && text.size() > 4)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

namespace {
/// A file of text, gzip-compressed where its name says so.
class TextFile {
public:
  explicit TextFile(const std::string &path) : path(path) {
    check(srtCreateFile(this->path.c_str(), &file));
    isOpen = true;
    if (!path.ends_with(".gz"))
      return;
    isCompressed = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!isCompressed)
      throw std::bad_alloc();
  }
  ~TextFile() {
    if (isCompressed)
      deflateEnd(&stream);
    if (isOpen)
      srtFinishFile(&file, SINTER_CANCELLED);
  }
  TextFile(const TextFile &) = delete;

  void write(std::string_view text) {
    pending += text;
    if (pending.size() > 1 << 20)
      flush(Z_NO_FLUSH);
  }
  void close() {
    flush(Z_FINISH);
    isOpen = false;
    check(srtFinishFile(&file, SINTER_OK));
  }

private:
  void flush(int how) {
    if (!isCompressed) {
      check(srtWriteAll(file.file, pending.data(), static_cast<int64_t>(pending.size()), path.c_str()));
      pending.clear();
      return;
    }
    stream.next_in = reinterpret_cast<unsigned char *>(pending.data());
    stream.avail_in = static_cast<unsigned>(pending.size());
    char out[1 << 16];
    do {
      stream.next_out = reinterpret_cast<unsigned char *>(out);
      stream.avail_out = sizeof out;
      deflate(&stream, how);
      check(srtWriteAll(file.file, out, static_cast<int64_t>(sizeof out - stream.avail_out), path.c_str()));
    } while (stream.avail_out == 0);
    pending.clear();
  }

  std::string path, pending;
  NewFile file{};
  z_stream stream{};
  bool isOpen = false, isCompressed = false;
};
} // namespace

/// Calls `write` for each record; its errors name the record.
template <typename Write> static Written eachRecord(const Dataset &dataset, Write write) {
  Loader loader(dataset);
  int64_t count = 0;
  for (Record record; loader.next(record); ++count)
    try {
      write(record);
    } catch (const Error &error) {
      throw Error(error.code(), error.what(), {"", count, -1});
    }
  return {count, loader.skipped()};
}

static Written writeTable(const Dataset &dataset, const std::string &path, char separator) {
  TextFile file(path);
  std::vector<std::string> names;
  auto line = [&](auto field) {
    std::string text;
    for (size_t c = 0; c < names.size(); ++c)
      text += (c ? std::string(1, separator) : "") + field(c);
    file.write(text + "\n");
  };
  Written written = eachRecord(dataset, [&](const Record &record) {
    if (names.empty()) {
      names = *record.names();
      line([&](size_t c) { return fieldOf(Value::string(names[c]), names[c], separator); });
    }
    line([&](size_t c) { return fieldOf(record[names[c]], names[c], separator); });
  });
  file.close();
  return written;
}

//===- Arrays ---------------------------------------------------------------------------------------===//

static Written writeArrays(const Dataset &dataset, const std::string &path, Format format, int64_t maxBytes) {
  struct Array {
    std::string name, bytes;
    int32_t dtype = 0;
    Dims dims;
  };
  std::vector<Array> arrays;
  int64_t total = 0;
  Written written = eachRecord(dataset, [&](const Record &record) {
    if (arrays.empty())
      for (int64_t c = 0; c < record.size(); ++c)
        arrays.push_back({record.name(c), "", record.value(c).dtype(), record.value(c).dims()});
    for (Array &array : arrays) {
      const Value &value = record[array.name];
      if (array.dtype == Bytes || value.isRagged() || value.dtype() != array.dtype || !(value.dims() == array.dims))
        throw Error(SINTER_UNSUPPORTED,
                    "column '" + array.name + "' requires numbers of one dtype and size to be an array, got " +
                        (value.dtype() == Bytes ? "bytes" : dtypeName(value.dtype()) + (" " + value.dims().text())));
      auto bytes = static_cast<size_t>(value.count() * sinter_dtype_bytes(value.dtype()));
      if (bytes)
        array.bytes.append(value.data(), bytes);
      total += static_cast<int64_t>(bytes);
    }
    if (total > maxBytes)
      throw Error(SINTER_LIMIT, "the arrays are required to take at most " + std::to_string(maxBytes) + " bytes");
  });
  if (format == Format::Npy && arrays.size() != 1)
    throw Error(SINTER_UNSUPPORTED,
                "an npy file takes one column, got " + std::to_string(arrays.size()) + "; .npz takes several");
  std::vector<const char *> names;
  std::vector<sinter_tensor> tensors;
  for (Array &array : arrays) {
    sinter_tensor tensor = {};
    tensor.data = array.bytes.data();
    tensor.dtype = array.dtype;
    Dims dims = array.dims.withFront(written.records);
    tensor.rank = dims.rank();
    std::ranges::copy(dims.all(), tensor.dims);
    tensors.push_back(tensor);
    names.push_back(array.name.c_str());
  }
  auto number = static_cast<int32_t>(arrays.size());
  check(format == Format::Npy   ? sinter_npy_write(path.c_str(), tensors.data())
        : format == Format::Npz ? sinter_npz_write(path.c_str(), names.data(), tensors.data(), number)
                                : sinter_safetensors_write(path.c_str(), names.data(), tensors.data(), number));
  return written;
}

Written sinter::data::writeFile(const Dataset &dataset, const std::string &path, int64_t maxBytes) {
  Format format = formatOf(path);
  switch (format) {
  case Format::Csv:
    return writeTable(dataset, path, ',');
  case Format::Tsv:
    return writeTable(dataset, path, '\t');
  case Format::JsonLines: {
    TextFile file(path);
    Written written = eachRecord(dataset, [&](const Record &record) { file.write(jsonOf(record, true) + "\n"); });
    file.close();
    return written;
  }
  case Format::TfRecord: {
    TfRecordWriter writer(path);
    Written written = eachRecord(dataset, [&](const Record &record) { writer.write(makeExample(record)); });
    writer.close();
    return written;
  }
  case Format::Text: {
    TextFile file(path);
    Written written = eachRecord(dataset, [&](const Record &record) {
      if (record.size() != 1 || record.value(0).dtype() != Bytes || record.value(0).count() != 1)
        throw Error(SINTER_UNSUPPORTED, "text takes one column of strings, got " + std::to_string(record.size()));
      std::string line(record.value(0).bytes());
      if (line.find('\n') != line.npos)
        throw Error(SINTER_UNSUPPORTED, "a line of text requires a string without line ends");
      file.write(line + "\n");
    });
    file.close();
    return written;
  }
  case Format::Folder:
    throw Error(SINTER_UNSUPPORTED, "folders are read, not written", {path, -1, -1});
  case Format::Idx:
    throw Error(SINTER_UNSUPPORTED, "IDX files are read, not written; .npy holds the same", {path, -1, -1});
  default:
    return writeArrays(dataset, path, format, maxBytes);
  }
}
