// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/TensorData.h"

#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Reader.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace sinter::onnx {

static_assert(llvm::endianness::native == llvm::endianness::little, "raw tensor data is little-endian");

template <typename... Args> static Error fail(const char *format, Args &&...args) {
  return createStringError(inconvertibleErrorCode(), "%s", formatv(format, std::forward<Args>(args)...).str().c_str());
}

std::string dataTypeName(int32_t type) {
  static const char *const names[] = {"undefined",      "float",    "uint8",        "int8",           "uint16",
                                      "int16",          "int32",    "int64",        "string",         "bool",
                                      "float16",        "double",   "uint32",       "uint64",         "complex64",
                                      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
                                      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
                                      "uint2",          "int2",     "float6e2m3",   "float6e3m2"};
  if (type < 0 || type >= int32_t(std::size(names)))
    return formatv("type {0}", type).str();
  return names[type];
}

unsigned elementBytes(int32_t type) {
  switch (type) {
  case onnxfile::UINT8:
  case onnxfile::INT8:
  case onnxfile::BOOL:
  case onnxfile::FLOAT8E4M3FN:
  case onnxfile::FLOAT8E5M2:
  case onnxfile::INT4:
  case onnxfile::UINT4:
    return 1;
  case onnxfile::UINT16:
  case onnxfile::INT16:
  case onnxfile::FLOAT16:
  case onnxfile::BFLOAT16:
    return 2;
  case onnxfile::FLOAT:
  case onnxfile::INT32:
  case onnxfile::UINT32:
    return 4;
  case onnxfile::DOUBLE:
  case onnxfile::INT64:
  case onnxfile::UINT64:
    return 8;
  default:
    return 0;
  }
}

/// Files have two in a byte; a TensorData has a byte for each (0 to 15).
static bool hasHalfBytes(int32_t type) { return type == onnxfile::INT4 || type == onnxfile::UINT4; }

int64_t TensorData::numElements() const {
  unsigned size = elementBytes(type);
  return size ? int64_t(bytes.size() / size) : 0;
}

template <typename T> static T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

static double loadByte(const fltSemantics &semantics, const char *from) {
  APFloat value(semantics, APInt(8, load<uint8_t>(from)));
  return value.convertToDouble();
}

static double loadHalf(const fltSemantics &semantics, const char *from) {
  APFloat value(semantics, APInt(16, load<uint16_t>(from)));
  return value.convertToDouble();
}

template <typename T> static SmallVector<T> convertAll(const TensorData &data) {
  SmallVector<T> out;
  int64_t count = data.numElements();
  unsigned size = elementBytes(data.type);
  out.reserve(count);
  for (int64_t i = 0; i < count; ++i) {
    const char *from = data.bytes.data() + i * size;
    switch (data.type) {
    case onnxfile::INT4:
      out.push_back(T(int(load<uint8_t>(from) ^ 8) - 8));
      break;
    case onnxfile::BOOL:
    case onnxfile::UINT4:
    case onnxfile::UINT8:
      out.push_back(T(load<uint8_t>(from)));
      break;
    case onnxfile::INT8:
      out.push_back(T(load<int8_t>(from)));
      break;
    case onnxfile::UINT16:
      out.push_back(T(load<uint16_t>(from)));
      break;
    case onnxfile::INT16:
      out.push_back(T(load<int16_t>(from)));
      break;
    case onnxfile::INT32:
      out.push_back(T(load<int32_t>(from)));
      break;
    case onnxfile::UINT32:
      out.push_back(T(load<uint32_t>(from)));
      break;
    case onnxfile::INT64:
      out.push_back(T(load<int64_t>(from)));
      break;
    case onnxfile::UINT64:
      out.push_back(T(load<uint64_t>(from)));
      break;
    default: {
      double value = data.type == onnxfile::FLOAT          ? double(load<float>(from))
                     : data.type == onnxfile::DOUBLE       ? load<double>(from)
                     : data.type == onnxfile::FLOAT8E4M3FN ? loadByte(APFloat::Float8E4M3FN(), from)
                     : data.type == onnxfile::FLOAT8E5M2   ? loadByte(APFloat::Float8E5M2(), from)
                     : data.type == onnxfile::FLOAT16      ? loadHalf(APFloat::IEEEhalf(), from)
                                                           : loadHalf(APFloat::BFloat(), from);
      if constexpr (std::is_integral_v<T>)
        out.push_back(value >= -9.2e18 && value <= 9.2e18 ? T(value) : T(0)); // NaN fails both comparisons
      else
        out.push_back(T(value));
    }
    }
  }
  return out;
}

SmallVector<int64_t> TensorData::asInts() const { return convertAll<int64_t>(*this); }
SmallVector<double> TensorData::asFloats() const { return convertAll<double>(*this); }

