// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cuda/AttentionShape.h"
#include "backends/cpu/emit/Single.h"
#include "backends/cuda/TileMemory.h"
#include "ir/Attention.h"
#include "ir/Contraction.h"
#include "ir/Precision.h"
#include "ir/Shape.h"
#include "ir/Shapes.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cuda;

constexpr int64_t kMostRowBytes = 512;
/// With fewer rows threads of a block would have nothing to do; a product goes over keys and columns in parallel, too.
constexpr int64_t kFewRows = 32;
/// So many keys are worth parts, however few rows there are; one part has half as many or more.
constexpr int64_t kManyKeys = 128;
constexpr int64_t kMostKeyParts = 128;
/// So many rows and fewer are few enough to cut keys into parts; a warp for each 16.
constexpr int64_t kMostRowsOfParts = 64;
/// Warps of a multiprocessor that hide each other's waiting for keys.
constexpr int64_t kWarpsAtOnce = 8;
/// Words of sums of both results that a thread holds beside its part of the scores, and beside elements of both
/// operands where it multiplies by itself.
constexpr int64_t kMostSumsOfWarps = 128, kMostSumsOfThreads = 64;

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// True where the module's policy has products of f32 multiply in 16 bits, which those of an f32 attention do as steps.
static bool isFasterInSteps(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  auto policy = module ? module->getAttrOfType<DictionaryAttr>(kPrecisionAttr) : nullptr;
  auto type = policy ? policy.getAs<TypeAttr>(DotGeneralOp::getOperationName().split('.').second) : nullptr;
  return type && isHalf(type.getValue()) && getElementTypeOrSelf(op->getOperand(0)).isF32();
}

/// Why attention is better in steps, or must be; empty where a kernel takes it.
static std::string refusalOf(Operation *op) {
  if (isFasterInSteps(op))
    return "the module has products of f32 multiply in 16 bits, which no form of f32 attention does";
  RankedTensorType query = tensorTypeOf(op->getOperand(0)), value = tensorTypeOf(op->getOperand(2));
  Type type = query.getElementType();
  int64_t bytes = byteWidth(type);
  for (int64_t size : {query.getShape().back(), value.getShape().back()}) // of no size that is not known, too
    if (size <= 0 || size * bytes > kMostRowBytes || size * bytes % kChunkBytes != 0)
      return "rows of a head require whole chunks of 16 bytes, up to 512 bytes, got " +
             (size < 0 ? "a size that is not known" : std::to_string(size * bytes));
  // A kernel writes sums of logarithms beside the result only.
  if (auto attention = dyn_cast<AttentionOp>(op); attention && attention.getResult().use_empty())
    return "only its sums of logarithms are asked for";
  int64_t rows = query.getDimSize(query.getRank() - 2), keys = value.getDimSize(value.getRank() - 2);
  bool hasFewKeys = !ShapedType::isDynamic(keys) && keys < kManyKeys;
  if (!isHalf(type) && !ShapedType::isDynamic(rows) && rows < kFewRows && (hasFewKeys || isa<AttentionGradientOp>(op)))
    return "heads of f32 and f64 require 32 rows or more, or forward 128 keys, got " + std::to_string(rows) + " rows";
  if (llvm::any_of(op->getOperands(), [](Value operand) { return operand.getDefiningOp<ConstantOp>() != nullptr; }))
    return "an operand is a constant";
  unsigned bias = isa<AttentionOp>(op) ? 3 : 6;
  if (op->getNumOperands() > bias && getElementTypeOrSelf(op->getOperand(bias)) != type)
    return "a bias requires the element type of the queries";
  return "";
}

bool cuda::hasAttentionForm(Operation *op) { return isAttention(op) && refusalOf(op).empty(); }

bool cuda::keepsAttention(Operation *op) {
  if (!isAttention(op))
    return false;
  std::string reason = refusalOf(op);
  if (!reason.empty())
    remark::missed(op->getLoc(), remark::RemarkOpts::name("steps").category("schedule"))
        << "attention is two products and a softmax on the GPU: " + reason;
  return reason.empty();
}

