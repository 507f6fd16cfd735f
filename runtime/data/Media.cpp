// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Media.h"
#include "Crc32c.h"
#include "File.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

using namespace sinter::data;
namespace fs = std::filesystem;

//===- Folders --------------------------------------------------------------------------------------===//

namespace {
class Folder : public Source {
public:
  Folder(std::string folder, std::vector<std::string> files, std::vector<std::string> labels, int64_t maxBytes)
      : folder(std::move(folder)), files(std::move(files)), labels(std::move(labels)), maxBytes(maxBytes),
        names(std::make_shared<std::vector<std::string>>(std::vector<std::string>{"file", "bytes", "label"})) {}

  int64_t size() const override { return static_cast<int64_t>(files.size()); }
  Record read(int64_t i) const override {
    const std::string &name = files[static_cast<size_t>(i)];
    File file(folder + "/" + name);
    if (file.size() > maxBytes)
      throw Error(SINTER_LIMIT,
                  "a file is required to have at most " + std::to_string(maxBytes) + " bytes, got " +
                      std::to_string(file.size()),
                  {file.path(), i, -1}, true);
    std::string bytes(static_cast<size_t>(file.size()), '\0');
    file.readAt(0, bytes.data(), file.size());
    return {names, {Value::string(name), Value::string(bytes), Value::scalar(labelOf(name))}};
  }
  /// Of the names and sizes of all files, and of what some of them hold: to read all would take as long as an epoch.
  std::string signature() const override {
    constexpr size_t looked = 32;
    uint32_t crc = 0;
    for (const std::string &name : files) {
      std::error_code error;
      auto size = fs::file_size(folder + "/" + name, error);
      crc = crc32c(name + (error ? " ?" : " " + std::to_string(size)) + "\n", crc);
    }
    for (size_t i = 0; i < std::min(looked, files.size()); ++i) {
      try {
        crc = crc32c(File(folder + "/" + files[i * files.size() / std::min(looked, files.size())]).signature(), crc);
      } catch (const Error &) { // told, or skipped, by who reads it
      }
    }
    return "folder of " + std::to_string(files.size()) + " files (checksum " + checksumText(crc) + ")";
  }

private:
  int64_t labelOf(const std::string &name) const {
    auto at = std::ranges::find(labels, name.substr(0, name.find('/')));
    return name.find('/') == name.npos || at == labels.end() ? -1 : at - labels.begin();
  }

  std::string folder;
  std::vector<std::string> files, labels;
  int64_t maxBytes;
  Names names;
};
} // namespace

[[noreturn]] static void failFolder(const fs::filesystem_error &error) {
  throw Error(SINTER_IO, "cannot read folder '" + error.path1().string() + "': " + error.code().message());
}

std::vector<std::string> sinter::data::folderLabels(const std::string &folder) {
  std::vector<std::string> labels;
  try {
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      if (entry.is_directory())
        labels.push_back(entry.path().filename().string());
  } catch (const fs::filesystem_error &error) {
    failFolder(error);
  }
  std::ranges::sort(labels);
  return labels;
}

/// The files below a folder whose names end with one of `suffixes`, and the others that are not hidden.
static std::pair<std::vector<std::string>, std::vector<std::string>> filesOf(const std::string &folder,
                                                                             const std::vector<std::string> &suffixes) {
  std::vector<std::string> files, others;
  try {
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder)) {
      std::string name = entry.path().lexically_relative(folder).string();
      bool isWanted = suffixes.empty() ||
                      std::ranges::any_of(suffixes, [&](const std::string &suffix) { return name.ends_with(suffix); });
      bool isHidden = entry.path().filename().string().starts_with('.');
      if ((isWanted || !isHidden) && entry.is_regular_file())
        (isWanted ? files : others).push_back(name);
    }
  } catch (const fs::filesystem_error &error) {
    failFolder(error);
  }
  std::ranges::sort(files);
  std::ranges::sort(others);
  return {std::move(files), std::move(others)};
}

std::shared_ptr<const Source> sinter::data::openFolder(const std::string &folder,
                                                       const std::vector<std::string> &suffixes, int64_t maxBytes) {
  auto [files, others] = filesOf(folder, suffixes);
  return std::make_shared<Folder>(folder, std::move(files), folderLabels(folder), maxBytes);
}

std::string sinter::data::describeOthers(const std::string &folder, const std::vector<std::string> &suffixes) {
  auto [files, others] = filesOf(folder, suffixes);
  if (others.empty())
    return "";
  return folder + ": " + std::to_string(others.size()) + (others.size() == 1 ? " file is" : " files are") +
         " left out, which no suffix tells to be read: '" + others[0] + "'" + (others.size() > 1 ? ", ..." : "");
}

