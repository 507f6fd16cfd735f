// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C functions that record graphs: null checks, then sinter_graph's methods.

#include "compiler/capi/Graph.h"
#include "ir/Ops.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::capi;

static sinter_status_code requireGraph(const sinter_graph *graph) {
  return graph ? SINTER_OK : invalid("call requires a graph, got null");
}

/// Checks an array of the caller.
template <typename T> static sinter_status_code requireArray(const T *values, int32_t count, const char *what) {
  if (count >= 0 && (values || count == 0))
    return SINTER_OK;
  return invalid(Twine(what) + " requires an array, got null or the count " + Twine(count));
}

template <typename T> static ArrayRef<T> arrayOf(const T *values, int32_t count) {
  return count > 0 ? ArrayRef<T>(values, static_cast<size_t>(count)) : ArrayRef<T>();
}

sinter_status_code sinter_graph_create(sinter_graph **graph) {
  if (!graph)
    return invalid("graph creation requires a place for the graph, got null");
  *graph = new sinter_graph();
  return SINTER_OK;
}

void sinter_graph_destroy(sinter_graph *graph) { delete graph; }

sinter_status_code sinter_graph_symbol(sinter_graph *graph, const char *name, sinter_dim *dim) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (!name || !*name || !dim)
    return invalid("symbol requires a name and a place for the dim, got null");
  auto [it, isNew] = graph->symbolByName.try_emplace(name, graph->symbols.size());
  if (isNew) {
    unsigned index = it->second;
    DimExpr size = graph->dims.symbol({SymbolSource::Kind::Size, Value(), static_cast<int64_t>(index)}, name);
    graph->symbols.push_back({size, name});
    graph->symbolByExpr[size.getOpaqueValue()] = index;
  }
  *dim = -1 - static_cast<sinter_dim>(it->second);
  return SINTER_OK;
}

const char *sinter_graph_dim_text(const sinter_graph *graph, sinter_dim dim) {
  if (!graph || dim >= 0 || dim == SINTER_DIM_UNKNOWN || static_cast<size_t>(-1 - dim) >= graph->symbols.size())
    return nullptr;
  return graph->symbols[static_cast<size_t>(-1 - dim)].text.c_str();
}

void sinter_graph_location(sinter_graph *graph, const char *file, int32_t line, int32_t column, const char *function) {
  if (!graph)
    return;
  MLIRContext *context = graph->context.get();
  if (!file) {
    graph->location = UnknownLoc::get(context);
    return;
  }
  Location place = FileLineColLoc::get(context, file, static_cast<unsigned>(std::max(line, 0)),
                                       static_cast<unsigned>(std::max(column, 0)));
  graph->location = function && *function ? Location(NameLoc::get(StringAttr::get(context, function), place)) : place;
}

sinter_status_code sinter_graph_value_type(sinter_graph *graph, sinter_value value, sinter_value_type *type) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (!type || value == 0 || value >= graph->values.size() || !graph->values[value].value)
    return invalid("type requires a value of the graph and a place, got " + Twine(value));
  const sinter_graph::ValueEntry &entry = graph->values[value];
  if (llvm::none_of(graph->frames, [&](const auto &frame) { return frame.serial == entry.frame; }))
    return invalid("type requires a value of an open function or region, got " + Twine(value) +
                   ", whose function or region has ended");
  *type = graph->typeOf(entry.value);
  return SINTER_OK;
}

int32_t sinter_graph_error_index(const sinter_graph *graph) { return graph ? graph->errorIndex : -1; }

//===- functions -------------------------------------------------------------------------------------===//

sinter_status_code sinter_graph_begin(sinter_graph *graph, const char *name, int32_t count,
                                      const sinter_value_type *types, const char *const *names,
                                      sinter_value *arguments) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->begin(name, count, types, names, arguments);
}

sinter_status_code sinter_graph_end(sinter_graph *graph, int32_t count, const sinter_value *results,
                                    const char *const *names, int32_t *function) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->end(count, results, names, function);
}

int32_t sinter_graph_num_functions(const sinter_graph *graph) {
  return graph ? static_cast<int32_t>(graph->functions.size()) : 0;
}

static sinter_status_code findFunction(const sinter_graph *graph, int32_t index,
                                       const sinter_graph::Function *&function) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (index < 0 || index >= sinter_graph_num_functions(graph) || !graph->functions[static_cast<size_t>(index)].op)
    return invalid("call requires a finished function, got " + Twine(index));
  function = &graph->functions[static_cast<size_t>(index)];
  return SINTER_OK;
}

