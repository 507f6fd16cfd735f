// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that is traced again most often asks for the same as before. Then nothing has to be recorded: a script
// holds what a trace asked of its graph, call by call, with the answers, and a scripted graph gives these answers for
// as long as the calls are those of a script. At the first call that is another one it makes the graph, repeats in it
// what was asked so far, and goes on there. So a trace that follows a script to its end costs its comparisons, and one
// that does not is what it would have been.

#ifndef SINTER_TRACE_GRAPHSCRIPT_H
#define SINTER_TRACE_GRAPHSCRIPT_H

#include "GraphCalls.h"

namespace sinter::inline SINTER_HOST::detail {

struct GraphScript {
  std::vector<uint32_t> arguments;
  std::vector<sinter_value_type> argumentTypes;
  std::vector<GraphCall> calls;
  std::vector<uint32_t> outputs;
  std::string log; // what the trace took from the host (Trace::Captures)
};

/// A graph of one function that follows scripts of functions with the same arguments while it can.
class ScriptedGraph {
public:
  explicit ScriptedGraph(std::vector<const GraphScript *> known) : candidates(std::move(known)) {}
  ScriptedGraph(const ScriptedGraph &) = delete;
  ~ScriptedGraph();

  /// The graph itself, for whatever is not below. What is recorded is no script then. Null after an error.
  sinter_graph *graph();

  // As the C functions of these names.
  sinter_status_code begin(const char *name, std::span<const sinter_value_type> types, uint32_t *arguments);
  sinter_status_code valueType(uint32_t id, sinter_value_type *type);
  sinter_status_code op(const char *name, std::span<const uint32_t> operands, std::span<const sinter_attr> attributes,
                        int32_t room, uint32_t *results, int32_t *count, Where where);
  sinter_status_code constant(const sinter_tensor &tensor, uint32_t *id, Where where);
  sinter_status_code end(std::span<const uint32_t> outputs, const std::string &log, int32_t *function);

  /// Any other call; `results` has its room.
  sinter_status_code ask(GraphCall &&call, uint32_t *results, int32_t *count, Where where);

  /// A place to truncate to, as a number of this trace.
  uint32_t mark();
  sinter_status_code truncate(uint32_t mark);

  /// The script that was followed to its end, null where there is a graph.
  const GraphScript *followed() const { return real || candidates.empty() ? nullptr : candidates.front(); }
  /// True when `script` is all that was asked of the graph.
  bool isWhole() const { return real && whole; }
  GraphScript script;

  /// Graphs that all traces of the process have made so far.
  static int64_t graphsMade();

private:
  sinter_status_code makeReal();
  bool follow(const GraphCall &asked, uint32_t *results, int32_t *count);
  sinter_status_code make(GraphCall &call);
  void keep(GraphCall &&call);

  std::vector<const GraphScript *> candidates; // that agree with all calls so far
  size_t position = 0;                         // calls so far
  std::string name;
  std::vector<sinter_value_type> types; // by the numbers of values, while there is no graph
  sinter_graph *real = nullptr;
  std::vector<sinter_mark> marks; // in it
  bool whole = true;
};

} // namespace sinter::inline SINTER_HOST::detail

#endif
