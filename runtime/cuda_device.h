// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module's kernels on one GPU: what the parts of the CUDA driver share. cuda_load finds the GPU and loads the module,
// cuda_code reads and loads its kernels.
//
//     compiled code ── acquire, copy, launch, control ──> cuda_device ──> cuda_record: what was asked for since the
//     host
//                            │                                            last waited, in order
//                      cuda_memory: buffers                                  │ flush, where the host waits
//                                                                            v
//                                                         cuda_graph: an executable graph, built once for each
//                                                         record, launched; or one driver call after the other
//
// A traced call (sinter_session_trace) goes without graphs, with events around each item: cuda_times.
//
// One stream runs everything that is flushed in that order. Buffers of a session stay its own until it ends, so that
// what it recorded and did not flush yet cannot meet another session's work.

#ifndef SINTER_RUNTIME_CUDA_DEVICE_H
#define SINTER_RUNTIME_CUDA_DEVICE_H

#include "cuda_driver.h"
#include "driver.h"
#include <pthread.h>

#define WORDS_OF_A_LAUNCH 512

/// A number that is multiplied with words of the launch: sizes that only running tells.
#define MAP_FACTORS 5
typedef struct MapNumber {
  uint64_t number;
  int32_t words[MAP_FACTORS], numWords;
} MapNumber;

/// What a tensor map is made of for each launch (cuda_maps.c): the buffer of a word, as a tensor of these sizes.
#define MAP_RANK 5
typedef struct TensorMap {
  int32_t word, type, rank;
  MapNumber sizes[MAP_RANK], strides[MAP_RANK]; // innermost first; strides in bytes, of all axes but that one
  uint32_t box[MAP_RANK];
} TensorMap;
#define MAPS_OF_A_KERNEL 4

typedef struct Kernel {
  const char *name;
  CudaFunction function;
  uint32_t threads;
  int32_t perBlock; // a chunk is what a block computes
  int32_t follows;  // runs behind the one before it
  int32_t loops;    // a whole loop, which the session's word `stop` ends
  int32_t wide;     // number of the one that runs instead on this GPU where its maps are possible; 0: none
  // Of such a one:
  int32_t isWide;
  uint32_t blocks, sharedBytes;
  uint64_t leastChunks; // of the one that runs otherwise, from which on it runs
  uint32_t cluster;     // blocks of a cluster; 1: each is for itself
  int32_t perCluster;   // a chunk is what a cluster computes; 0: `blocks` share them
  uint64_t mostChunks;  // up to which it runs; 0: always
  TensorMap maps[MAPS_OF_A_KERNEL];
  int32_t numMaps;
} Kernel;

typedef struct Buffer {
  CudaAddress address;
  int64_t bytes;
  const void *session; // null: nobody's
  int32_t isLive;      // acquired and not released
} Buffer;

//===- What a session asked for --------------------------------------------------------------------===//

/// Items of a record. Those between ITEM_LOOP and its ITEM_TEST compute the condition, those up to its ITEM_LOOP_END
/// are the body; branches alike.
typedef enum ItemKind {
  ITEM_KERNEL, // its words; `number` is the kernel's
  ITEM_COPY,   // to, from, bytes; `number` is a sinter_copy, never one to the host
  ITEM_CLEAR,  // to, bytes
  ITEM_LOOP,   // trips, limit
  ITEM_TEST,   // flag
  ITEM_LOOP_END,
  ITEM_IF, // flag
  ITEM_ELSE,
  ITEM_IF_END
} ItemKind;

typedef struct Item {
  int32_t kind, number;
  int32_t firstWord, numWords;
  int64_t chunks;
} Item;

typedef struct Record {
  Item *items;
  int64_t *words;
  uint8_t *roles; // a sinter_word for each word
  int32_t numItems, numWords, roomForItems, roomForWords;
} Record;

/// A node that updates reach, with the item that it was made for.
typedef struct GraphNode {
  CudaNode node;
  int32_t item;
  int32_t kernel; // of an ITEM_KERNEL
} GraphNode;