sinter_status_code sinter_graph_function(const sinter_graph *graph, int32_t index, sinter_function_info *info) {
  const sinter_graph::Function *function;
  if (sinter_status_code status = findFunction(graph, index, function))
    return status;
  if (!info || info->struct_size < sizeof info->struct_size)
    return invalid("function info requires its struct_size");
  sinter_function_info full = {info->struct_size, static_cast<int32_t>(function->inputs.size()),
                               static_cast<int32_t>(function->outputs.size()),
                               static_cast<int32_t>(function->captures.size()), function->name.c_str()};
  std::memcpy(info, &full, std::min<size_t>(info->struct_size, sizeof full));
  return SINTER_OK;
}

static sinter_status_code describePort(ArrayRef<sinter_value_type> types, ArrayRef<std::string> names, int32_t index,
                                       const sinter_graph::Function &function, const char *kind,
                                       sinter_value_type *type, const char **name) {
  if (index < 0 || index >= static_cast<int32_t>(types.size()))
    return invalid("function '" + function.name + "' requires an " + kind + " index below " + Twine(types.size()) +
                   ", got " + Twine(index));
  if (type)
    *type = types[static_cast<size_t>(index)];
  if (name)
    *name = names[static_cast<size_t>(index)].c_str();
  return SINTER_OK;
}

sinter_status_code sinter_graph_input(sinter_graph *graph, int32_t index, int32_t input, sinter_value_type *type,
                                      const char **name) {
  const sinter_graph::Function *function;
  if (sinter_status_code status = findFunction(graph, index, function))
    return status;
  return describePort(function->inputs, function->inputNames, input, *function, "input", type, name);
}

sinter_status_code sinter_graph_output(sinter_graph *graph, int32_t index, int32_t output, sinter_value_type *type,
                                       const char **name) {
  const sinter_graph::Function *function;
  if (sinter_status_code status = findFunction(graph, index, function))
    return status;
  return describePort(function->outputs, function->outputNames, output, *function, "output", type, name);
}

sinter_status_code sinter_graph_call(sinter_graph *graph, int32_t function, int32_t num_operands,
                                     const sinter_value *operands, int32_t room, sinter_value *results,
                                     int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (sinter_status_code status = requireArray(operands, num_operands, "call"))
    return status;
  return graph->call(function, arrayOf(operands, num_operands), room, results, count);
}

//===- ops -------------------------------------------------------------------------------------------===//

sinter_status_code sinter_graph_constant(sinter_graph *graph, const sinter_tensor *tensor, sinter_value *value) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->constant(tensor, value);
}

sinter_status_code sinter_graph_constant_data(sinter_graph *graph, sinter_value value, sinter_tensor *view) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (!view || value == 0 || value >= graph->values.size() || !graph->values[value].value)
    return invalid("constant data requires a value of the graph and a place, got " + Twine(value));
  *view = {};
  auto constant = graph->values[value].value.getDefiningOp<ConstantOp>();
  if (!constant)
    return SINTER_OK;
  FailureOr<HostTensor> host = HostTensor::fromAttr(constant.getValue());
  if (failed(host))
    return invalid("constant data requires dense elements");
  graph->views.push_back(std::move(*host));
  const HostTensor &kept = graph->views.back();
  sinter_value_type type = graph->typeOf(graph->values[value].value);
  view->data = const_cast<char *>(kept.data());
  view->dtype = type.dtype;
  view->rank = type.rank;
  std::copy_n(type.dims, type.rank, view->dims);
  return SINTER_OK;
}

sinter_status_code sinter_graph_op(sinter_graph *graph, const char *op, int32_t num_operands,
                                   const sinter_value *operands, int32_t num_attrs, const sinter_attr *attrs,
                                   int32_t room, sinter_value *results, int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (!op)
    return invalid("an op requires a name, got null");
  if (sinter_status_code status = requireArray(operands, num_operands, op))
    return status;
  if (sinter_status_code status = requireArray(attrs, num_attrs, op))
    return status;
  return graph->record(op, arrayOf(operands, num_operands), arrayOf(attrs, num_attrs), room, results, count);
}

int64_t sinter_graph_num_ops(const sinter_graph *graph) { return graph ? graph->numOps : 0; }

//===- control flow ----------------------------------------------------------------------------------===//

