// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Machine.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sinter::ptx {

Warp::Warp(Block &block, unsigned index, Mask lanes)
    : block(block), cluster(block.cluster), launch(block.launch), index(index),
      slot(block.rank * launch.warpsPerBlock + index),
      globalIndex(uint32_t(cluster.index * launch.warpsPerCluster + slot)), initial(lanes), live(lanes) {
  clock.assign(launch.warpsPerCluster, 0);
  clock[slot] = 2; // who knows 1 knows that it has begun
  newFrame(*launch.code, nullptr, lanes);
  groups.push_back({frame, 0, lanes});
  frame = nullptr;
}

static uint32_t specialValue(const Warp &warp, SpecialRegister name, unsigned lane) {
  const Launch &launch = warp.launch;
  const Dim3 &grid = launch.grid, &block = launch.block, &id = warp.block.id, &cluster = launch.cluster;
  uint32_t thread = warp.index * 32 + lane;
  using enum SpecialRegister;
  switch (name) {
  case TidX:
    return thread % block.x;
  case TidY:
    return thread / block.x % block.y;
  case TidZ:
    return thread / block.x / block.y;
  case NtidX:
    return block.x;
  case NtidY:
    return block.y;
  case NtidZ:
    return block.z;
  case CtaidX:
    return id.x;
  case CtaidY:
    return id.y;
  case CtaidZ:
    return id.z;
  case NctaidX:
    return grid.x;
  case NctaidY:
    return grid.y;
  case NctaidZ:
    return grid.z;
  case Laneid:
    return lane;
  case Warpid:
    return warp.index;
  case Nwarpid:
    return launch.warpsPerBlock;
  case Smid:
    return warp.block.index % launch.device.multiprocessors;
  case Nsmid:
    return launch.device.multiprocessors;
  case Gridid:
    return launch.stamp;
  case LanemaskEq:
    return 1u << lane;
  case LanemaskLe:
    return ~0u >> (31 - lane);
  case LanemaskLt:
    return (1u << lane) - 1;
  case LanemaskGe:
    return ~0u << lane;
  case LanemaskGt:
    return ~0u << lane << 1;
  case DynamicShared:
    return launch.dynamicShared;
  case TotalShared:
    return launch.dynamicShared + launch.code->function->staticShared;
  case ClusteridX:
    return id.x / cluster.x;
  case ClusteridY:
    return id.y / cluster.y;
  case ClusteridZ:
    return id.z / cluster.z;
  case NclusteridX:
    return grid.x / cluster.x;
  case NclusteridY:
    return grid.y / cluster.y;
  case NclusteridZ:
    return grid.z / cluster.z;
  case ClusterCtaidX:
    return id.x % cluster.x;
  case ClusterCtaidY:
    return id.y % cluster.y;
  case ClusterCtaidZ:
    return id.z % cluster.z;
  case ClusterNctaidX:
    return cluster.x;
  case ClusterNctaidY:
    return cluster.y;
  case ClusterNctaidZ:
    return cluster.z;
  case ClusterCtarank:
    return id.x % cluster.x + cluster.x * (id.y % cluster.y + cluster.y * (id.z % cluster.z));
  case ClusterNctarank:
    return cluster.count();
  case IsExplicitCluster:
    return cluster.count() > 1 || launch.code->function->requiredCluster[0];
  case Clock:
  case Clock64:
  case Globaltimer:
    break; // read as they run
  }
  return 0;
}

