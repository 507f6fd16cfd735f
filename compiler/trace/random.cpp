// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "random.hpp"
#include "RandomParts.h"
#include "runtime/decimal.h"

namespace sinter::inline SINTER_HOST {

namespace detail {

static Tensor words(Build &b, std::initializer_list<uint32_t> values) {
  return b.failed() ? b.error() : constantOf(std::span<const uint32_t>(values.begin(), values.size()), b.where);
}
static Tensor keyWords(Build &b, const Key &key) {
  const Tensor &words = b.in(key.words);
  if (!b.failed() &&
      (words.dtype() != DType::u32 || words.rank() != 1 || (words.known_dim(0) >= 0 && words.known_dim(0) != 4)))
    return b.fail("a key u32[4], got " + words.type().str());
  return b.failed() ? b.error() : words;
}
/// u32, uniform.
static Tensor randomBits(Build &b, const Tensor &key, const Sizes &sizes) {
  TensorType type{DType::u32, b.shapeOf(sizes)};
  if (b.failed() || type.shape.isStatic())
    return b.op("random_bits", {key}, {{"type", type}});
  return b.op("random_bits", {key, b.sizesTensor(sizes)}, {{"type", type}});
}
/// u64, uniform.
static Tensor randomLongBits(Build &b, const Tensor &key, Sizes sizes) {
  sizes.list.push_back(Size(2));
  Tensor pairs = b.astype(randomBits(b, key, sizes), DType::u64);
  int last = pairs.rank() - 1;
  Tensor high = b.squeeze(b.slice(pairs, last, 0, 1), {last}), low = b.squeeze(b.slice(pairs, last, 1, 2), {last});
  return b.either(b.op("shift_left", {high, b.full(high, 32)}), low);
}
static Tensor shiftRight(Build &b, const Tensor &x, int places) { return b.op("shift_right", {x, b.full(x, places)}); }

/// Keys for splitting and folding differ in their last word from those that numbers come from.
static Tensor inDomain(Build &b, const Tensor &key, uint32_t domain) {
  return b.binary("xor", key, words(b, {0, 0, 0, domain}));
}
/// What becomes a key again belongs to no domain.
static Tensor outOfDomains(Build &b, const Tensor &keys) {
  return b.both(keys, words(b, {~0u, ~0u, ~0u, 0x3fffffffu}));
}

Tensor portableLog(Build &b, const Tensor &x) {
  bool isDouble = !b.failed() && x.dtype() == DType::f64;
  DType dtype = isDouble ? DType::f64 : DType::f32, bits = isDouble ? DType::u64 : DType::u32;
  int fraction = isDouble ? 52 : 23;
  auto integer = [&](uint64_t value) {
    return b.failed() ? b.error() : isDouble ? scalar(value, b.where) : scalar(uint32_t(value), b.where);
  };
  Tensor raw = b.failed() ? b.error() : b.op("bitcast", {x}, {{"element_type", bits}});
  uint64_t mask = (uint64_t(1) << fraction) - 1, one = uint64_t(isDouble ? 1023 : 127) << fraction;
  // above sqrt 2, the next power of two is nearer
  Tensor rest = b.both(raw, integer(mask));
  uint64_t root = isDouble ? 0x6a09e667f3bcdu : 0x3504f3u;
  Tensor isHigh = b.compare("gt", rest, integer(root));
  Tensor mantissa = b.either(rest, b.select(isHigh, integer(one - (uint64_t(1) << fraction)), integer(one)));
  Tensor m = b.failed() ? b.error() : b.op("bitcast", {mantissa}, {{"element_type", dtype}});
  Tensor exponent = b.astype(shiftRight(b, raw, fraction), dtype);
  exponent =
      b.sub(exponent, b.select(isHigh, b.number(dtype, isDouble ? 1022 : 126), b.number(dtype, isDouble ? 1023 : 127)));
  Tensor f = b.div(b.sub(m, b.number(dtype, 1)), b.add(m, b.number(dtype, 1))), square = b.mul(f, f);
  static constexpr double series[] = {2.0,      2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9, 2.0 / 11,
                                      2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
  Tensor sum = b.mul(f, b.polynomial(square, std::span(series, isDouble ? 11 : 5)));
  return b.add(b.mul(exponent, b.number(dtype, 0.6931471805599453)), sum);
}

Tensor normalQuantile(Build &b, const Tensor &q, const Tensor &tail) {
  static constexpr double a[] = {3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427,
                                 13731.693765509461125, 45921.953931549871457, 67265.770927008700853,
                                 33430.575583588128105, 2509.0809287301226727};
  static constexpr double aBelow[] = {1,
                                      42.313330701600911252,
                                      687.18700749205790830,
                                      5394.1960214247511077,
                                      21213.794301586595867,
                                      39307.895800092710610,
                                      28729.085735721942674,
                                      5226.4952788528545610};
  static constexpr double c[] = {1.42343711074968357734,   4.63033784615654529590,   5.76949722146069140550,
                                 3.64784832476320460504,   1.27045825245236838258,   0.241780725177450611770,
                                 0.0227238449892691845833, 7.74545014278341407640e-4};
  static constexpr double cBelow[] = {1,
                                      2.05319162663775882187,
                                      1.67638483018380384940,
                                      0.689767334985100004550,
                                      0.148103976427480074590,
                                      0.0151986665636164571966,
                                      5.47593808499534494600e-4,
                                      1.05075007164441684324e-9};
  static constexpr double e[] = {6.65790464350110377720,    5.46378491116411436990,   1.78482653991729133580,
                                 0.296560571828504891230,   0.0265321895265761230930, 1.24266094738807843860e-3,
                                 2.71155556874348757815e-5, 2.01033439929228813265e-7};
  static constexpr double eBelow[] = {1,
                                      0.599832206555887937690,
                                      0.136929880922735805310,
                                      0.0148753612908506148525,
                                      7.86869131145613259100e-4,
                                      1.84631831751005468180e-5,
                                      1.42151175831644588870e-7,
                                      2.04426310338993978564e-15};
  if (b.failed())
    return b.error();
  DType dtype = q.dtype();
  auto number = [&](double value) { return b.number(dtype, value); };
  auto ratio = [&](const Tensor &x, std::span<const double> above, std::span<const double> below) {
    return b.div(b.polynomial(x, above), b.polynomial(x, below));
  };
  Tensor middle = b.mul(q, ratio(b.sub(number(0.180625), b.mul(q, q)), a, aBelow));
  Tensor r = b.unary("sqrt", b.unary("neg", portableLog(b, tail)));
  Tensor near = ratio(b.sub(r, number(1.6)), c, cBelow), far = ratio(b.sub(r, number(5)), e, eBelow);
  Tensor size = b.select(b.compare("le", r, number(5)), near, far);
  Tensor outer = b.select(b.compare("lt", q, number(0)), b.unary("neg", size), size);
  return b.select(b.compare("le", b.unary("abs", q), number(0.425)), middle, outer);
}

/// Floats are drawn in f32 or f64, and rounded to f16 or bf16 at the end.
static DType drawnType(Build &b, DType dtype) {
  if (!is_float(dtype))
    b.fail("a float dtype, got " + std::string(dtype_name(dtype)));
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}
/// Uniform in [0, 1) by steps of 2^-53 (f64), 2^-24 (f32), 2^-11 (f16), 2^-8 (bf16): no draw rounds to 1.
static Tensor unit(Build &b, const Tensor &key, const Sizes &sizes, DType dtype) {
  DType drawn = drawnType(b, dtype);
  if (drawn == DType::f64)
    return b.mul(b.astype(shiftRight(b, randomLongBits(b, key, sizes), 11), drawn), b.number(drawn, 0x1p-53));
  int bits = dtype == DType::f32 ? 24 : dtype == DType::f16 ? 11 : 8;
  Tensor whole = b.astype(shiftRight(b, randomBits(b, key, sizes), 32 - bits), drawn);
  return b.mul(whole, b.number(drawn, std::ldexp(1.0, -bits)));
}
/// Uniform in (-1/2, 1/2), in the middles of 2^24 (f32) or 2^53 (f64) steps, and 1/2 less its size, which is exact.
static std::pair<Tensor, Tensor> centered(Build &b, const Tensor &key, const Sizes &sizes, DType drawn) {
  bool isDouble = drawn == DType::f64;
  // one bit less than the fraction has, so that the half step is exact, too
  Tensor bits =
      isDouble ? shiftRight(b, randomLongBits(b, key, sizes), 12) : shiftRight(b, randomBits(b, key, sizes), 9);
  double steps = isDouble ? 0x1p52 : 0x1p23;
  Tensor place = b.add(b.sub(b.astype(bits, drawn), b.number(drawn, steps / 2)), b.number(drawn, 0.5));
  Tensor q = b.mul(place, b.number(drawn, 1 / steps));
  return {q, b.sub(b.number(drawn, 0.5), b.unary("abs", q))};
}
/// -log of a uniform number in (0, 1).
static Tensor exponentialOf(Build &b, const Tensor &key, const Sizes &sizes, DType drawn) {
  auto [q, tail] = centered(b, key, sizes, drawn);
  return b.unary("neg", portableLog(b, b.add(q, b.number(drawn, 0.5))));
}

} // namespace detail

Key key(const Operand &seed) {
  detail::Build b("key", seed.where);
  Tensor value = b.integers(seed.tensor);
  if (!b.failed() && value.rank() != 0)
    return {b.fail("a seed of rank 0, got " + value.type().str())};
  value = b.reshape(b.astype(value, DType::u64), {1});
  Tensor low = b.astype(value, DType::u32), high = b.astype(detail::shiftRight(b, value, 32), DType::u32);
  return {b.failed() ? b.error() : b.concatenate({low, high, detail::words(b, {0, 0})}, 0)};
}

std::vector<Key> Key::split(int64_t count, Where where) const {
  detail::Build b("split", where);
  Tensor all = detail::randomBits(b, detail::inDomain(b, detail::keyWords(b, *this), 0x80000000u), {count, 4});
  all = detail::outOfDomains(b, all);
  std::vector<Key> keys;
  for (int64_t k = 0; k < count; ++k)
    keys.push_back({b.failed() ? b.error() : b.squeeze(b.slice(all, 0, k, k + 1), {0})});
  return keys;
}
Key Key::fold_in(const Operand &data) const {
  detail::Build b("fold_in", data.where);
  Tensor once = detail::randomBits(b, detail::inDomain(b, detail::keyWords(b, *this), 0x40000000u), {4});
  Tensor mixed = b.binary("xor", once, sinter::key(data).words);
  Tensor twice = detail::randomBits(b, detail::inDomain(b, detail::outOfDomains(b, mixed), 0xc0000000u), {4});
  return {detail::outOfDomains(b, twice)};
}

namespace random {

Tensor bits(const Key &key, const Sizes &sizes, Where where) {
  detail::Build b("random::bits", where);
  return detail::randomBits(b, detail::keyWords(b, key), sizes);
}

Tensor uniform(const Key &key, const Sizes &sizes, double low, double high, DType dtype, Where where) {
  detail::Build b("random::uniform", where);
  Tensor result = detail::unit(b, detail::keyWords(b, key), sizes, dtype);
  if (low == 0 && high == 1)
    return b.astype(result, dtype);
  DType drawn = detail::drawnType(b, dtype);
  return b.astype(b.add(b.mul(result, b.number(drawn, high - low)), b.number(drawn, low)), dtype);
}

Tensor normal(const Key &key, const Sizes &sizes, DType dtype, Where where) {
  detail::Build b("random::normal", where);
  auto [q, tail] = detail::centered(b, detail::keyWords(b, key), sizes, detail::drawnType(b, dtype));
  return b.astype(detail::normalQuantile(b, q, tail), dtype);
}

Tensor truncated_normal(const Key &key, const Sizes &sizes, double low, double high, DType dtype, Where where) {
  detail::Build b("random::truncated_normal", where);
  DType drawn = detail::drawnType(b, dtype);
  double root = std::sqrt(0.5), below = 0.5 * std::erf(low * root), above = 0.5 * std::erf(high * root);
  if (!(low < high) || !(below < above))
    return b.fail("low below high within the range of normal numbers, got " + decimal(low) + " and " + decimal(high));
  auto [q, rest] = detail::centered(b, detail::keyWords(b, key), sizes, drawn);
  Tensor scaled = b.add(b.mul(q, b.number(drawn, above - below)), b.number(drawn, 0.5 * (above + below)));
  double least = drawn == DType::f64 ? 0x1p-53 : 0x1p-24;
  Tensor tail = b.max(b.sub(b.number(drawn, 0.5), b.unary("abs", scaled)), b.number(drawn, least));
  Tensor value = detail::normalQuantile(b, scaled, tail);
  return b.astype(b.min(b.max(value, b.number(drawn, low)), b.number(drawn, high)), dtype);
}

Tensor exponential(const Key &key, const Sizes &sizes, DType dtype, Where where) {
  detail::Build b("random::exponential", where);
  return b.astype(detail::exponentialOf(b, detail::keyWords(b, key), sizes, detail::drawnType(b, dtype)), dtype);
}

Tensor gumbel(const Key &key, const Sizes &sizes, DType dtype, Where where) {
  detail::Build b("random::gumbel", where);
  Tensor waits = detail::exponentialOf(b, detail::keyWords(b, key), sizes, detail::drawnType(b, dtype));
  return b.astype(b.unary("neg", detail::portableLog(b, waits)), dtype);
}

Tensor bernoulli(const Key &key, const Tensor &p, const Sizes &sizes, Where where) {
  detail::Build b("random::bernoulli", where);
  Tensor chance = b.floats(p.weak() && !p.traced() ? Tensor(p.item<float>()) : p);
  DType drawn = b.failed() ? DType::f32 : detail::drawnType(b, chance.dtype());
  Tensor draw = detail::unit(b, detail::keyWords(b, key), sizes, drawn);
  return b.op("compare", {draw, b.spreadLike(b.astype(chance, drawn), draw)}, {{"kind", "lt"}});
}

Tensor categorical(const Key &key, const Operand &logits, int axis) {
  detail::Build b("random::categorical", logits.where);
  Tensor value = b.floats(logits.tensor);
  int along = b.axis(axis, value.rank());
  DType drawn = b.failed() ? DType::f32 : detail::drawnType(b, value.dtype());
  Tensor waits = detail::exponentialOf(b, detail::keyWords(b, key), b.sizes(value), drawn);
  Tensor scores = b.sub(b.astype(value, drawn), detail::portableLog(b, waits));
  return b.op("arg_reduce", {scores}, {{"axis", along}, {"combiner", "max"}});
}

Tensor randint(const Key &key, const Sizes &sizes, int64_t low, int64_t high, DType dtype, Where where) {
  detail::Build b("random::randint", where);
  if (!is_integer(dtype) || low >= high)
    return b.fail("an integer dtype and low below high, got " + std::string(dtype_name(dtype)) + ", " +
                  std::to_string(low) + " and " + std::to_string(high));
  Tensor bits = detail::randomLongBits(b, detail::keyWords(b, key), sizes);
  auto word = [&](uint64_t value) { return scalar(value, where); };
  uint64_t range = uint64_t(high) - uint64_t(low);
  Tensor place;
  if (range <= (uint64_t(1) << 32)) { // the upper 64 bits of bits * range
    Tensor upper = b.mul(detail::shiftRight(b, bits, 32), word(range));
    Tensor lower = detail::shiftRight(b, b.mul(b.both(bits, word(0xffffffffu)), word(range)), 32);
    place = detail::shiftRight(b, b.add(upper, lower), 32);
  } else {
    place = b.binary("rem", bits, word(range));
  }
  return b.astype(b.add(place, word(uint64_t(low))), dtype);
}

Tensor permutation(const Key &key, const SizeArgument &count, Where where) {
  detail::Build b("random::permutation", where);
  Tensor order = detail::randomLongBits(b, detail::keyWords(b, key), {count});
  return b.ops<2>("sort", {order}, {{"axis", 0}, {"descending", false}})[1];
}

Tensor shuffle(const Key &key, const Operand &x, int axis) {
  detail::Build b("random::shuffle", x.where);
  Tensor value = b.strong(x.tensor);
  int along = b.axis(axis, value.rank());
  return b.failed() ? b.error()
                    : b.op("gather", {value, permutation(key, b.size(value, along), x.where)}, {{"axis", along}});
}

} // namespace random

Tensor dropout(const Key &key, const Operand &x, double rate) {
  detail::Build b("dropout", x.where);
  Tensor value = b.floats(x.tensor);
  if (!(rate >= 0 && rate < 1))
    return b.fail("a rate in [0, 1), got " + decimal(rate));
  if (b.failed())
    return b.error();
  Tensor keeps = random::bernoulli(key, Tensor(float(1 - rate)), b.sizes(value), x.where);
  return b.select(keeps, b.mul(value, b.number(value.dtype(), 1 / (1 - rate))), b.number(value.dtype(), 0));
}

} // namespace sinter::inline SINTER_HOST
