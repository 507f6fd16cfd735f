// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphScript.h"
#include "dtype.hpp"
#include <algorithm>
#include <cstring>

namespace sinter::inline SINTER_HOST::detail {

static bool sameType(const sinter_value_type &a, const sinter_value_type &b) {
  return a.dtype == b.dtype && a.rank == b.rank && std::equal(a.dims, a.dims + a.rank, b.dims);
}
static bool same(const GraphCall::Attribute &a, const GraphCall::Attribute &b) {
  return a.kind == b.kind && a.count == b.count && a.name == b.name && a.bytes == b.bytes;
}
static bool same(const GraphCall &a, const GraphCall &b) {
  return a.op == b.op && a.operands == b.operands && sameType(a.type, b.type) && a.elements == b.elements &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(), b.attributes.end(),
                    [](const auto &x, const auto &y) { return same(x, y); });
}

/// False for kinds that scripts do not hold.
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

ScriptedGraph::~ScriptedGraph() { sinter_graph_destroy(real); }

sinter_graph *ScriptedGraph::graph() {
  whole = false;
  return real || !makeReal() ? real : nullptr;
}

sinter_status_code ScriptedGraph::begin(const char *function, std::span<const sinter_value_type> wanted,
                                        uint32_t *arguments) {
  name = function;
  script.argumentTypes.assign(wanted.begin(), wanted.end());
  std::erase_if(candidates, [&](const GraphScript *known) {
    return !std::equal(wanted.begin(), wanted.end(), known->argumentTypes.begin(), known->argumentTypes.end(),
                       sameType);
  });
  if (candidates.empty()) {
    if (sinter_status_code status = makeReal())
      return status;
    std::copy(script.arguments.begin(), script.arguments.end(), arguments);
    return SINTER_OK;
  }
  const GraphScript &known = *candidates.front();
  script.begin = known.begin;
  script.arguments = known.arguments;
  std::copy(known.arguments.begin(), known.arguments.end(), arguments);
  for (size_t k = 0; k < known.arguments.size(); ++k) {
    types.resize(std::max<size_t>(types.size(), known.arguments[k] + 1));
    types[known.arguments[k]] = wanted[k];
  }
  return SINTER_OK;
}

sinter_status_code ScriptedGraph::makeReal() {
  if (sinter_status_code status = sinter_graph_create(&real))
    return status;
  script.arguments.assign(script.argumentTypes.size(), 0);
  std::vector<uint32_t> ids(script.arguments.size() + 1);
  std::vector<sinter_value_type> wanted = script.argumentTypes;
  wanted.emplace_back(); // so that there is one
  if (sinter_status_code status =
          sinter_graph_begin(real, name.c_str(), int32_t(script.arguments.size()), wanted.data(), nullptr, ids.data()))
    return status;
  std::copy_n(ids.begin(), script.arguments.size(), script.arguments.begin());
  script.begin = sinter_graph_mark(real);
  for (size_t k = 0; k < position; ++k) {
    GraphCall call = candidates.front()->calls[k];
    const std::vector<uint32_t> before = call.results;
    if (sinter_status_code status = ask(call))
      return status;
    if (call.results != before)
      return sinter_set_error(SINTER_RUNTIME_ERROR, "a graph numbers values in another way than before");
    keep(std::move(call));
  }
  return SINTER_OK;
}

sinter_status_code ScriptedGraph::valueType(uint32_t id, sinter_value_type *type) {
  if (real)
    return sinter_graph_value_type(real, id, type);
  *type = id < types.size() ? types[id] : sinter_value_type{};
  return SINTER_OK;
}

/// Answers a call as the scripts do that ask it now; false when none does.
bool ScriptedGraph::follow(const GraphCall &asked, uint32_t *results, int32_t *count) {
  auto differs = [&](const GraphScript *known) {
    return position >= known->calls.size() || !same(known->calls[position], asked);
  };
  if (std::all_of(candidates.begin(), candidates.end(), differs))
    return false; // they hold what was asked so far
  std::erase_if(candidates, differs);
  const GraphCall &known = candidates.front()->calls[position++];
  for (size_t k = 0; k < known.results.size(); ++k) {
    results[k] = known.results[k];
    types.resize(std::max<size_t>(types.size(), results[k] + 1));
    types[results[k]] = known.types[k];
  }
  *count = int32_t(known.results.size());
  return true;
}

