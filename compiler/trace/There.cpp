// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "There.h"
#include "Trace.h"
#include "device.hpp"
#include "tree.hpp"
#include <cstdlib>

namespace sinter::inline SINTER_HOST {
namespace detail {

using capi::EagerDevice;
using capi::ThereTensor;

DeviceElements::~DeviceElements() { std::free(host); }

void releaseThere(DeviceElements *elements) { elements->release(); }

static int64_t bytesOf(const sinter_tensor &tensor) {
  int64_t count = 1;
  for (int axis = 0; axis < tensor.rank; ++axis)
    count *= tensor.dims[axis];
  return dtype_bytes(DType(tensor.dtype), count);
}

void bringToHost(Value *value) {
  DeviceElements &elements = *value->there;
  std::lock_guard guard(elements.lock);
  if (!elements.host)
    elements.host = std::aligned_alloc(64, size_t(bytesOf(elements.there.tensor) + 63) / 64 * 64 + 64);
  if (!elements.host)
    return hostError(
        Error("reading a tensor on " + elements.device->name + " requires memory of the host, got none", value->where));
  if (!elements.isCurrent && capi::copyToHost(*elements.device, elements.there, elements.host))
    return hostError(Error(sinter_last_error(), value->where));
  elements.isCurrent = true;
  if (value->tensor.data != elements.host)
    value->tensor.data = elements.host;
}

void replaceThere(DeviceElements &to, DeviceElements &from) {
  ThereTensor now = from.get(); // whose memory nobody writes
  std::lock_guard guard(to.lock);
  to.there = std::move(now);
  to.isCurrent = false;
}

Tensor adoptThere(const EagerDevice &device, ThereTensor there, Where where) {
  Value *value = Value::create(0);
  value->tensor = there.tensor;
  value->tensor.data = nullptr;
  value->where = where;
  value->there = new DeviceElements;
  value->there->device = &device;
  value->there->there = std::move(there);
  return Tensor::adopt(value);
}

Tensor moved(const Tensor &tensor, const EagerDevice *device, Where where) {
  const EagerDevice *from = deviceOf(tensor);
  if (from == device)
    return tensor;
  if (device) {
    ThereTensor made;
    if (capi::copyToDevice(*device, tensor.view(), made))
      return fail(where, sinter_last_error());
    return adoptThere(*device, std::move(made), where);
  }
  Tensor copy = Tensor::empty(tensor.dtype(), tensor.known_shape(), where);
  if (!copy.error() && capi::copyToHost(*from, tensor.value()->there->get(), copy.view().data))
    return fail(where, sinter_last_error());
  return copy;
}

Tensor movedToNew(const Tensor &tensor, Where where) {
  const EagerDevice *device = Trace::current() ? nullptr : capi::deviceForNew();
  return device ? moved(tensor, device, where) : tensor;
}

//===- operands -------------------------------------------------------------------------------------===//

std::string placed(const Tensor &tensor) { return tensor.type().str() + " on " + tensor.device(); }

FunctionPlace &functionPlace() {
  static thread_local FunctionPlace place;
  return place;
}

bool onOneDevice(std::string_view what, std::span<const Tensor> operands, const Tensor *&first, Tensor &problem,
                 Where where) {
  first = nullptr;
  for (const Tensor &operand : operands) {
    if (!operand.defined() || (!deviceOf(operand) && goesAlong(operand)))
      continue;
    if (first && deviceOf(*first) != deviceOf(operand)) {
      problem = fail(where, inFunction(std::string(what) + " requires tensors on one device, got " + placed(*first) +
                                       " and " + placed(operand) + " (move one with to)"));
      return false;
    }
    first = first ? first : &operand;
  }
  return true;
}

bool placeOfOp(const char *op, std::span<const Tensor> operands, const EagerDevice *&device, Tensor &problem,
               Where where) {
  const Tensor *first;
  if (!onOneDevice(op, operands, first, problem, where))
    return false;
  const FunctionPlace &place = functionPlace();
  device = first ? deviceOf(*first) : place.isKnown ? place.device : capi::deviceForNew();
  return true;
}

ThereOperands::ThereOperands(std::span<const Tensor> operands) {
  for (const Tensor &operand : operands) {
    capi::EagerOperand next;
    if (operand.defined() && operand.value()->there) {
      held.push_back(std::make_unique<ThereTensor>(operand.value()->there->get()));
      next = {held.back()->tensor, held.back().get()};
    } else if (operand.defined()) {
      next.tensor = operand.view();
    }
    list.push_back(next);
    tensors.push_back(next.tensor);
    there.push_back(next.there);
  }
}

//===- on the tape ----------------------------------------------------------------------------------===//

namespace {
/// A copy on another device: its gradient is copied back.
struct MoveState {
  const EagerDevice *from;
  Where where;
};
} // namespace

static std::vector<Tensor> moveBack(void *state, std::span<const Tensor> cotangents, bool create) {
  auto &move = *static_cast<MoveState *>(state);
  std::string name = move.from ? move.from->name : "cpu";
  if (create)
    return {cotangents[0].to(name, move.where)};
  return {moved(cotangents[0], move.from, move.where)};
}

} // namespace detail

Tensor Tensor::to(const std::string &name, Where where) const {
  if (error())
    return *this;
  if (!head || traced())
    return detail::fail(where, traced() ? "to requires a tensor with elements, got one of a trace; the option device "
                                          "of jit says where a function runs"
                                        : "to requires a tensor, got a Tensor() without a value");
  const capi::EagerDevice *device = nullptr;
  if (capi::findEagerDevice(name, device))
    return detail::fail(where, "to '" + name + "': " + sinter_last_error());
  if (device == detail::deviceOf(*this))
    return *this;
  Tensor result = detail::moved(*this, device, where);
  if (!result.error() && detail::isRecorded(std::span(this, 1))) {
    Tensor operand = *this;
    auto state = std::make_shared<detail::MoveState>(detail::MoveState{detail::deviceOf(*this), where});
    detail::recordCall("to", detail::anyTree(operand), detail::anyTree(result), {state, detail::moveBack}, where);
  }
  return result;
}

std::string Tensor::device() const {
  if (!head || traced() || error())
    return "";
  const capi::EagerDevice *device = detail::deviceOf(*this);
  return device ? device->name : "cpu";
}

Status set_default_device(const std::string &name, Where where) {
  const capi::EagerDevice *device = nullptr;
  if (sinter_status_code code = capi::findEagerDevice(name, device))
    return detail::report(Error("set_default_device '" + name + "': " + sinter_last_error(), where, StatusCode(code)));
  capi::setDefaultDevice(device);
  return {};
}

std::string default_device() {
  const capi::EagerDevice *device = capi::deviceForNew();
  return device ? device->name : "cpu";
}

DeviceScope::DeviceScope(const std::string &name, Where where) {
  const capi::EagerDevice *device = nullptr;
  if (sinter_status_code code = capi::findEagerDevice(name, device)) {
    failure = std::make_shared<Error>("DeviceScope '" + name + "': " + sinter_last_error(), where, StatusCode(code));
    (void)detail::report(*failure);
    return;
  }
  capi::DeviceChoice old = capi::chooseDevice({device, true});
  before = old.device;
  wasMade = old.isMade;
}

DeviceScope::~DeviceScope() {
  if (!failure)
    capi::chooseDevice({static_cast<const capi::EagerDevice *>(before), wasMade});
}

} // namespace sinter::inline SINTER_HOST