Dataset::Map sinter::data::decodeColumn(std::function<Value(std::string_view)> decode, const std::string &column,
                                        const std::string &result, const std::string &folder) {
  return [=](const Record &record) {
    Record decoded;
    for (int64_t c = 0; c < record.size(); ++c) {
      if (record.name(c) != column) {
        decoded.set(record.name(c), record.value(c));
        continue;
      }
      try {
        decoded.set(result, decode(record.value(c).bytes()));
      } catch (const Error &error) {
        int64_t file = record.find("file");
        std::string path(file < 0 ? "" : record.value(file).bytes());
        if (file >= 0 && !folder.empty())
          path = folder + "/" + path;
        throw Error(error.code(), error.what(), {path, -1, -1}, true);
      }
    }
    if (record.find(column) < 0)
      (void)record[column]; // throws
    return decoded;
  };
}

//===- Pictures -------------------------------------------------------------------------------------===//
// https://netpbm.sourceforge.net/doc/pnm.html

namespace {
class Pnm {
public:
  Pnm(std::string_view bytes, bool isFull) : rest(bytes), isFull(isFull) {
    if (rest.size() < 3 || rest[0] != 'P' || rest[1] < '1' || rest[1] > '6')
      fail("the start P1 to P6");
    kind = rest[1] - '0';
    rest.remove_prefix(2);
  }

  Value read() {
    int64_t width = number("a width"), height = number("a height"), channels = kind % 3 == 0 ? 3 : 1;
    bool isBitmap = kind % 3 == 1;
    int64_t most = isBitmap ? 1 : number("a largest value");
    if (width < 1 || height < 1 || most < 1 || most > 65535)
      fail("sizes above 0 and a largest value up to 65535");
    bool isText = kind < 4;
    if (!isText)
      blank();
    // Sizes have at most 9 digits, so that nothing overflows; what is not there is not allocated.
    int64_t row = isText ? width * channels : isBitmap ? (width + 7) / 8 : width * channels * (most > 255 ? 2 : 1);
    if (row > static_cast<int64_t>(rest.size()) / height)
      fail("values for " + std::to_string(height) + "x" + std::to_string(width) + " pixels, the file ends before them");
    Dims dims = {height, width, channels};
    if (most > 255)
      return values<uint16_t>(dims, most, isText, isBitmap);
    return values<uint8_t>(dims, most, isText, isBitmap);
  }

private:
  [[noreturn]] static void fail(const std::string &what) {
    throw Error(SINTER_CORRUPT, "a PNM picture requires " + what, {}, true);
  }

  static bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  void blank() {
    if (rest.empty() || !isBlank(rest[0]))
      fail("a blank before its values");
    rest.remove_prefix(1);
  }

  void skip() { // blanks and comments
    while (!rest.empty() && (isBlank(rest[0]) || rest[0] == '#'))
      rest.remove_prefix(rest[0] == '#' ? std::min(rest.find('\n'), rest.size() - 1) + 1 : 1);
  }

  int64_t number(const char *what) {
    skip();
    int64_t value = 0, digits = 0;
    for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1)) {
      value = value * 10 + (rest[0] - '0');
      if (++digits > 9)
        fail(std::string(what) + " of at most 9 digits");
    }
    if (digits == 0)
      fail(what);
    return value;
  }

  template <typename T> Value values(const Dims &dims, int64_t most, bool isText, bool isBitmap) {
    int64_t count = dims.count(), rowValues = dims[1] * dims[2];
    std::vector<T> all(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      int64_t value;
      if (isText && isBitmap) { // digits need no blanks between them
        skip();
        value = rest.empty() ? -1 : rest[0] - '0';
        rest.remove_prefix(!rest.empty());
      } else if (isText) {
        value = number("a value for each pixel");
      } else if (isBitmap) {
        auto at = static_cast<size_t>(i / rowValues * ((rowValues + 7) / 8) + i % rowValues / 8);
        value = static_cast<unsigned char>(rest[at]) >> (7 - i % rowValues % 8) & 1;
      } else {
        auto at = static_cast<size_t>(i) * sizeof(T);
        value = static_cast<unsigned char>(rest[at]);
        if constexpr (sizeof(T) == 2) // big-endian
          value = value << 8 | static_cast<unsigned char>(rest[at + 1]);
      }
      if (value < 0 || value > most)
        fail("values up to " + std::to_string(most));
      if (isBitmap && isFull)
        value = 255 * (1 - value);
      else if (isFull)
        value = std::lrint(static_cast<double>(value) / static_cast<double>(most) * std::numeric_limits<T>::max());
      all[static_cast<size_t>(i)] = static_cast<T>(value);
    }
    return Value::of(std::span<const T>(all), dims);
  }

  std::string_view rest;
  bool isFull;
  int kind = 0;
};
} // namespace

