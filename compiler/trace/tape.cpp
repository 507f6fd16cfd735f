// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Tape.h"
#include "Apply.h"
#include "There.h"
#include "compiler/capi/EagerGradient.h"

namespace sinter::inline SINTER_HOST {
namespace detail {

//===- nodes ----------------------------------------------------------------------------------------===//

static std::atomic<uint64_t> numNodes{0};
static std::atomic<int64_t> numOps{0};

TapeNode::TapeNode(const char *name, Where where) : name(name), where(where), number(++numNodes) {}
TapeNode::~TapeNode() = default;

void TapeNode::release(TapeNode *node) {
  if (node->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return;
  static thread_local std::vector<TapeNode *> *dying = nullptr;
  if (dying)
    return dying->push_back(node);
  std::vector<TapeNode *> list{node};
  dying = &list;
  while (!list.empty()) {
    TapeNode *next = list.back();
    list.pop_back();
    delete next; // adds those that only it held
  }
  dying = nullptr;
}

std::mutex &TapeNode::watchLock() {
  static std::mutex &lock = *new std::mutex();
  return lock;
}

GradientWatch *TapeNode::watch(uint32_t output, bool make) {
  if (watches)
    for (auto &[at, watch] : *watches)
      if (at == output)
        return &watch;
  if (!make)
    return nullptr;
  if (!watches)
    watches = std::make_unique<std::vector<std::pair<uint32_t, GradientWatch>>>();
  return &watches->emplace_back(output, GradientWatch{}).second;
}

LeafNode::LeafNode(const TensorType &type, Where where) : TapeNode("leaf", where) {
  outputs.push_back(type);
  std::lock_guard guard(watchLock());
  watch(0, true)->keeps = true;
}

static void setNodes(std::span<const Tensor> results, TapeNode *made);

namespace {

/// Attributes with what they point to.
class HeldAttrs {
public:
  explicit HeldAttrs(std::span<const sinter_attr> attrs) : list(attrs.begin(), attrs.end()) {
    for (sinter_attr &attr : list) {
      attr.name = hold(attr.name, std::strlen(attr.name) + 1);
      switch (attr.kind) {
      case SINTER_ATTR_STRING:
        attr.string = hold(attr.string, std::strlen(attr.string) + 1);
        break;
      case SINTER_ATTR_I64S:
      case SINTER_ATTR_F64S:
        attr.i64s = hold(attr.i64s, size_t(attr.count));
        break;
      case SINTER_ATTR_BOOLS:
        attr.bools = hold(attr.bools, size_t(attr.count));
        break;
      case SINTER_ATTR_TYPE:
        attr.type = hold(attr.type, 1);
        break;
      default:
        break;
      }
    }
  }
  std::span<const sinter_attr> get() const { return list; }

private:
  template <class T> const T *hold(const T *from, size_t count) {
    auto block = std::make_unique<int64_t[]>((count * sizeof(T) + 7) / 8 + 1);
    std::memcpy(block.get(), from, count * sizeof(T));
    blocks.push_back(std::move(block));
    return reinterpret_cast<const T *>(blocks.back().get());
  }
  std::vector<sinter_attr> list;
  std::vector<std::unique_ptr<int64_t[]>> blocks;
};

/// An op, or a derivative of one.
class OpNode final : public TapeNode {
public:
  OpNode(const char *op, std::shared_ptr<const HeldAttrs> attrs, std::vector<std::vector<int32_t>> levels, size_t own,
         std::span<const Tensor> operands, std::span<const Tensor> results, Where where)
      : TapeNode(op, where), attrs(std::move(attrs)), device(deviceOf(results[0])), levels(std::move(levels)), own(own),
        operands(operands.begin(), operands.end()) {
    ++numOps;
    std::vector<int32_t> wrt;
    int32_t present = 0;
    for (const Tensor &operand : operands) {
      versions.push_back(uint32_t(operand.version()));
      if (!operand.defined())
        continue;
      if (operand.needs_grad() && is_float(operand.dtype())) {
        wrt.push_back(present);
        edges.push_back({NodeRef(operand.value()->node), operand.value()->output});
      }
      ++present;
    }
    this->levels.push_back(std::move(wrt));
    for (const Tensor &result : results)
      outputs.push_back(result.type());
  }
  ~OpNode() override { --numOps; }

  bool backward(std::span<const Tensor> cotangents, std::span<Tensor> gradients, bool create,
                Tensor &problem) override {
    std::vector<Tensor> given = operands;
    for (size_t k = 0; k < outputs.size(); ++k)
      if (is_float(outputs[k].dtype))
        given.push_back(cotangents[k].defined() ? cotangents[k] : zerosOf(outputs[k], where, device));
    std::vector<uint8_t> changed;
    for (size_t k = 0; k < given.size(); ++k) {
      if (given[k].error()) {
        problem = given[k];
        return false;
      }
      changed.push_back(k < versions.size() && uint32_t(given[k].version()) != versions[k]);
    }
    bool needsChanged = false;
    if (!differentiate(given, changed, gradients, needsChanged)) {
      problem = fail(where, needsChanged ? "backward requires the operands of " + name +
                                               " as they were, got one that was changed in place since"
                                         : "backward: " + std::string(sinter_last_error()));
      return false;
    }
    if (create && isRecorded(std::span<const Tensor>(given)))
      setNodes(gradients, new OpNode(name.c_str(), attrs, levels, own, given, gradients, where));
    return true;
  }
  void forget() override {
    forgotten = true;
    operands.clear();
  }
  int64_t work() const override {
    int64_t elements = 0;
    for (const Tensor &operand : operands)
      elements = std::max(elements, operand.known_size());
    for (const TensorType &type : outputs)
      elements = std::max(elements, type.shape.elements());
    return elements;
  }

private:
  /// False with the C library's message.
  bool differentiate(std::span<const Tensor> given, std::span<const uint8_t> changed, std::span<Tensor> gradients,
                     bool &needsChanged) const {
    ThereOperands lowered(given);
    capi::EagerDerivative derivative{name.c_str(), attrs->get(), lowered.tensors, own, levels, changed};
    if (device) {
      std::vector<capi::ThereTensor> made;
      if (capi::eagerDerivativeOn(*device, derivative, lowered.there, made, needsChanged))
        return false;
      for (size_t k = 0; k < gradients.size(); ++k)
        gradients[k] = adoptThere(*device, std::move(made[k]), where);
      return true;
    }
    std::vector<sinter_tensor> made(gradients.size());
    if (capi::eagerDerivative(derivative, made, needsChanged))
      return false;
    for (size_t k = 0; k < made.size(); ++k)
      gradients[k] = adoptTensor(made[k], where);
    return true;
  }

  std::shared_ptr<const HeldAttrs> attrs;
  const capi::EagerDevice *device;          // of the results
  std::vector<std::vector<int32_t>> levels; // the last one is that of this node's gradient
  size_t own;
  std::vector<Tensor> operands;
  std::vector<uint32_t> versions;
};

/// A function of the program with a gradient of its own.
class CallNode final : public TapeNode {
public:
  CallNode(const char *name, std::span<const Tensor> operands, std::span<const Tensor> results, TapeCall call,
           Where where)
      : TapeNode(name, where), call(std::move(call)) {
    ++numOps;
    for (size_t k = 0; k < operands.size(); ++k)
      if (operands[k].needs_grad() && is_float(operands[k].dtype())) {
        places.push_back(k);
        edges.push_back({NodeRef(operands[k].value()->node), operands[k].value()->output});
        types.push_back(operands[k].type());
      }
    for (const Tensor &result : results) {
      outputs.push_back(result.type());
      devices.push_back(deviceOf(result));
    }
  }
  ~CallNode() override { --numOps; }

  bool backward(std::span<const Tensor> cotangents, std::span<Tensor> gradients, bool create,
                Tensor &problem) override {
    std::vector<Tensor> given(cotangents.begin(), cotangents.end());
    for (size_t k = 0; k < given.size(); ++k)
      if (!given[k].defined() && is_float(outputs[k].dtype))
        given[k] = zerosOf(outputs[k], where, devices[k]);
    std::vector<Tensor> all = call.backward(call.state.get(), given, create);
    for (size_t k = 0; k < places.size(); ++k) {
      Tensor gradient = places[k] < all.size() ? all[places[k]] : Tensor();
      if (gradient.weak())
        gradient = convert(gradient, types[k].dtype, where);
      if (gradient.error())
        problem = gradient;
      else if (gradient.defined() && !(gradient.type() == types[k]))
        problem = fail(where, name + " requires a cotangent of the type of each argument, got " +
                                  gradient.type().str() + " for " + types[k].str());
      if (problem.defined())
        return false;
      gradients[k] = gradient;
    }
    return true;
  }
  void forget() override {
    forgotten = true;
    call.state = nullptr;
  }

private:
  TapeCall call;
  std::vector<const capi::EagerDevice *> devices; // of the outputs
  std::vector<size_t> places;                     // of the edges among the operands
  std::vector<TensorType> types;
};

} // namespace

//===- recording ------------------------------------------------------------------------------------===//

bool &recording() {
  static thread_local bool on = true;
  return on;
}

bool isRecorded(AnyTree tree) {
  bool found = false;
  if (recording())
    tree.each([&](Tensor &leaf) { found |= leaf.needs_grad(); });
  return found;
}

Tensor withoutNode(const Tensor &tensor) {
  Value *from = tensor.value(), *value = Value::create(0);
  value->tensor = from->tensor;
  if (from->there) {
    value->there = from->there;
    value->there->retain();
  }
  value->weak = from->weak;
  value->where = from->where;
  value->shared = from->shared ? from->shared : from;
  value->shared->retain();
  value->drop = [](Value *self) { self->shared->release(); };
  return Tensor::adopt(value);
}

void setNode(const Tensor &tensor, const NodeRef &node, uint32_t output) {
  Value *value = tensor.value();
  if (TapeNode *before = std::exchange(value->node, NodeRef(node).take()))
    TapeNode::release(before);
  value->output = output;
}

/// Makes floats among `results` the outputs of a new node.
static void setNodes(std::span<const Tensor> results, TapeNode *made) {
  NodeRef node(made);
  TapeNode::release(made); // the hold of its maker
  for (size_t k = 0; k < results.size(); ++k)
    if (results[k].defined() && is_float(results[k].dtype()))
      setNode(results[k], node, uint32_t(k));
}

void recordOp(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs,
              std::span<const Tensor> results, Where where) {
  bool reaches = std::any_of(results.begin(), results.end(), [](const Tensor &t) { return is_float(t.dtype()); }) &&
                 std::any_of(operands.begin(), operands.end(),
                             [](const Tensor &t) { return t.needs_grad() && is_float(t.dtype()); });
  if (reaches)
    setNodes(results,
             new OpNode(op, std::make_shared<HeldAttrs>(attrs), {}, operands.size(), operands, results, where));
}

void recordCall(const char *name, AnyTree operands, AnyTree results, TapeCall call, Where where) {
  // What the node holds may be a result: as another value, which does not hold the node.
  results.each([&](Tensor &leaf) {
    if (leaf.defined())
      leaf = withoutNode(leaf);
  });
  std::vector<Tensor> given = operands.leaves(), made = results.leaves();
  setNodes(made, new CallNode(name, given, made, std::move(call), where));
}

Tensor zerosOf(const TensorType &type, Where where, const capi::EagerDevice *device) {
  Tensor zeros = Tensor::empty(type.dtype, type.shape, where);
  if (!zeros.error())
    std::memset(zeros.view().data, 0, size_t(dtype_bytes(type.dtype, type.shape.elements())));
  return zeros.error() ? zeros : moved(zeros, device, where);
}

/// Throws where the program has exceptions; else ends it, since there is no tensor to carry the error.
static bool canRecord(const Tensor &tensor, const char *what, Where where) {
  if (tensor.defined() && !tensor.traced() && !tensor.error())
    return true;
  hostError(tensor.error() ? *tensor.error()
                           : Error(std::string(what) + " requires a tensor with elements, got " +
                                       (tensor.traced() ? "one of a trace" : "a Tensor() without a value"),
                                   where));
  return false;
}

int64_t addHook(const Tensor &tensor, HookCall hook, Where where) {
  if (!canRecord(tensor, "hook", where))
    return 0;
  if (!tensor.needs_grad()) {
    hostError(Error("hook requires a tensor that needs a gradient, got one without", where));
    return 0;
  }
  static std::atomic<int64_t> numbers{0};
  std::lock_guard guard(TapeNode::watchLock());
  auto &hooks = tensor.value()->node->watch(tensor.value()->output, true)->hooks;
  hooks.emplace_back(++numbers, std::move(hook));
  return hooks.back().first;
}

} // namespace detail

bool remove_hook(const Tensor &tensor, int64_t number) {
  if (!tensor.needs_grad())
    return false;
  std::lock_guard guard(detail::TapeNode::watchLock());
  detail::GradientWatch *watch = tensor.value()->node->watch(tensor.value()->output, false);
  return watch && std::erase_if(watch->hooks, [&](const auto &hook) { return hook.first == number; });
}

NoGrad::NoGrad() : before(std::exchange(detail::recording(), false)) {}
NoGrad::~NoGrad() { detail::recording() = before; }
EnableGrad::EnableGrad() : before(std::exchange(detail::recording(), true)) {}
EnableGrad::~EnableGrad() { detail::recording() = before; }
bool grad_enabled() { return detail::recording(); }
int64_t recorded_ops() { return detail::numOps; }

//===- tensors --------------------------------------------------------------------------------------===//

Tensor Tensor::requires_grad(bool on, Where where) const {
  if (!detail::canRecord(*this, "requires_grad", where))
    return *this;
  if (!is_float(dtype()))
    return detail::fail(where, "requires_grad requires floats, got " + type().str());
  bool isComputed = head->node && !head->node->isLeaf();
  if (!on && isComputed)
    return detail::fail(where, "requires_grad(false) requires a tensor that was not computed; use detach");
  head->weak = false;
  if (on && !head->node) {
    detail::NodeRef node(new detail::LeafNode(type(), where));
    detail::TapeNode::release(node.get()); // the hold of its maker
    detail::setNode(*this, node, 0);
  } else if (!on && head->node) {
    detail::TapeNode::release(std::exchange(head->node, nullptr));
  }
  return *this;
}

Tensor Tensor::grad() const {
  if (!needs_grad())
    return Tensor();
  std::lock_guard guard(detail::TapeNode::watchLock());
  detail::GradientWatch *watch = head->node->watch(head->output, false);
  return watch ? watch->gradient : Tensor();
}

void Tensor::zero_grad() const {
  if (!needs_grad())
    return;
  Tensor old; // goes when the lock is free
  std::lock_guard guard(detail::TapeNode::watchLock());
  if (detail::GradientWatch *watch = head->node->watch(head->output, false))
    std::swap(old, watch->gradient);
}

Tensor Tensor::retain_grad(Where where) const {
  if (!detail::canRecord(*this, "retain_grad", where))
    return *this;
  if (!head->node)
    return detail::fail(where, "retain_grad requires a tensor that needs a gradient, got one without");
  std::lock_guard guard(detail::TapeNode::watchLock());
  head->node->watch(head->output, true)->keeps = true;
  return *this;
}

Tensor Tensor::detach() const {
  if (!head || error())
    return *this;
  if (traced())
    return is_float(dtype()) ? detail::apply("stop_gradient", {*this}, {}, where()) : *this;
  return detail::withoutNode(*this);
}

const Tensor &Tensor::assign(const Tensor &given, Where where) const {
  if (!detail::canRecord(*this, "assign", where) || !detail::canRecord(given, "assign", where))
    return *this;
  Tensor values = given.weak() ? detail::convert(given, dtype(), where) : given;
  auto refuse = [&](const std::string &message) -> const Tensor & {
    detail::hostError(Error("assign requires " + message, where));
    return *this;
  };
  if (!(values.type() == type()))
    return refuse("values of type " + type().str() + ", got " + values.type().str());
  if (values.rank() == 0)
    values = values.to(device(), where);
  if (values.error())
    return refuse(values.error()->message());
  if (detail::deviceOf(values) != detail::deviceOf(*this))
    return refuse("values on " + device() + ", got them on " + values.device() + " (move them with to)");
  bool isLeaf = head->node && head->node->isLeaf();
  if (isLeaf && detail::recording())
    return refuse("a tensor without requires_grad, or a NoGrad around it");
  if (head->there)
    detail::replaceThere(*head->there, *values.value()->there);
  else
    std::memmove(head->tensor.data, values.view().data, size_t(dtype_bytes(dtype(), known_size())));
  ++(head->shared ? head->shared : head)->version;
  if (!detail::recording() || values.value() == head)
    return *this;
  if (values.needs_grad())
    detail::setNode(*this, detail::NodeRef(values.value()->node), values.value()->output);
  else if (head->node)
    detail::TapeNode::release(std::exchange(head->node, nullptr));
  return *this;
}

} // namespace sinter::inline SINTER_HOST
