// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trees: values that hold tensors. A tree is a tensor, a plain struct, std::tuple, pair, array, vector, optional or a
// map with string keys of trees, in any nesting. Its leaves are its tensors in order; numbers, enumerations and strings
// in it are fixed: part of what a compiled function is compiled for. A path names a leaf: `.layers[2].w`.

#ifndef SINTER_TRACE_TREE_HPP
#define SINTER_TRACE_TREE_HPP

#include "anytree.hpp"
#include "fields.hpp"
#include "size.hpp"

namespace sinter::inline SINTER_HOST {
namespace detail {

// Containers are known by what they offer, so that a program pays for the headers of those only that it uses.
template <class T>
concept IsVector = requires(T tree) {
  typename T::value_type;
  typename T::allocator_type;
  tree.data();
  tree.capacity();
} && !std::is_same_v<typename T::value_type, char>;
template <class T>
concept IsArray = requires(T tree) {
  typename T::value_type;
  std::tuple_size<T>::value;
  tree.data();
};
template <class T>
concept IsOptional = requires(T tree) {
  typename T::value_type;
  tree.has_value();
  tree.reset();
  *tree;
};
template <class T>
concept IsMap = requires(T tree) {
  typename T::mapped_type;
  tree.begin()->second;
  tree.begin()->first.data();
};
template <class T> struct IsTuple : std::false_type {};
template <class... T> struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B> struct IsTuple<std::pair<A, B>> : std::true_type {};

/// A class with more fields than can be found, or with private ones, lists them: `auto fields() { return std::tie(a,
/// b); }`, and the same const.
template <class T>
concept ListsFields = requires(T &tree) { tree.fields(); };

/// A class that stands for its parts, without a step of the path: `auto transparent() { return std::tie(a, b); }`.
template <class T>
concept Transparent = requires(T &tree) { tree.transparent(); };

template <class T>
concept Fixed = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

template <class T> constexpr FixedKind fixedKind() {
  if constexpr (std::is_same_v<T, std::string>)
    return FixedKind::text;
  else if constexpr (std::is_enum_v<T>)
    return FixedKind::enumeration;
  else if constexpr (std::is_same_v<T, bool>)
    return FixedKind::boolean;
  else if constexpr (std::is_floating_point_v<T>)
    return FixedKind::real;
  else
    return std::is_signed_v<T> ? FixedKind::integer : FixedKind::natural;
}

template <class T, size_t... I> void visitFields(T &tree, TreeVisitor &visitor, std::index_sequence<I...>);

/// Walks `tree`, which is not changed unless `visitor` changes its leaves.
template <class T> void visitTree(T &tree, TreeVisitor &visitor) {
  if constexpr (std::is_same_v<T, Tensor>) {
    visitor.tensor(tree);
  } else if constexpr (std::is_same_v<T, std::string>) {
    visitor.fixed(tree.data(), tree.size(), FixedKind::text);
  } else if constexpr (Fixed<T>) {
    visitor.fixed(&tree, sizeof(tree), fixedKind<T>());
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    for (bool value : tree)
      visitor.fixed(&value, 1, FixedKind::structure);
  } else if constexpr (IsVector<T> || IsArray<T>) {
    size_t size = tree.size();
    if constexpr (IsVector<T>)
      visitor.fixed(&size, sizeof(size), FixedKind::structure);
    for (size_t k = 0; k < size; ++k) {
      visitor.enterIndex(k);
      visitTree(tree[k], visitor);
      visitor.leave();
    }
  } else if constexpr (IsOptional<T>) {
    bool engaged = tree.has_value();
    visitor.fixed(&engaged, 1, FixedKind::structure);
    if (engaged)
      visitTree(*tree, visitor);
  } else if constexpr (IsMap<T>) {
    size_t size = tree.size();
    visitor.fixed(&size, sizeof(size), FixedKind::structure);
    for (auto &[key, child] : tree) {
      visitor.fixed(key.data(), key.size(), FixedKind::structure);
      visitor.enterKey(key);
      visitTree(child, visitor);
      visitor.leave();
    }
  } else if constexpr (IsTuple<T>::value) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((visitor.enterIndex(I), visitTree(std::get<I>(tree), visitor), visitor.leave()), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (Transparent<T>) {
    std::apply([&](auto &...part) { (visitTree(part, visitor), ...); }, tree.transparent());
  } else if constexpr (ListsFields<T>) {
    auto fields = tree.fields();
    [&]<size_t... I>(std::index_sequence<I...>) {
      ((visitor.enterField(I, nullptr), visitTree(std::get<I>(fields), visitor), visitor.leave()), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(fields)>>());
  } else {
    static_assert(std::is_class_v<T> && (std::is_aggregate_v<T> || std::is_empty_v<T>),
                  "sinter takes tensors, numbers, strings, plain structs and standard containers of them here");
    if constexpr (std::is_aggregate_v<T> && !std::is_empty_v<T>)
      visitFields(tree, visitor, std::make_index_sequence<countFields<T>()>());
  }
}
template <class T, size_t... I> void visitFields(T &tree, TreeVisitor &visitor, std::index_sequence<I...>) {
  auto fields = fieldsOf(tree);
  ((visitor.enterField(I, spelledField<T, I>()), visitTree(std::get<I>(fields), visitor), visitor.leave()), ...);
}

template <class T> void visitAny(void *tree, TreeVisitor &visitor) { visitTree(*static_cast<T *>(tree), visitor); }
template <class T> std::shared_ptr<void> cloneAny(const void *tree) {
  return std::shared_ptr<void>(new T(*static_cast<const T *>(tree)),
                               [](void *owned) { delete static_cast<T *>(owned); });
}
template <class T> void assignAny(void *to, const void *from) { *static_cast<T *>(to) = *static_cast<const T *>(from); }
template <class T> inline constexpr TreeOps kTreeOps{visitAny<T>, cloneAny<T>, assignAny<T>};

/// A view of `tree`; through one of a constant, nothing is changed.
template <class T> AnyTree anyTree(const T &tree) { return {const_cast<T *>(&tree), &kTreeOps<T>}; }

/// Calls `f(Tensor &)` for each leaf, in order.
template <class T, class F> void eachLeaf(T &tree, F &&f) {
  if constexpr (std::is_const_v<T>)
    anyTree(tree).each([&](const Tensor &leaf) { f(leaf); });
  else
    anyTree(tree).each(f);
}

} // namespace detail

/// The tensors that a tree holds, in order.
template <class T> std::vector<Tensor> flatten(const T &tree) { return detail::anyTree(tree).leaves(); }

/// `tree` with other tensors, as many as it holds.
template <class T> T unflatten(T tree, std::span<const Tensor> leaves) {
  detail::anyTree(tree).setLeaves(leaves);
  return tree;
}

/// The path of each leaf: `[0].w`. Empty for a tree that is one tensor.
template <class T> std::vector<std::string> leaf_paths(const T &tree) { return detail::anyTree(tree).paths(); }

/// `f(leaf)` in place of each leaf.
template <class T, class F> T tree_map(F &&f, T tree) {
  detail::eachLeaf(tree, [&](Tensor &leaf) { leaf = f(Tensor(leaf)); });
  return tree;
}

namespace detail {

/// What a tree is held as: numbers and sizes given by themselves are tensors.
template <class T> struct TreeOf {
  using type = std::conditional_t<Number<std::decay_t<T>>, Tensor, std::decay_t<T>>;
};
template <> struct TreeOf<Size> {
  using type = Tensor;
};
template <> struct TreeOf<SizeComparison> {
  using type = Tensor;
};
template <class... T> struct TreeOf<std::tuple<T...>> {
  using type = std::tuple<typename TreeOf<T>::type...>;
};
template <class A, class B> struct TreeOf<std::pair<A, B>> {
  using type = std::pair<typename TreeOf<A>::type, typename TreeOf<B>::type>;
};
template <class T> using tree_t = typename TreeOf<std::decay_t<T>>::type;

/// `value` as a To: the same type, numbers as tensors, tuples and pairs by their parts.
template <class To, class From> To treeCast(From &&value) {
  using Plain = std::decay_t<From>;
  if constexpr (std::is_same_v<To, Plain>)
    return std::forward<From>(value);
  else if constexpr (IsTuple<To>::value && IsTuple<Plain>::value) {
    static_assert(std::tuple_size_v<To> == std::tuple_size_v<Plain>,
                  "the body of a loop returns as many values as there are carries");
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return To(treeCast<std::tuple_element_t<I, To>>(std::get<I>(std::forward<From>(value)))...);
    }(std::make_index_sequence<std::tuple_size_v<To>>());
  } else {
    static_assert(std::is_convertible_v<From, To>,
                  "a body or branch returns another type than its carries or the other branch");
    return std::forward<From>(value);
  }
}

/// `value`, or the tensor that stands for a number.
template <class T> decltype(auto) asTree(const T &value) {
  if constexpr (std::is_same_v<tree_t<T>, T>)
    return static_cast<const T &>(value);
  else
    return treeCast<tree_t<T>>(value);
}

} // namespace detail
} // namespace sinter::inline SINTER_HOST

#endif
