// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A record as an executable graph. Nodes are added one by one. A node depends on those before it that write what it
// reads or writes, and on those that read what it writes, by buffers; the rest is free.
//
// A loop is a WHILE node. Its condition is computed by nodes before it, and again at the end of its body:
//
//     clear trips -> condition -> sinter_loop -> WHILE { body -> condition -> sinter_loop }
//
// A branch is two IF nodes behind sinter_branch: drivers before 12.8 have no else.

#include "cuda_device.h"
#include <stdlib.h>
#include <string.h>

//===- Dependencies --------------------------------------------------------------------------------===//

typedef struct Access {
  const Buffer *buffer;
  int32_t writer; // a node's number, or -1
  int32_t reader; // first of a list, or -1
} Access;

typedef struct Reader {
  int32_t node, next;
} Reader;

/// A graph under construction: the whole one or a body.
typedef struct Scope {
  CudaGraph graph;
  const struct Scope *around;
  CudaNode *nodes;
  Access *accesses; // open addressing
  Reader *readers;
  CudaNode *after; // what the next node depends on
  int32_t *afterNumbers;
  int32_t numNodes, roomForNodes, numAccesses, roomForAccesses, numReaders, roomForReaders, numAfter, roomForAfter;
} Scope;

typedef struct Builder {
  Program *program;
  Session *session;
  const Record *record;
  Graph *graph; // null: only the order is asked for
  uint64_t order;
  int error;
} Builder;

static const Buffer unknownBuffer = {0, 0, NULL, 0};

static void *grown(Builder *b, void *list, int32_t *room, size_t bytes) {
  int32_t wanted = *room ? 2 * *room : 32;
  void *larger = realloc(list, (size_t)wanted * bytes);
  if (!larger) {
    b->error = CUDA_OUT_OF_MEMORY;
    return list;
  }
  *room = wanted;
  return larger;
}

