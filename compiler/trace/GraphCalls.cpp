// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphCalls.h"
#include "dtype.hpp"
#include <algorithm>
#include <cstring>

namespace sinter::inline SINTER_HOST::detail {

bool sameType(const sinter_value_type &a, const sinter_value_type &b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}
static bool same(const GraphCall::Attribute &a, const GraphCall::Attribute &b) {
  return a.kind == b.kind && a.count == b.count && a.name == b.name && a.bytes == b.bytes;
}
bool same(const GraphCall &a, const GraphCall &b) {
  return a.make == b.make && a.name == b.name && a.operands == b.operands && a.numbers == b.numbers &&
         a.elements == b.elements &&
         std::equal(a.given.begin(), a.given.end(), b.given.begin(), b.given.end(), sameType) &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [](const auto &x, const auto &y) { return same(x, y); });
}

//===- Ops and constants --------------------------------------------------------------------------===//

/// False for kinds that calls do not hold.
static bool copyAttribute(const sinter_attr &from, GraphCall::Attribute &to) {
  to.name = from.name;
  to.kind = from.kind;
  to.count = from.count;
  auto copy = [&](const void *data, size_t bytes) {
    to.bytes.assign(static_cast<const char *>(data), static_cast<const char *>(data) + bytes);
    return true;
  };
  switch (from.kind) {
  case SINTER_ATTR_BOOL:
  case SINTER_ATTR_I64:
  case SINTER_ATTR_F64:
  case SINTER_ATTR_DTYPE:
    return copy(&from.i64, sizeof from.i64);
  case SINTER_ATTR_STRING:
    return copy(from.string, std::strlen(from.string) + 1);
  case SINTER_ATTR_I64S:
  case SINTER_ATTR_F64S:
    return copy(from.i64s, size_t(from.count) * sizeof *from.i64s);
  case SINTER_ATTR_BOOLS:
    return copy(from.bools, size_t(from.count));
  case SINTER_ATTR_TYPE: {
    sinter_value_type type{};
    type.dtype = from.type->dtype;
    type.rank = from.type->rank;
    std::copy_n(from.type->dims, type.rank, type.dims);
    return copy(&type, sizeof type);
  }
  default:
    return false;
  }
}

/// A view, valid while `from` stays where it is.
static sinter_attr lowered(const GraphCall::Attribute &from) {
  sinter_attr to{};
  to.name = from.name.c_str();
  to.kind = from.kind;
  to.count = from.count;
  const char *data = from.bytes.data();
  switch (from.kind) {
  case SINTER_ATTR_STRING:
    to.string = data;
    break;
  case SINTER_ATTR_I64S:
  case SINTER_ATTR_F64S:
    to.i64s = reinterpret_cast<const int64_t *>(data);
    break;
  case SINTER_ATTR_BOOLS:
    to.bools = reinterpret_cast<const uint8_t *>(data);
    break;
  case SINTER_ATTR_TYPE:
    to.type = reinterpret_cast<const sinter_value_type *>(data);
    break;
  default:
    std::memcpy(&to.i64, data, sizeof to.i64);
  }
  return to;
}

static int32_t count(const std::vector<uint32_t> &list) { return int32_t(list.size()); }
/// Appends the lists to the operands.
static void append(GraphCall &call, std::initializer_list<std::span<const uint32_t>> lists) {
  for (std::span<const uint32_t> list : lists)
    call.operands.insert(call.operands.end(), list.begin(), list.end());
}
static const char *orNull(const std::string &text) { return text.empty() ? nullptr : text.c_str(); }

bool opCall(GraphCall &call, const char *op, std::span<const uint32_t> operands,
            std::span<const sinter_attr> attributes, int32_t room) {
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    std::vector<sinter_attr> attributes;
    for (const GraphCall::Attribute &attribute : call.attributes)
      attributes.push_back(lowered(attribute));
    return sinter_graph_op(graph, call.name.c_str(), count(call.operands), call.operands.data(),
                           int32_t(attributes.size()), attributes.data(), call.room, results, made);
  };
  call.name = op;
  call.room = room;
  append(call, {operands});
  call.attributes.resize(attributes.size());
  for (size_t k = 0; k < attributes.size(); ++k)
    if (!copyAttribute(attributes[k], call.attributes[k]))
      return false;
  return true;
}

