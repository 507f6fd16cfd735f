// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a trace asks of its graph, as data: a call can be compared with another one and made again in another graph
// (GraphScript.h).

#ifndef SINTER_TRACE_GRAPHCALLS_H
#define SINTER_TRACE_GRAPHCALLS_H

#include "error.hpp"
#include <span>
#include <vector>

namespace sinter::inline SINTER_HOST::detail {

struct GraphCall {
  struct Attribute {
    std::string name;
    int32_t kind = 0, count = 0;
    std::vector<char> bytes; // the number, or what the pointer points to
  };
  /// Makes the call in a graph, from nothing but what stands here; `results` has place for `room`.
  using Make = sinter_status_code (*)(sinter_graph *, const GraphCall &, uint32_t *results, int32_t *count);

  Make make = nullptr;
  std::string name{};               // of an op or a function; what a loop or gradient keeps
  std::vector<uint32_t> operands{}; // values, then regions and functions
  std::vector<int64_t> numbers{};
  std::vector<sinter_value_type> given{}; // types of arguments, results or a constant
  int32_t room = 1;
  int32_t handles = 0; // so many of the results, the first ones, are regions or functions instead of values
  std::vector<Attribute> attributes{};
  std::vector<char> elements{}; // of a constant

  // What it gave.
  std::vector<uint32_t> results{};
  std::vector<sinter_value_type> types{}; // of the results that are values
  Where where{};
};

/// Whether both ask the same.
bool same(const GraphCall &a, const GraphCall &b);
bool sameType(const sinter_value_type &a, const sinter_value_type &b);

// The calls. Each stands for the C function of its name, after sinter_graph_.

/// False when it has an attribute of a kind that calls do not hold.
bool opCall(GraphCall &call, const char *op, std::span<const uint32_t> operands,
            std::span<const sinter_attr> attributes, int32_t room);
/// Of dense elements.
GraphCall constantCall(const sinter_tensor &tensor);
GraphCall regionBegin(std::span<const sinter_value_type> arguments);
/// The result is the region.
GraphCall regionEnd(std::span<const uint32_t> yields);
GraphCall functionBegin(const char *name, std::span<const sinter_value_type> arguments);
/// The result is the function.
GraphCall functionEnd(std::span<const uint32_t> results);
GraphCall condCall(uint32_t predicate, std::span<const uint32_t> regions, int32_t room);
GraphCall switchCall(uint32_t index, std::span<const uint32_t> regions, int32_t room);
/// The first result is the number of ops that are shared.
GraphCall joinCall(uint32_t predicate, uint32_t thenRegion, uint32_t elseRegion, int32_t room);
/// Of `options` max_trip, trap_at_limit and memory count.
GraphCall whileCall(std::span<const uint32_t> init, uint32_t cond, uint32_t body, const sinter_loop_options &options,
                    int32_t room);
GraphCall forCall(std::span<const uint32_t> bounds, std::span<const uint32_t> init, uint32_t body, const char *memory,
                  int32_t room);
/// All sequences along `axes`, all stacks along axis 0.
GraphCall scanCall(std::span<const uint32_t> init, std::span<const uint32_t> sequences, std::span<const int64_t> axes,
                   bool reverse, uint32_t body, const char *memory, int32_t room);
GraphCall checkpointCall(uint32_t region, int32_t room);
GraphCall customVjpCall(std::span<const uint32_t> operands, int32_t results, uint32_t forward, uint32_t backward);
/// The result is the function.
GraphCall gradientCall(uint32_t function, int mode, std::span<const int32_t> wrt, const std::string &memory);
GraphCall functionCall(uint32_t function, std::span<const uint32_t> operands, int32_t room);
GraphCall externalCall(const std::string &name, std::span<const uint32_t> operands, std::span<const uint32_t> sizes,
                       std::span<const sinter_value_type> results);

} // namespace sinter::inline SINTER_HOST::detail

#endif
