// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The normal form is a sum of monomials; a monomial is an integer times a product of atoms (symbols, and quotients,
// remainders, minima and maxima that do not simplify). Two expressions that expand to the same sum
// are thus the same node. Coefficients saturate: a size of 2^63 - 1 is an error wherever one is allocated or verified.
// What expressions are as numbers: SizeArithmetic.h.

#include "ir/Dims.h"
#include "ir/Ranges.h"
#include "ir/SizeArithmetic.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLForwardCompat.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <deque>
#include <map>

using namespace mlir;
using namespace sinter;

struct DimExpr::Node {
  Kind kind;
  int64_t value; // of a constant; number of a symbol
  SmallVector<DimExpr> operands;
  unsigned id; // order of creation, by which operands are sorted
};

DimExpr::Kind DimExpr::kind() const { return node->kind; }
bool DimExpr::isConstant() const { return node && node->kind == Kind::Constant; }
int64_t DimExpr::constant() const {
  assert(isConstant() && "only constants have a value");
  return node->value;
}
unsigned DimExpr::symbol() const {
  assert(node->kind == Kind::Symbol && "only symbols have a number");
  return static_cast<unsigned>(node->value);
}
ArrayRef<DimExpr> DimExpr::operands() const { return node->operands; }
int64_t DimExpr::staticSize() const { return isConstant() ? constant() : ShapedType::kDynamic; }

namespace {
using Node = DimExpr::Node;

/// Sorted by id.
using Monomial = std::vector<const Node *>;
struct MonomialOrder {
  bool operator()(const Monomial &a, const Monomial &b) const {
    // Longer products first, so that the constant comes last.
    if (a.size() != b.size())
      return a.size() > b.size();
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        [](const Node *x, const Node *y) { return x->id < y->id; });
  }
};
using Sum = std::map<Monomial, int64_t, MonomialOrder>;

/// Products of sums are expanded up to this many monomials; beyond it a sum stays an atom.
constexpr size_t kMaxMonomials = 64;
} // namespace

struct DimContext::Impl {
  struct Symbol {
    SymbolSource source;
    std::string name;
    DimExpr expr;
    DimExpr replacement; // after unification
    DimBounds bounds;    // that its source has
  };
  using Key = std::tuple<DimExpr::Kind, int64_t, std::vector<const void *>>;

  std::deque<Node> nodes;
  std::map<Key, const Node *> unique;
  std::vector<Symbol> symbols;
  std::map<std::tuple<const void *, int, int64_t>, unsigned> symbolOf;
  bool unified = false;
  DenseMap<const Node *, DimExpr> resolved;
  DenseMap<const Node *, DimBounds> knownBounds; // of nodes, which never change

  DimExpr get(DimExpr::Kind kind, int64_t value, ArrayRef<DimExpr> operands) {
    std::vector<const void *> ids;
    for (DimExpr operand : operands)
      ids.push_back(operand.getOpaqueValue());
    const Node *&node = unique[Key(kind, value, std::move(ids))];
    if (!node) {
      nodes.push_back({kind, value, SmallVector<DimExpr>(operands), static_cast<unsigned>(nodes.size())});
      node = &nodes.back();
    }
    return DimExpr(node);
  }
  DimExpr constant(int64_t value) { return get(DimExpr::Kind::Constant, value, {}); }
  /// The minimum or maximum of two, flat, so that nesting does not matter.
  DimExpr flatten(DimExpr::Kind kind, DimExpr a, DimExpr b) {
    SmallVector<DimExpr> operands;
    for (DimExpr side : {a, b}) {
      if (side.kind() == kind)
        llvm::append_range(operands, side.operands());
      else
        operands.push_back(side);
    }
    llvm::sort(operands, [](DimExpr x, DimExpr y) { return nodeOf(x)->id < nodeOf(y)->id; });
    operands.erase(llvm::unique(operands), operands.end());
    return operands.size() == 1 ? operands[0] : get(kind, 0, operands);
  }
  static const Node *nodeOf(DimExpr expr) { return static_cast<const Node *>(expr.getOpaqueValue()); }

