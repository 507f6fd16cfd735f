// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tensor handle points to: elements in memory (eager), a value of the graph that is being traced, or an error.
// Values are counted, and one block of memory holds a value and its elements; blocks are kept by size and thread, so
// that a compiled call in a loop allocates nothing.

#ifndef SINTER_TRACE_VALUE_HPP
#define SINTER_TRACE_VALUE_HPP

#include "error.hpp"
#include "shape.hpp"
#include <atomic>

namespace sinter::inline SINTER_HOST::detail {

class TapeNode;
struct DeviceElements;

struct Value {
  enum class Kind : uint8_t { eager, traced, error };

  std::atomic<int32_t> references{1};
  Kind kind = Kind::eager;
  bool weak = false;    // a C++ literal, which takes the element type of what it meets
  bool large = false;   // may become a constant of a graph however large it is
  bool follows = false; // a constant of the library, which goes along to the device of what it meets
  uint8_t exponent = 0;
  sinter_tensor tensor{};          // traced and error: without data
  void (*drop)(Value *) = nullptr; // gives back what `owner` stands for
  void *owner = nullptr;
  // traced
  uint32_t id = 0;
  int32_t depth = 0; // of the region that made it
  /// The serial number of that region, unique in the process. Of an eager value: of the trace that was open, 0 for
  /// none.
  uint64_t region = 0;
  Where where{};
  // eager, on a tape
  TapeNode *node = nullptr; // what computed it, or holds its gradient; counted
  uint32_t output = 0;      // which one of the node's
  uint32_t version = 0;     // changes in place
  Value *shared = nullptr;  // whose elements these are, which counts the changes; null: its own
  // eager, on a device
  DeviceElements *there = nullptr; // counted; then `tensor` has data once somebody has asked for them on the host
  // error
  Error *error = nullptr;

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  void release() {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      destroy();
  }

  /// Elements follow at the next multiple of 64 bytes.
  static constexpr size_t headBytes() { return (sizeof(Value) + 63) / 64 * 64; }

  /// A value with room for `bytes` of elements, not initialized. Null when memory runs out.
  static Value *create(size_t bytes);

private:
  void destroy();
};

/// Copies the elements of a value on a device to the host, where `tensor.data` then is, if they are not there yet.
void bringToHost(Value *value);
void releaseThere(DeviceElements *elements);

/// Of the innermost trace of this thread.
uint64_t &serialOfOpenTrace();

} // namespace sinter::inline SINTER_HOST::detail

#endif
