// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trees: values that hold tensors. A tree is a tensor, a plain struct, std::tuple, pair, array, vector, optional or a
// map with string keys of trees, in any nesting. Its leaves are its tensors in order; numbers, enumerations and strings
// in it are fixed: part of what a compiled function is compiled for. A path names a leaf: `.layers[2].w`.

#ifndef SINTER_TRACE_TREE_HPP
#define SINTER_TRACE_TREE_HPP

#include "fields.hpp"
#include "size.hpp"
#include <array>
#include <map>
#include <optional>

namespace sinter {
namespace detail {

template <class T> struct IsVector : std::false_type {};
template <class T, class A> struct IsVector<std::vector<T, A>> : std::true_type {};
template <class T> struct IsArray : std::false_type {};
template <class T, size_t N> struct IsArray<std::array<T, N>> : std::true_type {};
template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T> struct IsMap : std::false_type {};
template <class K, class V, class C, class A> struct IsMap<std::map<K, V, C, A>> : std::true_type {};
template <class T> struct IsTuple : std::false_type {};
template <class... T> struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class A, class B> struct IsTuple<std::pair<A, B>> : std::true_type {};

/// A class with more fields than can be found, or with private ones, lists them: `auto fields() { return std::tie(a,
/// b); }`, and the same const.
template <class T>
concept ListsFields = requires(T &tree) { tree.fields(); };

template <class T>
concept Fixed = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string>;

/// Calls `visitor.tensor(Tensor &)` and `visitor.fixed(bytes, count)` for what `tree` holds, and, when `visitor.paths`,
/// `enter(text)` and `leave()` around each part.
template <class T, class Visitor> void visitTree(T &tree, Visitor &visitor) {
  using Plain = std::remove_const_t<T>;
  auto part = [&](auto &child, auto &&name) {
    if constexpr (Visitor::paths)
      visitor.enter(name());
    visitTree(child, visitor);
    if constexpr (Visitor::paths)
      visitor.leave();
  };
  if constexpr (std::is_same_v<Plain, Tensor>) {
    visitor.tensor(tree);
  } else if constexpr (Fixed<Plain> && requires { visitor.value(tree); }) {
    visitor.value(tree);
  } else if constexpr (std::is_same_v<Plain, std::string>) {
    visitor.fixed(tree.data(), tree.size());
  } else if constexpr (Fixed<Plain>) {
    visitor.fixed(&tree, sizeof(tree));
  } else if constexpr (std::is_same_v<Plain, std::vector<bool>>) {
    for (bool value : tree)
      visitor.fixed(&value, 1);
  } else if constexpr (IsVector<Plain>::value || IsArray<Plain>::value) {
    size_t size = tree.size();
    if constexpr (IsVector<Plain>::value)
      visitor.fixed(&size, sizeof(size));
    for (size_t k = 0; k < size; ++k)
      part(tree[k], [&] { return "[" + std::to_string(k) + "]"; });
  } else if constexpr (IsOptional<Plain>::value) {
    bool engaged = tree.has_value();
    visitor.fixed(&engaged, 1);
    if (engaged)
      visitTree(*tree, visitor);
  } else if constexpr (IsMap<Plain>::value) {
    size_t size = tree.size();
    visitor.fixed(&size, sizeof(size));
    for (auto &[key, child] : tree) {
      visitor.fixed(key.data(), key.size());
      part(child, [&key = key] { return "[\"" + std::string(key) + "\"]"; });
    }
  } else if constexpr (IsTuple<Plain>::value) {
    [&]<size_t... I>(std::index_sequence<I...>) {
      (part(std::get<I>(tree), [] { return "[" + std::to_string(I) + "]"; }), ...);
    }(std::make_index_sequence<std::tuple_size_v<Plain>>());
  } else if constexpr (ListsFields<T>) {
    auto fields = tree.fields();
    [&]<size_t... I>(std::index_sequence<I...>) {
      (part(std::get<I>(fields), [] { return "." + std::to_string(I); }), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(fields)>>());
  } else {
    static_assert(std::is_class_v<Plain> && (std::is_aggregate_v<Plain> || std::is_empty_v<Plain>),
                  "sinter takes tensors, numbers, strings, plain structs and standard containers of them here");
    if constexpr (std::is_aggregate_v<Plain> && !std::is_empty_v<Plain>) {
      auto fields = fieldsOf(tree);
      [&]<size_t... I>(std::index_sequence<I...>) {
        (part(std::get<I>(fields),
              [] {
                constexpr std::string_view name = fieldName<Plain, I>();
                return "." + (name.empty() ? std::to_string(I) : std::string(name));
              }),
         ...);
      }(std::make_index_sequence<std::tuple_size_v<decltype(fields)>>());
    }
  }
}

template <class F> struct TensorVisitor {
  static constexpr bool paths = false;
  F &f;
  template <class T> void tensor(T &leaf) { f(leaf); }
  void fixed(const void *, size_t) {}
};

/// Calls `f(Tensor &)` for each leaf, in order.
template <class T, class F> void eachLeaf(T &tree, F &&f) {
  TensorVisitor<std::remove_reference_t<F>> visitor{f};
  visitTree(tree, visitor);
}

struct PathVisitor {
  static constexpr bool paths = true;
  std::vector<std::string> names;
  std::vector<std::string> parts;
  void enter(std::string text) { parts.push_back(std::move(text)); }
  void leave() { parts.pop_back(); }
  void tensor(const Tensor &) {
    std::string name;
    for (const std::string &part : parts)
      name += part;
    names.push_back(std::move(name));
  }
  void fixed(const void *, size_t) {}
};

/// Numbers and texts of a tree, by path.
struct FixedVisitor {
  static constexpr bool paths = true;
  std::map<std::string, std::string> values;
  std::vector<std::string> parts;
  void enter(std::string text) { parts.push_back(std::move(text)); }
  void leave() { parts.pop_back(); }
  void tensor(const Tensor &) {}
  void fixed(const void *, size_t) {}
  template <class T> void value(const T &value) {
    std::string name, text;
    for (const std::string &part : parts)
      name += part;
    if constexpr (std::is_same_v<T, std::string>)
      text = "'" + value + "'";
    else if constexpr (std::is_same_v<T, bool>)
      text = value ? "true" : "false";
    else if constexpr (std::is_enum_v<T>)
      text = std::to_string(int64_t(value));
    else
      text = std::to_string(value);
    values.emplace(std::move(name), std::move(text));
  }
};

struct ShapeVisitor {
  static constexpr bool paths = false;
  std::vector<Tensor> leaves;
  std::string fixedBytes;
  void tensor(const Tensor &leaf) { leaves.push_back(leaf); }
  void fixed(const void *bytes, size_t count) { fixedBytes.append(static_cast<const char *>(bytes), count); }
};

} // namespace detail

/// The tensors that a tree holds, in order.
template <class T> std::vector<Tensor> flatten(const T &tree) {
  std::vector<Tensor> leaves;
  detail::eachLeaf(tree, [&](const Tensor &leaf) { leaves.push_back(leaf); });
  return leaves;
}

/// `tree` with other tensors, as many as it holds.
template <class T> T unflatten(T tree, std::span<const Tensor> leaves) {
  size_t next = 0;
  detail::eachLeaf(tree, [&](Tensor &leaf) {
    if (next < leaves.size())
      leaf = leaves[next++];
  });
  return tree;
}

/// The path of each leaf: `[0].w`. Empty for a tree that is one tensor.
template <class T> std::vector<std::string> leaf_paths(const T &tree) {
  detail::PathVisitor visitor;
  detail::visitTree(tree, visitor);
  return std::move(visitor.names);
}

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
} // namespace sinter

#endif
