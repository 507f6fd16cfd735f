// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Walks.h"
#include "runtime/decimal.h"

namespace sinter::inline SINTER_HOST::detail {

void TreeVisitor::fixed(const void *, size_t, FixedKind) {}
void TreeVisitor::enterIndex(size_t) {}
void TreeVisitor::enterKey(std::string_view) {}
void TreeVisitor::enterField(size_t, const char *) {}
void TreeVisitor::leave() {}
TreeVisitor::~TreeVisitor() = default;

/// The name of a field, empty where the compiler does not spell it.
static std::string_view fieldName(const char *spelled) {
  std::string_view text = spelled ? spelled : "";
  size_t end = text.find_last_not_of(")}]&; ");
  if (end == std::string_view::npos)
    return {};
  text = text.substr(0, end + 1);
  size_t start = text.find_last_of(".:>");
  return start == std::string_view::npos ? std::string_view() : text.substr(start + 1);
}

void PathVisitor::enterIndex(size_t index) { parts.push_back("[" + std::to_string(index) + "]"); }
void PathVisitor::enterKey(std::string_view key) { parts.push_back("[\"" + std::string(key) + "\"]"); }
void PathVisitor::enterField(size_t index, const char *spelled) {
  std::string_view name = fieldName(spelled);
  parts.push_back("." + (name.empty() ? std::to_string(index) : std::string(name)));
}
void PathVisitor::leave() { parts.pop_back(); }
std::string PathVisitor::path() const {
  std::string name;
  for (const std::string &part : parts)
    name += part;
  return name;
}
void PathVisitor::tensor(Tensor &) { names.push_back(path()); }

template <class T> static T read(const void *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
static int64_t readInteger(const void *bytes, size_t count) {
  return count == 1   ? read<int8_t>(bytes)
         : count == 2 ? read<int16_t>(bytes)
         : count == 4 ? read<int32_t>(bytes)
                      : read<int64_t>(bytes);
}

void FixedValues::fixed(const void *bytes, size_t count, FixedKind kind) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, kind == FixedKind::text ? 0 : std::min<size_t>(count, 8));
  switch (kind) {
  case FixedKind::structure:
    return;
  case FixedKind::boolean:
    values.emplace(path(), read<bool>(bytes) ? "true" : "false");
    return;
  case FixedKind::integer:
  case FixedKind::enumeration:
    values.emplace(path(), std::to_string(readInteger(bytes, count)));
    return;
  case FixedKind::natural:
    values.emplace(path(), std::to_string(bits));
    return;
  case FixedKind::real:
    values.emplace(path(), count == 4   ? decimal(read<float>(bytes))
                           : count == 8 ? decimal(read<double>(bytes))
                                        : decimal(read<long double>(bytes)));
    return;
  case FixedKind::text:
    values.emplace(path(), "'" + std::string(static_cast<const char *>(bytes), count) + "'");
    return;
  }
}

namespace {
struct EachLeaf final : TreeVisitor {
  explicit EachLeaf(FunctionRef<void(Tensor &)> f) : f(f) {}
  void tensor(Tensor &leaf) override { f(leaf); }
  FunctionRef<void(Tensor &)> f;
};
} // namespace

void AnyTree::each(FunctionRef<void(Tensor &)> f) const {
  EachLeaf visitor(f);
  visit(visitor);
}
std::vector<Tensor> AnyTree::leaves() const {
  std::vector<Tensor> result;
  each([&](Tensor &leaf) { result.push_back(leaf); });
  return result;
}
std::vector<TensorType> AnyTree::types() const {
  std::vector<TensorType> result;
  each([&](Tensor &leaf) { result.push_back(leaf.type()); });
  return result;
}
std::vector<std::string> AnyTree::paths() const {
  PathVisitor visitor;
  visit(visitor);
  return std::move(visitor.names);
}
void AnyTree::setLeaves(std::span<const Tensor> leaves) const {
  size_t next = 0;
  each([&](Tensor &leaf) {
    if (next < leaves.size())
      leaf = leaves[next++];
  });
}
void AnyTree::poison(const Tensor &problem) const {
  Tensor kept = problem; // which may be a leaf
  each([&](Tensor &leaf) { leaf = kept; });
}
const Tensor *AnyTree::firstError() const {
  const Tensor *found = nullptr;
  each([&](Tensor &leaf) {
    if (leaf.error() && !found)
      found = &leaf;
  });
  return found;
}

} // namespace sinter::inline SINTER_HOST::detail
