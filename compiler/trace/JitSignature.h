// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a compiled form of a jitted function was compiled for, as numbers that arguments are compared with in each call.

#ifndef SINTER_TRACE_JIT_SIGNATURE_H
#define SINTER_TRACE_JIT_SIGNATURE_H

#include "There.h"
#include "Trace.h"
#include <algorithm>
#include <cstring>

namespace sinter::inline SINTER_HOST::detail {

/// A signature as numbers: per leaf its type and sizes (negative: any), per fixed part its bytes.
struct SignatureWriter final : TreeVisitor {
  explicit SignatureWriter(std::span<const Spec> specs) : specs(specs) {}
  std::vector<int64_t> words;
  std::vector<Tensor> leaves;
  std::span<const Spec> specs;
  void tensor(Tensor &leaf) override {
    words.push_back(int64_t(leaf.dtype()) << 8 | leaf.rank());
    size_t at = leaves.size();
    for (int axis = 0; axis < leaf.rank(); ++axis)
      words.push_back(at < specs.size() && size_t(axis) < specs[at].dims.size() &&
                              !specs[at].dims[size_t(axis)].name.empty()
                          ? -1
                          : leaf.known_dim(axis));
    leaves.push_back(leaf);
  }
  void fixed(const void *bytes, size_t count, FixedKind) override {
    words.push_back(int64_t(count));
    for (auto *data = static_cast<const char *>(bytes); count;
         data += std::min<size_t>(count, 8), count -= std::min<size_t>(count, 8)) {
      int64_t word = 0;
      std::memcpy(&word, data, std::min<size_t>(count, 8));
      words.push_back(word);
    }
  }
};

/// Compares arguments with a signature, and collects views of their leaves on the way.
struct SignatureMatcher final : TreeVisitor {
  SignatureMatcher(const std::vector<int64_t> &signature, sinter_tensor *views)
      : next(signature.data()), end(next + signature.size()), views(views) {}
  const int64_t *next, *end;
  sinter_tensor *views;
  bool same = true;
  const capi::EagerDevice *device = nullptr; // of the last leaf that lies on one
  void tensor(Tensor &leaf) override {
    const Value *value = leaf.value();
    if (!same || !value || value->kind != Value::Kind::eager) {
      same = false;
      return;
    }
    if (value->there)
      device = value->there->device; // then nobody reads the view's data
    const sinter_tensor &from = value->tensor;
    int rank = from.rank;
    if (end - next < 1 + rank || *next != (int64_t(from.dtype) << 8 | rank)) {
      same = false;
      return;
    }
    ++next;
    sinter_tensor &to = *views++;
    to.data = value->there ? nullptr : from.data;
    to.dtype = from.dtype;
    to.rank = rank;
    to.strides = nullptr;
    for (int axis = 0; axis < rank; ++axis, ++next) {
      to.dims[axis] = from.dims[axis];
      same &= *next == from.dims[axis] || *next < 0;
    }
  }
  void fixed(const void *bytes, size_t count, FixedKind) override {
    size_t words = (count + 7) / 8;
    if (!same || end - next < int64_t(1 + words) || *next != int64_t(count)) {
      same = false;
      return;
    }
    same = std::memcmp(next + 1, bytes, count) == 0;
    next += 1 + words;
  }
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
