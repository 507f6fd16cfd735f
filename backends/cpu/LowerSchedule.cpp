// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/cpu/LowerSchedule.h"
#include "backends/cpu/ChainFunction.h"
#include "backends/cpu/EntryFunction.h"
#include "backends/cpu/emit/Branches.h"
#include "backends/schedule/Dialect.h"
#include "backends/schedule/LoopProgram.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/device.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::cpu;
using schedule::ArenaOp;
using schedule::BufferType;

/// Buffers of at most this many bytes lie on the stack as long as all of them need no more than the second number: no
/// plan has to be looked up and LLVM sees who writes them.
constexpr int64_t kStackSlotBytes = 2048;
constexpr int64_t kStackBytes = 16384;

/// True when a trip of a loop reads the buffer's address.
static bool isUsedInLoop(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return user->getParentOfType<scf::WhileOp>() || user->getParentOfType<scf::ForOp>();
  });
}

namespace {
/// Where a buffer of the arena lies: its entry in the table of offsets.
struct ArenaPlace {
  Value base, offsets;
  int64_t entry = 0;
};

class ScheduleLowering {
public:
  ScheduleLowering(schedule::FunctionOp function, StringRef name, const llvm::DenseSet<Value> &usedInLoops,
                   bool smallOnStack, const llvm::StringMap<std::string> *names)
      : function(function), usedInLoops(usedInLoops), smallOnStack(smallOnStack), names(names),
        fn(function->getParentOfType<ModuleOp>(), function.getLoc(), name) {}

  void run();

private:
  /// The value in the entry function. Addresses of the arena are looked up where they are used.
  Value get(Value value);
  SmallVector<Value> get(ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return get(value); });
  }
  void lower(Operation *op);
  void lowerArena(ArenaOp op);
  void lowerLaunch(schedule::LaunchOp op);
  void lowerChain(schedule::ChainOp op);
  void lowerRepeat(schedule::RepeatOp op);
  void lowerLoopKernel(schedule::RepeatOp op);
  /// Sizes and memory of the loop's regions: what its kernel is called with.
  void lowerOperands(Operation *loop);
  void lowerChoose(schedule::ChooseOp op);
  void lowerBlock(Block &block) {
    for (Operation &op : block)
      lower(&op);
  }
  Value wordsOfLaunches();

  schedule::FunctionOp function;
  const llvm::DenseSet<Value> &usedInLoops;
  bool smallOnStack;
  const llvm::StringMap<std::string> *names; // null: calls are not counted
  EntryFunction fn;
  IRMapping values;
  llvm::DenseMap<Value, ArenaPlace> places;
  Value words; // arguments of the launch that runs
};
} // namespace

/// The back end in whose memory a buffer lies; empty for the host.
static StringRef memoryOf(Value buffer) {
  StringAttr memory = cast<BufferType>(buffer.getType()).getMemory();
  return memory ? memory.getValue() : StringRef();
}

Value ScheduleLowering::get(Value value) {
  auto place = places.find(value);
  if (place == places.end())
    return values.lookup(value);
  auto [base, offsets, entry] = place->second;
  return fn.offset(base, fn.load(fn.i64Type, offsets, entry * 8));
}