/// Records `call` in the graph and fills its results.
sinter_status_code ScriptedGraph::ask(GraphCall &call) {
  sinter_graph_location(real, call.where.file_name(), int32_t(call.where.line()), int32_t(call.where.column()),
                        call.where.function_name());
  call.results.assign(16, 0);
  int32_t count = 1;
  if (call.op.empty()) {
    sinter_tensor tensor{};
    tensor.dtype = call.type.dtype;
    tensor.rank = call.type.rank;
    std::copy_n(call.type.dims, call.type.rank, tensor.dims);
    tensor.data = call.elements.data();
    if (sinter_status_code status = sinter_graph_constant(real, &tensor, call.results.data()))
      return status;
  } else {
    std::vector<sinter_attr> attributes;
    for (const GraphCall::Attribute &attribute : call.attributes)
      attributes.push_back(lowered(attribute));
    if (sinter_status_code status =
            sinter_graph_op(real, call.op.c_str(), int32_t(call.operands.size()), call.operands.data(),
                            int32_t(attributes.size()), attributes.data(), 16, call.results.data(), &count))
      return status;
  }
  call.results.resize(size_t(count));
  return SINTER_OK;
}

/// Makes `call`, which was answered, a part of the script.
void ScriptedGraph::keep(GraphCall &&call) {
  call.types.clear();
  for (uint32_t id : call.results)
    whole &= sinter_graph_value_type(real, id, &call.types.emplace_back()) == SINTER_OK;
  script.calls.push_back(std::move(call));
}

sinter_status_code ScriptedGraph::op(const char *op, std::span<const uint32_t> operands,
                                     std::span<const sinter_attr> attributes, int32_t room, uint32_t *results,
                                     int32_t *count, Where where) {
  GraphCall call;
  bool isHeld = whole;
  if (isHeld) {
    call.op = op;
    call.operands.assign(operands.begin(), operands.end());
    call.attributes.resize(attributes.size());
    call.where = where;
    for (size_t k = 0; k < attributes.size(); ++k)
      isHeld = isHeld && copyAttribute(attributes[k], call.attributes[k]);
  }
  if (!real) {
    if (isHeld && follow(call, results, count))
      return SINTER_OK;
    if (sinter_status_code status = makeReal())
      return status;
  }
  whole = isHeld;
  sinter_graph_location(real, where.file_name(), int32_t(where.line()), int32_t(where.column()), where.function_name());
  if (sinter_status_code status = sinter_graph_op(real, op, int32_t(operands.size()), operands.data(),
                                                  int32_t(attributes.size()), attributes.data(), room, results, count))
    return status;
  if (whole) {
    call.results.assign(results, results + *count);
    keep(std::move(call));
  }
  return SINTER_OK;
}

sinter_status_code ScriptedGraph::constant(const sinter_tensor &tensor, uint32_t *id, Where where) {
  GraphCall call;
  call.type.dtype = tensor.dtype;
  call.type.rank = tensor.rank;
  std::copy_n(tensor.dims, tensor.rank, call.type.dims);
  int64_t count = 1;
  for (int32_t axis = 0; axis < tensor.rank; ++axis)
    count *= tensor.dims[axis];
  auto *data = static_cast<const char *>(tensor.data);
  call.elements.assign(data, data + (tensor.strides ? 0 : dtype_bytes(DType(tensor.dtype), count)));
  call.where = where;
  int32_t given = 1;
  if (!real) {
    if (!tensor.strides && follow(call, id, &given))
      return SINTER_OK;
    if (sinter_status_code status = makeReal())
      return status;
  }
  whole = whole && !tensor.strides;
  sinter_graph_location(real, where.file_name(), int32_t(where.line()), int32_t(where.column()), where.function_name());
  if (sinter_status_code status = sinter_graph_constant(real, &tensor, id))
    return status;
  if (whole) {
    call.results = {*id};
    keep(std::move(call));
  }
  return SINTER_OK;
}

sinter_status_code ScriptedGraph::end(std::span<const uint32_t> outputs, const std::string &log, int32_t *function) {
  if (!real) {
    auto differs = [&](const GraphScript *known) {
      return position != known->calls.size() || known->log != log ||
             !std::equal(outputs.begin(), outputs.end(), known->outputs.begin(), known->outputs.end());
    };
    if (!std::all_of(candidates.begin(), candidates.end(), differs)) {
      std::erase_if(candidates, differs);
      *function = 0;
      return SINTER_OK;
    }
    if (sinter_status_code status = makeReal())
      return status;
  }
  script.outputs.assign(outputs.begin(), outputs.end());
  script.log = log;
  return sinter_graph_end(real, int32_t(outputs.size()), outputs.data(), nullptr, function);
}

sinter_mark ScriptedGraph::mark() { return real ? sinter_graph_mark(real) : script.begin; }

} // namespace sinter::inline SINTER_HOST::detail
