// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What layers require of their operand and of their own tensors, said with the name of the layer, of the tensor and
// both types. Sizes that only running tells are left to the ops.

#ifndef SINTER_TRACE_LAYERCHECKS_H
#define SINTER_TRACE_LAYERCHECKS_H

#include "Build.h"

namespace sinter::inline SINTER_HOST::detail {

class LayerCheck {
public:
  LayerCheck(const char *layer, const Operand &x) : b(layer, x.where), x(x.tensor) {}

  /// The layer's first tensor, whose type all others have.
  void weight(const char *name, const Tensor &tensor) {
    weightName = name;
    own = tensor;
    if (!tensor.defined())
      fail("a " + std::string(name) + ", got none");
    else
      b.in(tensor);
    if (!b.failed())
      b.in(x);
  }
  /// A tensor of the layer, if it is there, has these sizes.
  void part(const char *name, const Tensor &tensor, const Shape &sizes) {
    if (b.failed() || !tensor.defined() || b.in(tensor).error())
      return;
    if (tensor.dtype() != own.dtype() || !hasSizes(tensor, 0, sizes) || tensor.rank() != sizes.size())
      fail("a " + std::string(name) + " " + TensorType{own.dtype(), sizes}.str() + ofWeight() + ", got " +
           tensor.type().str());
  }
  /// The operand has axes like `pattern()`, "[N, 3, H, W]", whose last ones (or those from `first` on) have these
  /// sizes. The text is made for an error alone: layers are called op by op, too.
  template <class Pattern> void operand(Pattern &&pattern, bool hasRank, int first, const Shape &sizes) {
    if (b.failed())
      return;
    int at = first < 0 ? x.rank() + first : first;
    if (!hasRank || at < 0 || x.dtype() != own.dtype() || !hasSizes(x, at, sizes))
      fail("x " + pattern() + " of " + dtype_name(own.dtype()) + ofWeight() + ", got " + x.type().str());
  }
  void fail(const std::string &message) {
    if (!b.failed())
      b.fail(message);
  }
  bool failed() const { return b.failed(); }
  Tensor error() const { return b.error(); }

private:
  static bool hasSizes(const Tensor &tensor, int first, const Shape &sizes) {
    bool fits = first + sizes.size() <= tensor.rank();
    for (int k = 0; fits && k < sizes.size(); ++k)
      fits = tensor.known_dim(first + k) == sizes[k] || tensor.known_dim(first + k) < 0 || sizes[k] < 0;
    return fits;
  }
  std::string ofWeight() const { return " for its " + weightName + " " + own.type().str(); }

  Build b;
  Tensor x, own;
  std::string weightName;
};

/// "H, W" and the like.
inline std::string spaceNames(int axes) { return axes == 1 ? "L" : axes == 2 ? "H, W" : "D, H, W"; }

} // namespace sinter::inline SINTER_HOST::detail

#endif
