// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors between files, flags, the evaluator and sessions.

#ifndef SINTER_TOOLS_SINTER_TENSORS_H
#define SINTER_TOOLS_SINTER_TENSORS_H

#include "ir/reference/HostTensor.h"
#include "runtime/sinter.h"
#include "tools/sinter/Command.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sinter::tool {

/// An input or output of a model.
struct Port {
  std::string name;
  mlir::RankedTensorType type; // `?` where the size is not fixed
  int32_t number = 0;          // among all inputs or outputs of the function, states included
};

/// Element types as the runtime numbers them (sinter_dtype); `elementTypeOf` gives null for a number that is none.
int32_t dtypeOf(mlir::Type elementType);
mlir::Type elementTypeOf(mlir::MLIRContext *context, int32_t dtype);
std::string dtypeName(mlir::Type elementType);
/// `float32 1x3x224x224`
std::string describe(mlir::RankedTensorType type);
std::string describe(const HostTensor &tensor);

/// A view for the runtime; valid while `tensor` lives and is not written. `dims` receives the sizes.
sinter_tensor viewOf(const HostTensor &tensor, std::vector<int64_t> &dims);
HostTensor copyOf(mlir::MLIRContext *context, const sinter_tensor &tensor);

/// Uniform in [-1, 1) for floats, small integers in [0, 10) for integers, coin flips for booleans. The bits depend on
/// `seed` and shape only.
HostTensor randomTensor(mlir::RankedTensorType type, uint64_t seed);

/// One tensor per port, from `--input NAME=VALUE` flags: @file.npy, @file.npz (array NAME), @file.raw, random:SEED,
/// random, zeros, ones, or a number. Throws Stop naming the input that is missing, unknown or of another type. `fill`
/// (may be empty) is used for inputs that no flag names; numbers that it draws are multiplied by `scale`
/// (booleans are not), and inputs get numbers of their own.
std::vector<HostTensor> readInputs(mlir::MLIRContext *context, const std::vector<Port> &ports,
                                   const std::vector<std::string> &flags, const std::string &fill, double scale = 1);

/// What `use(drawn, scale, isLast)` gives of what `draw(scale)` makes of inputs. Where `draw` throws a failure of the
/// model, as labels are past its classes, or `use` gives nothing, as inputs lead to infinities, both are called again
/// for smaller draws, if there are any: nothing is not allowed in the last call. What `use` throws is thrown.
template <class Draw, class Use> auto withSmallerDraws(bool isDrawn, Draw draw, Use use) {
  for (double scale = 1;; scale /= 8) {
    bool isLast = !isDrawn || scale < 1e-4;
    std::optional<decltype(draw(scale))> drawn;
    try {
      drawn = draw(scale);
    } catch (const Stop &stop) {
      if (isLast || stop.code != Exit::Failure)
        throw;
      continue;
    }
    if (auto result = use(*drawn, scale, isLast))
      return *result;
  }
}
/// A line that tells of it; none for the scale 1.
std::string tellSmallerDraws(double scale);

/// Whether there is no infinity and no NaN.
bool isFinite(const HostTensor &tensor);

/// Throws Stop.
void writeNpy(const HostTensor &tensor, const std::string &path);

/// Name, dtype, shape, first elements, least, greatest, mean.
std::string summarize(const std::string &name, const HostTensor &tensor);

} // namespace sinter::tool

#endif