Value sinter::data::decodePnm(std::string_view bytes) { return Pnm(bytes, false).read(); }

Value sinter::data::decodeFullPnm(std::string_view bytes) { return Pnm(bytes, true).read(); }

//===- Sounds ---------------------------------------------------------------------------------------===//
// Multimedia Programming Interface and Data Specifications 1.0 (1991), and WAVE_FORMAT_EXTENSIBLE.

template <typename T> static T number(std::string_view bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <typename T> static Value copied(std::string_view bytes, const Dims &dims) {
  auto memory = allocate(static_cast<int64_t>(bytes.size()));
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  return Value(dtypeOf<T>(), dims, std::move(memory));
}

Value sinter::data::decodeWav(std::string_view bytes, int64_t *rate) {
  auto fail = [](const std::string &what) { throw Error(SINTER_CORRUPT, "a WAV sound requires " + what, {}, true); };
  if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE")
    fail("the start RIFF and WAVE");
  std::string_view format, data;
  bool hasData = false;
  for (std::string_view rest = bytes.substr(12); rest.size() >= 8 && !hasData;) {
    auto size = static_cast<size_t>(number<uint32_t>(rest, 4));
    std::string_view id = rest.substr(0, 4);
    rest.remove_prefix(8);
    hasData = id == "data";
    if (size > rest.size() && !(hasData && size >= 0xFFFFFF00)) // of a stream: what there is
      fail("chunks within the file");
    (hasData ? data : format) = hasData || id == "fmt " ? rest.substr(0, size) : format;
    rest.remove_prefix(std::min(size + (size & 1), rest.size()));
  }
  if (format.size() < 16 || !hasData)
    fail("a chunk 'fmt ' and a chunk 'data'");
  int kind = number<uint16_t>(format, 0), bits = number<uint16_t>(format, 14);
  int64_t channels = number<uint16_t>(format, 2);
  if (kind == 0xFFFE && format.size() >= 26) // extensible: the kind is in front of a GUID
    kind = number<uint16_t>(format, 24);
  bool isFloat = kind == 3;
  if ((kind != 1 && !isFloat) ||
      (isFloat ? bits != 32 && bits != 64 : bits != 8 && bits != 16 && bits != 24 && bits != 32))
    throw Error(SINTER_UNSUPPORTED,
                "a WAV sound requires PCM of 8, 16, 24 or 32 bits or floats of 32 or 64, got kind " +
                    std::to_string(kind) + " of " + std::to_string(bits) + " bits",
                {}, true);
  if (channels < 1)
    fail("a channel or more");
  if (rate)
    *rate = number<uint32_t>(format, 4);
  auto frameBytes = static_cast<size_t>(channels * bits / 8);
  auto frames = static_cast<int64_t>(data.size() / frameBytes);
  data = data.substr(0, static_cast<size_t>(frames) * frameBytes);
  Dims dims = {frames, channels};
  if (bits == 24) {
    std::vector<int32_t> values;
    for (size_t at = 0; at < data.size(); at += 3) {
      uint32_t value = 0;
      std::memcpy(reinterpret_cast<char *>(&value) + 1, data.data() + at, 3);
      values.push_back(static_cast<int32_t>(value));
    }
    return Value::of(std::span<const int32_t>(values), dims);
  }
  return bits == 8    ? copied<uint8_t>(data, dims)
         : bits == 16 ? copied<int16_t>(data, dims)
         : bits == 64 ? copied<double>(data, dims)
         : isFloat    ? copied<float>(data, dims)
                      : copied<int32_t>(data, dims);
}

Value sinter::data::decodeWavF32(std::string_view bytes) {
  Value sound = decodeWav(bytes);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(sound.count()));
  auto scaled = [&](auto all, double zero, double unit) {
    for (auto x : all)
      values.push_back(static_cast<float>((static_cast<double>(x) - zero) / unit));
  };
  switch (sound.dtype()) {
  case SINTER_U8:
    scaled(sound.as<uint8_t>(), 128, 128);
    break;
  case SINTER_I16:
    scaled(sound.as<int16_t>(), 0, 32768);
    break;
  case SINTER_I32:
    scaled(sound.as<int32_t>(), 0, 2147483648.0);
    break;
  case SINTER_F64:
    scaled(sound.as<double>(), 0, 1);
    break;
  default:
    return sound;
  }
  return Value::of(std::span<const float>(values), sound.dims());
}