void ScheduleLowering::lowerArena(ArenaOp op) {
  if (StringRef memory = op.getBuffers().empty() ? StringRef() : memoryOf(op.getBuffers().front()); !memory.empty()) {
    // Lives are not looked at: the queue may still run what the host has long gone past.
    for (auto [size, buffer] : llvm::zip(op.getSizes(), op.getBuffers()))
      values.map(buffer, fn.acquireOn(memory, get(size)));
    return;
  }
  SmallVector<int32_t> lives;
  SmallVector<Value> sizes, placed;
  int64_t onStack = 0;
  for (auto [i, size, buffer] : llvm::enumerate(op.getSizes(), op.getBuffers())) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (smallOnStack && known && *known >= 0 && *known <= kStackSlotBytes) {
      int64_t bytes = std::max<int64_t>(64, llvm::alignTo(*known, 64));
      if (onStack + bytes <= kStackBytes) {
        onStack += bytes;
        values.map(buffer, fn.stackWords(bytes / 8));
        continue;
      }
    }
    lives.append({op.getLives()[2 * i], op.getLives()[2 * i + 1]});
    sizes.push_back(size);
    placed.push_back(buffer);
  }
  auto count = static_cast<int64_t>(placed.size());
  if (count == 0)
    return;
  Value offsets = fn.stackWords(count), table;
  if (llvm::all_of(sizes, [](Value size) { return getConstantIntValue(size).has_value(); })) {
    table = fn.constantArray(llvm::map_to_vector(sizes, [](Value size) { return *getConstantIntValue(size); }));
  } else {
    table = fn.stackWords(count);
    for (auto [i, size] : llvm::enumerate(sizes))
      fn.store(get(size), table, static_cast<int64_t>(i) * 8);
  }
  Value base = fn.plan(fn.constantArray(lives), count, table, offsets);
  for (auto [i, buffer] : llvm::enumerate(placed)) {
    places[buffer] = {base, offsets, static_cast<int64_t>(i)};
    if (usedInLoops.contains(buffer)) { // no trip looks its buffers up again
      Value known = get(buffer);
      places.erase(buffer);
      values.map(buffer, known);
    }
  }
}

Value ScheduleLowering::wordsOfLaunches() {
  if (words)
    return words;
  size_t most = 1;
  function.walk([&](schedule::LaunchOp op) { most = std::max<size_t>(most, op.getArguments().size() + 1); });
  function.walk([&](schedule::ChainOp op) { most = std::max<size_t>(most, op.getArguments().size() + 2); });
  function.walk([&](schedule::RepeatOp op) {
    if (op.getKernel())
      most = std::max<size_t>(most, schedule::LoopProgram::of(op)->words.size());
  });
  return words = fn.stackWords(static_cast<int64_t>(most));
}

void ScheduleLowering::lowerLaunch(schedule::LaunchOp op) {
  SmallVector<Value> arguments = get(op.getArguments());
  Value chunks = get(op.getChunks());
  Value steps = op.getSteps() ? get(op.getSteps()) : Value();
  if (op.getRunsInline()) {
    auto call = [&](ValueRange step) {
      SmallVector<Value> all(arguments);
      llvm::append_range(all, step);
      all.append({fn.i64(0), chunks});
      fn.call((op.getKernel() + "_body").str(), all);
    };
    steps ? fn.loop(steps, [&](Value step) { call(step); }) : call({});
    return;
  }
  Value to = wordsOfLaunches();
  for (auto [word, argument] : llvm::enumerate(arguments))
    fn.store(argument, to, 8 * static_cast<int64_t>(word));
  if (std::optional<StringRef> device = op.getBackend()) {
    SmallVector<uint8_t> roles;
    for (auto [i, argument] : llvm::enumerate(op.getArguments())) {
      bool isWritten = llvm::is_contained(op.getWrites(), static_cast<int64_t>(i));
      bool isBuffer = isa<BufferType>(argument.getType());
      roles.push_back(!isBuffer ? SINTER_WORD_SIZE : isWritten ? SINTER_WORD_WRITTEN : SINTER_WORD_READ);
    }
    fn.launchOn(*device, op.getKernel(), to, roles, chunks, op.getOrdered());
    return;
  }
  std::string counted = names ? names->lookup(op.getKernel()) : std::string();
  int64_t stepAt = 8 * static_cast<int64_t>(arguments.size());
  if (!steps)
    return fn.launch(op.getKernel(), to, chunks, counted, op.getForks() ? get(op.getForks()) : Value());
  if (counted.empty())
    return fn.repeat(op.getKernel(), to, chunks, fn.offset(to, stepAt), steps);
  fn.loop(steps, [&](Value step) {
    fn.store(step, to, stepAt);
    fn.launch(op.getKernel(), to, chunks, counted);
  });
}

