// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule becomes one function, and most of its blocks dominate all that come after them: launches one after the
// other, each followed by a check of its status. Such a function falls into stretches of the chain of dominators:
//
//   s0 ─> s1 ─> s2 ─> s3 ─> ... ─> sn        each s dominates the next; what else it dominates (loops, branches) hangs
//    │     │     │     │                     from it
//   ...   ...   ...   ...
//
// The blocks of s1 and s2, say, with all that hangs from them, are entered at s1 only, but for two cases that are
// looked for: s2 is the header of a loop that goes on behind them, or what hangs is where branches meet of which s3 is
// one. LLVM's CodeExtractor makes a function of them, whatever ways lead out. The chain follows the child with the most
// blocks; where others have many (a loop of a thousand launches), they have chains of their own.

#include "backends/cpu/LongFunctions.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"
#include "llvm/Transforms/Utils/Local.h"
#include <string>

using namespace llvm;

/// A function of more blocks is split, and if it cannot be, gets fewer passes.
constexpr size_t kMostBlocks = 2000;
/// Blocks of a part: calls between parts are few, and what is quadratic in so many is less than what is linear.
constexpr size_t kPartBlocks = 400;

bool sinter::cpu::isLong(const Function &function) { return function.size() > kMostBlocks; }

namespace {
struct Region {
  SmallVector<BasicBlock *> blocks; // entered at the first
  bool runsOnce;                    // in a call of the function, at most
};

class Stretches {
public:
  Stretches(Function &function, size_t partBlocks) : tree(function), loops(tree), partBlocks(partBlocks) {
    for (DomTreeNode *node : post_order(&tree)) {
      size_t blocks = 1;
      for (DomTreeNode *child : node->children())
        blocks += sizes.lookup(child);
      sizes[node] = blocks;
    }
    SmallVector<DomTreeNode *> roots = {tree.getRootNode()};
    while (!roots.empty())
      walkChain(roots.pop_back_val(), roots);
  }

  SmallVector<Region> regions; // no two share a block

private:
  struct Link {
    DomTreeNode *node, *next;
    size_t blocks;  // of the node and of what hangs from it, without the chain below
    unsigned depth; // of loops
    bool isApart;   // belongs to no part
  };

  /// Cuts the chain that begins at `root`. Adds children that have chains of their own to `roots`.
  void walkChain(DomTreeNode *root, SmallVectorImpl<DomTreeNode *> &roots);
  /// Adds the stretch from `begin` on, and returns where it ends.
  size_t cut(ArrayRef<Link> chain, size_t begin);
  void add(ArrayRef<Link> chain);

  DominatorTree tree;
  LoopInfo loops;
  size_t partBlocks;
  DenseMap<DomTreeNode *, size_t> sizes; // blocks that a node dominates, with itself
};
} // namespace

static bool returns(DomTreeNode *node) { return isa<ReturnInst>(node->getBlock()->getTerminator()); }

void Stretches::walkChain(DomTreeNode *root, SmallVectorImpl<DomTreeNode *> &roots) {
  SmallVector<Link> chain;
  for (DomTreeNode *node = root; node;) {
    DomTreeNode *next = nullptr;
    for (DomTreeNode *child : node->children())
      if (!next || sizes[child] > sizes[next])
        next = child;
    auto hanging = make_filter_range(node->children(), [&](DomTreeNode *child) { return child != next; });
    auto isEnteredFromBelow = [&](DomTreeNode *child) { // branches meet there
      return any_of(predecessors(child->getBlock()), [&](BasicBlock *from) {
        return tree.isReachableFromEntry(from) && tree.dominates(next, tree.getNode(from));
      });
    };
    // Variables on the stack and the return stay where they are.
    bool isApart = node == tree.getRootNode() || returns(node) || any_of(hanging, [&](DomTreeNode *child) {
                     return sizes[child] > partBlocks || (!returns(child) && isEnteredFromBelow(child));
                   });
    if (isApart)
      append_range(roots, hanging);
    chain.push_back(
        {node, next, sizes[node] - (next ? sizes[next] : 0), loops.getLoopDepth(node->getBlock()), isApart});
    node = next;
  }
  for (size_t begin = 0; begin < chain.size();)
    begin = chain[begin].isApart ? begin + 1 : cut(chain, begin);
}

size_t Stretches::cut(ArrayRef<Link> chain, size_t begin) {
  // A link goes on a loop that begins inside of the stretch: the way back would enter it there.
  auto entersLater = [&](size_t end) {
    for (const Loop *loop = loops.getLoopFor(chain[end].node->getBlock()); loop; loop = loop->getParentLoop())
      if (any_of(chain.slice(begin + 1, end - begin - 1),
                 [&](const Link &link) { return link.node->getBlock() == loop->getHeader(); }))
        return true;
    return false;
  };
  size_t blocks = 0, best = begin + 1, depth = ~size_t(0);
  for (size_t end = begin + 1; end <= chain.size(); ++end) {
    blocks += chain[end - 1].blocks;
    if (blocks > partBlocks && end > begin + 1)
      break;
    bool isLast = end == chain.size() || chain[end].isApart;
    if (isLast || 2 * blocks >= partBlocks || chain[end].depth > chain[end - 1].depth) {
      size_t depthOfEnd = end == chain.size() ? 0 : chain[end].depth;
      if (depthOfEnd <= depth && (end == chain.size() || !entersLater(end))) {
        best = end;
        depth = 2 * blocks >= partBlocks ? depthOfEnd : ~size_t(0);
      }
    }
    if (isLast)
      break;
  }
  add(chain.slice(begin, best - begin));
  return best;
}

