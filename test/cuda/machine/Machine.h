// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches, blocks and warps. A warp runs the lanes that stand at one place of one frame together. Where they part,
// those that are behind run first (the deepest call, then the lowest place), and they join as soon as they meet; a turn
// limit keeps lanes that wait for others of their warp from starving them.
#pragma once

#include "Code.h"
#include "Fault.h"
#include "Memory.h"
#include "Shadow.h"

#include <array>
#include <atomic>
#include <functional>
#include <unordered_map>

namespace sinter::ptx {

class Block;
class Cluster;
struct Launch;

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
  bool operator==(const Dim3 &) const = default;
};

/// What the machine claims to be.
struct Device {
  unsigned major = 9, minor = 0, multiprocessors = 4;
  unsigned maxThreads = 1024, maxShared = 48 * 1024, maxSharedOptin = 227 * 1024, sharedPerMultiprocessor = 228 * 1024;
  uint64_t maxInstructions = uint64_t(4) << 32; // of warps, in one launch
};

/// Of a fence or of an access: who takes part in its order.
enum class Scope : uint8_t { Block, Cluster, Device };

/// A call of a function by the lanes that made it together.
struct Frame {
  const Code *code;
  Frame *parent = nullptr;
  uint32_t returnPc = 0, depth = 0;
  Mask live = 0;
  const Inst *call = nullptr;
  std::vector<uint8_t> registers;
  std::vector<Mask> written; // of each register, the lanes that were
  std::vector<uint32_t>
      changed;                 // of each register, the number of wgmma.fence before its last write; empty without wgmma
  std::vector<uint8_t> params; // .param variables, by lane
  uint32_t paramBytes = 0, localBase = 0;
};

/// Lanes that stand at one place.
struct Group {
  enum Wait : uint8_t { Ready, Lanes, Arriving, Barrier };
  Frame *frame;
  uint32_t pc;
  Mask mask;
  Wait wait = Ready;
  Mask members = 0;     // Lanes: who must come
  unsigned barrier = 0; // Arriving, Barrier
  const Inst *at = nullptr;
};

/// What a warp multiplies asynchronously (Wgmma.cpp).
struct Products {
  struct One {
    const Inst *inst;
    Frame *frame;
    std::vector<uint32_t> reads; // 16 bytes of shared memory each
  };
  std::vector<std::vector<One>> groups; // committed ones, the oldest first
  std::vector<One> open;
  uint32_t fences = 0;
  size_t issued = 0;
  bool underWay() const { return !groups.empty() || !open.empty(); }
};

class Warp {
public:
  Warp(Block &block, unsigned index, Mask lanes);
  /// Runs until all lanes wait or have ended, or the turn is over; true if anything was done.
  bool run(uint64_t turns);
  bool ended() const { return !live; }

  // What routines use.
  template <class T> T *out(const Inst &i, unsigned n) {
    return reinterpret_cast<T *>(frame->registers.data() + i.refs[n].offset);
  }
  template <class T> const T *in(const Inst &i, unsigned n) const {
    const Ref &ref = i.refs[i.outs + n];
    return reinterpret_cast<const T *>(
        (ref.reg == kConstant ? frame->code->constants.data() : frame->registers.data()) + ref.offset);
  }
  [[noreturn]] void fault(FaultKind kind, const Inst &i, unsigned lane, const std::string &what) const;
  /// The memory of `bytes` at `address` as lane `lane` sees it, checked in all ways.
  uint8_t *read(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool strong);
  uint8_t *write(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool strong);
  /// As `write` for an atomic: `valid` is demanded too.
  uint8_t *update(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes);
  struct Place {
    uint8_t *data, *valid;
    Granule *shadow;
    const Region *region;
    uint64_t offset;
    Block *owner = nullptr; // of shared memory
    uint32_t sharedOffset() const;
  };
  Place locate(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool forWrite);
  /// As `locate` for shared memory of the block itself, where an instruction takes no other.
  Place locateOwn(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes, bool forWrite);
  /// The block of a shared address, which becomes one within it.
  Block &ownerOf(const Inst &i, unsigned lane, Space space, uint64_t &address);
  /// Faults where an access that `does` ("reads", "writes") comes after another's write without an order.
  void checkWriter(const Inst &i, unsigned lane, const Place &place, unsigned bytes, bool strong, const Granule &g,
                   const char *does);
  void noteRead(const Inst &i, unsigned lane, const Place &place, unsigned bytes, bool strong);
  /// The asynchronous proxy sees what the generic one wrote behind fence.proxy.async alone. Both in shared memory.
  uint8_t *readAsync(const Inst &i, unsigned lane, Space space, uint64_t address, unsigned bytes);
  void noteAsyncWrite(const Inst &i, unsigned lane, const Place &place, unsigned bytes);
  void checkProxy(const Inst &i, unsigned lane, const Place &place, unsigned bytes, const char *does);
  /// Faults where a wgmma that nobody waited for reads what lies there.
  void checkProducts(const Inst &i, unsigned lane, const Place &place, unsigned bytes);
  /// A bulk store of that lane reads the 16 bytes of shared memory at `data` until its group was waited for.
  void holdForStore(unsigned lane, const uint8_t *data);
  void checkStores(const Inst &i, unsigned lane, const Place &place, unsigned bytes);
  void checkStoresAtEnd(const Inst &i, Mask lanes);
  void noteWrite(const Inst &i, unsigned lane, const Place &place, unsigned bytes, bool strong, uint32_t line);
  void checkValid(const Inst &i, unsigned lane, const Place &place, unsigned bytes);

