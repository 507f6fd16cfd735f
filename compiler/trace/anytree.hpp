// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trees and functions of a program as the library sees them. What can be done without knowing a C++ type is compiled
// once, in the library; a program's own code is instantiated for what it calls only: one walk per type of tree, and a
// thunk per function.

#ifndef SINTER_TRACE_ANYTREE_HPP
#define SINTER_TRACE_ANYTREE_HPP

#include "tensor.hpp"

namespace sinter::inline SINTER_HOST::detail {

/// A function that somebody else keeps alive.
template <class> class FunctionRef;
template <class R, class... A> class FunctionRef<R(A...)> {
public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
  FunctionRef(F &&f)
      : object(const_cast<void *>(static_cast<const void *>(&f))), thunk([](void *object, A... args) -> R {
          return (*static_cast<std::remove_reference_t<F> *>(object))(static_cast<A>(args)...);
        }) {}
  R operator()(A... args) const { return thunk(object, static_cast<A>(args)...); }

private:
  void *object;
  R (*thunk)(void *, A...);
};

/// What a part of a tree is that is no tensor.
enum class FixedKind : uint8_t { structure, boolean, integer, natural, real, enumeration, text };

/// Walks a tree: `tensor` for each leaf, `fixed` for what a compiled function is compiled for, and around each part of
/// a container one of the `enter` functions and `leave`.
class TreeVisitor {
public:
  virtual void tensor(Tensor &leaf) = 0;
  virtual void fixed(const void *bytes, size_t count, FixedKind kind);
  virtual void enterIndex(size_t index);
  virtual void enterKey(std::string_view key);
  /// `spelled` is how the compiler spells the field's address; null where it has none.
  virtual void enterField(size_t index, const char *spelled);
  virtual void leave();

protected:
  ~TreeVisitor();
};

/// What the library does with a tree of some type.
struct TreeOps {
  void (*visit)(void *tree, TreeVisitor &visitor);
  std::shared_ptr<void> (*clone)(const void *tree);
  void (*assign)(void *to, const void *from);
};

/// A tree of any type that somebody else keeps alive. Its `ops` are of its type: equal ones, equal types.
struct AnyTree {
  void *tree = nullptr;
  const TreeOps *ops = nullptr;

  void visit(TreeVisitor &visitor) const { ops->visit(tree, visitor); }
  /// Calls `f` for each leaf, in order.
  void each(FunctionRef<void(Tensor &)> f) const;
  std::vector<Tensor> leaves() const;
  std::vector<TensorType> types() const;
  /// The path of each leaf: `[0].w`.
  std::vector<std::string> paths() const;
  /// Replaces leaves, as many as there are on both sides.
  void setLeaves(std::span<const Tensor> leaves) const;
  /// Gives every leaf the error that `problem` carries.
  void poison(const Tensor &problem) const;
  /// Null when no leaf carries an error.
  const Tensor *firstError() const;
  std::shared_ptr<void> clone() const { return ops->clone(tree); }
  AnyTree at(void *other) const { return {other, ops}; }
  void assign(const void *from) const { ops->assign(tree, from); }
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