void Stretches::add(ArrayRef<Link> chain) {
  Region region;
  region.runsOnce = chain.front().depth == 0;
  for (const Link &link : chain) {
    SmallVector<DomTreeNode *> nodes = {link.node};
    while (!nodes.empty()) {
      DomTreeNode *node = nodes.pop_back_val();
      if (returns(node))
        continue;
      region.blocks.push_back(node->getBlock());
      for (DomTreeNode *child : reverse(node->children()))
        if (child != link.next)
          nodes.push_back(child);
    }
  }
  if (4 * region.blocks.size() >= partBlocks)
    regions.push_back(std::move(region));
}

/// The region in which `variable` and all addresses that are computed from it are used, or null. An address that is
/// stored is the argument of a launch, which reads it before it returns.
static const Region *regionOfUses(AllocaInst *variable, const DenseMap<BasicBlock *, const Region *> &regionOf) {
  const Region *region = nullptr;
  SmallSetVector<Value *, 8> addresses;
  addresses.insert(variable);
  for (size_t i = 0; i < addresses.size(); ++i)
    for (User *user : addresses[i]->users()) {
      const Region *used = regionOf.lookup(cast<Instruction>(user)->getParent());
      if (!used || (region && used != region))
        return nullptr;
      region = used;
      if (isa<GetElementPtrInst, PHINode, SelectInst>(user))
        addresses.insert(user);
      else if (user->getType()->isPointerTy() && !isa<LoadInst, CallInst>(user))
        return nullptr;
    }
  return region;
}

/// Variables on the stack that only one region uses, by regions. While they stand in the function, CodeExtractor looks
/// at each of them for each part, so others hold their places until their region is a part.
class OwnVariables {
public:
  /// What a region that runs more than once left in a variable it may read again.
  void take(Function &function, ArrayRef<Region> regions) {
    DenseMap<BasicBlock *, const Region *> regionOf;
    for (const Region &region : regions)
      for (BasicBlock *block : region.blocks)
        regionOf[block] = &region;
    for (Instruction &instruction : make_early_inc_range(function.getEntryBlock())) {
      auto *variable = dyn_cast<AllocaInst>(&instruction);
      if (!variable || !variable->isStaticAlloca())
        continue;
      const Region *region = regionOfUses(variable, regionOf);
      if (!region || !region->runsOnce)
        continue;
      auto *place =
          new FreezeInst(PoisonValue::get(variable->getType()), "", region->blocks.front()->getFirstNonPHIIt());
      variable->replaceAllUsesWith(place);
      variable->removeFromParent();
      taken[region].emplace_back(place, variable);
    }
  }

  /// Declares those of a region in the function that has it now.
  void giveBack(const Region &region) {
    for (auto [place, variable] : taken.lookup(&region)) {
      variable->insertBefore(place->getFunction()->getEntryBlock().getFirstNonPHIIt());
      place->replaceAllUsesWith(variable);
      place->eraseFromParent();
    }
  }

private:
  DenseMap<const Region *, SmallVector<std::pair<Instruction *, AllocaInst *>>> taken;
};

/// Code generators give variables a place in the frame that are declared in the first block.
static void declareVariables(Function &part) {
  BasicBlock &entry = part.getEntryBlock();
  for (BasicBlock &block : drop_begin(part))
    for (Instruction &instruction : make_early_inc_range(block))
      if (isa<AllocaInst>(instruction))
        instruction.moveBefore(entry.getFirstNonPHIIt());
}

size_t sinter::cpu::splitFunction(Function &function, size_t partBlocks) {
  // The block that returns takes a status from each of the others, and a list of those is copied for each that goes.
  for (BasicBlock &block : function)
    if (isa<ReturnInst>(block.getTerminator()))
      for (PHINode &phi : make_early_inc_range(block.phis()))
        DemotePHIToStack(&phi);
  size_t parts = 0;
  // A round leaves a block or a few for each part. The next ones make parts of them where there are thousands, and of
  // what stood around loops that have parts of their own now.
  for (size_t before = SIZE_MAX; function.size() > partBlocks && function.size() < before - before / 4;) {
    before = function.size();
    SmallVector<Region> regions = std::move(Stretches(function, partBlocks).regions);
    OwnVariables variables;
    if (parts == 0) // a part may hand back an address that it was given
      variables.take(function, regions);
    CodeExtractorAnalysisCache cache(function);
    for (Region &region : regions) {
      CodeExtractor extractor(region.blocks, /*DT=*/nullptr, /*AggregateArgs=*/false, /*BFI=*/nullptr, /*BPI=*/nullptr,
                              /*AC=*/nullptr, /*AllowVarArgs=*/false, /*AllowAlloca=*/true);
      Function *part = extractor.extractCodeRegion(cache);
      variables.giveBack(region);
      if (!part)
        continue;
      declareVariables(*part);
      part->setName(function.getName() + ".part" + std::to_string(parts++));
      part->addFnAttr(Attribute::NoInline);
    }
  }
  return parts;
}

void sinter::cpu::splitLongFunctions(Module &module) {
  SmallVector<Function *> functions;
  for (Function &function : module)
    if (isLong(function) && !function.hasLocalLinkage())
      functions.push_back(&function);
  for (Function *function : functions)
    splitFunction(*function, kPartBlocks);
}