  void branch(Mask taken, uint32_t target);
  void exit(Mask lanes);
  void leave(Mask lanes); // returns from a function
  void enter(const Inst &i, Mask lanes);
  /// Lanes wait at this instruction, to run it again once all `members` are here.
  void waitForLanes(const Inst &i, Mask lanes, Mask members);
  void arriveAtBarrier(const Inst &i, Mask lanes, unsigned id);
  void waitForCluster(const Inst &i, Mask lanes);
  void yield() { turnOver = true; }

  // Order of memory accesses (Order.cpp).
  bool ordered(ThreadNumber thread, uint32_t clock) const;
  void synchronizeLanes() { ++clock[slot]; }
  void fence(Scope scope);
  void fenceProxy();
  void releaseAt(Space space, uint64_t address, bool explicitly, Scope scope);
  void acquireAt(Space space, uint64_t address, bool explicitly);
  ThreadNumber number(unsigned lane) const { return (globalIndex << 5 | lane) + 1; }
  std::string threadName(ThreadNumber thread) const;

  Block &block;
  Cluster &cluster;
  Launch &launch;
  const unsigned index;
  const uint32_t slot;        // its place in clocks: of all warps of the cluster
  const uint32_t globalIndex; // over the grid, cluster by cluster
  const Mask initial;
  Mask live, mask = 0;
  Frame *frame = nullptr;
  uint32_t pc = 0;
  Mask carry = 0; // of add.cc
  Clock clock;
  Clock proxied;   // what the asynchronous proxy sees
  Clock fenced[3]; // what the last fence of each scope covered
  std::vector<std::pair<uint64_t, size_t>> seen;
  std::vector<Group> groups;
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<uint8_t> local, localValid; // by lane
  uint64_t localBytes = 0;
  struct AsyncCopy {
    uint32_t line;
    uint64_t address; // shared
    uint8_t bytes;
    uint8_t data[16];
    bool valid;
  };
  struct AsyncState {
    std::vector<std::vector<AsyncCopy>> groups; // committed ones, the oldest first
    std::vector<AsyncCopy> open;
  };
  std::array<AsyncState, 32> async;
  struct BulkStores {                          // 16 bytes of shared memory each
    std::vector<std::vector<uint32_t>> groups; // committed ones, the oldest first
    std::vector<uint32_t> open;
  };
  std::array<BulkStores, 32> bulkStores;
  Products products;
  Mask arrivedNow = 0, arrivedBefore = 0; // lanes at the cluster's barrier: in this phase, in the one that is over

private:
  void step(const Inst &i, Mask m);
  void checkProductRegisters(const Inst &i, Mask m);
  bool schedule();
  void mergeGroups();
  [[noreturn]] void reportStuck();
  void newFrame(const Code &code, const Inst *call, Mask lanes);
  uint64_t orderAddress(Space space, uint64_t address) const;
  friend class Block;
  friend class Cluster;
  uint32_t stopPc = 0;
  bool rotated = false; // the first group runs for a while, whether or not it is behind
  bool turnOver = false;
};

/// What an instruction does with a barrier; numbers of its operands, -1 for none.
struct BarrierUse {
  bool aligned = true, arrive = false;
  int id = 0, count = -1, predicate = -1, result = -1;
  int reduction = 0; // popc, and, or
};

/// One of 16 barriers of a block.
struct Barrier {
  unsigned arrived = 0, expected = 0;
  Clock clock, proxied;
  std::vector<Warp *> waiting;
  const Inst *at = nullptr;
  uint32_t count = 0, all = ~0u, any = 0; // bar.red
};

