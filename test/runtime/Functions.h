// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hand-written compiled functions: what the CPU back end would emit, small enough to reason about.

#ifndef SINTER_TEST_RUNTIME_FUNCTIONS_H
#define SINTER_TEST_RUNTIME_FUNCTIONS_H

#include "runtime/sinter.h"
#include <cstdlib>
#include <string>
#include <vector>

namespace sinter::test {

/// A tensor view of floats.
inline sinter_tensor view(float *data, std::vector<int64_t> dims) {
  sinter_tensor tensor = {};
  tensor.data = data;
  tensor.dtype = SINTER_F32;
  tensor.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i)
    tensor.dims[i] = dims[i];
  return tensor;
}

inline std::string lastError() { return sinter_last_error(); }

/// A function description that tests may change: f32 inputs `x`, `y`, ..., outputs `a`, `b`, ...
struct Function {
  std::vector<std::vector<sinter_dim>> dims;
  std::vector<std::string> names;
  std::vector<sinter_tensor_type> types;
  std::vector<const char *> symbols;
  sinter_function function = {};

  Function(sinter_entry_fn entry, std::vector<std::vector<sinter_dim>> inputs,
           std::vector<std::vector<sinter_dim>> outputs, std::vector<const char *> symbolNames = {})
      : dims(inputs), symbols(std::move(symbolNames)) {
    dims.insert(dims.end(), outputs.begin(), outputs.end());
    for (size_t i = 0; i < dims.size(); ++i)
      names.push_back(std::string(1, static_cast<char>(i < inputs.size() ? 'x' + i : 'a' + (i - inputs.size()))));
    for (size_t i = 0; i < dims.size(); ++i)
      types.push_back({names[i].c_str(), SINTER_F32, static_cast<int32_t>(dims[i].size()), dims[i].data()});
    function.abi_version = SINTER_ABI_VERSION;
    function.struct_size = sizeof(sinter_function);
    function.name = "main";
    function.num_inputs = static_cast<int32_t>(inputs.size());
    function.num_outputs = static_cast<int32_t>(outputs.size());
    function.inputs = types.data();
    function.outputs = types.data() + inputs.size();
    function.num_symbols = static_cast<int32_t>(symbols.size());
    function.symbol_names = symbols.data();
    function.entry = entry;
    function.cpu_features = "";
  }
  Function(const Function &) = delete;
  Function &operator=(const Function &) = delete;
};

/// A session for one function.
struct Session {
  sinter_session *session = nullptr;
  sinter_status_code status;

  explicit Session(const Function &function, int32_t threads = 1, sinter_allocator allocator = {}, int32_t spinUs = 0,
                   sinter_executor executor = {}) {
    sinter_session_options options = {};
    options.struct_size = sizeof options;
    options.threads = threads;
    options.spin_us = spinUs;
    options.allocator = allocator;
    options.executor = executor;
    sinter_module *module;
    status = sinter_module_open_function(&function.function, nullptr, &module);
    if (status == SINTER_OK)
      status = sinter_session_create(module, 0, &options, &session);
    sinter_module_close(module); // the session holds it
  }
  ~Session() { sinter_session_destroy(session); }
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  operator sinter_session *() const { return session; }
};

/// An allocator that counts, and fails from the `failAfter`-th call on.
struct CountingAllocator {
  int calls = 0;
  int failAfter = 1 << 30;
  int64_t held = 0;

  sinter_allocator hooks() { return {allocate, free, this}; }

private:
  static void *allocate(void *user, size_t bytes, size_t alignment) {
    auto *self = static_cast<CountingAllocator *>(user);
    if (self->calls++ >= self->failAfter)
      return nullptr;
    self->held += static_cast<int64_t>(bytes);
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void free(void *user, void *pointer, size_t bytes) {
    static_cast<CountingAllocator *>(user)->held -= static_cast<int64_t>(bytes);
    std::free(pointer);
  }
};

} // namespace sinter::test

#endif
