// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ld, st, and hints about memory.
#include "Families.h"

#include <cstring>

namespace sinter::ptx {

namespace {
struct Access {
  Space space = Space::Generic;
  Type type;
  unsigned count = 1;
  bool strong = false, acquire = false, release = false, frameLocal = false, param = false;
  Scope scope = Scope::Device;
  unsigned registerBytes[8] = {};
};
} // namespace

static uint64_t addressIn(Warp &w, const Inst &i, unsigned base, unsigned lane, bool frameLocal) {
  uint64_t address = i.aux & 0x80000000 ? w.in<uint64_t>(i, base)[lane] : w.in<uint32_t>(i, base)[lane];
  return address + i.imm + (frameLocal ? w.frame->localBase : 0);
}

static uint64_t extend(const Type &type, uint64_t bits) {
  if (type.kind != Kind::Signed || type.bits == 64)
    return bits;
  return uint64_t(int64_t(bits << (64 - type.bits)) >> (64 - type.bits));
}

static void loadVector(Warp &w, const Inst &i, Mask m) {
  const Access &a = *static_cast<const Access *>(i.extra);
  const unsigned bytes = a.type.bytes(), total = bytes * a.count;
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    const uint64_t address = addressIn(w, i, 0, l, a.frameLocal);
    if (a.strong)
      w.acquireAt(a.space, address, a.acquire);
    const uint8_t *from = w.read(i, l, a.space, address, total, a.strong);
    for (unsigned n = 0; n < a.count; ++n) {
      uint8_t *to = w.out<uint8_t>(i, n) + l * a.registerBytes[n];
      if (a.registerBytes[n] == bytes)
        std::memcpy(to, from + n * bytes, bytes);
      else {
        uint64_t value = 0;
        std::memcpy(&value, from + n * bytes, bytes);
        value = extend(a.type, value);
        std::memcpy(to, &value, a.registerBytes[n]);
      }
    }
  }
}
template <class T> static void loadOne(Warp &w, const Inst &i, Mask m) {
  const Access &a = *static_cast<const Access *>(i.extra);
  T *to = w.out<T>(i, 0);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    to[l] = *reinterpret_cast<const T *>(w.read(i, l, a.space, addressIn(w, i, 0, l, a.frameLocal), sizeof(T), false));
  }
}

static void store(Warp &w, const Inst &i, Mask m) {
  const Access &a = *static_cast<const Access *>(i.extra);
  const unsigned bytes = a.type.bytes(), total = bytes * a.count;
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    const uint64_t address = addressIn(w, i, 0, l, a.frameLocal);
    if (a.strong)
      w.releaseAt(a.space, address, a.release, a.scope);
    uint8_t *to = w.write(i, l, a.space, address, total, a.strong);
    for (unsigned n = 0; n < a.count; ++n) {
      const bool constant = i.refs[i.outs + 1 + n].reg == kConstant;
      std::memcpy(to + n * bytes, w.in<uint8_t>(i, 1 + n) + l * (constant ? bytes : a.registerBytes[n]), bytes);
    }
  }
}
template <class T> static void storeOne(Warp &w, const Inst &i, Mask m) {
  const Access &a = *static_cast<const Access *>(i.extra);
  const T *from = w.in<T>(i, 1);
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    *reinterpret_cast<T *>(w.write(i, l, a.space, addressIn(w, i, 0, l, a.frameLocal), sizeof(T), false)) = from[l];
  }
}

// Parameters of a kernel are the same in all lanes; those of functions and calls lie in the frame.
static uint8_t *paramPlace(Warp &w, const Inst &i, unsigned lane, unsigned bytes) {
  if (i.imm % bytes)
    w.fault(FaultKind::Misaligned, i, lane,
            std::to_string(bytes) + " bytes at parameter offset " + std::to_string(i.imm));
  if (i.aux & 1) {
    if (i.imm + bytes > w.launch.params.size())
      w.fault(FaultKind::OutOfBounds, i, lane,
              "the parameters have " + std::to_string(w.launch.params.size()) + " bytes");
    return w.launch.params.data() + i.imm;
  }
  if (i.imm + bytes > w.frame->paramBytes)
    w.fault(FaultKind::OutOfBounds, i, lane,
            "the parameters of the call have " + std::to_string(w.frame->paramBytes) + " bytes");
  return w.frame->params.data() + size_t(lane) * w.frame->paramBytes + i.imm;
}
static void loadParam(Warp &w, const Inst &i, Mask m) {
  const Access &a = *static_cast<const Access *>(i.extra);
  const unsigned bytes = a.type.bytes();
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    const uint8_t *from = paramPlace(w, i, l, bytes * a.count);
    for (unsigned n = 0; n < a.count; ++n) {
      uint64_t value = 0;
      std::memcpy(&value, from + n * bytes, bytes);
      value = extend(a.type, value);
      std::memcpy(w.out<uint8_t>(i, n) + l * a.registerBytes[n], &value, a.registerBytes[n]);
    }
  }
}
static void storeParam(Warp &w, const Inst &i, Mask m) {
  const Access &a = *static_cast<const Access *>(i.extra);
  const unsigned bytes = a.type.bytes();
  for (; m; m &= m - 1) {
    unsigned l = __builtin_ctz(m);
    uint8_t *to = paramPlace(w, i, l, bytes * a.count);
    for (unsigned n = 0; n < a.count; ++n) {
      const bool constant = i.refs[i.outs + n].reg == kConstant;
      std::memcpy(to + n * bytes, w.in<uint8_t>(i, n) + l * (constant ? bytes : a.registerBytes[n]), bytes);
    }
  }
}

