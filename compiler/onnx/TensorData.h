// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as ONNX files store them: decoded, checked, and where possible not copied.

#ifndef SINTER_COMPILER_ONNX_TENSORDATA_H
#define SINTER_COMPILER_ONNX_TENSORDATA_H

#include "compiler/onnx/onnx.pb.h"
#include "ir/file/FileBytes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace sinter::onnx {

/// Name of an element type as messages print it (`float`, `int64` ...), or its number if ONNX defines no such type.
std::string dataTypeName(int32_t type);

/// Bytes of one element, 0 for types that Sinter has no tensors of (strings, complex, 8 and 4 bit floats ...).
unsigned elementBytes(int32_t type);

/// One tensor: `bytes` is row-major, little-endian, one byte per boolean (0 or 1), and lives as long as the model that
/// it was decoded from, or as `owner` does when that is set.
struct TensorData {
  int32_t type = onnxfile::UNDEFINED;
  llvm::SmallVector<int64_t> dims;
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner;

  int64_t numElements() const;
  /// Elements as i64; floats are truncated. At most kMaxSteeringElements are asked for by the importer.
  llvm::SmallVector<int64_t> asInts() const;
  /// Elements as f64.
  llvm::SmallVector<double> asFloats() const;
};

/// A folder whose files may be named as external data, and what was read of them already.
class ExternalFiles {
public:
  /// `outside` are raw data of the model's own file that stand beside its message.
  explicit ExternalFiles(std::string folder, std::vector<std::shared_ptr<FileBytes>> outside = {})
      : folder(std::move(folder)), outside(std::move(outside)) {}
  ExternalFiles(const ExternalFiles &) = delete;
  ExternalFiles &operator=(const ExternalFiles &) = delete;

  /// Bytes [offset, offset + size) of `location` (relative, inside the folder), which live as long as this. Fails on
  /// absolute paths, `..`, symbolic links that leave the folder, anything but a regular file, and one that is shorter.
  llvm::Expected<llvm::ArrayRef<char>> read(llvm::StringRef location, uint64_t offset, uint64_t size);

  /// Raw data with this number, which counts from 1; nothing where there are none.
  std::optional<llvm::ArrayRef<char>> outsideData(uint64_t number) const {
    if (number == 0 || number > outside.size())
      return std::nullopt;
    return outside[number - 1]->all();
  }

  /// From here on `read` maps what is large and lies at a multiple of 16 bytes: who makes such a file shorter ends this
  /// process.
  void mapLarge() { isMapping = true; }

private:
  std::string folder;
  std::vector<std::shared_ptr<FileBytes>> outside;
  bool isMapping = false;
  std::map<std::tuple<std::string, uint64_t, uint64_t>, std::shared_ptr<FileBytes>> pieces;
};

/// Decodes `proto`. `files` may be null, then external data is refused. Errors say what was expected and do not name
/// the tensor: the caller knows it.
llvm::Expected<TensorData> decodeTensor(const onnxfile::Tensor &proto, ExternalFiles *files);

/// Reads a serialized tensor (the `input_0.pb` of ONNX's test folders). The result owns its bytes.
llvm::Expected<TensorData> readTensorFile(llvm::StringRef path);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_TENSORDATA_H