std::optional<AttentionShape> AttentionShape::of(cuda::KernelSpec &spec, Core core, bool isGradient,
                                                 std::string &refusal) {
  AttentionShape shape;
  shape.root = cpu::singleRoot(spec);
  if (!shape.root || !isAttention(shape.root) || isa<AttentionGradientOp>(shape.root) != isGradient) {
    refusal = isGradient ? "it is no attention_gradient alone" : "it is no attention alone";
    return std::nullopt;
  }
  // Keys and values may be what a table picks out of a cache.
  if (!llvm::all_of(shape.root->getOpOperands(), [&](OpOperand &use) {
        bool isOfCache = !isGradient && (use.getOperandNumber() == 1 || use.getOperandNumber() == 2);
        return isa<BlockArgument>(use.get()) || (isOfCache && GatheredRows::of(use.get()));
      })) {
    refusal = "an operand is computed";
    return std::nullopt;
  }
  auto yields = spec.body().getTerminator()->getOperands();
  if (llvm::any_of(shape.root->getResults(), [&](Value result) { return llvm::count(yields, result) > 1; }) ||
      (!isGradient && !llvm::is_contained(yields, shape.root->getResult(0)))) {
    refusal = "a result is yielded twice, or the first one of attention not";
    return std::nullopt;
  }
  shape.core = core;
  shape.type = getElementTypeOrSelf(shape.root->getOperand(0));
  if (isHalf(shape.type) != (core == Core::Warps)) {
    refusal = core == Core::Warps ? "no mma.sync multiplies its type" : "warps multiply its type";
    return std::nullopt;
  }
  if (!hasAttentionForm(shape.root)) {
    refusal = "it requires rows of whole chunks of 16 bytes, up to 512, and 32 rows or 128 keys of f32 or f64";
    return std::nullopt;
  }
  Dims query = spec.sizes->dims(shape.root->getOperand(0)), value = spec.sizes->dims(shape.root->getOperand(2));
  shape.batch = Dims(ArrayRef(query).drop_back(2));
  shape.rows = spec.dims.resolve(query[query.size() - 2]);
  shape.keys = spec.dims.resolve(value[value.size() - 2]);
  shape.depth = tensorTypeOf(shape.root->getOperand(0)).getShape().back();
  shape.width = tensorTypeOf(shape.root->getOperand(2)).getShape().back();
  shape.groups = headGroups(shape.root->getOperand(0).getType(), shape.root->getOperand(1).getType());
  shape.heads = spec.dims.resolve(spec.dims.product(shape.batch));
  shape.keyHeads = spec.dims.resolve(spec.dims.floorDiv(shape.heads, spec.dims.constant(shape.groups)));
  shape.scale = shape.root->getAttrOfType<FloatAttr>("scale").getValueAsDouble();
  // Bounds beyond any size are as good as none.
  auto bound = [&](StringRef name) -> std::optional<int64_t> {
    auto given = shape.root->getAttrOfType<IntegerAttr>(name);
    return given ? std::optional(std::clamp<int64_t>(given.getInt(), -(int64_t(1) << 40), int64_t(1) << 40))
                 : std::nullopt;
  };
  shape.before = bound("before");
  shape.after = bound("after");
  return shape;
}

int64_t AttentionShape::padded(int64_t size) const {
  if (core == Core::Warps) // chunks of a row change places in groups of a power of two
    return std::max<int64_t>(16, static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(size))));
  return llvm::alignTo(size, 8 * (kChunkBytes / bytes())); // eight threads take whole chunks of columns
}

Value AttentionShape::bias() const {
  unsigned before = isa<AttentionGradientOp>(root) ? 6 : 3;
  return root->getNumOperands() > before ? root->getOperand(before) : Value();
}

int64_t AttentionShape::fold(const AttentionTile &tile) const {
  bool isOneBlock = rows.isConstant() && rows.constant() * groups <= tile.own;
  return isa<AttentionGradientOp>(root) || !isOneBlock ? 1 : groups;
}

bool AttentionShape::isSplit(const AttentionTile &tile) const {
  int64_t perThread = tile.inner * (padded(depth) + padded(width)) / (core == Core::Warps ? 32 : 8);
  return perThread * std::max<int64_t>(bytes() / 4, 1) > (core == Core::Warps ? kMostSumsOfWarps : kMostSumsOfThreads);
}

int64_t AttentionShape::sharedBytes(const AttentionTile &tile) const {
  auto slab = [&](int64_t rows, int64_t size) { return SlabLayout::ofRows(rows, padded(size), bytes(), core).bytes(); };
  int64_t others = slab(tile.other, depth) + slab(tile.other, width);
  if (isa<AttentionGradientOp>(root))
    return slab(tile.own, depth) + slab(tile.own, width) + 2 * others;
  return slab(tile.own, depth) + others;
}

//===- Tiles ------------------------------------------------------------------------------------===//

AttentionTile cuda::attentionTileOf(ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile();
  assert((tile.size() == 3 || tile.size() == 4) && "an attention's schedule was checked");
  return {tile[0], tile[1], tile[2], tile.size() == 4 ? tile[3] : 1};
}

static ScheduleAttr asSchedule(const AttentionShape &shape, StringRef name, const AttentionTile &tile) {
  SmallVector<int64_t> numbers = {tile.own, tile.other, tile.inner};
  if (tile.parts > 1)
    numbers.push_back(tile.parts);
  return ScheduleAttr::get(shape.type.getContext(), name, tile.threads(shape.core), numbers, 0, {}, {});
}

static std::string misfit(const AttentionShape &shape, const AttentionTile &tile) {
  int64_t least = shape.core == Core::Warps ? 16 : 8;
  for (int64_t size : {tile.own, tile.other})
    if (size < least || !llvm::isPowerOf2_64(static_cast<uint64_t>(size)))
      return "its tile requires powers of two from " + std::to_string(least) + " on";
  if (tile.inner < 1 || tile.own % tile.inner || (shape.core == Core::Warps && tile.inner % 16))
    return "what a thread or warp takes has to divide the block's rows, in sixteens for a warp";
  if (tile.threads(shape.core) % 32 || tile.threads(shape.core) > 512)
    return "a block requires whole warps, up to 512 threads";
  if (shape.sharedBytes(tile) > kMostSharedBytes)
    return "its slabs do not fit into 48 KiB";
  if (tile.parts != 1 && (isa<AttentionGradientOp>(shape.root) || tile.parts < 2 || tile.parts > kMostKeyParts))
    return "keys are cut into 2 to 128 parts, and forward alone";
  return "";
}