  static Sum toSum(DimExpr expr) {
    Sum sum;
    auto addMonomial = [&](DimExpr term) {
      int64_t coefficient = 1;
      Monomial atoms;
      auto addFactor = [&](DimExpr factor) {
        if (factor.isConstant())
          coefficient = saturatingMul(coefficient, factor.constant());
        else
          atoms.push_back(nodeOf(factor));
      };
      if (term.kind() == DimExpr::Kind::Mul)
        llvm::for_each(term.operands(), addFactor);
      else
        addFactor(term);
      accumulate(sum, std::move(atoms), coefficient);
    };
    if (expr.kind() == DimExpr::Kind::Add)
      llvm::for_each(expr.operands(), addMonomial);
    else
      addMonomial(expr);
    return sum;
  }

  static void accumulate(Sum &sum, Monomial atoms, int64_t coefficient) {
    llvm::sort(atoms, [](const Node *a, const Node *b) { return a->id < b->id; });
    int64_t &total = sum[atoms];
    total = saturatingAdd(total, coefficient);
    if (total == 0)
      sum.erase(atoms);
  }

  static Sum multiply(const Sum &a, const Sum &b) {
    Sum product;
    for (const auto &[x, p] : a)
      for (const auto &[y, q] : b) {
        Monomial atoms(x);
        atoms.insert(atoms.end(), y.begin(), y.end());
        accumulate(product, std::move(atoms), saturatingMul(p, q));
      }
    return product;
  }

  DimExpr fromSum(const Sum &sum) {
    SmallVector<DimExpr> terms;
    for (const auto &[atoms, coefficient] : sum) {
      SmallVector<DimExpr> factors;
      if (coefficient != 1 || atoms.empty())
        factors.push_back(constant(coefficient));
      for (const Node *atom : atoms)
        factors.push_back(DimExpr(atom));
      terms.push_back(factors.size() == 1 ? factors[0] : get(DimExpr::Kind::Mul, 0, factors));
    }
    if (terms.empty())
      return constant(0);
    return terms.size() == 1 ? terms[0] : get(DimExpr::Kind::Add, 0, terms);
  }

  /// The one term m with a = m * b, if there is one.
  static std::optional<Sum> exactQuotient(const Sum &a, const Sum &b) {
    if (a.empty())
      return Sum();
    if (b.empty())
      return std::nullopt;
    const auto &[numerator, p] = *a.begin();
    const auto &[denominator, q] = *b.begin();
    if (q == 0 || (q != -1 && p % q != 0)) // the least number has no opposite
      return std::nullopt;
    Monomial rest(numerator);
    for (const Node *atom : denominator) {
      auto *found = std::find(rest.data(), rest.data() + rest.size(), atom);
      if (found == rest.data() + rest.size())
        return std::nullopt;
      rest.erase(rest.begin() + (found - rest.data()));
    }
    Sum quotient;
    accumulate(quotient, std::move(rest), q == -1 ? saturatingMul(p, -1) : p / q);
    return multiply(quotient, b) == a ? std::optional<Sum>(quotient) : std::nullopt;
  }

  /// Divides term by term: what is divisible by every monomial of a one-monomial `b`.
  static std::optional<Sum> termwiseQuotient(const Sum &a, const Sum &b) {
    if (b.size() != 1)
      return exactQuotient(a, b);
    Sum quotient;
    for (const auto &term : a) {
      std::optional<Sum> part = exactQuotient(Sum{term}, b);
      if (!part)
        return std::nullopt;
      for (const auto &[atoms, coefficient] : *part)
        accumulate(quotient, atoms, coefficient);
    }
    return quotient;
  }

  /// A division of numbers, of 0, or by 0.
  std::optional<DimExpr> knownDivision(DimExpr::Kind kind, DimExpr a, DimExpr b) {
    if (a.isConstant() && (b.isConstant() || a.constant() == 0))
      return constant(b.isConstant() ? combineSizes(kind, a.constant(), b.constant()) : 0);
    if (b.isConstant() && b.constant() == 0)
      return kind == DimExpr::Kind::Mod ? constant(0) : a;
    return std::nullopt;
  }

