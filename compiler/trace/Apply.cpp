// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Apply.h"
#include "There.h"

namespace sinter::inline SINTER_HOST::detail {

uint64_t hashOp(const char *op, std::span<const sinter_attr> attrs) {
  uint64_t hash = hashText(1469598103934665603ull, op);
  for (const sinter_attr &attr : attrs) {
    hash = hashText(hash, attr.name);
    switch (attr.kind) {
    case SINTER_ATTR_STRING:
      hash = hashText(hash, attr.string);
      break;
    case SINTER_ATTR_I64S:
    case SINTER_ATTR_F64S:
      hash = hashBytes(hash, attr.i64s, size_t(attr.count) * 8);
      break;
    case SINTER_ATTR_BOOLS:
      hash = hashBytes(hash, attr.bools, size_t(attr.count));
      break;
    case SINTER_ATTR_TYPE:
      hash = hashBytes(hash, attr.type->dims, size_t(attr.type->rank) * 8) * 31 + uint64_t(attr.type->dtype);
      break;
    default:
      hash = hashBytes(hash, &attr.i64, 8);
    }
  }
  return hash;
}

static bool applyThere(const capi::EagerDevice &device, const char *op, std::span<const Tensor> operands,
                       std::span<const sinter_attr> attrs, std::span<Tensor> results, int &count, Where where) {
  std::vector<capi::ThereTensor> made;
  if (capi::eagerOn(device, op, ThereOperands(operands).list, attrs, made)) {
    results[0] = fail(where, inFunction(refusal(op, operands, sinter_last_error())));
    count = 1;
    return false;
  }
  count = int(made.size());
  for (size_t k = 0; k < made.size(); ++k)
    results[k] = adoptThere(device, std::move(made[k]), where);
  if (isRecorded(operands))
    recordOp(op, operands, attrs, results.first(made.size()), where);
  return true;
}

bool applyEager(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs,
                std::span<Tensor> results, int &count, Where where) {
  const capi::EagerDevice *device = nullptr;
  if (!areOfHost(operands) && !placeOfOp(op, operands, device, results[0], where)) {
    count = 1;
    return false;
  }
  if (device)
    return applyThere(*device, op, operands, attrs, results, count, where);
  constexpr int room = 16;
  sinter_tensor inputs[room], outputs[room];
  std::vector<sinter_tensor> manyInputs;
  sinter_tensor *in = inputs;
  if (operands.size() > size_t(room)) {
    manyInputs.resize(operands.size());
    in = manyInputs.data();
  }
  for (size_t k = 0; k < operands.size(); ++k)
    in[k] = operands[k].defined() ? operands[k].view() : sinter_tensor{};
  int32_t given = 0;
  if (sinter_eager(op, int32_t(operands.size()), in, int32_t(attrs.size()), attrs.data(),
                   int32_t(std::min<size_t>(room, results.size())), outputs, &given)) {
    results[0] = fail(where, inFunction(refusal(op, operands, sinter_last_error())));
    count = 1;
    return false;
  }
  count = given;
  for (int k = 0; k < given; ++k)
    results[size_t(k)] = adoptTensor(outputs[k], where);
  if (isRecorded(operands))
    recordOp(op, operands, attrs, results.first(size_t(given)), where);
  return true;
}

bool applyInto(const char *op, std::span<const Tensor> operands, std::span<const Attr> attrs, std::span<Tensor> results,
               int &count, Where where) {
  count = 1;
  for (const Tensor &operand : operands)
    if (operand.error()) {
      results[0] = operand;
      return false;
    }
  constexpr size_t room = 16;
  sinter_attr lowered[room];
  if (attrs.size() > room) {
    results[0] = fail(where, std::string(op) + " requires at most 16 attributes, got " + std::to_string(attrs.size()));
    return false;
  }
  for (size_t k = 0; k < attrs.size(); ++k) {
    if (attrs[k].axes > SINTER_MAX_RANK) {
      results[0] = fail(where, inFunction(std::string(op) + " requires at most " + std::to_string(SINTER_MAX_RANK) +
                                          " axes, got " + std::to_string(attrs[k].axes)));
      return false;
    }
    lowered[k] = attrs[k].lower();
  }
  std::span<const sinter_attr> list(lowered, attrs.size());
  if (Trace *trace = Trace::current())
    return trace->record(op, operands, list, hashOp(op, list), results, count, where);
  for (const Tensor &operand : operands)
    if (operand.traced()) {
      results[0] = fail(where, leakMessage(operand));
      return false;
    }
  return applyEager(op, operands, list, results, count, where);
}

Tensor apply(const char *op, std::span<const Tensor> operands, std::span<const Attr> attrs, Where where) {
  Tensor result;
  int count = 0;
  applyInto(op, operands, attrs, std::span(&result, 1), count, where);
  return result;
}

Tensor convert(const Tensor &tensor, DType dtype, Where where) {
  if (tensor.error() || tensor.dtype() == dtype)
    return tensor;
  if (!tensor.weak() || tensor.traced() || is_storage(dtype))
    return apply("convert", {tensor}, {Attr("element_type", dtype)}, where);
  Tensor result = visitDType(dtype, [&]<class To>(To) { return scalar(tensor.item<To>(), where); });
  result.value()->weak = true;
  return result;
}

} // namespace sinter::inline SINTER_HOST::detail
