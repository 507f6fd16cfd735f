// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/emit/JoinParts.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;

/// Each part has code of its own for all ops of the kernel: parts times ops at most.
static constexpr size_t kMaxCode = 4096;

namespace {
/// Where a part reads a value.
struct Reading {
  /// In the place of the results, less `shift` along the joined axis.
  bool isAligned = false;
  DimExpr shift;
};

class PartFinder {
public:
  explicit PartFinder(KernelSpec &spec) : spec(spec), ops(spec.body().getOperations().size()) {}

  std::optional<JoinParts> run() {
    Value result = spec.yielded(0);
    Next outermost = nextJoin({});
    if (!outermost.join)
      return std::nullopt;
    found.axis = static_cast<int64_t>(outermost.join.getAxis());
    JoinPart whole{spec.dims.constant(0), spec.dims.resolve(spec.sizes->dims(result)[found.axis]), {}};
    // What is read in another way by some part has all of its operands there.
    if (!split(whole) || llvm::any_of(kept, [&](Operation *join) { return found.joins.contains(join); }))
      return std::nullopt;
    return std::move(found);
  }

private:
  struct Next {
    ConcatenateOp join;
    DimExpr shift;
  };

  /// Adds what `part` consists of; false when there are too many parts.
  bool split(const JoinPart &part) {
    Next next = nextJoin(part);
    if (!next.join) {
      found.parts.push_back(part);
      return found.parts.size() * ops <= kMaxCode;
    }
    found.joins.insert(next.join);
    SmallVector<JoinPart> pieces = *piecesOf(next.join, next.shift, part);
    for (JoinPart &piece : pieces) {
      piece.taken.insert(piece.taken.begin(), part.taken.begin(), part.taken.end());
      if (!split(piece))
        return false;
    }
    return true;
  }

  /// The operands of `join` that lie in `part` where the join begins at `shift` of the results.
  std::optional<SmallVector<JoinPart>> piecesOf(ConcatenateOp join, DimExpr shift, const JoinPart &part) {
    if (static_cast<int64_t>(join.getAxis()) != found.axis)
      return std::nullopt;
    DimContext &dims = spec.dims;
    SmallVector<JoinPart> all;
    DimExpr begin = dims.constant(0);
    bool isKnown = shift.isConstant() && part.begin.isConstant() && part.size.isConstant();
    for (auto [i, operand] : llvm::enumerate(join.getOperands())) {
      DimExpr size = dims.resolve(spec.sizes->dims(operand)[found.axis]);
      all.push_back({dims.add(shift, begin), size, {{join, static_cast<unsigned>(i), begin}}});
      if (all.back().begin == part.begin && size == part.size)
        return SmallVector<JoinPart>{all.back()};
      isKnown &= size.isConstant() && begin.isConstant();
      begin = dims.add(begin, size);
    }
    if (isKnown) {
      int64_t low = part.begin.constant(), high = low + part.size.constant();
      SmallVector<JoinPart> inside;
      for (const JoinPart &piece : all) {
        int64_t from = std::max(low, piece.begin.constant());
        int64_t to = std::min(high, piece.begin.constant() + piece.size.constant());
        if (from < to)
          inside.push_back({dims.constant(from), dims.constant(to - from), piece.taken});
      }
      return inside;
    }
    if (shift == part.begin && dims.resolve(spec.sizes->dims(join)[found.axis]) == part.size)
      return all;
    return std::nullopt;
  }

  /// The first join behind the results that is not taken apart in `part`, or of all where that is not given; notes
  /// those that the part reads in another way.
  Next nextJoin(const std::optional<JoinPart> &part) {
    DimContext &dims = spec.dims;
    llvm::DenseMap<Operation *, Reading> readings;
    auto read = [&](Value value, const Reading &reading) {
      Operation *op = value.getDefiningOp();
      if (!op)
        return;
      auto [known, isNew] = readings.try_emplace(op, reading);
      if (!isNew && !(reading.isAligned && known->second.isAligned && known->second.shift == reading.shift))
        known->second = Reading();
    };
    for (unsigned i = 0; i < spec.kernel.getNumResults(); ++i)
      read(spec.yielded(i), {true, dims.constant(0)});
    for (Operation &op : llvm::reverse(spec.body().without_terminator())) {
      auto reached = readings.find(&op);
      if (reached == readings.end())
        continue;
      Reading reading = reached->second;
      if (auto join = dyn_cast<ConcatenateOp>(op)) {
        if (part)
          if (const auto *taken = llvm::find_if(part->taken, [&](const auto &it) { return it.join == join; });
              taken != part->taken.end()) {
            read(join.getOperand(taken->operand), {true, dims.add(reading.shift, taken->begin)});
            continue;
          }
        if (reading.isAligned && (!part || piecesOf(join, reading.shift, *part)))
          return {join, reading.shift};
        if (part)
          kept.insert(join);
      }
      for (Value operand : op.getOperands())
        read(operand, isa<Pointwise>(op) ? reading : Reading());
    }
    return {};
  }

  KernelSpec &spec;
  size_t ops;
  JoinParts found;
  llvm::SmallPtrSet<Operation *, 4> kept;
};
} // namespace

std::optional<JoinParts> sinter::cpu::findJoinParts(KernelSpec &spec) {
  if (cast<RankedTensorType>(spec.yielded(0).getType()).getRank() == 0)
    return std::nullopt;
  return PartFinder(spec).run();
}
