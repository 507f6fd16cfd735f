// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Right operands and filters that are packed at compile time: [batch][panel][headers, words of k][columns][kPack], zero
// beyond k and the columns.
//
// Panels of byte_pairs: two neighbours in a word are products of which 16 bits must hold the sum, in each column of the
// panel; where two words are joined, these and the two at the same place of the next word. Where they do not as
// elements of k lie, those of a group (ProductForm::group) may come in another order, which is another one in each
// panel. What does not fit then of an element (of weights that are among the greatest in different columns) is taken
// off it, and stands in words of its own behind the others (ProductForm::extras), which are not joined. The panel's
// header:
//
//   orders   four bytes for each word, if words of k are in order, and for each extra word: where in its group each
//            element lies; kNoElement: a zero
//   places   four bytes for each extra word: where its group begins in k
//
// In the weights of ResNet-50 quantized to 8 bits with a scale for each channel, neighbours of 1 to 8 % of the pairs of
// a column exceed 16 bits, and a third of the words of 16 columns have such a pair; in orders of 16 elements a panel
// needs up to five extra words. With one scale for all channels, or in seven bits, four elements mostly fit.

#ifndef SINTER_BACKENDS_CPU_EMIT_PANELS_H
#define SINTER_BACKENDS_CPU_EMIT_PANELS_H

#include "backends/cpu/emit/ProductForm.h"
#include "backends/schedule/KernelLaunch.h"

namespace sinter::cpu {

/// How a right operand of known sizes is packed.
struct Panels {
  ProductForm form;
  int64_t columns; // of a panel
  int64_t width;   // bytes of an element
  /// Places of elements in the operand, which are added up: of batches, elements of k (kNone: a zero) and columns.
  std::vector<int64_t> batches, ks, places;

  static constexpr int64_t kNone = -1;
  static constexpr uint8_t kNoElement = 0x80;

  int64_t bytes() const;
  void write(const char *from, char *to) const;
  schedule::PackedForm packed() const;
  /// Of k, in a panel.
  int64_t words() const { return form.words(static_cast<int64_t>(ks.size())); }
  /// How many extra words panels need at most, as the form has words; nothing if these are more than `most`. Without
  /// groups there are none.
  std::optional<int64_t> countExtras(const char *from, int64_t most) const;

private:
  struct Ordered;

  std::vector<int8_t> bytesOf(const char *first, int64_t begin) const;
  Ordered order(const char *first, int64_t begin) const;
  void takeExtras(int64_t k, int8_t *group, llvm::ArrayRef<uint8_t> order, int64_t count, Ordered &panel) const;
  /// Elements of which each set is one: those of a group, or of joined words.
  int64_t groupSize() const { return form.group ? form.group : form.kPack * form.joined; }
  void writeOrdered(const char *first, int64_t begin, char *to) const;
  int64_t inside(int64_t begin) const { return std::min(columns, static_cast<int64_t>(places.size()) - begin); }
  /// False if `use` is, for a panel, which is the last one then.
  bool forEachPanel(llvm::function_ref<bool(int64_t batch, int64_t begin)> use) const;
};

} // namespace sinter::cpu

#endif