sinter_status_code sinter_graph_region_begin(sinter_graph *graph, int32_t count, const sinter_value_type *types,
                                             sinter_value *arguments) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->regionBegin(count, types, arguments);
}

sinter_status_code sinter_graph_region_end(sinter_graph *graph, int32_t count, const sinter_value *yields,
                                           sinter_region *region) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->regionEnd(count, yields, region);
}

sinter_status_code sinter_graph_cond(sinter_graph *graph, sinter_value pred, sinter_region then_region,
                                     sinter_region else_region, int32_t room, sinter_value *results, int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->branches("cond", pred, {then_region, else_region}, room, results, count);
}

sinter_status_code sinter_graph_join(sinter_graph *graph, sinter_value pred, sinter_region then_region,
                                     sinter_region else_region, int32_t room, sinter_value *results, int32_t *count,
                                     int32_t *num_shared) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->join(pred, then_region, else_region, room, results, count, num_shared);
}

sinter_status_code sinter_graph_switch(sinter_graph *graph, sinter_value index, int32_t num_regions,
                                       const sinter_region *regions, int32_t room, sinter_value *results,
                                       int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (sinter_status_code status = requireArray(regions, num_regions, "switch"))
    return status;
  return graph->branches("switch", index, arrayOf(regions, num_regions), room, results, count);
}

static sinter_status_code recordLoop(sinter_graph *graph, sinter_graph::Loop &loop, const sinter_loop_options *options,
                                     int32_t room, sinter_value *results, int32_t *count) {
  if (!readOptions(options, loop.options))
    return invalid("loop options require their struct_size");
  return graph->loop(loop, room, results, count);
}

sinter_status_code sinter_graph_while(sinter_graph *graph, int32_t num_init, const sinter_value *init,
                                      sinter_region cond, sinter_region body, const sinter_loop_options *options,
                                      int32_t room, sinter_value *results, int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (sinter_status_code status = requireArray(init, num_init, "while"))
    return status;
  sinter_graph::Loop loop{sinter_graph::LoopKind::While};
  loop.init = arrayOf(init, num_init);
  loop.cond = cond;
  loop.body = body;
  return recordLoop(graph, loop, options, room, results, count);
}

sinter_status_code sinter_graph_for(sinter_graph *graph, sinter_value lower, sinter_value upper, sinter_value step,
                                    int32_t num_init, const sinter_value *init, sinter_region body, int32_t room,
                                    sinter_value *results, int32_t *count) {
  return sinter_graph_for_with(graph, lower, upper, step, num_init, init, body, nullptr, room, results, count);
}

sinter_status_code sinter_graph_for_with(sinter_graph *graph, sinter_value lower, sinter_value upper, sinter_value step,
                                         int32_t num_init, const sinter_value *init, sinter_region body,
                                         const sinter_loop_options *options, int32_t room, sinter_value *results,
                                         int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (sinter_status_code status = requireArray(init, num_init, "for"))
    return status;
  sinter_value bounds[] = {lower, upper, step};
  sinter_graph::Loop loop{sinter_graph::LoopKind::For};
  loop.bounds = bounds;
  loop.init = arrayOf(init, num_init);
  loop.body = body;
  return recordLoop(graph, loop, options, room, results, count);
}

sinter_status_code sinter_graph_scan(sinter_graph *graph, int32_t num_init, const sinter_value *init,
                                     int32_t num_sequences, const sinter_value *sequences, sinter_region body,
                                     const sinter_loop_options *options, int32_t room, sinter_value *results,
                                     int32_t *count) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  if (sinter_status_code status = requireArray(init, num_init, "scan"))
    return status;
  if (sinter_status_code status = requireArray(sequences, num_sequences, "scan"))
    return status;
  sinter_graph::Loop loop{sinter_graph::LoopKind::Scan};
  loop.init = arrayOf(init, num_init);
  loop.sequences = arrayOf(sequences, num_sequences);
  loop.body = body;
  return recordLoop(graph, loop, options, room, results, count);
}

int32_t sinter_graph_depth(const sinter_graph *graph) { return graph ? static_cast<int32_t>(graph->frames.size()) : 0; }

sinter_mark sinter_graph_mark(const sinter_graph *graph) { return graph ? graph->mark() : sinter_mark{}; }

sinter_status_code sinter_graph_truncate(sinter_graph *graph, sinter_mark mark) {
  if (sinter_status_code status = requireGraph(graph))
    return status;
  return graph->truncate(mark);
}