/// The largest slabs that fit: elements of the block's own are used as often as others come by.
AttentionTile cuda::largestTile(const AttentionShape &shape) {
  static const AttentionTile ofWarps[] = {{128, 64, 32}, {64, 64, 16}, {64, 32, 16}, {64, 16, 16},
                                          {32, 32, 16},  {32, 16, 16}, {16, 16, 16}},
                             ofThreads[] = {{64, 32, 4}, {32, 32, 4}, {32, 16, 4}, {16, 16, 4}, {16, 8, 4}};
  bool isGradient = isa<AttentionGradientOp>(shape.root);
  for (const AttentionTile &tile : shape.core == Core::Warps ? ArrayRef(ofWarps) : ArrayRef(ofThreads)) {
    // 32 rows of a warp would take all registers for wider ones.
    bool isWide = tile.inner > 16 && (isGradient || shape.padded(std::max(shape.depth, shape.width)) > 64);
    if (!isWide && misfit(shape, tile).empty())
      return tile;
  }
  llvm_unreachable("the least tile fits any rows of a form");
}

/// Rows of all heads that share keys; nothing where there are many, or only running tells.
static std::optional<int64_t> fewRows(const AttentionShape &shape) {
  if (isa<AttentionGradientOp>(shape.root) || !shape.rows.isConstant() || shape.rows.constant() == 0)
    return std::nullopt;
  int64_t rows = shape.rows.constant() * shape.groups;
  return rows <= kMostRowsOfParts ? std::optional(rows) : std::nullopt;
}

bool cuda::hasFewRows(const AttentionShape &shape) { return fewRows(shape).has_value(); }

/// The tile of a decoding step: blocks of as few warps as the rows need, and so many parts of the keys that there are
/// enough of them. Sizes that only running tells count as one head, and as many keys as there may be parts for.
static std::optional<AttentionTile> tileOfFewRows(cuda::KernelSpec &spec, const AttentionShape &shape) {
  static const AttentionTile ofWarps[] = {{16, 64, 16}, {16, 32, 16}, {16, 16, 16}, {32, 64, 16}, {32, 32, 16},
                                          {32, 16, 16}, {64, 64, 16}, {64, 32, 16}, {64, 16, 16}},
                             ofThreads[] = {{8, 32, 2},  {8, 16, 2},  {16, 32, 4}, {16, 16, 4},
                                            {32, 32, 4}, {32, 16, 4}, {64, 32, 4}, {64, 16, 4}};
  std::optional<int64_t> rows = fewRows(shape);
  int64_t keys = shape.keys.isConstant() ? shape.keys.constant() : kMostKeyParts * kManyKeys;
  if (!rows || keys < kManyKeys)
    return std::nullopt;
  for (AttentionTile tile : shape.core == Core::Warps ? ArrayRef(ofWarps) : ArrayRef(ofThreads)) {
    if (tile.own < *rows || !misfit(shape, tile).empty())
      continue;
    int64_t heads = 1;
    for (DimExpr size : shape.batch)
      if (size = spec.dims.resolve(size); size.isConstant())
        heads *= std::max<int64_t>(size.constant(), 1);
    int64_t warps = heads / shape.groups * (tile.threads(shape.core) / 32);
    int64_t wanted = kWarpsAtOnce * gpuOf(spec.target().name).multiprocessors / std::max<int64_t>(warps, 1);
    tile.parts = std::max<int64_t>(1, std::min({wanted, keys / (kManyKeys / 2), kMostKeyParts}));
    return tile;
  }
  return std::nullopt;
}

std::string cuda::planAttention(cuda::KernelSpec &spec, StringRef name, Core core, bool isGradient,
                                ScheduleAttr &schedule) {
  std::string refusal;
  std::optional<AttentionShape> shape = AttentionShape::of(spec, core, isGradient, refusal);
  if (!shape)
    return refusal;
  if (!schedule) {
    std::optional<AttentionTile> ofFew = tileOfFewRows(spec, *shape);
    schedule = asSchedule(*shape, name, ofFew ? *ofFew : largestTile(*shape));
    return "";
  }
  if (schedule.getTile().size() != 3 && schedule.getTile().size() != 4)
    return "its tile requires 3 numbers, or 4 with parts of the keys";
  AttentionTile tile = attentionTileOf(schedule);
  refusal = misfit(*shape, tile);
  if (refusal.empty() && asSchedule(*shape, name, tile) != schedule)
    return "its schedule has other fields than `lanes`, the tile's " + std::to_string(tile.threads(core)) +
           " threads, and `tile`";
  return refusal;
}
