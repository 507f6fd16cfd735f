// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Arrays.h"
#include "File.h"
extern "C" {
#include "../npy.h"
#include "../safetensors.h"
}
#include <bit>
#include <mutex>

using namespace sinter::data;

namespace {
/// The rows of an array that lies in a file row-major.
class RowFile {
public:
  RowFile(std::shared_ptr<const File> file, int32_t dtype, const Dims &dims, int64_t offset)
      : file(std::move(file)), dtype(dtype), rowDims(dims.withoutFront()), rows(dims[0]), offset(offset),
        rowBytes(rowDims.count() * sinter_dtype_bytes(dtype)) {}

  int64_t size() const { return rows; }

  Value row(int64_t i) const {
    std::lock_guard lock(mutex);
    if (i < first || i >= last) {
      // A block where rows are read in order, else the row alone.
      int64_t count = i == last ? std::clamp<int64_t>(blockBytes / std::max<int64_t>(rowBytes, 1), 1, rows - i) : 1;
      auto memory = allocate(count * rowBytes);
      if (rowBytes)
        file->readAt(offset + i * rowBytes, memory.get(), count * rowBytes);
      if (dtype == SINTER_I1)
        for (int64_t b = 0; b < count * rowBytes; ++b)
          memory.get()[b] = memory.get()[b] != 0;
      block = std::move(memory);
      first = i;
      last = i + count;
    }
    return Value(dtype, rowDims, {block, block.get() + (i - first) * rowBytes});
  }

private:
  static constexpr int64_t blockBytes = 1 << 18;

  std::shared_ptr<const File> file;
  int32_t dtype;
  Dims rowDims;
  int64_t rows, offset, rowBytes;
  mutable std::mutex mutex;
  mutable std::shared_ptr<const char> block;
  mutable int64_t first = 0, last = 0; // rows of the block
};

class FileRows : public Source {
public:
  FileRows(std::string text, std::vector<std::string> names, std::vector<std::unique_ptr<RowFile>> columns)
      : text(std::move(text)), names(std::make_shared<std::vector<std::string>>(std::move(names))),
        columns(std::move(columns)) {}
  int64_t size() const override { return columns.empty() ? 0 : columns[0]->size(); }
  Record read(int64_t i) const override {
    std::vector<Value> values;
    for (const auto &column : columns)
      values.push_back(column->row(i));
    return {names, std::move(values)};
  }
  std::string signature() const override { return text; }

private:
  std::string text;
  Names names;
  std::vector<std::unique_ptr<RowFile>> columns;
};

/// Columns that are in memory.
class Whole : public Source {
public:
  Whole(std::string text, Record columns) : text(std::move(text)), columns(std::move(columns)) {}
  int64_t size() const override { return columns.size() ? columns.value(0).rows() : 0; }
  Record read(int64_t i) const override {
    std::vector<Value> values;
    for (int64_t c = 0; c < columns.size(); ++c)
      values.push_back(columns.value(c).row(i));
    return {columns.names(), std::move(values)};
  }
  std::string signature() const override { return text; }

private:
  std::string text;
  Record columns;
};
} // namespace

static void requireRows(const std::string &path, const std::string &name, const Dims &dims, int64_t &rows) {
  if (dims.rank() == 0)
    throw Error(SINTER_INVALID_ARGUMENT, "column '" + name + "' requires a first dim of records, got a scalar",
                {path, -1, -1});
  if (rows >= 0 && dims[0] != rows)
    throw Error(SINTER_INVALID_ARGUMENT,
                "column '" + name + "' requires " + std::to_string(rows) + " rows as the first one has, got " +
                    std::to_string(dims[0]),
                {path, -1, -1});
  rows = dims[0];
}

static Dims dimsOf(const int64_t *dims, int32_t rank) {
  return Dims(std::span<const int64_t>(dims, static_cast<size_t>(rank)));
}