  /// a = divisor * quotient + remainder with the remainder's coefficients in [0, divisor).
  static void splitByConstant(const Sum &a, int64_t divisor, Sum &quotient, Sum &remainder) {
    for (const auto &[atoms, coefficient] : a) {
      // Only whole multiples move out, and of the constant all that can: (2*n + 3) / 2 = n + 1 + 1/2.
      int64_t low = atoms.empty() ? llvm::divideFloorSigned(coefficient, divisor) : coefficient / divisor;
      if (!atoms.empty() && coefficient % divisor != 0)
        low = 0;
      if (low != 0)
        accumulate(quotient, atoms, low);
      if (int64_t rest = coefficient - low * divisor)
        accumulate(remainder, atoms, rest);
    }
  }

  DimExpr rebuild(DimContext &context, DimExpr expr);
  DimExpr rebuildNode(DimContext &context, DimExpr expr);
  /// The operation of `expr` on what `now` gives for its operands; null when that is null for one.
  static DimExpr combine(DimContext &context, DimExpr expr, llvm::function_ref<DimExpr(DimExpr)> now);
  DimBounds boundsOf(DimExpr expr, llvm::function_ref<DimBounds(DimExpr)> bounds) const;
};

DimContext::DimContext() : impl(std::make_unique<Impl>()) {}
DimContext::~DimContext() = default;

DimExpr DimContext::constant(int64_t value) { return impl->constant(value); }

DimExpr DimContext::symbol(SymbolSource source, StringRef name) {
  auto [it, inserted] = impl->symbolOf.try_emplace(
      {source.value.getAsOpaquePointer(), static_cast<int>(source.kind), source.axis}, impl->symbols.size());
  if (inserted) {
    unsigned number = impl->symbols.size();
    DimExpr expr = impl->get(DimExpr::Kind::Symbol, number, {});
    DimBounds bounds;
    if (source.kind == SymbolSource::Kind::Size)
      bounds.low = 0;
    else if (auto type = source.value ? dyn_cast<IntegerType>(getElementTypeOrSelf(source.value)) : IntegerType();
             type && type.isUnsigned())
      bounds = {0, type.getWidth() < 64 ? std::optional(static_cast<int64_t>(llvm::maxUIntN(type.getWidth())))
                                        : std::nullopt};
    else if (type && type.getWidth() > 1 && type.getWidth() < 64)
      bounds = {llvm::minIntN(type.getWidth()), llvm::maxIntN(type.getWidth())};
    impl->symbols.push_back(
        {source, name.empty() ? "s" + std::to_string(number) : name.str(), expr, DimExpr(), bounds});
  }
  return resolve(impl->symbols[it->second].expr);
}

DimExpr DimContext::add(DimExpr a, DimExpr b) {
  Sum sum = Impl::toSum(a);
  for (const auto &[atoms, coefficient] : Impl::toSum(b))
    Impl::accumulate(sum, atoms, coefficient);
  return impl->fromSum(sum);
}

DimExpr DimContext::sub(DimExpr a, DimExpr b) {
  Sum sum = Impl::toSum(a);
  for (const auto &[atoms, coefficient] : Impl::toSum(b))
    Impl::accumulate(sum, atoms, saturatingMul(coefficient, -1));
  return impl->fromSum(sum);
}

DimExpr DimContext::mul(DimExpr a, DimExpr b) {
  Sum x = Impl::toSum(a), y = Impl::toSum(b);
  if (x.size() * y.size() > kMaxMonomials) {
    // Too long to expand: the longer sum is one atom.
    Sum &longer = x.size() > y.size() ? x : y;
    DimExpr atom = x.size() > y.size() ? a : b;
    longer = Sum{{Monomial{Impl::nodeOf(atom)}, 1}};
    if (x.size() * y.size() > kMaxMonomials)
      y = Sum{{Monomial{Impl::nodeOf(b)}, 1}};
  }
  return impl->fromSum(Impl::multiply(x, y));
}