//===--- external data ----------------------------------------------------------------------------------------===//

/// What is large enough to be mapped.
static constexpr uint64_t kMappedTensorBytes = 1 << 20;

Expected<ArrayRef<char>> ExternalFiles::read(StringRef location, uint64_t offset, uint64_t size) {
  std::shared_ptr<FileBytes> &piece = pieces[{location.str(), offset, size}];
  if (piece)
    return piece->all();
  if (location.empty() || location.contains('\0'))
    return fail("external data requires a location, found none");
  std::string shown = shortenName(location);
  if (sys::path::is_absolute(location))
    return fail("external data requires a path inside the model's folder, found the absolute path '{0}'", shown);
  for (auto part = sys::path::begin(location), end = sys::path::end(location); part != end; ++part)
    if (*part == "..")
      return fail("external data requires a path inside the model's folder, found '..' in '{0}'", shown);

  SmallString<256> joined(folder);
  sys::path::append(joined, location);
  std::unique_ptr<char, decltype(&free)> root(realpath(folder.c_str(), nullptr), &free);
  std::unique_ptr<char, decltype(&free)> real(realpath(joined.c_str(), nullptr), &free);
  if (!root || !real)
    return fail("external data file '{0}' cannot be opened: {1}", shown, std::string(std::strerror(errno)));
  StringRef prefix(root.get());
  StringRef rest(real.get());
  if (prefix != "/" && !(rest.consume_front(prefix) && rest.starts_with("/")))
    return fail("external data requires a path inside the model's folder, found '{0}', a link that leaves it", shown);

  int fd = open(real.get(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0)
    return fail("external data file '{0}' cannot be opened: {1}", shown, std::string(std::strerror(errno)));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return fail("external data requires a regular file, found '{0}', which is none", shown);
  }
  auto has = static_cast<uint64_t>(info.st_size);
  if (offset > has || size > has - offset) {
    close(fd);
    return fail("requires bytes {0} to {1} of external data file '{2}', which has {3}", offset, offset + size, shown,
                has);
  }
  std::string problem;
  bool maps = isMapping && size >= kMappedTensorBytes && offset % 16 == 0;
  piece = maps ? FileBytes::map(fd, offset, size, problem) : FileBytes::read(fd, offset, size, problem);
  close(fd);
  if (!piece)
    return fail("external data file '{0}': {1}", shown, problem);
  return piece->all();
}

static Expected<ArrayRef<char>> externalBytes(const onnxfile::Tensor &proto, ExternalFiles *files, uint64_t wantBytes) {
  if (!files)
    return fail("external data is allowed in models only");
  StringRef location;
  uint64_t offset = 0;
  uint64_t length = 0;
  bool hasLength = false;
  for (const onnxfile::Entry &entry : proto.external_data()) {
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset") {
      if (StringRef(entry.value()).getAsInteger(10, offset))
        return fail("external data requires a non-negative offset, found '{0}'", shortenName(entry.value()));
    } else if (entry.key() == "length") {
      hasLength = true;
      if (StringRef(entry.value()).getAsInteger(10, length))
        return fail("external data requires a non-negative length, found '{0}'", shortenName(entry.value()));
    }
  }
  if (hasLength && length != wantBytes)
    return fail("requires {0} bytes of external data, found length {1}", wantBytes, length);
  return files->read(location, offset, wantBytes);
}

//===--- decoding ---------------------------------------------------------------------------------------------===//

/// Points at a typed field whose element type is the stored one.
template <typename Field> static Error borrowField(TensorData &out, const Field &field, int64_t count, StringRef name) {
  if (field.size() != count)
    return fail("requires {0} elements, found {1} in {2}", count, field.size(), name);
  out.bytes = ArrayRef<char>(reinterpret_cast<const char *>(field.data()), out.bytes.size());
  return Error::success();
}

/// Narrows the elements of a typed field that is wider than the stored type.
template <typename T, typename Field>
static Error narrowField(TensorData &out, const Field &field, int64_t count, StringRef name) {
  if (field.size() != count)
    return fail("requires {0} elements, found {1} in {2}", count, field.size(), name);
  auto owned = std::make_shared<std::vector<T>>();
  owned->reserve(size_t(count));
  for (auto value : field)
    owned->push_back(T(value));
  out.bytes = ArrayRef<char>(reinterpret_cast<const char *>(owned->data()), size_t(count) * sizeof(T));
  out.owner = owned;
  return Error::success();
}