static ArrayPlace locateNpy(const File &file) {
  const std::string &path = file.path();
  char prefix[SRT_NPY_PREFIX_BYTES];
  int64_t available = std::min<int64_t>(sizeof prefix, file.size()), headerBytes = 0;
  file.readAt(0, prefix, available);
  check(srtNpyPrefix(prefix, available, &headerBytes, path.c_str()));
  if (headerBytes > file.size())
    throw Error(SINTER_CORRUPT, "array '" + path + "' requires a header of " + std::to_string(headerBytes) +
                                    " bytes, the file has " + std::to_string(file.size()));
  std::string text(static_cast<size_t>(headerBytes), '\0');
  file.readAt(0, text.data(), headerBytes);
  NpyHeader header;
  check(srtNpyHeader(text.data(), headerBytes, &header, path.c_str()));
  if (header.dataBytes != file.size() - headerBytes)
    throw Error(SINTER_CORRUPT, "array '" + path + "' requires " + std::to_string(header.dataBytes) +
                                    " bytes of data, got " + std::to_string(file.size() - headerBytes));
  return {header.dtype, dimsOf(header.dims, header.rank), headerBytes, header.fortranOrder && header.rank > 1};
}

using OpenSafetensors = std::unique_ptr<sinter_safetensors, void (*)(sinter_safetensors *)>;

static OpenSafetensors openHeader(const std::string &path) {
  sinter_safetensors *opened;
  check(sinter_safetensors_open(path.c_str(), &opened));
  return {opened, sinter_safetensors_close};
}

static ArrayPlace locateTensor(const sinter_safetensors *header, const std::string &path, const std::string &name) {
  const SafetensorsEntry *entry = srtSafetensorsFind(header, name.c_str());
  if (!entry)
    throw Error(SINTER_INVALID_ARGUMENT, "tensor '" + name + "' is required, the file has none called so",
                {path, -1, -1});
  return {entry->dtype, dimsOf(entry->dims, entry->rank), entry->offset, false};
}

ArrayPlace sinter::data::locateArray(const std::string &path, const std::string &name) {
  if (name.empty())
    return locateNpy(File(path));
  return locateTensor(openHeader(path).get(), path, name);
}

std::shared_ptr<const Source> sinter::data::openNpy(const std::string &path, const std::string &column) {
  auto file = std::make_shared<File>(path);
  ArrayPlace place = locateNpy(*file);
  int64_t rows = -1;
  requireRows(path, column, place.dims, rows);
  if (place.isFortran) {
    sinter_tensor tensor;
    check(sinter_npy_read(path.c_str(), &tensor));
    return std::make_shared<Whole>(file->signature(), Record{{column, Value::take(tensor)}});
  }
  std::vector<std::unique_ptr<RowFile>> columns;
  columns.push_back(std::make_unique<RowFile>(file, place.dtype, place.dims, place.offset));
  return std::make_shared<FileRows>(file->signature(), std::vector<std::string>{column}, std::move(columns));
}

std::shared_ptr<const Source> sinter::data::openSafetensors(const std::string &path,
                                                            const std::vector<std::string> &names) {
  auto file = std::make_shared<File>(path);
  OpenSafetensors header = openHeader(path);
  std::vector<std::string> wanted = names;
  for (int32_t i = 0; names.empty() && i < sinter_safetensors_count(header.get()); ++i)
    wanted.emplace_back(sinter_safetensors_name(header.get(), i));
  std::vector<std::unique_ptr<RowFile>> columns;
  int64_t rows = -1;
  for (const std::string &name : wanted) {
    ArrayPlace place = locateTensor(header.get(), path, name);
    requireRows(path, name, place.dims, rows);
    columns.push_back(std::make_unique<RowFile>(file, place.dtype, place.dims, place.offset));
  }
  return std::make_shared<FileRows>(file->signature(), wanted, std::move(columns));
}