/// Terms may only be cancelled against a divisor that no symbol makes 0.
static bool surelyNotZero(DimContext &context, DimExpr expr) {
  auto [low, high] = context.bounds(expr);
  return (low && *low > 0) || (high && *high < 0);
}

DimExpr DimContext::floorDiv(DimExpr a, DimExpr b) {
  if (std::optional<DimExpr> known = impl->knownDivision(DimExpr::Kind::FloorDiv, a, b))
    return *known;
  if (b.isConstant() && b.constant() == -1)
    return sub(constant(0), a);
  Sum numerator = Impl::toSum(a);
  if (std::optional<Sum> quotient =
          surelyNotZero(*this, b) ? Impl::termwiseQuotient(numerator, Impl::toSum(b)) : std::nullopt)
    return impl->fromSum(*quotient);
  if (!b.isConstant() || b.constant() < 0)
    return impl->get(DimExpr::Kind::FloorDiv, 0, {a, b});
  Sum whole, rest;
  Impl::splitByConstant(numerator, b.constant(), whole, rest);
  DimExpr inner = impl->fromSum(rest);
  if (inner.isConstant())
    return add(impl->fromSum(whole), constant(llvm::divideFloorSigned(inner.constant(), b.constant())));
  auto [low, high] = bounds(inner);
  DimExpr fraction;
  if (low && high && *low >= 0 && *high < b.constant())
    fraction = constant(0);
  else if (inner.kind() == DimExpr::Kind::FloorDiv && inner.operands()[1].isConstant() &&
           inner.operands()[1].constant() > 0 && inner.operands()[1].constant() <= kGreatestSize / b.constant())
    fraction = floorDiv(inner.operands()[0], mul(inner.operands()[1], b)); // floor(floor(x / p) / q) = floor(x / pq)
  else
    fraction = impl->get(DimExpr::Kind::FloorDiv, 0, {inner, b});
  return add(impl->fromSum(whole), fraction);
}

DimExpr DimContext::ceilDiv(DimExpr a, DimExpr b) {
  if (std::optional<DimExpr> known = impl->knownDivision(DimExpr::Kind::CeilDiv, a, b))
    return *known;
  if (std::optional<Sum> quotient =
          surelyNotZero(*this, b) ? Impl::termwiseQuotient(Impl::toSum(a), Impl::toSum(b)) : std::nullopt)
    return impl->fromSum(*quotient);
  if (b.isConstant() && b.constant() > 0) // one form for both roundings
    return floorDiv(add(a, constant(b.constant() - 1)), b);
  return impl->get(DimExpr::Kind::CeilDiv, 0, {a, b});
}

DimExpr DimContext::mod(DimExpr a, DimExpr b) {
  if (std::optional<DimExpr> known = impl->knownDivision(DimExpr::Kind::Mod, a, b))
    return *known;
  if (!b.isConstant() || b.constant() <= 0) {
    if (a == b || Impl::termwiseQuotient(Impl::toSum(a), Impl::toSum(b)))
      return constant(0);
    return impl->get(DimExpr::Kind::Mod, 0, {a, b});
  }
  Sum whole, rest;
  Impl::splitByConstant(Impl::toSum(a), b.constant(), whole, rest);
  DimExpr inner = impl->fromSum(rest);
  auto [low, high] = bounds(inner);
  if (low && high && *low >= 0 && *high < b.constant())
    return inner;
  return impl->get(DimExpr::Kind::Mod, 0, {inner, b});
}

DimExpr DimContext::min(DimExpr a, DimExpr b) {
  auto [low, high] = bounds(sub(a, b));
  return low && *low >= 0 ? b : high && *high <= 0 ? a : impl->flatten(DimExpr::Kind::Min, a, b);
}

DimExpr DimContext::max(DimExpr a, DimExpr b) {
  auto [low, high] = bounds(sub(a, b));
  return low && *low >= 0 ? a : high && *high <= 0 ? b : impl->flatten(DimExpr::Kind::Max, a, b);
}

DimExpr DimContext::product(ArrayRef<DimExpr> factors) {
  DimExpr result = constant(1);
  for (DimExpr factor : factors)
    result = mul(result, factor);
  return result;
}