void ScheduleLowering::lowerChain(schedule::ChainOp op) {
  Value to = wordsOfLaunches();
  for (auto [word, argument] : llvm::enumerate(get(op.getArguments())))
    fn.store(argument, to, 8 * static_cast<int64_t>(word));
  SmallVector<std::string> counted;
  for (auto kernel : op.getKernels().getAsRange<FlatSymbolRefAttr>())
    counted.push_back(names ? names->lookup(kernel.getValue()) : "");
  auto count = static_cast<int64_t>(op.getParts().size()) - 1, end = static_cast<int64_t>(op.getArguments().size());
  Block *inTurns = fn.newBlock(), *oneByOne = fn.newBlock(), *done = fn.newBlock();
  Value isShared = fn.compare(LLVM::ICmpPredicate::sle, fn.mul(fn.threads(), fn.i64(2)), fn.i64(count));
  fn.branch(isShared, inTurns, {}, oneByOne, {});

  fn.enter(inTurns);
  Value flags = fn.stackWords(count);
  fn.clear(flags, fn.i64(8 * count));
  fn.store(get(op.getMemory()), to, 8 * end);
  fn.store(flags, to, 8 * (end + 1));
  fn.launch(emitChain(op, function->getParentOfType<ModuleOp>()), to, fn.i64(count),
            names ? llvm::join(counted, ", ") : "");
  fn.branch(done);

  fn.enter(oneByOne);
  for (auto [k, kernel] : llvm::enumerate(op.getKernels().getAsRange<FlatSymbolRefAttr>())) {
    auto number = static_cast<int64_t>(k);
    fn.launch(kernel.getValue(), fn.offset(to, 8 * op.beginOfKernel(number)), fn.i64(op.chunksOf(number)), counted[k]);
  }
  fn.branch(done);
  fn.enter(done);
}

/// The sinter_copy of a copy that is not the host's alone.
static int32_t directionOf(Value from, Value to) {
  return memoryOf(from).empty() ? SINTER_COPY_TO_DEVICE
         : memoryOf(to).empty() ? SINTER_COPY_TO_HOST
                                : SINTER_COPY_WITHIN;
}

/// A larger buffer of a back end that begins with the bytes of `buffer`; capacities grow geometrically.
static std::pair<Value, Value> growOn(EntryFunction &fn, StringRef memory, Value buffer, Value capacity, Value needed) {
  Value twice = fn.mul(capacity, fn.i64(2));
  Value bytes = LLVM::SMaxOp::create(fn.b, twice, needed);
  Value larger = fn.acquireOn(memory, bytes);
  fn.copyOn(memory, larger, buffer, capacity, SINTER_COPY_WITHIN);
  fn.releaseOn(memory, buffer);
  return {larger, bytes};
}

void ScheduleLowering::lowerOperands(Operation *loop) {
  for (Region &region : loop->getRegions())
    for (Operation &op : region.front())
      if (isa<schedule::RepeatOp, schedule::ChooseOp>(op))
        lowerOperands(&op);
      else if (isPure(&op) || isa<schedule::AcquireOp, schedule::ReleaseOp>(op))
        lower(&op);
}

void ScheduleLowering::lowerLoopKernel(schedule::RepeatOp op) {
  lowerOperands(op);
  std::optional<schedule::LoopProgram> loop = schedule::LoopProgram::of(op);
  assert(loop && "a back end makes kernels of loops that are programs");
  Value to = wordsOfLaunches();
  SmallVector<uint8_t> roles;
  for (auto [i, word] : llvm::enumerate(loop->words)) {
    fn.store(get(word.value), to, 8 * static_cast<int64_t>(i));
    roles.push_back(static_cast<uint8_t>(word.role));
  }
  fn.launchOn(memoryOf(op.getTrips()), *op.getKernel(), to, roles, fn.i64(1), /*ordered=*/false);
}

void ScheduleLowering::lowerRepeat(schedule::RepeatOp op) {
  if (op.getKernel())
    return lowerLoopKernel(op);
  StringRef memory = memoryOf(op.getTrips());
  fn.controlOn(memory, SINTER_CONTROL_LOOP, get(op.getTrips()), op.getMost() ? get(op.getMost()) : Value());
  lowerBlock(op.getTest().front());
  lowerBlock(op.getBody().front());
  fn.controlOn(memory, SINTER_CONTROL_LOOP_END);
}

