// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ops that run leave for a gradient. A node stands for an op that ran (or a leaf, a tensor with requires_grad) and
// is held by the tensors that it computed and by the nodes of ops on those; it holds its operands. So a tape has no
// place of its own: what no tensor comes from is gone. Nodes have numbers in the order of time; edges lead to smaller
// ones, which is the order of a backward walk.
//
//   w (leaf) <-- mul <-- sum <-- y         y = sum(w * w), by tensors' values and nodes' edges

#ifndef SINTER_TRACE_TAPE_H
#define SINTER_TRACE_TAPE_H

#include "tape.hpp"
#include <mutex>

namespace sinter::capi {
struct EagerDevice;
}

namespace sinter::inline SINTER_HOST::detail {

/// A counted hold of a node.
class NodeRef {
public:
  NodeRef() = default;
  explicit NodeRef(TapeNode *node);
  NodeRef(const NodeRef &other) : NodeRef(other.node) {}
  NodeRef(NodeRef &&other) noexcept : node(std::exchange(other.node, nullptr)) {}
  NodeRef &operator=(NodeRef other) noexcept {
    std::swap(node, other.node);
    return *this;
  }
  ~NodeRef();
  TapeNode *get() const { return node; }
  TapeNode *operator->() const { return node; }
  explicit operator bool() const { return node; }
  /// Without giving it back.
  TapeNode *take() { return std::exchange(node, nullptr); }

private:
  TapeNode *node = nullptr;
};

/// Where a cotangent goes: output `output` of `node`.
struct TapeEdge {
  NodeRef node;
  uint32_t output = 0;
};

/// What a program asked of the gradient of one output.
struct GradientWatch {
  std::vector<std::pair<int64_t, HookCall>> hooks;
  bool keeps = false;
  Tensor gradient;
};

class TapeNode {
public:
  TapeNode(const char *name, Where where);
  TapeNode(const TapeNode &) = delete;
  virtual ~TapeNode();

  /// From cotangents of the outputs (undefined: zero) to those of the edges, in their order. `create`: record that.
  /// False after an error, which is in `problem`.
  virtual bool backward(std::span<const Tensor> cotangents, std::span<Tensor> gradients, bool create,
                        Tensor &problem) = 0;
  /// Gives back what only a backward walk needs.
  virtual void forget() {}
  virtual bool isLeaf() const { return false; }
  /// Elements that its backward op goes over, about.
  virtual int64_t work() const { return 0; }

  void retain() { references.fetch_add(1, std::memory_order_relaxed); }
  /// Nodes that hold each other in a long chain go one after the other, not within each other.
  static void release(TapeNode *node);
  /// Asks about output `output`; null when nobody did and `make` is false. Under `watchLock`.
  GradientWatch *watch(uint32_t output, bool make);
  static std::mutex &watchLock();

  const std::string name;
  const Where where;
  const uint64_t number; // in the order of time
  std::vector<TapeEdge> edges;
  std::vector<TensorType> outputs;
  bool forgotten = false;

private:
  std::atomic<int32_t> references{1};
  std::unique_ptr<std::vector<std::pair<uint32_t, GradientWatch>>> watches;
};

inline NodeRef::NodeRef(TapeNode *node) : node(node) {
  if (node)
    node->retain();
}
inline NodeRef::~NodeRef() {
  if (node)
    TapeNode::release(node);
}

/// A tensor with requires_grad. Its watch 0 keeps the gradient.
class LeafNode final : public TapeNode {
public:
  LeafNode(const TensorType &type, Where where);
  bool backward(std::span<const Tensor>, std::span<Tensor>, bool, Tensor &) override { return true; }
  bool isLeaf() const override { return true; }
};

/// Whether this thread records.
bool &recording();
/// Whether an op on `operands` is to be recorded now.
inline bool isRecorded(std::span<const Tensor> operands) {
  for (const Tensor &operand : operands)
    if (operand.needs_grad())
      return recording();
  return false;
}
/// Records an op that ran.
void recordOp(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs,
              std::span<const Tensor> results, Where where);
/// Makes `tensor` the output of a node.
void setNode(const Tensor &tensor, const NodeRef &node, uint32_t output);
/// The same elements, without what they were computed from.
Tensor withoutNode(const Tensor &tensor);
/// Zeros of a type whose sizes are known, on a device, null for the host.
Tensor zerosOf(const TensorType &type, Where where, const capi::EagerDevice *device);

} // namespace sinter::inline SINTER_HOST::detail

#endif