Dims DimContext::strides(ArrayRef<DimExpr> sizes, ArrayRef<int64_t> given) {
  assert((given.empty() || given.size() == sizes.size()) && "a stride, or -1, for each axis");
  Dims result(sizes.size(), constant(1));
  for (size_t k = sizes.size(); k-- > 0;)
    if (!given.empty() && given[k] >= 0)
      result[k] = constant(given[k]);
    else if (k + 1 < sizes.size())
      result[k] = mul(result[k + 1], sizes[k + 1]);
  return result;
}

namespace {
using Bound = std::optional<int64_t>;

/// Unknown where the exact number does not fit.
Bound sum(Bound a, Bound b) {
  int64_t result;
  return a && b && !__builtin_add_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}
Bound product(Bound a, Bound b) {
  int64_t result;
  return a && b && !__builtin_mul_overflow(*a, *b, &result) ? Bound(result) : std::nullopt;
}

/// Of two things of which the smaller (larger) one counts: known if both are; or already if one is.
Bound ofBoth(Bound a, Bound b, bool smaller) {
  return a && b ? Bound(smaller ? std::min(*a, *b) : std::max(*a, *b)) : std::nullopt;
}
Bound ofEither(Bound a, Bound b, bool smaller) { return a && b ? ofBoth(a, b, smaller) : a ? a : b; }
} // namespace

DimBounds DimContext::bounds(DimExpr expr) {
  auto isKnown = [&](DimExpr part) { return impl->knownBounds.contains(Impl::nodeOf(part)); };
  visitSize(expr, isKnown, [&](DimExpr part) {
    DimBounds found =
        impl->boundsOf(part, [&](DimExpr operand) { return impl->knownBounds.lookup(Impl::nodeOf(operand)); });
    impl->knownBounds.try_emplace(Impl::nodeOf(part), found);
  });
  return impl->knownBounds.lookup(Impl::nodeOf(expr));
}

DimBounds DimContext::Impl::boundsOf(DimExpr expr, llvm::function_ref<DimBounds(DimExpr)> bounds) const {
  ArrayRef<DimExpr> operands = expr.operands();
  switch (expr.kind()) {
  case DimExpr::Kind::Constant:
    return {expr.constant(), expr.constant()};
  case DimExpr::Kind::Symbol:
    return symbols[expr.symbol()].bounds;
  case DimExpr::Kind::Add: {
    DimBounds total{0, 0};
    for (DimExpr term : operands) {
      DimBounds of = bounds(term);
      total = {sum(total.low, of.low), sum(total.high, of.high)};
    }
    return total;
  }
  case DimExpr::Kind::Mul: {
    // Factors that are surely not negative, and perhaps a constant in front.
    DimBounds total{1, 1};
    int64_t coefficient = 1;
    for (DimExpr factor : operands) {
      if (factor.isConstant()) {
        coefficient = factor.constant();
        continue;
      }
      DimBounds of = bounds(factor);
      if (!of.low || *of.low < 0)
        return {};
      total = {::product(total.low, of.low), ::product(total.high, of.high)};
    }
    if (coefficient < 0)
      std::swap(total.low, total.high);
    return {::product(total.low, coefficient), ::product(total.high, coefficient)};
  }
  case DimExpr::Kind::FloorDiv:
  case DimExpr::Kind::CeilDiv: {
    DimBounds dividend = bounds(operands[0]), divisor = bounds(operands[1]);
    if (!operands[1].isConstant() || operands[1].constant() <= 0)
      return {dividend.low && *dividend.low >= 0 && divisor.low && *divisor.low >= 0 ? Bound(0) : std::nullopt,
              std::nullopt};
    // A ceilDiv by such a number is made a floorDiv.
    auto divide = [&](int64_t bound) { return llvm::divideFloorSigned(bound, operands[1].constant()); };
    return {llvm::transformOptional(dividend.low, divide), llvm::transformOptional(dividend.high, divide)};
  }
  case DimExpr::Kind::Mod: {
    DimBounds divisor = bounds(operands[1]);
    return {divisor.low && *divisor.low >= 0 ? Bound(0) : std::nullopt,
            operands[1].isConstant() && *divisor.high > 0 ? Bound(*divisor.high - 1) : std::nullopt};
  }
  case DimExpr::Kind::Min:
  case DimExpr::Kind::Max: {
    bool smaller = expr.kind() == DimExpr::Kind::Min;
    DimBounds total = bounds(operands[0]);
    for (DimExpr operand : operands.drop_front()) {
      DimBounds of = bounds(operand);
      total = smaller ? DimBounds{ofBoth(total.low, of.low, true), ofEither(total.high, of.high, true)}
                      : DimBounds{ofEither(total.low, of.low, false), ofBoth(total.high, of.high, false)};
    }
    return total;
  }
  }
  llvm_unreachable("all kinds handled");
}