void ScheduleLowering::lowerChoose(schedule::ChooseOp op) {
  StringRef memory = memoryOf(op.getFlag());
  fn.controlOn(memory, SINTER_CONTROL_BRANCH, get(op.getFlag()));
  lowerBlock(op.getThenRegion().front());
  fn.controlOn(memory, SINTER_CONTROL_ELSE);
  lowerBlock(op.getElseRegion().front());
  fn.controlOn(memory, SINTER_CONTROL_BRANCH_END);
}

void ScheduleLowering::lower(Operation *op) {
  fn.b.setLoc(op->getLoc());
  auto give = [&](Value old, Value now) { values.map(old, now); };
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](schedule::ReturnOp) { fn.finish(); })
      .Case([&](schedule::InputOp input) {
        int64_t slot = static_cast<int64_t>(sizeof(sinter_tensor_slot) * input.getIndex());
        give(input, fn.load(fn.ptrType, fn.inputs, slot + static_cast<int64_t>(offsetof(sinter_tensor_slot, data))));
      })
      .Case([&](schedule::InputSizeOp size) {
        int64_t slot = static_cast<int64_t>(sizeof(sinter_tensor_slot) * size.getInput());
        int64_t dims = slot + static_cast<int64_t>(offsetof(sinter_tensor_slot, dims));
        give(size, fn.load(fn.i64Type, fn.inputs, dims + static_cast<int64_t>(size.getAxis()) * 8));
      })
      .Case([&](schedule::SizeOp size) {
        give(size, fn.combine(schedule::dimKind(size.getKind()), get(size.getLhs()), get(size.getRhs())));
      })
      .Case([&](schedule::ProductOp product) { give(product, fn.checkedProduct(get(product.getFactors()))); })
      .Case([&](schedule::OutputOp output) {
        give(output, fn.output(static_cast<unsigned>(output.getIndex()), get(output.getSizes())));
      })
      .Case([&](schedule::WeightOp weight) {
        auto offset = static_cast<int64_t>(weight.getOffset());
        StringRef memory = memoryOf(weight);
        give(weight, memory.empty() ? fn.offset(fn.weights, offset) : fn.weightOn(memory, offset));
      })
      .Case([&](ArenaOp arena) { lowerArena(arena); })
      .Case([&](schedule::LocalOp local) {
        give(local, fn.stackWords(static_cast<int64_t>(llvm::divideCeil(local.getBytes(), 8))));
      })
      .Case([&](schedule::AcquireOp acquire) {
        StringRef memory = memoryOf(acquire);
        Value bytes = get(acquire.getBytes());
        if (acquire.getOf() && !memory.empty())
          return give(acquire, fn.placeOn(memory, bytes, get(acquire.getOf())));
        give(acquire, memory.empty() ? fn.acquire(bytes) : fn.acquireOn(memory, bytes));
      })
      .Case([&](schedule::ReleaseOp release) {
        StringRef memory = memoryOf(release.getBuffer());
        Value buffer = get(release.getBuffer());
        memory.empty() ? fn.release(buffer) : fn.releaseOn(memory, buffer);
      })
      .Case([&](schedule::WaitOp wait) { fn.waitOn(memoryOf(wait.getBuffer()), get(wait.getBuffer())); })
      .Case([&](schedule::GrowOp grow) {
        Value buffer = get(grow.getBuffer()), capacity = get(grow.getCapacity()), needed = get(grow.getNeeded());
        Block *more = fn.newBlock(), *ready = fn.newBlock({fn.ptrType, fn.i64Type});
        using Predicate = LLVM::ICmpPredicate;
        Value fits = LLVM::AndOp::create(fn.b, fn.compare(Predicate::sle, needed, capacity),
                                         fn.compare(Predicate::sge, needed, fn.i64(0)));
        fn.branch(fits, ready, {buffer, capacity}, more, {});
        fn.enter(more);
        StringRef memory = memoryOf(grow.getBuffer());
        auto [larger, enough] =
            memory.empty() ? fn.grow(buffer, capacity, needed) : growOn(fn, memory, buffer, capacity, needed);
        fn.branch(ready, {larger, enough});
        fn.enter(ready);
        give(grow.getLarger(), ready->getArgument(0));
        give(grow.getLargerCapacity(), ready->getArgument(1));
      })
      .Case([&](schedule::ViewOp view) { give(view, fn.offset(get(view.getBuffer()), get(view.getOffset()))); })
      .Case([&](schedule::LoadOp load) {
        give(load, fn.loadElement(load.getElement().getType(), get(load.getBuffer()),
                                  static_cast<int64_t>(load.getOffset())));
      })
      .Case([&](schedule::StoreOp store) {
        Value to = fn.offset(get(store.getBuffer()), static_cast<int64_t>(store.getOffset()));
        fn.storeElement(get(store.getElement()), to);
      })
      .Case([&](schedule::CopyOp copy) {
        StringRef memory = memoryOf(copy.getFrom()).empty() ? memoryOf(copy.getTo()) : memoryOf(copy.getFrom());
        if (!memory.empty())
          return fn.copyOn(memory, get(copy.getTo()), get(copy.getFrom()), get(copy.getBytes()),
                           directionOf(copy.getFrom(), copy.getTo()));
        fn.copy(get(copy.getTo()), get(copy.getFrom()), get(copy.getBytes()));
      })
      .Case([&](schedule::CopyPiecesOp copy) {
        StringRef memory = memoryOf(copy.getFrom()).empty() ? memoryOf(copy.getTo()) : memoryOf(copy.getFrom());
        if (!memory.empty()) {
          Value from = get(copy.getFrom()), fromStep = get(copy.getFromStep()), to = get(copy.getTo());
          Value toStep = get(copy.getToStep()), bytes = get(copy.getBytes());
          int32_t direction = directionOf(copy.getFrom(), copy.getTo());
          fn.loop(get(copy.getCount()), [&](Value i) {
            fn.copyOn(memory, fn.offset(to, fn.mul(i, toStep)), fn.offset(from, fn.mul(i, fromStep)), bytes, direction);
          });
          return;
        }
        fn.copyStrided(get(copy.getTo()), get(copy.getToStep()), get(copy.getFrom()), get(copy.getFromStep()),
                       get(copy.getBytes()), get(copy.getCount()));
      })
      .Case([&](schedule::ClearOp clear) {
        StringRef memory = memoryOf(clear.getBuffer());
        Value to = get(clear.getBuffer()), bytes = get(clear.getBytes());
        memory.empty() ? fn.clear(to, bytes) : fn.clearOn(memory, to, bytes);
      })
      .Case([&](schedule::LaunchOp launch) { lowerLaunch(launch); })
      .Case([&](schedule::ChainOp chain) { lowerChain(chain); })
      .Case([&](schedule::RepeatOp repeat) { lowerRepeat(repeat); })
      .Case([&](schedule::ChooseOp choose) { lowerChoose(choose); })
      .Case([&](schedule::TestOp test) {
        fn.controlOn(memoryOf(test.getFlag()), SINTER_CONTROL_TEST, get(test.getFlag()));
      })
      .Case([&](schedule::EndOp) {})
      .Case([&](schedule::RequireOp require) {
        Block *next = fn.newBlock(), *refused = fn.newBlock();
        fn.branch(get(require.getHolds()), next, {}, refused, {});
        fn.enter(refused);
        fn.fail(static_cast<int32_t>(require.getCode()), require.getMessage(), get(require.getFirst()),
                get(require.getSecond()));
        fn.enter(next);
      })
      .Case([&](schedule::ExternalOp external) {
        SmallVector<Value> arguments = get(external.getArguments());
        Value words = fn.stackWords(static_cast<int64_t>(arguments.size()));
        for (auto [word, argument] : llvm::enumerate(arguments))
          fn.store(argument, words, 8 * static_cast<int64_t>(word));
        fn.callExternal(external.getName(), external.getPrints(), external.getLayout(), words);
      })
      .Case(
          [&](schedule::PollOp poll) { fn.pollCancelled(get(poll.getTrip()), static_cast<int64_t>(poll.getEvery())); })
      .Case([&](schedule::CommitOp) { fn.beginCommit(); })
      .Default([&](Operation *other) {
        for (Value operand : other->getOperands())
          if (places.contains(operand)) // passed on by a branch
            values.map(operand, get(operand));
        fn.b.clone(*other, values);
      });
}