static Access *slotFor(Access *accesses, int32_t room, const Buffer *buffer) {
  uint64_t hash = ((uint64_t)(uintptr_t)buffer >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  for (int32_t i = (int32_t)(hash >> 40) & (room - 1);; i = (i + 1) & (room - 1))
    if (!accesses[i].buffer || accesses[i].buffer == buffer)
      return &accesses[i];
}

static Access *accessOf(Builder *b, Scope *scope, const Buffer *buffer) {
  if (2 * (scope->numAccesses + 1) > scope->roomForAccesses) {
    int32_t room = scope->roomForAccesses ? 2 * scope->roomForAccesses : 64;
    Access *accesses = calloc((size_t)room, sizeof *accesses);
    if (!accesses) {
      b->error = CUDA_OUT_OF_MEMORY;
      return NULL;
    }
    for (int32_t i = 0; i < scope->roomForAccesses; ++i)
      if (scope->accesses[i].buffer)
        *slotFor(accesses, room, scope->accesses[i].buffer) = scope->accesses[i];
    free(scope->accesses);
    scope->accesses = accesses;
    scope->roomForAccesses = room;
  }
  Access *access = slotFor(scope->accesses, scope->roomForAccesses, buffer);
  if (!access->buffer) {
    *access = (Access){buffer, -1, -1};
    ++scope->numAccesses;
  }
  return access;
}

/// The next node runs behind node `number`.
static void follow(Builder *b, Scope *scope, int32_t number) {
  if (number < 0 || number == scope->numNodes)
    return;
  for (int32_t i = 0; i < scope->numAfter; ++i)
    if (scope->afterNumbers[i] == number)
      return;
  if (scope->numAfter == scope->roomForAfter) {
    int32_t room = scope->roomForAfter;
    scope->after = grown(b, scope->after, &room, sizeof *scope->after);
    room = scope->roomForAfter;
    scope->afterNumbers = grown(b, scope->afterNumbers, &room, sizeof *scope->afterNumbers);
    if (b->error)
      return;
    scope->roomForAfter = room;
  }
  scope->after[scope->numAfter] = b->graph ? scope->nodes[number] : NULL;
  scope->afterNumbers[scope->numAfter++] = number;
}

/// The next node reads or writes the buffer that `address` lies in.
static void touch(Builder *b, Scope *scope, int64_t address, int isWritten) {
  const Buffer *buffer = srtCudaFind(b->program, (CudaAddress)address);
  Access *access = accessOf(b, scope, buffer ? buffer : &unknownBuffer);
  if (!access)
    return;
  int32_t node = scope->numNodes;
  follow(b, scope, access->writer);
  if (isWritten) {
    for (int32_t r = access->reader; r >= 0; r = scope->readers[r].next)
      follow(b, scope, scope->readers[r].node);
    access->writer = node;
    access->reader = -1;
  } else if (access->writer != node && (access->reader < 0 || scope->readers[access->reader].node != node)) {
    if (scope->numReaders == scope->roomForReaders)
      scope->readers = grown(b, scope->readers, &scope->roomForReaders, sizeof *scope->readers);
    if (b->error)
      return;
    scope->readers[scope->numReaders] = (Reader){node, access->reader};
    access->reader = scope->numReaders++;
  }
}

/// What an item reads and writes itself, but for a beginning of a loop.
static void touchItem(Builder *b, Scope *scope, const Item *item) {
  const int64_t *words = b->record->words + item->firstWord;
  const uint8_t *roles = b->record->roles + item->firstWord;
  for (int32_t i = 0; i < item->numWords; ++i)
    if (roles[i] != SINTER_WORD_SIZE)
      touch(b, scope, words[i], roles[i] == SINTER_WORD_WRITTEN);
}

//===- Nodes ---------------------------------------------------------------------------------------===//

/// Counts the node that was added, and what it depends on. `item` -1: no update reaches it.
static void finishNode(Builder *b, Scope *scope, CudaNode node, int32_t item, int32_t kernel) {
  b->order = (b->order ^ (uint64_t)scope->numAfter) * UINT64_C(0x100000001B3);
  for (int32_t i = 0; i < scope->numAfter; ++i)
    b->order = (b->order ^ (uint64_t)(uint32_t)scope->afterNumbers[i]) * UINT64_C(0x100000001B3);
  scope->numAfter = 0;
  if (scope->numNodes == scope->roomForNodes)
    scope->nodes = grown(b, scope->nodes, &scope->roomForNodes, sizeof *scope->nodes);
  if (b->error)
    return;
  scope->nodes[scope->numNodes++] = node;
  Graph *graph = b->graph;
  if (!graph || item < 0 || scope->around)
    return;
  if (graph->numNodes == graph->roomForNodes)
    graph->nodes = grown(b, graph->nodes, &graph->roomForNodes, sizeof *graph->nodes);
  if (!b->error)
    graph->nodes[graph->numNodes++] = (GraphNode){node, item, kernel};
}

typedef struct Parameters {
  CudaKernelNode kernel;
  CudaCopyNode copy;
  CudaFillNode fill;
  int64_t chunks;
  void *pointers[WORDS_OF_A_LAUNCH + MAPS_OF_A_KERNEL];
  CudaMap maps[MAPS_OF_A_KERNEL];
} Parameters;

/// An error of the driver, or 0.
static int kernelParameters(const Program *program, const Record *record, const Item *item, int32_t number,
                            Parameters *p) {
  const Kernel *kernel = &program->kernels[number];
  uint32_t blocks, threads;
  srtCudaGeometry(kernel, item->chunks, &blocks, &threads);
  p->chunks = item->chunks;
  for (int32_t i = 0; i < item->numWords; ++i)
    p->pointers[i] = &record->words[item->firstWord + i];
  p->pointers[item->numWords] = &p->chunks;
  for (int32_t i = 0; i < kernel->numMaps; ++i)
    p->pointers[item->numWords + 1 + i] = &p->maps[i];
  p->kernel = (CudaKernelNode){kernel->function,    blocks,      1,    1,    threads, 1, 1,
                               kernel->sharedBytes, p->pointers, NULL, NULL, NULL};
  return srtCudaEncodeMaps(&program->driver, kernel, record->words + item->firstWord, p->maps);
}

static void copyParameters(const Record *record, const Item *item, Parameters *p) {
  const int64_t *words = record->words + item->firstWord;
  p->copy = (CudaCopyNode){.bytes = (size_t)words[2], .height = 1, .depth = 1};
  p->copy.to = (CudaCopySide){.type = CUDA_MEMORY_DEVICE, .device = (CudaAddress)words[0]};
  if (item->number == SINTER_COPY_WITHIN)
    p->copy.from = (CudaCopySide){.type = CUDA_MEMORY_DEVICE, .device = (CudaAddress)words[1]};
  else
    p->copy.from = (CudaCopySide){.type = CUDA_MEMORY_HOST, .host = (void *)(uintptr_t)words[1]};
}

static void fillParameters(int64_t to, int64_t bytes, Parameters *p) {
  p->fill = (CudaFillNode){(CudaAddress)to, 0, 0, 1, (size_t)bytes, 1};
}

static void addItem(Builder *b, Scope *scope, int32_t index) {
  const Item *item = &b->record->items[index];
  const CudaDriver *driver = &b->program->driver;
  Parameters p;
  int32_t kernel = item->number;
  do {
    CudaNode node = NULL;
    touchItem(b, scope, item);
    if (b->error)
      return;
    size_t count = (size_t)scope->numAfter;
    if (!b->graph) {
      // only the order
    } else if (item->kind == ITEM_KERNEL) {
      b->error = kernelParameters(b->program, b->record, item, kernel, &p);
      if (!b->error)
        b->error = driver->graphAddKernel(&node, scope->graph, scope->after, count, &p.kernel);
    } else if (item->kind == ITEM_COPY) {
      copyParameters(b->record, item, &p);
      b->error = driver->graphAddCopy(&node, scope->graph, scope->after, count, &p.copy, b->program->context);
    } else {
      const int64_t *words = b->record->words + item->firstWord;
      fillParameters(words[0], words[1], &p);
      b->error = driver->graphAddFill(&node, scope->graph, scope->after, count, &p.fill, b->program->context);
    }
    if (!b->error)
      finishNode(b, scope, node, index, kernel);
  } while (!b->error && item->kind == ITEM_KERNEL && ++kernel < b->program->numKernels &&
           b->program->kernels[kernel].follows);
}

/// One of the kernels that decide, of one thread.
static void addDecision(Builder *b, Scope *scope, CudaFunction function, void **parameters) {
  CudaNode node = NULL;
  CudaKernelNode kernel = {function, 1, 1, 1, 1, 1, 1, 0, parameters, NULL, NULL, NULL};
  if (!b->error)
    b->error = b->program->driver.graphAddKernel(&node, scope->graph, scope->after, (size_t)scope->numAfter, &kernel);
  if (!b->error)
    finishNode(b, scope, node, -1, -1);
}

static void addItems(Builder *b, Scope *scope, int32_t from, int32_t to);

static void freeScope(Scope *scope) {
  free(scope->nodes);
  free(scope->accesses);
  free(scope->readers);
  free(scope->after);
  free(scope->afterNumbers);
}

/// A node that runs a body, of items [from, to) and of those that `more` adds; the body.
static CudaGraph addConditional(Builder *b, Scope *scope, uint64_t condition, int kind) {
  CudaConditionalNode parameters = {
      .type = CUDA_NODE_CONDITIONAL, .handle = condition, .kind = kind, .size = 1, .context = b->program->context};
  CudaNode node = NULL;
  if (!b->error)
    b->error =
        b->program->driver.graphAddNode(&node, scope->graph, scope->after, NULL, (size_t)scope->numAfter, &parameters);
  if (b->error)
    return NULL;
  finishNode(b, scope, node, -1, -1);
  return parameters.bodies[0];
}

static uint64_t newCondition(Builder *b, Scope *scope) {
  uint64_t condition = 0;
  if (!b->error) // it is 0 when the graph begins
    b->error = b->program->driver.conditionCreate(&condition, scope->graph, b->program->context, 0, 1);
  return condition;
}

static void addLoop(Builder *b, Scope *scope, int32_t begin, int32_t test, int32_t end) {
  const Item *items = b->record->items;
  int64_t *words = b->record->words + items[begin].firstWord, *flag = b->record->words + items[test].firstWord;
  CudaNode node = NULL;
  Parameters p;
  touch(b, scope, words[0], 1);
  fillParameters(words[0], (int64_t)sizeof(int64_t), &p);
  if (!b->error)
    b->error = b->program->driver.graphAddFill(&node, scope->graph, scope->after, (size_t)scope->numAfter, &p.fill,
                                               b->program->context);
  if (!b->error)
    finishNode(b, scope, node, -1, -1);
  addItems(b, scope, begin + 1, test);

  uint64_t condition = newCondition(b, scope);
  void *parameters[] = {&condition, flag, &words[0], &words[1], &b->session->stop};
  touch(b, scope, *flag, 0);
  touch(b, scope, words[0], 1);
  addDecision(b, scope, b->program->loopKernel, parameters);

  for (int32_t i = begin; i <= end && !b->error; ++i)
    touchItem(b, scope, &items[i]);
  Scope body = {.graph = addConditional(b, scope, condition, CUDA_CONDITIONAL_WHILE), .around = scope};
  addItems(b, &body, test + 1, end);
  addItems(b, &body, begin + 1, test);
  touch(b, &body, *flag, 0);
  touch(b, &body, words[0], 1);
  addDecision(b, &body, b->program->loopKernel, parameters);
  freeScope(&body);
}

static void addBranch(Builder *b, Scope *scope, int32_t begin, int32_t middle, int32_t end) {
  int64_t *flag = b->record->words + b->record->items[begin].firstWord;
  uint64_t conditions[2] = {newCondition(b, scope), newCondition(b, scope)};
  void *parameters[] = {&conditions[0], &conditions[1], flag};
  touch(b, scope, *flag, 0);
  int32_t decision = scope->numNodes;
  addDecision(b, scope, b->program->branchKernel, parameters);
  for (int which = 0; which < 2 && !b->error; ++which) {
    int32_t from = which ? middle + 1 : begin + 1, to = which ? end : middle;
    follow(b, scope, decision);
    for (int32_t i = from; i < to && !b->error; ++i)
      touchItem(b, scope, &b->record->items[i]);
    Scope body = {.graph = addConditional(b, scope, conditions[which], CUDA_CONDITIONAL_IF), .around = scope};
    addItems(b, &body, from, to);
    freeScope(&body);
  }
}

static void addItems(Builder *b, Scope *scope, int32_t from, int32_t to) {
  for (int32_t i = from; i < to && !b->error; ++i) {
    if (b->record->items[i].kind < ITEM_LOOP) {
      addItem(b, scope, i);
      continue;
    }
    int32_t middle = srtCudaFindNext(b->record, i), end = srtCudaFindNext(b->record, middle);
    if (b->record->items[i].kind == ITEM_LOOP)
      addLoop(b, scope, i, middle, end);
    else
      addBranch(b, scope, i, middle, end);
    i = end;
  }
}

/// The order that the record's nodes have; with `graph`, its nodes.
static int build(Program *program, Session *session, const Record *record, Graph *graph, uint64_t *order) {
  Builder b = {program, session, record, graph, UINT64_C(0xCBF29CE484222325), 0};
  Scope scope = {.graph = graph ? graph->graph : NULL};
  pthread_mutex_lock(&program->mutex); // buffers are looked up
  addItems(&b, &scope, 0, record->numItems);
  pthread_mutex_unlock(&program->mutex);
  freeScope(&scope);
  *order = b.order;
  return b.error;
}

//===- Graphs of a session -------------------------------------------------------------------------===//

static void freeGraph(Program *program, Graph *graph) {
  if (graph->exec)
    program->driver.execDestroy(graph->exec);
  if (graph->graph)
    program->driver.graphDestroy(graph->graph);
  free(graph->nodes);
  srtCudaFreeRecord(&graph->record);
  memset(graph, 0, sizeof *graph);
}

void srtCudaFreeGraphs(Program *program, Session *session) {
  for (int32_t i = 0; i < session->numGraphs; ++i)
    freeGraph(program, &session->graphs[i]);
  session->numGraphs = 0;
}

static int copyRecord(Record *to, const Record *from) {
  memset(to, 0, sizeof *to);
  to->items = malloc((size_t)from->numItems * sizeof *to->items);
  to->words = malloc((size_t)(from->numWords + 1) * sizeof *to->words);
  to->roles = malloc((size_t)from->numWords + 1);
  if (!to->items || !to->words || !to->roles) {
    srtCudaFreeRecord(to);
    return 0;
  }
  memcpy(to->items, from->items, (size_t)from->numItems * sizeof *to->items);
  memcpy(to->words, from->words, (size_t)from->numWords * sizeof *to->words);
  memcpy(to->roles, from->roles, (size_t)from->numWords);
  to->numItems = to->roomForItems = from->numItems;
  to->numWords = to->roomForWords = from->numWords;
  return 1;
}

static int areEqual(const Record *a, const Record *b) {
  return a->numItems == b->numItems && a->numWords == b->numWords &&
         memcmp(a->items, b->items, (size_t)a->numItems * sizeof *a->items) == 0 &&
         memcmp(a->words, b->words, (size_t)a->numWords * sizeof *a->words) == 0 &&
         memcmp(a->roles, b->roles, (size_t)a->numWords) == 0;
}

/// Equal but for addresses and sizes.
static int areAlike(const Record *a, const Record *b) {
  if (a->numItems != b->numItems || a->numWords != b->numWords || memcmp(a->roles, b->roles, (size_t)a->numWords) != 0)
    return 0;
  for (int32_t i = 0; i < a->numItems; ++i)
    if (a->items[i].kind != b->items[i].kind || a->items[i].number != b->items[i].number ||
        a->items[i].numWords != b->items[i].numWords)
      return 0;
  return 1;
}

/// Makes the graph's nodes what the record says, which differs from the graph's in addresses and sizes. The order is
/// the same.
static int update(Program *program, Graph *graph, const Record *record) {
  const CudaDriver *driver = &program->driver;
  Parameters p;
  int error = 0;
  for (int32_t i = 0; i < graph->numNodes && !error; ++i) {
    const GraphNode *node = &graph->nodes[i];
    const Item *item = &record->items[node->item];
    if (item->chunks == graph->record.items[node->item].chunks &&
        memcmp(record->words + item->firstWord, graph->record.words + item->firstWord,
               (size_t)item->numWords * sizeof(int64_t)) == 0)
      continue;
    const int64_t *words = record->words + item->firstWord;
    if (item->kind == ITEM_KERNEL) {
      error = kernelParameters(program, record, item, node->kernel, &p);
      if (!error)
        error = driver->execSetKernel(graph->exec, node->node, &p.kernel);
    } else if (item->kind == ITEM_COPY) {
      copyParameters(record, item, &p);
      error = driver->execSetCopy(graph->exec, node->node, &p.copy, program->context);
    } else {
      fillParameters(words[0], words[1], &p);
      error = driver->execSetFill(graph->exec, node->node, &p.fill, program->context);
    }
  }
  if (error)
    return error;
  memcpy(graph->record.items, record->items, (size_t)record->numItems * sizeof *record->items);
  memcpy(graph->record.words, record->words, (size_t)record->numWords * sizeof *record->words);
  return 0;
}

static int make(Program *program, Session *session, Graph *graph) {
  const CudaDriver *driver = &program->driver;
  if (!copyRecord(&graph->record, &session->record))
    return CUDA_OUT_OF_MEMORY;
  for (int32_t i = 0; i < graph->record.numItems; ++i) {
    const Item *item = &graph->record.items[i];
    graph->hasControl |= item->kind >= ITEM_LOOP;
    graph->hasLoops |= item->kind == ITEM_KERNEL && program->kernels[item->number].loops;
  }
  graph->hasLoops |= graph->hasControl;
  int error = driver->graphCreate(&graph->graph, 0);
  if (!error)
    error = build(program, session, &graph->record, graph, &graph->order);
  return error ? error : driver->graphInstantiate(&graph->exec, graph->graph, 0);
}

/// A place for a new graph, or one to be changed into the record: then `*isAlike`.
static int place(Program *program, Session *session, Graph **result, int *isAlike) {
  Graph *oldest = NULL, *oldestAlike = NULL;
  int32_t alike = 0;
  for (int32_t i = 0; i < session->numGraphs; ++i) {
    Graph *graph = &session->graphs[i];
    if (!oldest || graph->used < oldest->used)
      oldest = graph;
    if (!areAlike(&graph->record, &session->record))
      continue;
    ++alike;
    if (!oldestAlike || graph->used < oldestAlike->used)
      oldestAlike = graph;
  }
  *isAlike = 0;
  if (alike >= GRAPHS_OF_A_SHAPE) {
    *result = oldestAlike;
    // The driver does not change what is inside of loops and branches.
    uint64_t order = 0;
    int error = oldestAlike->hasControl ? 0 : build(program, session, &session->record, NULL, &order);
    *isAlike = !error && !oldestAlike->hasControl && order == oldestAlike->order;
    if (error || *isAlike)
      return error;
  } else if (session->numGraphs < GRAPHS_OF_A_SESSION) {
    *result = &session->graphs[session->numGraphs];
    return 0;
  } else {
    *result = oldest;
  }
  int error = program->driver.streamSynchronize(program->stream); // it may run
  freeGraph(program, *result);
  return error;
}

int srtCudaRunGraph(Program *program, Session *session) {
  Graph *graph = NULL;
  for (int32_t i = 0; i < session->numGraphs && !graph; ++i)
    if (areEqual(&session->graphs[i].record, &session->record))
      graph = &session->graphs[i];
  if (!graph) {
    int isAlike;
    int error = place(program, session, &graph, &isAlike);
    if (!error)
      error = isAlike ? update(program, graph, &session->record) : make(program, session, graph);
    if (error) {
      // Nothing of it is used again: an empty record equals none.
      freeGraph(program, graph);
      return error;
    }
    if (graph == &session->graphs[session->numGraphs])
      ++session->numGraphs;
  }
  graph->used = ++session->clock;
  if (graph->hasLoops)
    srtCudaLetLoop(session);
  return program->driver.graphLaunch(graph->exec, program->stream);
}