std::shared_ptr<const Source> sinter::data::openNpz(const std::string &path, const std::vector<std::string> &names,
                                                    int64_t maxBytes) {
  File file(path);
  sinter_npz *opened;
  check(sinter_npz_open(path.c_str(), &opened));
  std::unique_ptr<sinter_npz, void (*)(sinter_npz *)> archive(opened, sinter_npz_close);
  std::vector<std::string> wanted = names;
  for (int32_t i = 0; names.empty() && i < sinter_npz_count(opened); ++i)
    wanted.emplace_back(sinter_npz_name(opened, i));
  Record columns;
  int64_t rows = -1, total = 0;
  for (const std::string &name : wanted) {
    sinter_tensor tensor;
    check(sinter_npz_read(opened, name.c_str(), &tensor));
    Value value = Value::take(tensor);
    requireRows(path, name, value.dims(), rows);
    total += value.memoryBytes();
    if (total > maxBytes)
      throw Error(SINTER_LIMIT,
                  "the arrays are required to take at most " + std::to_string(maxBytes) + " bytes, '" + name +
                      "' exceeds it",
                  {path, -1, -1});
    columns.set(name, std::move(value));
  }
  return std::make_shared<Whole>(file.signature(), std::move(columns));
}

//===- IDX ------------------------------------------------------------------------------------------===//
// Two zeros, a type, the rank, the sizes and the elements, all big-endian. http://yann.lecun.com/exdb/mnist/

static int32_t idxDtype(unsigned char code) {
  switch (code) {
  case 0x08:
    return SINTER_U8;
  case 0x09:
    return SINTER_I8;
  case 0x0B:
    return SINTER_I16;
  case 0x0C:
    return SINTER_I32;
  case 0x0D:
    return SINTER_F32;
  case 0x0E:
    return SINTER_F64;
  default:
    return 0;
  }
}

std::shared_ptr<const Source> sinter::data::openIdx(const std::string &path, const std::string &column,
                                                    int64_t maxBytes) {
  ByteStream stream(path, Compression::ByContent);
  std::string_view head = stream.peek(4);
  auto at = [&](size_t i) { return static_cast<unsigned char>(head[i]); };
  if (head.size() < 4 || at(0) || at(1) || !idxDtype(at(2)) || at(3) == 0 || at(3) > SINTER_MAX_RANK)
    throw Error(SINTER_CORRUPT, "an IDX file is required: two zeros, a type from 8 to 14 and a rank from 1 to 16",
                {path, -1, 0});
  int32_t dtype = idxDtype(at(2));
  auto rank = static_cast<size_t>(at(3));
  stream.consume(4);
  std::vector<int64_t> sizes;
  head = stream.peek(static_cast<int64_t>(4 * rank));
  if (head.size() < 4 * rank)
    throw Error(SINTER_CORRUPT, "an IDX file of rank " + std::to_string(rank) + " is truncated in its sizes",
                {path, -1, 4});
  for (size_t d = 0; d < rank; ++d)
    sizes.push_back(int64_t(at(4 * d)) << 24 | at(4 * d + 1) << 16 | at(4 * d + 2) << 8 | at(4 * d + 3));
  stream.consume(static_cast<int64_t>(4 * rank));
  Dims dims{std::span<const int64_t>(sizes)};
  int64_t element = sinter_dtype_bytes(dtype), count = dims.count();
  if (count > maxBytes / element)
    throw Error(SINTER_LIMIT,
                "the array is required to take at most " + std::to_string(maxBytes) + " bytes, got " + dims.text() +
                    " of " + dtypeName(dtype),
                {path, -1, 4});
  // As the bytes come: a file may claim any size.
  std::string data;
  while (static_cast<int64_t>(data.size()) < count * element) {
    std::string_view more = stream.available();
    if (more.empty())
      throw Error(SINTER_CORRUPT,
                  "an IDX array of " + dims.text() + " requires " + std::to_string(count * element) + " bytes, got " +
                      std::to_string(data.size()),
                  {path, -1, stream.offset()});
    more = more.substr(0, static_cast<size_t>(count * element) - data.size());
    data += more;
    stream.consume(static_cast<int64_t>(more.size()));
  }
  if (!stream.available().empty())
    throw Error(SINTER_CORRUPT, "bytes behind the array of " + dims.text(), {path, -1, stream.offset()});
  auto memory = allocate(count * element);
  for (int64_t i = 0; i < count * element; ++i)
    memory.get()[i / element * element + (element - 1 - i % element)] = data[static_cast<size_t>(i)];
  static_assert(std::endian::native == std::endian::little);
  return std::make_shared<Whole>(stream.file().signature(), Record{{column, Value(dtype, dims, std::move(memory))}});
}