void Warp::newFrame(const Code &code, const Inst *call, Mask lanes) {
  auto made = std::make_unique<Frame>();
  made->code = &code;
  made->parent = frame;
  made->depth = frame ? frame->depth + 1 : 0;
  made->call = call;
  made->live = lanes;
  made->registers.resize(code.registerBytes);
  made->written.resize(code.registerCount);
  if (code.hasProducts)
    made->changed.resize(code.registerCount);
  made->paramBytes = uint32_t(std::max(code.function->paramBytes, code.function->frameParamBytes));
  made->params.resize(size_t(made->paramBytes) * 32);
  made->localBase = frame ? frame->localBase + ((frame->code->function->localBytes + 15) & ~15) : 0;
  uint64_t end = made->localBase + code.function->localBytes;
  if (end > localBytes) { // lanes lie apart: move them
    uint64_t wider = std::max(end, localBytes * 2);
    std::vector<uint8_t> data(wider * 32), valid(wider * 32);
    for (unsigned lane = 0; localBytes && lane < 32; ++lane) {
      std::memcpy(data.data() + lane * wider, local.data() + lane * localBytes, localBytes);
      std::memcpy(valid.data() + lane * wider, localValid.data() + lane * localBytes, localBytes);
    }
    local = std::move(data);
    localValid = std::move(valid);
    localBytes = wider;
  }
  if (code.function->localBytes)
    for (unsigned lane = 0; lane < 32; ++lane)
      if (lanes >> lane & 1)
        std::memset(localValid.data() + lane * localBytes + made->localBase, 0, code.function->localBytes);
  for (const auto &[name, ref] : code.specials) {
    auto *to = reinterpret_cast<uint32_t *>(made->registers.data() + ref.offset);
    for (unsigned lane = 0; lane < 32; ++lane)
      to[lane] = specialValue(*this, name, lane);
    made->written[ref.reg] = ~0u;
  }
  frame = made.get();
  frames.push_back(std::move(made));
}

