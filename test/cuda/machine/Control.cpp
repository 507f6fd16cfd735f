// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches, calls, ends; barriers and fences.
#include "Builtins.h"
#include "Families.h"

#include <bit>

namespace sinter::ptx {

static void bra(Warp &w, const Inst &i, Mask m) { w.branch(m, uint32_t(i.imm)); }
static void decodeBra(Decoder &d) {
  d.flag("uni");
  d.expectCount(1, 1);
  if (d.operand(0).form != Operand::Label)
    d.fail("a label is required");
  d.inst.imm = d.operand(0).bits;
  d.emit(&bra);
}

// What multiplies asynchronously has been waited for before its registers end.
static void checkEnd(Warp &w, const Inst &i, Mask m) {
  if (w.products.underWay())
    w.fault(FaultKind::Invalid, i, unsigned(std::countr_zero(m)), "ends while wgmma.mma_async is under way");
}
static void ret(Warp &w, const Inst &i, Mask m) {
  checkEnd(w, i, m);
  if (!w.frame->parent)
    w.checkStoresAtEnd(i, m);
  w.leave(m);
}
static void exitLanes(Warp &w, const Inst &i, Mask m) {
  checkEnd(w, i, m);
  w.checkStoresAtEnd(i, m);
  w.exit(m);
}
static void decodeRet(Decoder &d) {
  d.flag("uni");
  d.expectCount(0, 0);
  d.emit(d.name() == "ret" ? &ret : &exitLanes);
}
static void trap(Warp &w, const Inst &i, Mask m) {
  w.fault(FaultKind::Trap, i, std::countr_zero(m), "the program asked for it");
}
static void decodeTrap(Decoder &d) {
  d.expectCount(0, 0);
  d.emit(&trap);
}
static void call(Warp &w, const Inst &i, Mask m) { w.enter(i, m); }

static void decodeCall(Decoder &d) {
  d.flag("uni");
  size_t at = 0;
  std::vector<Operand> results, arguments;
  if (d.count() && d.operand(0).form == Operand::List)
    results = d.operand(at++).parts;
  const Operand &target = d.operand(at++);
  if (target.form != Operand::Symbol || target.variable)
    d.fail("indirect calls are not supported");
  if (at < d.count())
    arguments = d.operand(at++).parts;
  if (at < d.count())
    d.fail("indirect calls are not supported");
  const Code *callee = d.module.find(target.name);
  const Function *function = callee ? callee->function : d.module.program->find(target.name);
  if (!function)
    d.fail("unknown function " + target.name);
  if (results.size() != function->results.size() || arguments.size() != function->params.size())
    d.fail("function " + target.name + " has " + std::to_string(function->results.size()) + " results and " +
           std::to_string(function->params.size()) + " parameters");
  std::vector<uint32_t> map; // there, here, bytes
  auto add = [&](const Variable &formal, const Operand &actual) {
    if (actual.form != Operand::Symbol || !actual.variable || actual.variable->space != Space::Param)
      d.fail("arguments of calls must be .param variables");
    if (actual.variable->size != formal.size)
      d.fail("parameter " + formal.name + " has " + std::to_string(formal.size) + " bytes, got " +
             std::to_string(actual.variable->size));
    map.insert(map.end(), {uint32_t(formal.offset), uint32_t(actual.variable->offset), uint32_t(formal.size)});
  };
  for (size_t n = 0; n < results.size(); ++n)
    add(*function->results[n], results[n]);
  for (size_t n = 0; n < arguments.size(); ++n)
    add(*function->params[n], arguments[n]);
  d.inst.imm = results.size();
  d.inst.callee = callee;
  d.inst.extra = d.keep(std::move(map));
  if (!function->isDefined) {
    Handler handler = builtin(target.name);
    if (!handler)
      d.fail("function " + target.name + " is not defined, and the machine does not provide it");
    return d.emit(handler);
  }
  d.emit(&call);
}

static void barrier(Warp &w, const Inst &i, Mask m) {
  const auto &use = *static_cast<const BarrierUse *>(i.extra);
  w.arriveAtBarrier(i, m, use.id >= 0 ? unsigned(use.id) : w.in<uint32_t>(i, 0)[std::countr_zero(m)]);
}

static void decodeBarrier(Decoder &d) {
  if (d.flag("warp")) { // bar.warp.sync
    d.flag("sync");
    d.expectCount(1, 1);
    d.in(d.operand(0), {Kind::Bits, 32});
    return d.emit([](Warp &w, const Inst &i, Mask m) {
      collective(w, i, m, w.in<Mask>(i, 0), [&](Mask) { w.synchronizeLanes(); });
    });
  }
  if (d.flag("cluster"))
    return decodeClusterBarrier(d);
  BarrierUse use;
  d.flag("cta");
  use.aligned = d.name() == "bar" || d.flag("aligned");
  int what = d.oneOf({"sync", "arrive", "red"});
  if (what < 0)
    d.fail(".sync, .arrive or .red is required");
  use.arrive = what == 1;
  size_t at = 0;
  Type u32{Kind::Unsigned, 32};
  if (what == 2) {
    use.reduction = d.oneOf({"popc", "and", "or"});
    Type type = d.type();
    if (use.reduction < 0)
      d.fail("a reduction is required");
    use.result = int(d.out(d.operand(at++), type));
  }
  const Operand &id = d.operand(at++);
  use.id = id.form == Operand::Integer ? int(id.bits) : -1;
  d.in(id, u32);
  if (at < d.count() && !(what == 2 && at + 1 == d.count()))
    use.count = int(d.in(d.operand(at++), u32));
  if (what == 2)
    use.predicate = int(d.inPredicate(d.operand(at++)));
  if (at != d.count())
    d.fail("too many operands");
  if (use.arrive && use.count < 0)
    d.fail(".arrive requires a count of threads");
  d.inst.extra = d.keep(use);
  d.emit(&barrier);
}

static void fence(Warp &w, const Inst &i, Mask) { w.fence(Scope(i.aux2)); }
static void fenceProxy(Warp &w, const Inst &, Mask) { w.fenceProxy(); }
static void fenceInit(Warp &w, const Inst &, Mask) { w.block.showMbarriers(w.index); }
static void decodeFence(Decoder &d) {
  int scope = d.oneOf({"cta", "cluster", "gpu", "sys", "gl"});
  d.oneOf({"sc", "acq_rel", "acquire", "release"});
  if (d.flag("proxy") || !d.takePrefix("proxy").empty()) {
    const bool isAsync = !d.takePrefix("async").empty();
    d.words.clear();
    d.expectCount(0, 3);
    d.inst.aux2 = uint32_t(Scope::Block);
    return d.emit(isAsync ? &fenceProxy : &fence);
  }
  const bool isOfInit = d.flag("mbarrier_init");
  d.expectCount(0, 3);
  d.inst.aux2 = uint32_t(scopeOf(scope));
  d.emit(isOfInit ? &fenceInit : &fence);
}

static void decodeRegisters(Decoder &d) {
  if (d.oneOf({"inc", "dec"}) < 0 || !d.flag("sync") || !d.flag("aligned"))
    d.unsupported();
  d.type();
  d.expectCount(1, 1);
  const Operand &count = d.operand(0);
  if (count.form != Operand::Integer || count.bits < 24 || count.bits > 256 || count.bits % 8)
    d.fail("a multiple of 8 from 24 to 256 is required");
  d.emit([](Warp &w, const Inst &i, Mask m) {
    if (m != w.initial)
      w.fault(FaultKind::Invalid, i, unsigned(std::countr_zero(w.initial & ~m)), "all lanes of the warp must be here");
  });
}
static void decodeSleep(Decoder &d) {
  d.words.clear();
  d.emit([](Warp &w, const Inst &, Mask) { w.yield(); });
}
static void decodeNothing(Decoder &d) {
  d.words.clear();
  d.emit([](Warp &, const Inst &, Mask) {});
}

std::vector<Instruction> controlInstructions() {
  return {{"bra", decodeBra, "labels"},
          {"call", decodeCall, "direct, .param; vprintf, __assertfail, cudaGraphSetConditional"},
          {"ret", decodeRet, ""},
          {"exit", decodeRet, ""},
          {"trap", decodeTrap, ""},
          {"bar", decodeBarrier, ".sync .arrive .red, .warp.sync"},
          {"barrier", decodeBarrier, "as bar, .aligned or not; .cluster.arrive .wait"},
          {"fence", decodeFence, "scopes; .proxy.async and .mbarrier_init, other proxies as fence.acq_rel.cta"},
          {"membar", decodeFence, ".cta .gl .sys"},
          {"nanosleep", decodeSleep, "gives the turn away"},
          {"griddepcontrol", decodeNothing, "ignored: launches do not overlap"},
          {"setmaxnreg", decodeRegisters, ".inc .dec, checked and without effect"},
          {"pmevent", decodeNothing, "ignored"}};
}

} // namespace sinter::ptx