GraphCall constantCall(const sinter_tensor &tensor) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    const sinter_value_type &type = call.given[0];
    sinter_tensor tensor{};
    tensor.dtype = type.dtype;
    tensor.rank = type.rank;
    std::copy_n(type.dims, type.rank, tensor.dims);
    tensor.data = const_cast<char *>(call.elements.data());
    *made = 1;
    return sinter_graph_constant(graph, &tensor, results);
  };
  sinter_value_type &type = call.given.emplace_back();
  type.dtype = tensor.dtype;
  type.rank = tensor.rank;
  std::copy_n(tensor.dims, tensor.rank, type.dims);
  int64_t elements = 1;
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    elements *= tensor.dims[axis];
  auto *data = static_cast<const char *>(tensor.data);
  call.elements.assign(data, data + dtype_bytes(DType(tensor.dtype), elements));
  return call;
}

//===- Functions and regions ----------------------------------------------------------------------===//

GraphCall regionBegin(std::span<const sinter_value_type> arguments) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    *made = int32_t(call.given.size());
    return sinter_graph_region_begin(graph, *made, call.given.data(), results);
  };
  call.given.assign(arguments.begin(), arguments.end());
  call.room = int32_t(arguments.size());
  return call;
}

GraphCall regionEnd(std::span<const uint32_t> yields) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    *made = 1;
    return sinter_graph_region_end(graph, count(call.operands), call.operands.data(), results);
  };
  append(call, {yields});
  call.handles = 1;
  return call;
}

GraphCall functionBegin(const char *name, std::span<const sinter_value_type> arguments) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    *made = int32_t(call.given.size());
    std::vector<uint32_t> arguments(call.given.size() + 1); // so that there is one
    std::vector<sinter_value_type> types = call.given;
    types.emplace_back();
    sinter_status_code status =
        sinter_graph_begin(graph, call.name.c_str(), *made, types.data(), nullptr, arguments.data());
    std::copy_n(arguments.begin(), *made, results);
    return status;
  };
  call.name = name;
  call.given.assign(arguments.begin(), arguments.end());
  call.room = int32_t(arguments.size());
  return call;
}

GraphCall functionEnd(std::span<const uint32_t> results) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    *made = 1;
    int32_t function = 0;
    sinter_status_code status = sinter_graph_end(graph, count(call.operands), call.operands.data(), nullptr, &function);
    *results = uint32_t(function);
    return status;
  };
  append(call, {results});
  call.handles = 1;
  return call;
}

GraphCall gradientCall(uint32_t function, int mode, std::span<const int32_t> wrt, const std::string &memory) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    *made = 1;
    int32_t gradient = 0;
    sinter_gradient_options options{};
    options.struct_size = sizeof options;
    options.mode = int32_t(call.numbers[0]);
    options.memory = orNull(call.name);
    std::vector<int32_t> wrt(call.numbers.begin() + 1, call.numbers.end());
    sinter_status_code status =
        sinter_graph_gradient(graph, int32_t(call.operands[0]), int32_t(wrt.size()), wrt.data(), &options, &gradient);
    *results = uint32_t(gradient);
    return status;
  };
  call.name = memory;
  call.operands = {function};
  call.numbers = {mode};
  call.numbers.insert(call.numbers.end(), wrt.begin(), wrt.end());
  call.handles = 1;
  return call;
}

GraphCall functionCall(uint32_t function, std::span<const uint32_t> operands, int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    return sinter_graph_call(graph, int32_t(call.operands[0]), count(call.operands) - 1, call.operands.data() + 1,
                             call.room, results, made);
  };
  call.room = room;
  append(call, {std::span(&function, 1), operands});
  return call;
}

GraphCall externalCall(const std::string &name, std::span<const uint32_t> operands, std::span<const uint32_t> sizes,
                       std::span<const sinter_value_type> results) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    auto operands = size_t(call.numbers[0]);
    *made = int32_t(call.given.size());
    return sinter_graph_external(graph, call.name.c_str(), int32_t(operands), call.operands.data(),
                                 int32_t(call.operands.size() - operands), call.operands.data() + operands, *made,
                                 call.given.data(), results);
  };
  call.name = name;
  call.numbers = {int64_t(operands.size())};
  call.given.assign(results.begin(), results.end());
  call.room = int32_t(results.size());
  append(call, {operands, sizes});
  return call;
}

//===- Control flow -------------------------------------------------------------------------------===//

GraphCall condCall(uint32_t predicate, std::span<const uint32_t> regions, int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    return sinter_graph_cond(graph, call.operands[0], call.operands[1], call.operands[2], call.room, results, made);
  };
  call.room = room;
  append(call, {std::span(&predicate, 1), regions});
  return call;
}