/// The back ends that a schedule's launches name.
static llvm::SetVector<StringRef> devicesOf(schedule::FunctionOp function) {
  llvm::SetVector<StringRef> devices;
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto buffer = dyn_cast<BufferType>(type); buffer && !buffer.isHost())
        devices.insert(buffer.getMemory().getValue());
  });
  return devices;
}

void ScheduleLowering::run() {
  Region &body = function.getBody();
  for (StringRef device : devicesOf(function))
    fn.beginDevice(device);
  for (Block &block : llvm::drop_begin(body)) {
    Block *to = fn.newBlock();
    for (BlockArgument argument : block.getArguments())
      values.map(argument, to->addArgument(isa<BufferType>(argument.getType()) ? fn.ptrType : argument.getType(),
                                           argument.getLoc()));
    values.map(&block, to);
  }
  llvm::ReversePostOrderTraversal<Region *> order(&body);
  for (Block *block : order) {
    if (block != &body.front())
      fn.enter(values.lookup(block));
    lowerBlock(*block);
  }
}

/// A block of so many addresses that LLVM, which schedules loads of a block by pairs and keeps all addresses until they
/// are used, takes longer than linear.
constexpr int64_t kManyAddresses = 1000;

/// Computes the addresses of inputs, weights and views of the host where they are first used, in schedules of many.
static void sinkAddresses(schedule::FunctionOp function) {
  SmallVector<Operation *> addresses;
  for (Block &block : function.getBody())
    for (Operation &op : block)
      if (isa<schedule::InputOp, schedule::WeightOp, schedule::ViewOp>(op) &&
          cast<BufferType>(op.getResult(0).getType()).isHost())
        addresses.push_back(&op);
  if (static_cast<int64_t>(addresses.size()) < kManyAddresses)
    return;
  DenseMap<Operation *, int64_t> places;
  for (Block &block : function.getBody())
    for (auto [place, op] : llvm::enumerate(block))
      places[&op] = static_cast<int64_t>(place);
  DenseMap<Operation *, Operation *> readers; // of an address, itself or by views of it, the first one
  for (Operation *address : llvm::reverse(addresses)) {
    Operation *first = nullptr;
    for (Operation *user : address->getUsers()) {
      Operation *here = address->getBlock()->findAncestorOpInBlock(*user);
      if (Operation *behind = here ? readers.lookup(here) : nullptr)
        here = behind;
      if (!here) { // another block
        first = nullptr;
        break;
      }
      if (!first || places[here] < places[first])
        first = here;
    }
    if (first)
      readers[address] = first;
  }
  for (Operation *address : addresses) // in their order, so that views come after what they are parts of
    if (Operation *reader = readers.lookup(address))
      address->moveBefore(reader);
}

void cpu::lowerSchedules(ModuleOp module, bool smallOnStack, const llvm::StringMap<std::string> *names) {
  FrozenRewritePatternSet branches = branchPatterns(module.getContext());
  for (auto function : llvm::make_early_inc_range(module.getOps<schedule::FunctionOp>())) {
    sinkAddresses(function);
    llvm::DenseSet<Value> usedInLoops;
    function.walk([&](ArenaOp arena) {
      for (Value buffer : arena.getBuffers())
        if (isUsedInLoop(buffer))
          usedInLoops.insert(buffer);
    });
    lowerToBranches(function, branches); // kernels that lie in the module keep theirs
    std::string name = function.getSymName().str();
    function.setSymName(name + ".schedule"); // the entry function takes the name
    ScheduleLowering(function, name, usedInLoops, smallOnStack, names).run();
    function.erase();
  }
}