static std::string point(uint32_t x, uint32_t y, uint32_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

std::string Warp::threadName(ThreadNumber thread) const {
  uint64_t warp = (thread - 1) >> 5;
  uint32_t in = warp % launch.warpsPerBlock * 32 + ((thread - 1) & 31);
  const Dim3 &b = launch.block, id = blockOf(launch, warp / launch.warpsPerCluster,
                                             unsigned(warp % launch.warpsPerCluster / launch.warpsPerBlock));
  return "block " + point(id.x, id.y, id.z) + " thread " + point(in % b.x, in / b.x % b.y, in / b.x / b.y);
}

static std::string statementText(const Code &code, uint32_t line) {
  if (!line || line > code.program->lines.size())
    return "";
  const std::string &text = code.program->lines[line - 1];
  std::string out;
  for (char c : text) {
    if (c == '\t' || c == '\r')
      c = ' ';
    if (c != ' ' || (!out.empty() && out.back() != ' '))
      out += c;
  }
  return out;
}

void Warp::fault(FaultKind kind, const Inst &i, unsigned lane, const std::string &what) const {
  const Code &code = frame ? *frame->code : *launch.code;
  throw Fault(kind, launch.name(), i.line,
              std::string(toString(kind)) + ": kernel " + launch.name() + ", " + code.function->file + ":" +
                  std::to_string(i.line) + " (" + statementText(code, i.line) + "), " + threadName(number(lane)) +
                  ": " + what);
}

void Warp::step(const Inst &i, Mask m) {
  launch.threadInstructions += std::popcount(m);
  Mask *written = frame->written.data();
  const Ref *refs = i.refs;
  for (unsigned n = i.outs; n < unsigned(i.outs + i.ins); ++n)
    if (refs[n].reg != kConstant && (m & ~written[refs[n].reg])) {
      const auto &names = frame->code->function->registers;
      fault(FaultKind::UninitializedRegister, i, std::countr_zero(m & ~written[refs[n].reg]),
            "register " + (refs[n].reg < names.size() ? names[refs[n].reg].name : "?") + " was never written");
    }
  if (products.underWay() && !i.isProduct)
    checkProductRegisters(i, m);
  uint32_t *changed = frame->changed.empty() || i.isProduct ? nullptr : frame->changed.data();
  i.run(*this, i, m);
  for (unsigned n = 0; n < i.outs; ++n)
    written[refs[n].reg] |= m;
  for (unsigned n = 0; changed && n < i.outs; ++n)
    changed[refs[n].reg] = products.fences;
}

bool Warp::run(uint64_t turns) {
  constexpr uint64_t kRotation = 4096;
  bool did = false;
  uint64_t left = turns;
  turnOver = false;
  while (left && !turnOver && (mask || schedule())) {
    did = true;
    const Inst *code = frame->code->insts.data();
    const Frame *in = frame;
    const uint64_t given = rotated ? std::min(left, kRotation) : left;
    uint64_t budget = given;
    while (mask && budget && frame == in) {
      --budget;
      const Inst &i = code[pc++];
      Mask m = mask;
      if (i.guard >= 0) {
        if (Mask never = mask & ~frame->written[i.guard])
          fault(FaultKind::UninitializedRegister, i, std::countr_zero(never),
                "the guard " + frame->code->function->registers[i.guard].name + " was never written");
        Mask guard = *reinterpret_cast<const Mask *>(frame->registers.data() + i.guardOffset);
        m &= i.guardNegated ? ~guard : guard;
      }
      if (m)
        step(i, m);
      if (turnOver || (pc >= stopPc && !rotated))
        break;
    }
    left -= given - budget;
    if (rotated && !budget) { // its time is over
      rotated = false;
      groups.push_back({frame, pc, mask});
      mask = 0;
    } else if (mask && !rotated && pc >= stopPc)
      schedule();
  }
  // Who runs may wait for others of the warp, so those go first the next time.
  if (mask && std::any_of(groups.begin(), groups.end(), [](const Group &g) { return g.wait == Group::Ready; })) {
    groups.push_back({frame, pc, mask});
    mask = 0;
    rotated = true;
  }
  launch.instructions += turns - left;
  return did;
}

void Warp::mergeGroups() {
  for (size_t a = 0; a < groups.size(); ++a)
    for (size_t b = a + 1; b < groups.size();) {
      Group &x = groups[a], &y = groups[b];
      bool same = x.frame == y.frame && x.pc == y.pc && x.wait == y.wait && x.members == y.members &&
                  x.barrier == y.barrier && x.wait != Group::Barrier;
      if (!same) {
        ++b;
        continue;
      }
      x.mask |= y.mask;
      groups.erase(groups.begin() + b);
    }
}

bool Warp::schedule() {
  if (mask)
    groups.push_back({frame, pc, mask});
  mask = 0;
  mergeGroups();
  for (Group &group : groups) // who waited for lanes that have come
    if (group.wait == Group::Lanes && !(group.members & live & ~group.mask))
      group.wait = Group::Ready;
  size_t best = groups.size();
  for (size_t n = 0; n < groups.size(); ++n) {
    if (groups[n].wait != Group::Ready)
      continue;
    if (best == groups.size()) {
      best = n;
      if (rotated)
        break;
      continue;
    }
    const Group &a = groups[n], &b = groups[best];
    if (a.frame->depth != b.frame->depth ? a.frame->depth > b.frame->depth : a.pc < b.pc)
      best = n;
  }
  if (best == groups.size()) {
    const auto waitsForCluster = [](const Group &g) {
      return g.wait == Group::Barrier && g.barrier == kClusterBarrier;
    };
    if (live && std::any_of(groups.begin(), groups.end(), [](const Group &g) { return g.wait != Group::Barrier; }) &&
        std::none_of(groups.begin(), groups.end(), waitsForCluster))
      reportStuck();
    return false;
  }
  Group chosen = groups[best];
  groups.erase(groups.begin() + best);
  frame = chosen.frame;
  pc = chosen.pc;
  mask = chosen.mask;
  stopPc = ~0u;
  for (const Group &group : groups)
    if (group.wait == Group::Ready && group.frame == frame && group.pc > pc)
      stopPc = std::min(stopPc, group.pc);
    else if (group.wait == Group::Lanes && group.frame == frame && group.pc >= pc)
      stopPc = std::min(stopPc, group.pc + 1); // may be complete now
  return true;
}

static std::string lanesText(Mask lanes) {
  char text[16];
  snprintf(text, sizeof text, "0x%08x", lanes);
  return text;
}

void Warp::reportStuck() {
  for (const Group &group : groups)
    if (group.wait == Group::Arriving) {
      frame = group.frame;
      std::string others;
      for (const Group &other : groups)
        if (&other != &group)
          others += ", lanes " + lanesText(other.mask) + " wait at line " + std::to_string(other.at->line);
      if (initial & ~live)
        others += ", lanes " + lanesText(initial & ~live) + " have ended";
      fault(FaultKind::DivergentBarrier, *group.at, std::countr_zero(group.mask),
            "only lanes " + lanesText(group.mask) + " of the warp are here" + others);
    }
  for (const Group &group : groups)
    if (group.wait == Group::Lanes) {
      frame = group.frame;
      fault(FaultKind::Deadlock, *group.at, std::countr_zero(group.mask),
            "lanes " + lanesText(group.mask) + " wait for lanes " + lanesText(group.members & live & ~group.mask));
    }
  std::abort(); // the caller saw one of them
}

void Warp::branch(Mask taken, uint32_t target) {
  if (taken == mask) {
    pc = target;
  } else {
    groups.push_back({frame, target, taken});
    mask &= ~taken;
  }
  stopPc = groups.empty() ? ~0u : 0; // look again who goes first
}

void Warp::exit(Mask lanes) {
  live &= ~lanes;
  mask &= ~lanes;
  for (Frame *at = frame; at; at = at->parent)
    at->live &= ~lanes;
  stopPc = 0;
  cluster.checkPhase();
}

void Warp::enter(const Inst &i, Mask lanes) {
  if (frame->depth > 200)
    fault(FaultKind::Invalid, i, std::countr_zero(lanes), "calls are nested more than 200 deep");
  if (mask & ~lanes)
    groups.push_back({frame, pc, mask & ~lanes});
  Frame *caller = frame;
  uint32_t back = pc;
  newFrame(*i.callee, &i, lanes);
  frame->returnPc = back;
  const auto *map = static_cast<const std::vector<uint32_t> *>(i.extra); // results, then arguments: to, from, bytes
  for (size_t n = i.imm * 3; n < map->size(); n += 3)
    for (Mask m = lanes; m; m &= m - 1) {
      unsigned lane = std::countr_zero(m);
      std::memcpy(frame->params.data() + lane * frame->paramBytes + (*map)[n],
                  caller->params.data() + lane * caller->paramBytes + (*map)[n + 1], (*map)[n + 2]);
    }
  pc = 0;
  mask = lanes;
  stopPc = ~0u;
}

void Warp::leave(Mask lanes) {
  Frame *parent = frame->parent;
  if (!parent)
    return exit(lanes);
  const Inst &call = *frame->call;
  const auto *map = static_cast<const std::vector<uint32_t> *>(call.extra);
  for (size_t n = 0; n < call.imm * 3; n += 3)
    for (Mask m = lanes; m; m &= m - 1) {
      unsigned lane = std::countr_zero(m);
      std::memcpy(parent->params.data() + lane * parent->paramBytes + (*map)[n + 1],
                  frame->params.data() + lane * frame->paramBytes + (*map)[n], (*map)[n + 2]);
    }
  frame->live &= ~lanes;
  mask &= ~lanes;
  groups.push_back({parent, frame->returnPc, lanes});
  stopPc = 0;
}

void Warp::waitForLanes(const Inst &i, Mask lanes, Mask members) {
  groups.push_back({.frame = frame, .pc = pc - 1, .mask = lanes, .wait = Group::Lanes, .members = members, .at = &i});
  mask &= ~lanes;
  stopPc = 0;
}

} // namespace sinter::ptx
