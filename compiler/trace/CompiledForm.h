// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code of a jitted function for arguments of one signature, with its sessions, and what the same line of a program has
// compiled before.

#ifndef SINTER_TRACE_COMPILED_FORM_H
#define SINTER_TRACE_COMPILED_FORM_H

#include "There.h"
#include "Trace.h"
#include "jit.hpp"
#include <deque>
#include <map>
#include <mutex>

namespace sinter::inline SINTER_HOST::detail {

/// Code for arguments of one signature, with its sessions. Only `types` knows the C++ types of arguments and result.
class CompiledForm {
public:
  std::vector<const TreeOps *> types; // of the arguments, then the result
  std::string key;                    // of a site: what it was traced to
  bool isBare = false;                // it uses no tensors from outside
  std::vector<int64_t> signature;
  std::vector<TensorType> inputs; // of the arguments, then captured ones
  std::vector<std::string> paths;
  std::map<std::string, std::string> fixed; // numbers and texts in the arguments, by path
  std::vector<TensorType> outputs;
  const capi::EagerDevice *ofArguments = nullptr; // where some of them lie
  const capi::EagerDevice *device = nullptr;      // where these or captured ones lie, and results stay; null: the host
  Module module;
  int threads = 1;
  bool timesDevice = false;             // its sessions measure what runs on a device
  std::shared_ptr<void> prototype;      // of the result, with Tensor() for each output
  std::atomic<int64_t> calls{0}, ns{0}; // of a profile

  CompiledForm() = default;
  CompiledForm(const CompiledForm &) = delete;
  ~CompiledForm();

  /// A session that nobody uses, null with a message after an error.
  sinter_session *take();
  void give(sinter_session *session);
  /// Calls `f` on each session that nobody uses.
  void eachIdle(FunctionRef<void(sinter_session *)> f);

private:
  std::atomic<sinter_session *> idle{nullptr};
  std::mutex lock;
  std::vector<sinter_session *> rest;
};

/// "argument [0].w changed from f32[3] to f32[4]", for the log.
std::string explainChange(const CompiledForm *before, const CompiledForm &now);

/// What is compiled for a line and a function's type.
struct SiteForms {
  /// What a trace asked for that led to a form: several traces may be the same text.
  struct Known {
    GraphScript script;
    std::shared_ptr<CompiledForm> form;
  };
  std::mutex lock;
  std::vector<std::shared_ptr<CompiledForm>> forms;
  std::deque<Known> scripts; // the latest are the last
  static constexpr size_t kMaxScripts = 32;
  void add(GraphScript &&script, const std::shared_ptr<CompiledForm> &form);
};

std::shared_ptr<SiteForms> findSite(Where where, const JitSite &site);
/// Forgets all sites; who uses one holds it.
void clearSites();

} // namespace sinter::inline SINTER_HOST::detail

#endif
