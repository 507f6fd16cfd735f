// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GraphScript.h"
#include <algorithm>
#include <atomic>

namespace sinter::inline SINTER_HOST::detail {

static std::atomic<int64_t> graphs{0};

static void locate(sinter_graph *graph, Where where) {
  sinter_graph_location(graph, where.file_name(), int32_t(where.line()), int32_t(where.column()),
                        where.function_name());
}

int64_t ScriptedGraph::graphsMade() { return graphs; }

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
  script.arguments = known.arguments;
  std::copy(known.arguments.begin(), known.arguments.end(), arguments);
  for (size_t k = 0; k < known.arguments.size(); ++k) {
    types.resize(std::max<size_t>(types.size(), known.arguments[k] + 1));
    types[known.arguments[k]] = wanted[k];
  }
  return SINTER_OK;
}

sinter_status_code ScriptedGraph::makeReal() {
  ++graphs;
  if (sinter_status_code status = sinter_graph_create(&real))
    return status;
  GraphCall begin = functionBegin(name.c_str(), script.argumentTypes);
  script.arguments.assign(script.argumentTypes.size(), 0);
  int32_t count = 0;
  if (sinter_status_code status = begin.make(real, begin, script.arguments.data(), &count))
    return status;
  for (size_t k = 0; k < position; ++k) {
    GraphCall call = candidates.front()->calls[k];
    const std::vector<uint32_t> before = call.results;
    if (sinter_status_code status = make(call))
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
  std::copy(known.results.begin(), known.results.end(), results);
  for (size_t k = 0; k < known.types.size(); ++k) {
    uint32_t id = known.results[size_t(known.handles) + k];
    types.resize(std::max<size_t>(types.size(), id + 1));
    types[id] = known.types[k];
  }
  *count = int32_t(known.results.size());
  return true;
}

static constexpr const char *kMark = "mark", *kTruncate = "truncate"; // calls without `make`

/// Makes `call` in the graph and fills its results.
sinter_status_code ScriptedGraph::make(GraphCall &call) {
  call.results.assign(size_t(call.room), 0);
  if (call.name == kMark && !call.make) {
    call.results[0] = uint32_t(marks.size());
    marks.push_back(sinter_graph_mark(real));
    return SINTER_OK;
  }
  if (!call.make)
    return sinter_graph_truncate(real, marks[call.operands[0]]);
  locate(real, call.where);
  int32_t count = 0;
  if (sinter_status_code status = call.make(real, call, call.results.data(), &count))
    return status;
  call.results.resize(size_t(count));
  return SINTER_OK;
}

/// Makes `call`, which was answered, a part of the script.
void ScriptedGraph::keep(GraphCall &&call) {
  call.types.clear();
  for (size_t k = size_t(call.handles); k < call.results.size(); ++k)
    whole &= sinter_graph_value_type(real, call.results[k], &call.types.emplace_back()) == SINTER_OK;
  script.calls.push_back(std::move(call));
}

sinter_status_code ScriptedGraph::ask(GraphCall &&call, uint32_t *results, int32_t *count, Where where) {
  call.where = where;
  if (!real) {
    if (follow(call, results, count))
      return SINTER_OK;
    if (sinter_status_code status = makeReal())
      return status;
  }
  if (sinter_status_code status = make(call)) {
    whole = false; // a call that failed may have been noticed
    return status;
  }
  std::copy(call.results.begin(), call.results.end(), results);
  *count = int32_t(call.results.size());
  if (whole)
    keep(std::move(call));
  return SINTER_OK;
}

sinter_status_code ScriptedGraph::op(const char *op, std::span<const uint32_t> operands,
                                     std::span<const sinter_attr> attributes, int32_t room, uint32_t *results,
                                     int32_t *count, Where where) {
  if (whole) {
    GraphCall call;
    if (opCall(call, op, operands, attributes, room))
      return ask(std::move(call), results, count, where);
  }
  sinter_graph *direct = graph();
  if (!direct)
    return SINTER_RUNTIME_ERROR; // makeReal has said why
  locate(direct, where);
  return sinter_graph_op(direct, op, int32_t(operands.size()), operands.data(), int32_t(attributes.size()),
                         attributes.data(), room, results, count);
}

sinter_status_code ScriptedGraph::constant(const sinter_tensor &tensor, uint32_t *id, Where where) {
  int32_t count = 0;
  if (whole && !tensor.strides)
    return ask(constantCall(tensor), id, &count, where);
  sinter_graph *direct = graph();
  if (!direct)
    return SINTER_RUNTIME_ERROR; // makeReal has said why
  locate(direct, where);
  return sinter_graph_constant(direct, &tensor, id);
}

uint32_t ScriptedGraph::mark() {
  GraphCall call;
  call.name = kMark;
  call.handles = 1;
  uint32_t number = 0;
  int32_t count = 0;
  // Where no graph can be made the next call says so.
  return ask(std::move(call), &number, &count, Where::current()) ? 0 : number;
}

sinter_status_code ScriptedGraph::truncate(uint32_t mark) {
  if (real && mark >= marks.size())
    return SINTER_INVALID_ARGUMENT; // it could not be made
  GraphCall call;
  call.name = kTruncate;
  call.room = 0;
  call.operands = {mark};
  int32_t count = 0;
  uint32_t none = 0;
  return ask(std::move(call), &none, &count, Where::current());
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

} // namespace sinter::inline SINTER_HOST::detail