/// An executable graph and what it was made from.
typedef struct Graph {
  Record record;
  CudaGraph graph;
  CudaGraphExec exec;
  GraphNode *nodes;
  int32_t numNodes, roomForNodes;
  int32_t hasControl, hasLoops;
  uint64_t order; // of the dependencies
  uint64_t used;  // when
} Graph;

#define GRAPHS_OF_A_SESSION 16
/// Graphs that differ in addresses and sizes alone; further ones take the place of the one that was used longest ago.
#define GRAPHS_OF_A_SHAPE 4
/// What is longer is not kept as a graph: a loop of the host that makes many trips.
#define ITEMS_OF_A_GRAPH 4096
/// Bytes through which small copies go to the device. The first word asks loops to stop.
#define STAGING_BYTES (256 << 10)
#define STAGING_BEGIN 64

/// Kernels by the address of their name in compiled code.
#define KNOWN_KERNELS 512
typedef struct KnownKernel {
  const char *name;
  int32_t number;
} KnownKernel;

/// When something on the stream began and ended.
typedef struct TimeMark {
  const char *name;
  CudaEvent begin, end;
} TimeMark;

/// Marks of a traced call that were not reported yet.
#define TIMES_AT_ONCE 1024
typedef struct Times {
  TimeMark *marks;
  CudaEvent origin; // of all times, which the host's clock calls `originNs`
  int64_t originNs;
  int32_t count, isOn;
} Times;

typedef struct Session {
  const sinter_context *context;
  struct Session *next;
  Record record;
  int32_t depth;    // of loops and branches in the record
  int32_t tooLong;  // the record was longer than a graph: calls are made at once until the host waits
  int32_t isBusy;   // work was handed over that nobody waited for
  int32_t hasLoops; // some of it loops
  // Buffers in the order in which the last call acquired them: the next one asks for the same as a rule.
  Buffer **held;
  int32_t numHeld, roomForHeld, nextHeld;
  int32_t isHeldIncomplete; // some that the call acquired are not in the list
  char *staging;            // pinned
  CudaAddress stop;
  int64_t staged;
  int32_t stagingFailed;
  Graph graphs[GRAPHS_OF_A_SESSION];
  int32_t numGraphs;
  uint64_t clock;
  Times times;
  KnownKernel known[KNOWN_KERNELS];
} Session;

typedef struct Program {
  sinter_device device; // first: what host code has the address of
  CudaDriver driver;
  int32_t ordinal;
  int handle, hasContext; // retained, the device's primary one
  int hasStream;          // made here
  CudaContext context;
  CudaModule module, wideModule, control;
  CudaFunction loopKernel, branchKernel;
  int32_t usesGraphs, usesControl;
  CudaStream stream;
  CudaAddress weights;
  char *code; // with a 0 behind each kernel's name and at the end
  int64_t codeBytes;
  const char *cubins; // those in the code, null where there are none
  Kernel *kernels;
  int32_t numKernels;
  uint64_t id, epoch;    // no other program has the number; counts the sessions that ended
  pthread_mutex_t mutex; // of all below
  Buffer **buffers;      // by address
  int32_t numBuffers, roomForBuffers;
  Session *sessions;
} Program;

// cuda_load.c
/// Work is done on the program's context, whatever else the thread uses: an error of the driver, or 0.
int srtCudaEnter(Program *program);
void srtCudaLeave(Program *program);

// cuda_describe.c
/// `describe` of the driver (driver.h).
int32_t srtCudaDescribe(const sinter_driver *driver, char *text, int64_t bytes, char *why);

// cuda_device.c
/// The functions that compiled code calls.
void srtCudaFillDevice(sinter_device *device);

// cuda_code.c. Statuses, with the reason in `why` (SINTER_DRIVER_TEXT_BYTES).
/// Writes the reason and returns the status.
__attribute__((format(printf, 3, 4))) int32_t srtCudaExplain(char *why, int32_t status, const char *format, ...);
/// Reads the lines before the PTX, which `*ptx` then is.
int32_t srtCudaReadKernels(Program *program, char **ptx, char *why);
/// Loads all kernels of the PTX. Wide ones, which may follow it, are left out on other GPUs, and by drivers that know
/// none.
int32_t srtCudaLoadCode(Program *program, char *ptx, char *why);