GraphCall switchCall(uint32_t index, std::span<const uint32_t> regions, int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    return sinter_graph_switch(graph, call.operands[0], count(call.operands) - 1, call.operands.data() + 1, call.room,
                               results, made);
  };
  call.room = room;
  append(call, {std::span(&index, 1), regions});
  return call;
}

GraphCall joinCall(uint32_t predicate, uint32_t thenRegion, uint32_t elseRegion, int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    int32_t shared = 0;
    sinter_status_code status = sinter_graph_join(graph, call.operands[0], call.operands[1], call.operands[2],
                                                  call.room - 1, results + 1, made, &shared);
    *results = uint32_t(shared);
    ++*made;
    return status;
  };
  call.operands = {predicate, thenRegion, elseRegion};
  call.room = room + 1;
  call.handles = 1;
  return call;
}

GraphCall whileCall(std::span<const uint32_t> init, uint32_t cond, uint32_t body, const sinter_loop_options &options,
                    int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    sinter_loop_options options{};
    options.struct_size = sizeof options;
    options.max_trip = call.numbers[0];
    options.trap_at_limit = int32_t(call.numbers[1]);
    options.memory = orNull(call.name);
    size_t carries = call.operands.size() - 2;
    return sinter_graph_while(graph, int32_t(carries), call.operands.data(), call.operands[carries],
                              call.operands[carries + 1], &options, call.room, results, made);
  };
  call.name = options.memory ? options.memory : "";
  call.numbers = {options.max_trip, options.trap_at_limit};
  call.room = room;
  append(call, {init, std::span(&cond, 1), std::span(&body, 1)});
  return call;
}

GraphCall forCall(std::span<const uint32_t> bounds, std::span<const uint32_t> init, uint32_t body, const char *memory,
                  int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    sinter_loop_options options{};
    options.struct_size = sizeof options;
    options.memory = orNull(call.name);
    const uint32_t *bounds = call.operands.data();
    return sinter_graph_for_with(graph, bounds[0], bounds[1], bounds[2], count(call.operands) - 4, bounds + 3,
                                 call.operands.back(), &options, call.room, results, made);
  };
  call.name = memory ? memory : "";
  call.room = room;
  append(call, {bounds, init, std::span(&body, 1)});
  return call;
}

GraphCall scanCall(std::span<const uint32_t> init, std::span<const uint32_t> sequences, std::span<const int64_t> axes,
                   bool reverse, uint32_t body, const char *memory, int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    size_t sequences = call.numbers.size() - 1, carries = call.operands.size() - 1 - sequences;
    size_t stacks = size_t(call.room) - carries;
    std::vector<uint8_t> reverse(std::max(sequences, stacks) + 1, uint8_t(call.numbers.back()));
    std::vector<int64_t> outAxes(stacks + 1, 0);
    sinter_loop_options options{};
    options.struct_size = sizeof options;
    options.axes = call.numbers.data();
    options.reverse = reverse.data();
    options.out_axes = outAxes.data();
    options.out_reverse = reverse.data();
    options.memory = orNull(call.name);
    return sinter_graph_scan(graph, int32_t(carries), call.operands.data(), int32_t(sequences),
                             call.operands.data() + carries, call.operands.back(), &options, call.room, results, made);
  };
  call.name = memory ? memory : "";
  call.numbers.assign(axes.begin(), axes.end());
  call.numbers.push_back(reverse);
  call.room = room;
  append(call, {init, sequences, std::span(&body, 1)});
  return call;
}

GraphCall checkpointCall(uint32_t region, int32_t room) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    return sinter_graph_checkpoint(graph, call.operands[0], call.room, results, made);
  };
  call.operands = {region};
  call.room = room;
  return call;
}

GraphCall customVjpCall(std::span<const uint32_t> operands, int32_t results, uint32_t forward, uint32_t backward) {
  GraphCall call;
  call.make = [](sinter_graph *graph, const GraphCall &call, uint32_t *results, int32_t *made) {
    size_t taken = call.operands.size() - 2;
    return sinter_graph_custom_vjp(graph, int32_t(taken), call.operands.data(), call.room, call.operands[taken],
                                   call.operands[taken + 1], call.room, results, made);
  };
  call.room = results;
  append(call, {operands, std::span(&forward, 1), std::span(&backward, 1)});
  return call;
}

} // namespace sinter::inline SINTER_HOST::detail