unsigned DimContext::numSymbols() const { return impl->symbols.size(); }
const SymbolSource &DimContext::source(unsigned symbol) const { return impl->symbols[symbol].source; }
StringRef DimContext::name(unsigned symbol) const { return impl->symbols[symbol].name; }

void DimContext::forEachSymbol(DimExpr expr, llvm::function_ref<void(unsigned)> visit) {
  SmallVector<DimExpr> stack{expr};
  llvm::SmallPtrSet<const void *, 16> seen; // parts are shared, as in sizes of slices of slices
  while (!stack.empty()) {
    DimExpr next = stack.pop_back_val();
    if (next.isConstant() || !seen.insert(next.getOpaqueValue()).second)
      continue;
    if (next.kind() == DimExpr::Kind::Symbol)
      visit(next.symbol());
    llvm::append_range(stack, llvm::reverse(next.operands()));
  }
}

void DimContext::unify(DimExpr a, DimExpr b) {
  a = resolve(a);
  b = resolve(b);
  if (a == b)
    return;
  if (a.kind() != DimExpr::Kind::Symbol)
    std::swap(a, b);
  if (a.kind() != DimExpr::Kind::Symbol)
    return;
  bool cyclic = false;
  forEachSymbol(b, [&](unsigned symbol) { cyclic |= symbol == a.symbol(); });
  if (cyclic)
    return;
  impl->symbols[a.symbol()].replacement = b;
  impl->unified = true;
  impl->resolved.clear();
}

DimExpr DimContext::Impl::rebuild(DimContext &context, DimExpr expr) {
  auto isKnown = [&](DimExpr part) { return part.isConstant() || resolved.contains(nodeOf(part)); };
  visitSize(expr, isKnown, [&](DimExpr part) { resolved[nodeOf(part)] = rebuildNode(context, part); });
  return expr.isConstant() ? expr : resolved.lookup(nodeOf(expr));
}

DimExpr DimContext::Impl::rebuildNode(DimContext &context, DimExpr expr) {
  if (expr.kind() != DimExpr::Kind::Symbol)
    return combine(context, expr,
                   [&](DimExpr part) { return part.isConstant() ? part : resolved.lookup(nodeOf(part)); });
  DimExpr replacement = symbols[expr.symbol()].replacement;
  return replacement ? rebuild(context, replacement) : expr; // which another symbol may be in, a few deep
}

DimExpr DimContext::Impl::combine(DimContext &context, DimExpr expr, llvm::function_ref<DimExpr(DimExpr)> now) {
  auto fold = [&](DimExpr (DimContext::*combine)(DimExpr, DimExpr)) {
    DimExpr result;
    for (DimExpr operand : expr.operands()) {
      DimExpr next = now(operand);
      if (!next)
        return next;
      result = result ? (context.*combine)(result, next) : next;
    }
    return result;
  };
  switch (expr.kind()) {
  case DimExpr::Kind::Add:
    return fold(&DimContext::add);
  case DimExpr::Kind::Mul:
    return fold(&DimContext::mul);
  case DimExpr::Kind::FloorDiv:
    return fold(&DimContext::floorDiv);
  case DimExpr::Kind::CeilDiv:
    return fold(&DimContext::ceilDiv);
  case DimExpr::Kind::Mod:
    return fold(&DimContext::mod);
  case DimExpr::Kind::Min:
    return fold(&DimContext::min);
  case DimExpr::Kind::Max:
    return fold(&DimContext::max);
  case DimExpr::Kind::Constant:
  case DimExpr::Kind::Symbol:
    break;
  }
  llvm_unreachable("leaves have no operands");
}

