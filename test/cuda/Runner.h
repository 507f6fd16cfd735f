// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a kernel on the machine, without a driver between.
#pragma once

#include "test/cuda/machine/Machine.h"

#include <cstring>
#include <span>

namespace sinter::ptx {

class Runner {
public:
  explicit Runner(std::string_view text) : module(load(text, "k.ptx", memory)) {}

  /// A buffer on the device with these values.
  template <class T> uint64_t put(const std::vector<T> &values) {
    Region *region = memory.allocate(values.size() * sizeof(T),
                                     "allocation of " + std::to_string(values.size() * sizeof(T)) + " bytes");
    std::memcpy(region->data, values.data(), values.size() * sizeof(T));
    std::memset(region->valid, 1, values.size() * sizeof(T));
    return region->base;
  }
  /// A buffer of `bytes` that nobody wrote.
  uint64_t room(uint64_t bytes) {
    return memory.allocate(bytes, "allocation of " + std::to_string(bytes) + " bytes")->base;
  }
  template <class T> std::vector<T> get(uint64_t address, size_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), memory.holding(address, count * sizeof(T))->data, count * sizeof(T));
    return values;
  }
  template <class... P> Launch launch(std::string_view kernel, Dim3 grid, Dim3 block, P... params) {
    Launch l;
    l.module = module.get();
    l.code = module->find(kernel);
    l.memory = &memory;
    l.grid = grid;
    l.block = block;
    l.dynamicShared = dynamicShared;
    l.print = [this](std::string_view text) { printed += text; };
    auto add = [&](const auto &value) {
      size_t at = (l.params.size() + sizeof value - 1) / sizeof value * sizeof value;
      l.params.resize(at + sizeof value);
      std::memcpy(l.params.data() + at, &value, sizeof value);
    };
    (add(params), ...);
    execute(l);
    return l;
  }
  /// The report of the fault that the launch ends in, "" if it does not.
  template <class... P> std::string fault(std::string_view kernel, Dim3 grid, Dim3 block, P... params) {
    try {
      launch(kernel, grid, block, params...);
    } catch (const Fault &fault) {
      return fault.what();
    }
    return "";
  }

  Memory memory;
  std::unique_ptr<Module> module;
  uint32_t dynamicShared = 0;
  std::string printed;
};

const std::string kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

} // namespace sinter::ptx