static Error decodeTyped(const onnxfile::Tensor &proto, TensorData &out, int64_t count) {
  switch (out.type) {
  case onnxfile::FLOAT:
    return borrowField(out, proto.float_data(), count, "float_data");
  case onnxfile::DOUBLE:
    return borrowField(out, proto.double_data(), count, "double_data");
  case onnxfile::INT64:
    return borrowField(out, proto.int64_data(), count, "int64_data");
  case onnxfile::UINT64:
    return borrowField(out, proto.uint64_data(), count, "uint64_data");
  case onnxfile::INT32:
    return borrowField(out, proto.int32_data(), count, "int32_data");
  case onnxfile::UINT32:
    return narrowField<uint32_t>(out, proto.uint64_data(), count, "uint64_data");
  case onnxfile::UINT16:
  case onnxfile::INT16:
  case onnxfile::FLOAT16:
  case onnxfile::BFLOAT16:
    return narrowField<uint16_t>(out, proto.int32_data(), count, "int32_data");
  default:
    return narrowField<uint8_t>(out, proto.int32_data(), count, "int32_data");
  }
}

static ArrayRef<char> rawData(const onnxfile::Tensor &proto, const ExternalFiles *files) {
  if (files && proto.has_outside())
    if (std::optional<ArrayRef<char>> data = files->outsideData(proto.outside()))
      return *data;
  return ArrayRef<char>(proto.raw_data().data(), proto.raw_data().size());
}

Expected<TensorData> decodeTensor(const onnxfile::Tensor &proto, ExternalFiles *files) {
  TensorData out;
  out.type = proto.data_type();
  unsigned size = elementBytes(out.type);
  if (!size)
    return fail("element type {0} is not supported", dataTypeName(out.type));
  if (proto.has_segment())
    return fail("segmented tensors are not supported");
  if (proto.dims_size() > kMaxRank)
    return fail("requires a rank of at most {0} (kMaxRank), found {1}", kMaxRank, proto.dims_size());
  uint64_t count = 1; // beside a 0 the others must fit all the same: strides are such products
  for (int64_t dim : proto.dims()) {
    if (dim < 0)
      return fail("requires dims of at least 0, found {0}", dim);
    out.dims.push_back(dim);
    if (uint64_t(dim) > kMaxTensorBytes / size / count)
      return fail("requires at most {0} bytes a tensor (kMaxTensorBytes), found dims [{1}]", kMaxTensorBytes,
                  join(map_range(proto.dims(), [](int64_t d) { return std::to_string(d); }), ", "));
    count *= uint64_t(std::max<int64_t>(dim, 1));
  }
  if (is_contained(proto.dims(), 0))
    count = 0;
  uint64_t entries = hasHalfBytes(out.type) ? count / 2 + count % 2 : count, bytes = entries * size;
  bool external = proto.data_location() == 1;
  if (external) {
    Expected<ArrayRef<char>> data = externalBytes(proto, files, bytes);
    if (!data)
      return data.takeError();
    out.bytes = *data;
  } else if (ArrayRef<char> raw = rawData(proto, files); !raw.empty() || (proto.has_raw_data() && bytes == 0)) {
    if (raw.size() != bytes)
      return fail("requires {0} bytes of raw data, found {1}", bytes, raw.size());
    out.bytes = raw;
  } else {
    // the size is right only after decodeTyped has compared it with the field
    out.bytes = ArrayRef<char>(static_cast<const char *>(nullptr), bytes);
    if (Error error = decodeTyped(proto, out, int64_t(entries)))
      return std::move(error);
  }
  if (hasHalfBytes(out.type)) { // one byte each from here on
    auto owned = std::make_shared<std::vector<char>>();
    owned->reserve(count);
    for (uint64_t i = 0; i < count; ++i)
      owned->push_back(char(uint8_t(out.bytes[i / 2]) >> i % 2 * 4 & 15));
    out.bytes = ArrayRef<char>(owned->data(), owned->size());
    out.owner = owned;
  }
  if (out.type == onnxfile::BOOL && llvm::any_of(out.bytes, [](char byte) { return uint8_t(byte) > 1; })) {
    auto owned = std::make_shared<std::vector<char>>();
    for (char byte : out.bytes)
      owned->push_back(byte != 0);
    out.bytes = ArrayRef<char>(owned->data(), owned->size());
    out.owner = owned;
  }
  return out;
}

Expected<TensorData> readTensorFile(StringRef path) {
  Expected<std::string> text = readRegularFile(path, kMaxModelBytes);
  if (!text)
    return text.takeError();
  auto proto = std::make_shared<onnxfile::Tensor>();
  if (!proto->ParseFromArray(text->data(), int(text->size())))
    return fail("{0}: requires a serialized ONNX tensor, found something else or a truncated one", path);
  Expected<TensorData> data = decodeTensor(*proto, nullptr);
  if (!data)
    return fail("{0}: tensor '{1}': {2}", path, shortenName(proto->name()), toString(data.takeError()));
  if (!data->owner)
    data->owner = proto;
  return data;
}

} // namespace sinter::onnx