DimExpr DimContext::rebuild(DimExpr expr, llvm::function_ref<DimExpr(DimExpr)> symbol) {
  DenseMap<const Node *, DimExpr> made;
  auto isKnown = [&](DimExpr part) { return made.contains(Impl::nodeOf(part)); };
  auto now = [&](DimExpr part) { return made.lookup(Impl::nodeOf(part)); };
  visitSize(expr, isKnown, [&](DimExpr part) {
    DimExpr result = part.isConstant()                      ? constant(part.constant())
                     : part.kind() == DimExpr::Kind::Symbol ? symbol(part)
                                                            : Impl::combine(*this, part, now);
    made[Impl::nodeOf(part)] = result;
  });
  return now(expr);
}

DimExpr DimContext::resolve(DimExpr expr) { return impl->unified ? impl->rebuild(*this, expr) : expr; }

/// How many parts an expression has when it is written out, at most `most`.
static int64_t numParts(DimExpr expr, int64_t most) {
  DenseMap<const void *, int64_t> parts;
  auto isKnown = [&](DimExpr part) { return parts.contains(part.getOpaqueValue()); };
  visitSize(expr, isKnown, [&](DimExpr part) {
    int64_t total = 1;
    for (DimExpr operand : part.operands())
      total = std::min(most, total + parts.lookup(operand.getOpaqueValue()));
    parts[part.getOpaqueValue()] = total;
  });
  return parts.lookup(expr.getOpaqueValue());
}

std::string DimContext::print(DimExpr expr) const {
  constexpr int64_t kPage = 1000;
  if (numParts(expr, kPage) == kPage)
    return "a size of more than " + std::to_string(kPage) + " parts (" + std::to_string(Impl::nodeOf(expr)->id) + ")";
  return printed(expr);
}

std::string DimContext::printed(DimExpr expr) const {
  auto printWithin = [&](DimExpr operand) {
    bool isSum = operand.kind() == DimExpr::Kind::Add || operand.kind() == DimExpr::Kind::Mul;
    return isSum ? "(" + printed(operand) + ")" : printed(operand);
  };
  auto call = [&](StringRef name) {
    return (name + "(" + llvm::join(llvm::map_range(expr.operands(), [&](DimExpr e) { return printed(e); }), ", ") +
            ")")
        .str();
  };
  switch (expr.kind()) {
  case DimExpr::Kind::Constant:
    return std::to_string(expr.constant());
  case DimExpr::Kind::Symbol:
    return name(expr.symbol()).str();
  case DimExpr::Kind::Add: {
    std::string text;
    for (DimExpr term : expr.operands()) {
      std::string part = printed(term);
      if (text.empty())
        text = part;
      else
        text += part[0] == '-' ? " - " + part.substr(1) : " + " + part;
    }
    return text;
  }
  case DimExpr::Kind::Mul: {
    std::string text;
    for (DimExpr factor : expr.operands()) {
      bool minus = text.empty() && factor.isConstant() && factor.constant() == -1;
      text += minus ? "-" : (text.empty() || text == "-" ? "" : "*") + printWithin(factor);
    }
    return text;
  }
  case DimExpr::Kind::FloorDiv:
    return printWithin(expr.operands()[0]) + " floordiv " + printWithin(expr.operands()[1]);
  case DimExpr::Kind::CeilDiv:
    return printWithin(expr.operands()[0]) + " ceildiv " + printWithin(expr.operands()[1]);
  case DimExpr::Kind::Mod:
    return printWithin(expr.operands()[0]) + " mod " + printWithin(expr.operands()[1]);
  case DimExpr::Kind::Min:
    return call("min");
  case DimExpr::Kind::Max:
    return call("max");
  }
  llvm_unreachable("all kinds handled");
}