// cuda_cubin.c
/// Finds the cubins behind the PTX. A status, with the reason in `why`.
int32_t srtCudaTakeCubins(Program *program, char *ptx, char *why);
/// Loads code that is compiled already: of the module for `part` ("all" or "wide") of its code, or of the cache, which
/// may compile the PTX for it. `*module` is null where there is none, and the PTX is to be loaded. A status as above.
int32_t srtCudaLoadReady(Program *program, const char *part, const char *ptx, CudaModule *module, char *why);

// cuda_maps.c
/// Reads what is behind `map ` in a line of the code; false for what makes no sense.
int32_t srtCudaReadMap(const char *line, TensorMap *map);
/// Whether the driver would take the kernel's maps for the buffers of these words.
int srtCudaMapsFit(const Kernel *kernel, const int64_t *words);
/// An error of the driver, or 0.
int srtCudaEncodeMaps(const CudaDriver *driver, const Kernel *kernel, const int64_t *words, CudaMap *encoded);

// cuda_memory.c. All of these return an error of the driver, or 0, and want the program's context entered.
/// Memory of at least `bytes` for `owner`, a session or the program itself.
int srtCudaTake(Program *program, int64_t bytes, const void *owner, Buffer **buffer);
/// The buffer that holds `address`, or null. With the mutex.
Buffer *srtCudaFind(Program *program, CudaAddress address);
/// Gives every idle buffer back to the driver, also those of `session`, whose work is done.
void srtCudaTrim(Program *program, Session *session);
/// Makes all of the session's memory nobody's.
void srtCudaGiveUp(Program *program, const void *session);

// cuda_record.c. Errors of the driver; CUDA_OUT_OF_MEMORY also where the host has none.
/// Adds an item, with room for its words and roles, which the caller fills.
Item *srtCudaAdd(Session *session, ItemKind kind, int32_t number, int64_t chunks, int32_t numWords);
void srtCudaFreeRecord(Record *record);
/// The grid of a launch.
void srtCudaGeometry(const Kernel *kernel, int64_t chunks, uint32_t *blocks, uint32_t *threads);
/// The item that ends what item `at` begins: ITEM_TEST and ITEM_ELSE for a beginning, the end for these.
int32_t srtCudaFindNext(const Record *record, int32_t at);
/// Makes the calls for items [from, to) one after the other. Loops ask the host for each trip. SINTER_CANCELLED, as a
/// negative number, when the call was cancelled.
int srtCudaIssue(Program *program, Session *session, int32_t from, int32_t to);
/// Hands over all that was recorded. An error as above.
int srtCudaFlush(Program *program, Session *session);
/// The same, then waits for it.
int srtCudaFinish(Program *program, Session *session);

/// Work that the host can ask to end is about to be handed over: nobody has asked yet, or has before the call began.
void srtCudaLetLoop(Session *session);

// cuda_times.c. What fails here is not told: times are missing then.
/// A call begins, whose stream is idle: it is traced where its session asks for that. Enters the context by itself.
void srtCudaTimesBegin(Program *program, Session *session);
/// What comes onto the stream up to the end of the mark that this returns is called `name`, a text that lives as long
/// as the program. Negative where nothing is traced.
int32_t srtCudaTimeBegin(Program *program, Session *session, const char *name);
void srtCudaTimeEnd(Program *program, Session *session, int32_t mark);
/// Tells the session of all marks, once the stream has been waited for.
void srtCudaTimesReport(Program *program, Session *session);
void srtCudaTimesFree(Program *program, Session *session);

// cuda_graph.c
/// Launches the record as a graph.
int srtCudaRunGraph(Program *program, Session *session);
void srtCudaFreeGraphs(Program *program, Session *session);

#endif
