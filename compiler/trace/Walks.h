// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks over trees that several files need.

#ifndef SINTER_TRACE_WALKS_H
#define SINTER_TRACE_WALKS_H

#include "anytree.hpp"
#include <map>

namespace sinter::inline SINTER_HOST::detail {

/// Paths of leaves.
class PathVisitor : public TreeVisitor {
public:
  std::vector<std::string> names;
  void tensor(Tensor &) override;
  void enterIndex(size_t index) override;
  void enterKey(std::string_view key) override;
  void enterField(size_t index, const char *spelled) override;
  void leave() override;
  void enter(std::string part) { parts.push_back(std::move(part)); }

protected:
  std::string path() const;

private:
  std::vector<std::string> parts;
};

/// Numbers and texts of a tree, by path.
class FixedValues final : public PathVisitor {
public:
  std::map<std::string, std::string> values;
  void fixed(const void *bytes, size_t count, FixedKind kind) override;
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