static Access parseAccess(Decoder &d) {
  Access a;
  int space = d.oneOf(
      {"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func"});
  static const Space spaces[] = {Space::Global, Space::Shared, Space::Shared, Space::SharedCluster, Space::Local,
                                 Space::Const,  Space::Param,  Space::Param,  Space::Param};
  a.space = space < 0 ? Space::Generic : spaces[space];
  if (d.flag("volatile") || d.flag("relaxed"))
    a.strong = true;
  if (d.flag("mmio"))
    d.unsupported();
  if (d.flag("acquire"))
    a.strong = a.acquire = true;
  if (d.flag("release"))
    a.strong = a.release = true;
  a.scope = scopeOf(d.oneOf({"cta", "cluster", "gpu", "sys"}));
  // Hints that change no value.
  d.flag("weak"), d.flag("nc");
  d.oneOf({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  while (!d.takePrefix("L1::").empty() || !d.takePrefix("L2::").empty())
    ;
  d.flag("unified");
  int vector = d.oneOf({"v2", "v4", "v8"});
  a.count = vector < 0 ? 1 : 2 << vector;
  a.type = d.type();
  if (a.type.kind == Kind::Pred || a.type.bytes() * a.count > 32)
    d.fail("at most 32 bytes are accessed at once");
  return a;
}

static std::vector<Operand> elements(Decoder &d, const Operand &operand, unsigned count) {
  if (count == 1 && operand.form != Operand::Vector)
    return {operand};
  if (operand.form != Operand::Vector || operand.parts.size() != count)
    d.fail("a vector of " + std::to_string(count) + " is required");
  return operand.parts;
}

static void decodeLoad(Decoder &d) {
  Access a = parseAccess(d);
  d.expectCount(2, 3);
  const Operand &from = d.operand(1);
  unsigned n = 0;
  for (const Operand &part : elements(d, d.operand(0), a.count)) {
    a.registerBytes[n] = d.outAny(part);
    if (a.registerBytes[n++] < a.type.bytes())
      d.fail("a register is narrower than " + toString(a.type));
  }
  const bool variable =
      from.form == Operand::Address && from.parts[0].form == Operand::Symbol && from.parts[0].variable;
  const Variable *named = variable ? from.parts[0].variable : nullptr;
  if (named && named->space == Space::Param) {
    if (a.space != Space::Param && a.space != Space::Generic)
      d.fail("variable " + named->name + " lies in another space");
    d.inst.imm = named->offset + from.bits;
    const Function &f = *d.code.function;
    d.inst.aux =
        f.isEntry && std::any_of(f.params.begin(), f.params.end(), [&](const auto &p) { return p.get() == named; });
    if (from.bits + a.type.bytes() * a.count > named->size)
      d.fail("reads past the end of " + named->name + " of " + std::to_string(named->size) + " bytes");
    d.inst.extra = d.keep(a);
    return d.emit(&loadParam);
  }
  d.address(from, a.space, a.frameLocal);
  const bool one = a.count == 1 && !a.strong && a.registerBytes[0] == a.type.bytes();
  const unsigned bytes = a.type.bytes();
  d.inst.extra = d.keep(a);
  d.emit(one && bytes == 4   ? &loadOne<uint32_t>
         : one && bytes == 8 ? &loadOne<uint64_t>
         : one && bytes == 2 ? &loadOne<uint16_t>
                             : &loadVector);
}

static void decodeStore(Decoder &d) {
  Access a = parseAccess(d);
  d.expectCount(2, 3);
  const Operand &to = d.operand(0);
  const bool variable = to.form == Operand::Address && to.parts[0].form == Operand::Symbol && to.parts[0].variable;
  const Variable *named = variable ? to.parts[0].variable : nullptr;
  const bool param = named && named->space == Space::Param;
  if (!param)
    d.address(to, a.space, a.frameLocal);
  unsigned n = 0;
  for (const Operand &part : elements(d, d.operand(1), a.count)) {
    a.registerBytes[n] = d.inAny(part, a.type);
    if (a.registerBytes[n++] < a.type.bytes())
      d.fail("a register is narrower than " + toString(a.type));
  }
  if (param) {
    const Function &f = *d.code.function;
    if (f.isEntry && std::any_of(f.params.begin(), f.params.end(), [&](const auto &p) { return p.get() == named; }))
      d.fail("the parameters of a kernel are read-only");
    d.inst.imm = named->offset + to.bits;
    if (to.bits + a.type.bytes() * a.count > named->size)
      d.fail("writes past the end of " + named->name + " of " + std::to_string(named->size) + " bytes");
    d.inst.extra = d.keep(a);
    return d.emit(&storeParam);
  }
  if (a.space == Space::Const)
    d.fail("constant memory is read-only");
  const bool one = a.count == 1 && !a.strong && a.registerBytes[0] == a.type.bytes();
  const unsigned bytes = a.type.bytes();
  d.inst.extra = d.keep(a);
  d.emit(one && bytes == 4   ? &storeOne<uint32_t>
         : one && bytes == 8 ? &storeOne<uint64_t>
         : one && bytes == 2 ? &storeOne<uint16_t>
                             : &store);
}

static void nothing(Warp &, const Inst &, Mask) {}
static void decodeHint(Decoder &d) {
  d.words.clear();
  d.emit(&nothing);
}

std::vector<Instruction> accessInstructions() {
  return {{"ld", decodeLoad,
           "all spaces and types, .v2 .v4 .v8 to 32 bytes, .volatile .relaxed .acquire, cache hints (ignored)"},
          {"ldu", decodeLoad, "as ld"},
          {"st", decodeStore, "as ld, .release"},
          {"prefetch", decodeHint, "ignored"},
          {"prefetchu", decodeHint, "ignored"},
          {"discard", decodeHint, "ignored"},
          {"applypriority", decodeHint, "ignored"}};
}

} // namespace sinter::ptx