class Block {
public:
  Block(Cluster &cluster, unsigned rank);
  /// True once all threads have ended.
  bool run(uint64_t turns);
  /// Faults for a block whose warps all wait for what does not come.
  [[noreturn]] void reportStuck() const;

  Cluster &cluster;
  Launch &launch;
  const unsigned rank; // in its cluster
  Dim3 id;
  uint64_t index; // in the grid
  bool ended = false;
  std::vector<std::unique_ptr<Warp>> warps;
  Array<uint8_t> shared, sharedValid;
  Array<Granule> sharedShadow;
  std::vector<Region> sharedRegions;
  unsigned lastRegion = 0;
  uint32_t sharedBytes = 0, stamp;
  std::array<Barrier, 16> barriers;
  std::map<uint64_t, size_t> acquired; // address: how many of its releases the block has seen
  struct Mbarrier;
  std::map<uint32_t, std::shared_ptr<Mbarrier>> mbarriers;
  /// Copies see from now on what that warp initialized.
  void showMbarriers(unsigned warp);
  // What wgmma reads: how many are under way, and of those that read each 16 bytes of shared memory.
  uint32_t productsUnderWay = 0;
  std::vector<uint16_t> productReaders;
  uint32_t storesUnderWay = 0; // bulk stores likewise
  std::vector<uint16_t> storeReaders;
  std::vector<std::vector<const Inst *>> productOrders; // of each warpgroup, all that it ran
  bool progress = false;

private:
  void checkBarriersAtEnd() const;
  void checkOthersAtEnd() const;
};

/// The blocks of a cluster, which run at the same time; a block is one of its own where a kernel asks for none.
class Cluster {
public:
  Cluster(Launch &launch, uint64_t index);
  /// True once all threads of all blocks have ended.
  bool run(uint64_t turns);
  /// barrier.cluster: lanes of a warp arrive; a release carries what they did.
  void arrive(Warp &warp, Mask lanes, bool releases);
  /// Ends the phase of the barrier if all threads that have not ended are there.
  void checkPhase();
  /// "3 of 64 threads"
  std::string arrivals() const;

  Launch &launch;
  const uint64_t index;
  std::vector<std::unique_ptr<Block>> blocks; // by rank
  uint64_t failedWaits = 0;                   // for mbarriers, in a row
  Clock completed, completedProxied;          // of the last phase

private:
  Clock arriving, arrivingProxied;
  bool isOpen = false; // somebody has arrived in this phase
};

/// The number under which lanes wait at their cluster's barrier.
constexpr unsigned kClusterBarrier = 16;

struct Release {
  uint64_t block, cluster;
  Clock clock;
  Scope scope;
  std::map<uint64_t, size_t> acquired; // what it had seen itself
};

struct Launch {
  const Module *module;
  const Code *code;
  Device device;
  Memory *memory;
  Dim3 grid, block, cluster;
  uint32_t dynamicShared = 0;
  std::vector<uint8_t> params;
  std::function<void(std::string_view)> print;
  std::function<void(uint64_t, uint32_t)> setConditional; // what device code calls on a node of a graph
  std::function<void()> pause; // called each few thousand instructions of warps, if it is there
  // while it runs
  uint32_t stamp = 0, warpsPerBlock = 0, warpsPerCluster = 0;
  uint64_t instructions = 0, threadInstructions = 0, pausedAt = 0;
  uint64_t bulkBytes = 0; // that bulk copies asked of global memory, zeros outside of tensors among them
  std::unordered_map<uint64_t, std::vector<Release>> releases;
  std::string name() const { return code->function->name; }
};

/// Where a block lies in the grid, by its cluster and its rank there.
Dim3 blockOf(const Launch &launch, uint64_t cluster, unsigned rank);
/// Runs a launch to its end; throws Fault.
void execute(Launch &launch);
/// The size of its clusters: what the kernel requires, or what the launch asks for.
Dim3 clusterOf(const Launch &launch);
/// Throws a Fault if the launch is not one that `code` and `device` allow.
void checkLaunch(const Launch &launch);
/// Blocks of `threads` that one multiprocessor holds at once.
unsigned residentBlocks(const Device &device, const Code &code, unsigned threads, uint32_t dynamicShared);

/// Lanes of `mask` in turn; all at once if it is full, so that the loop becomes vectors.
template <class F> inline void forLanes(Mask mask, F f) {
  if (mask == ~0u) {
#pragma clang loop vectorize(assume_safety)
    for (unsigned lane = 0; lane < 32; ++lane)
      f(lane);
    return;
  }
  for (; mask; mask &= mask - 1)
    f(unsigned(__builtin_ctz(mask)));
}

} // namespace sinter::ptx
