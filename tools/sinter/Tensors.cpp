// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Tensors.h"
#include "backends/schedule/Signature.h"
#include "compiler/Link.h"
#include "ir/Limits.h"
#include "ir/Shapes.h"
#include "ir/Storage.h"
#include "runtime/dtypes.h"
#include "tools/sinter/Command.h"
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;

int32_t tool::dtypeOf(Type type) { return schedule::dtypeOf(type); }

Type tool::elementTypeOf(MLIRContext *context, int32_t dtype) {
  auto integer = [&](unsigned width, bool wide) -> Type {
    return IntegerType::get(context, width, wide ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (dtype) {
  case SINTER_F64:
    return Float64Type::get(context);
  case SINTER_F32:
    return Float32Type::get(context);
  case SINTER_F16:
    return Float16Type::get(context);
  case SINTER_BF16:
    return BFloat16Type::get(context);
  case SINTER_F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case SINTER_F8E5M2:
    return Float8E5M2Type::get(context);
  case SINTER_I4:
    return integer(4, false);
  case SINTER_U4:
    return integer(4, true);
  case SINTER_I1:
    return integer(1, false);
  case SINTER_I8:
    return integer(8, false);
  case SINTER_I16:
    return integer(16, false);
  case SINTER_I32:
    return integer(32, false);
  case SINTER_I64:
    return integer(64, false);
  case SINTER_U8:
    return integer(8, true);
  case SINTER_U16:
    return integer(16, true);
  case SINTER_U32:
    return integer(32, true);
  case SINTER_U64:
    return integer(64, true);
  }
  return nullptr;
}

std::string tool::dtypeName(Type type) { return sinter_dtype_name(dtypeOf(type)); }
std::string tool::describe(RankedTensorType type) {
  return dtypeName(type.getElementType()) + " " + printShape(type.getShape());
}
std::string tool::describe(const HostTensor &tensor) { return describe(tensor.tensorType()); }

sinter_tensor tool::viewOf(const HostTensor &tensor, std::vector<int64_t> &room) {
  llvm::ArrayRef<int64_t> dims = tensor.shape();
  sinter_tensor view = {};
  view.data = const_cast<char *>(tensor.data());
  if (isPacked(tensor.elementType())) {
    std::vector<char> stored = toStored(tensor); // two elements in a byte
    room.resize(stored.size() / sizeof(int64_t) + 1);
    std::memcpy(room.data(), stored.data(), stored.size());
    view.data = room.data();
  }
  view.dtype = dtypeOf(tensor.elementType());
  view.rank = static_cast<int32_t>(dims.size());
  for (size_t k = 0; k < dims.size(); ++k)
    view.dims[k] = dims[k];
  return view;
}

HostTensor tool::copyOf(MLIRContext *context, const sinter_tensor &tensor) {
  Type type = elementTypeOf(context, tensor.dtype);
  ArrayRef<int64_t> shape(tensor.dims, tensor.rank);
  int64_t bytes = storedBytes(type, countElements(shape).value_or(0));
  return fromStored(type, shape, ArrayRef<char>(static_cast<const char *>(tensor.data), bytes));
}

HostTensor tool::randomTensor(RankedTensorType type, uint64_t seed) {
  HostTensor tensor(type.getElementType(), type.getShape());
  std::mt19937_64 generator(seed);
  if (tensor.isFloat()) {
    std::vector<double> values(tensor.numElements());
    for (double &value : values)
      value = static_cast<double>(generator() >> 11) * 0x1p-52 - 1;
    tensor.assignFloats(values);
    return tensor;
  }
  uint64_t limit = type.getElementType().isInteger(1) ? 2 : 10;
  std::vector<int64_t> values(tensor.numElements());
  for (int64_t &value : values)
    value = static_cast<int64_t>((generator() >> 33) % limit);
  tensor.assignInts(values);
  return tensor;
}

/// Bytes of an input that a flag fills, rather than a file.
static constexpr int64_t kMaxInputBytes = int64_t(1) << 32;

/// The value of a flag as a tensor of the port's type.
static HostTensor readValue(MLIRContext *context, const Port &port, const std::string &text) {
  auto fail = [&](const std::string &what) {
    return Stop(Exit::Failure, "input '" + oneLine(port.name) + "': " + what);
  };
  RankedTensorType type = port.type;
  auto needsShape = [&] {
    if (!type.hasStaticShape())
      throw fail("its shape " + printShape(type.getShape()) + " is not fixed; give --shape " + port.name +
                 "=DIMS, or a file");
    // Files are compared with their own size; what is drawn or filled here must fit.
    std::optional<int64_t> bytes = countBytes(type.getElementType(), type.getShape());
    if (!text.starts_with("@") && (!bytes || *bytes > kMaxInputBytes))
      throw fail("requires at most " + std::to_string(kMaxInputBytes) + " bytes (kMaxInputBytes), its shape is " +
                 printShape(type.getShape()));
  };
  if (text.starts_with("@")) {
    std::string path = text.substr(1);
    sinter_tensor read = {};
    if (path.ends_with(".npy") || path.ends_with(".npz")) {
      sinter_status_code status;
      if (path.ends_with(".npy")) {
        status = sinter_npy_read(path.c_str(), &read);
      } else {
        sinter_npz *archive = nullptr;
        status = sinter_npz_open(path.c_str(), &archive);
        if (status == SINTER_OK)
          status = sinter_npz_read(archive, port.name.c_str(), &read);
        sinter_npz_close(archive);
      }
      if (status == SINTER_CORRUPT)
        throw Stop(Exit::Damage, fail(sinter_last_error()).what());
      if (status != SINTER_OK)
        throw fail(sinter_last_error());
      HostTensor tensor = copyOf(context, read);
      sinter_tensor_free(&read);
      if (!agree(tensor.tensorType(), type))
        throw fail("requires " + describe(type) + ", got " + describe(tensor) + " in " + path);
      return tensor;
    }
    needsShape();
    std::optional<int64_t> size = countBytes(type.getElementType(), type.getShape());
    if (size && isPacked(type.getElementType()))
      size = storedBytes(type.getElementType(), *size);
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
      throw fail("cannot read " + oneLine(path) + ": not a regular file");
    uintmax_t found = std::filesystem::file_size(path, error);
    if (error || !size || found != static_cast<uintmax_t>(*size))
      throw fail("requires " + (size ? std::to_string(*size) : "too many") + " bytes for " + describe(type) + ", got " +
                 (error ? error.message() : std::to_string(found)) + " in " + oneLine(path));
    std::string problem;
    std::optional<std::string> bytes = readFile(path, problem);
    if (!bytes || bytes->size() != found)
      throw fail(bytes ? "cannot read " + oneLine(path) + ": became shorter while it was read" : oneLine(problem));
    return fromStored(type.getElementType(), type.getShape(), *bytes); // booleans become 0 or 1
  }
  needsShape();
  if (text == "random" || text.starts_with("random:")) {
    uint64_t seed = 0;
    if (text.size() > 7) {
      if (llvm::StringRef(text).drop_front(7).getAsInteger(10, seed))
        throw fail("random requires a whole number as seed, got '" + oneLine(text.substr(7)) + "'");
    }
    return randomTensor(type, seed);
  }
  HostTensor tensor(type.getElementType(), type.getShape());
  if (text == "zeros")
    return tensor;
  int64_t whole; // exactly, where a double would round
  if (!tensor.isFloat() && !llvm::StringRef(text).getAsInteger(10, whole)) {
    tensor.assignInts(std::vector<int64_t>(tensor.numElements(), whole));
    return tensor;
  }
  double value = 1;
  if (text != "ones") {
    char *end = nullptr;
    value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end)
      throw fail("requires @FILE.npy, @FILE.npz, @FILE.raw, random:SEED, zeros, ones or a number, got '" +
                 oneLine(text) + "'");
  }
  if (tensor.isFloat())
    tensor.assignFloats(std::vector<double>(tensor.numElements(), value));
  else // truncates, and saturates what no integer is
    for (int64_t i = 0; i < tensor.numElements(); ++i)
      tensor.setFloat(i, value);
  return tensor;
}

static void multiply(HostTensor &tensor, double scale) {
  if (!tensor.isFloat()) {
    for (int64_t i = 0; i < tensor.numElements() && !tensor.elementType().isInteger(1); ++i)
      tensor.setInt(i, static_cast<int64_t>(static_cast<double>(tensor.getInt(i)) * scale));
    return;
  }
  std::vector<double> numbers = tensor.toFloats();
  for (double &number : numbers)
    number *= scale;
  tensor.assignFloats(numbers);
}

std::vector<HostTensor> tool::readInputs(MLIRContext *context, const std::vector<Port> &ports,
                                         const std::vector<std::string> &flags, const std::string &fill, double scale) {
  std::map<std::string, std::string> values;
  for (const std::string &flag : flags) {
    size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Stop(Exit::Usage, "--input requires NAME=VALUE, got '" + flag + "'");
    // A name may hold '=' itself: the longest one of the model that the flag begins with.
    for (const Port &port : ports)
      if (port.name.size() > equals && flag.starts_with(port.name + "="))
        equals = port.name.size();
    values[flag.substr(0, equals)] = flag.substr(equals + 1);
  }
  auto list = [&] {
    std::string text;
    for (const Port &port : ports)
      text += (text.empty() ? "" : ", ") + oneLine(port.name) + " (" + describe(port.type) + ")";
    return text;
  };
  std::vector<HostTensor> tensors;
  for (const Port &port : ports) {
    auto it = values.find(port.name);
    if (it == values.end() && fill.empty())
      throw Stop(Exit::Failure, "input '" + oneLine(port.name) + "' requires a value (--input " + oneLine(port.name) +
                                    "=...); the model takes " + list());
    if (it != values.end()) {
      tensors.push_back(readValue(context, port, it->second));
      values.erase(it);
      continue;
    }
    uint64_t seed;
    bool isDrawn = fill.starts_with("random:") && !llvm::StringRef(fill).drop_front(7).getAsInteger(10, seed);
    if (isDrawn)
      seed += 0x9E3779B97F4A7C15u * tensors.size();
    tensors.push_back(readValue(context, port, isDrawn ? "random:" + std::to_string(seed) : fill));
    if (isDrawn && scale != 1)
      multiply(tensors.back(), scale);
  }
  if (!values.empty())
    throw Stop(Exit::Failure, "the model has no input '" + oneLine(values.begin()->first) + "'; it takes " + list());
  return tensors;
}

std::string tool::tellSmallerDraws(double scale) {
  std::ostringstream line;
  if (scale < 1)
    line << "inputs are drawn from [" << -scale << ", " << scale
         << "): with larger ones the model fails or not all numbers are finite\n";
  return line.str();
}

bool tool::isFinite(const HostTensor &tensor) {
  return !tensor.isFloat() || llvm::all_of(tensor.toFloats(), [](double x) { return std::isfinite(x); });
}

void tool::writeNpy(const HostTensor &tensor, const std::string &path) {
  std::vector<int64_t> room;
  sinter_tensor view = viewOf(tensor, room);
  if (int32_t status = sinter_npy_write(path.c_str(), &view))
    stopFor(status);
}

std::string tool::summarize(const std::string &name, const HostTensor &tensor) {
  std::ostringstream text;
  text << name << ": " << describe(tensor);
  std::vector<double> values = tensor.toFloats();
  text << " [";
  for (size_t i = 0; i < values.size() && i < 8; ++i)
    text << (i ? ", " : "") << values[i];
  text << (values.size() > 8 ? ", ...]" : "]");
  if (values.size() > 1) {
    double least = values[0], greatest = values[0], sum = 0;
    for (double value : values) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      sum += value;
    }
    text << " min " << least << " max " << greatest << " mean " << sum / values.size();
  }
  return text.str();
}
