// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledForm.h"
#include "Functions.h"

namespace sinter::inline SINTER_HOST::detail {

CompiledForm::~CompiledForm() {
  if (sinter_session *session = idle.exchange(nullptr))
    sinter_session_destroy(session);
  for (sinter_session *session : rest)
    sinter_session_destroy(session);
}

sinter_session *CompiledForm::take() {
  if (sinter_session *session = idle.exchange(nullptr, std::memory_order_acquire))
    return session;
  {
    std::lock_guard guard(lock);
    if (!rest.empty()) {
      sinter_session *session = rest.back();
      rest.pop_back();
      return session;
    }
  }
  sinter_session_options options{};
  options.struct_size = sizeof(options);
  options.threads = threads;
  sinter_session *session = nullptr;
  if (sinter_session_create(module.handle(), 0, &options, &session))
    return nullptr;
  if (timesDevice && sinter_session_trace(session, 1)) { // the profile then has the device's kernels, too
    sinter_session_destroy(session);
    return nullptr;
  }
  return session;
}

void CompiledForm::give(sinter_session *session) {
  sinter_session *expected = nullptr;
  if (idle.compare_exchange_strong(expected, session, std::memory_order_release))
    return;
  std::lock_guard guard(lock);
  rest.push_back(session);
}

void CompiledForm::eachIdle(FunctionRef<void(sinter_session *)> f) {
  std::vector<sinter_session *> taken;
  if (sinter_session *session = idle.exchange(nullptr, std::memory_order_acquire))
    taken.push_back(session);
  {
    std::lock_guard guard(lock);
    taken.insert(taken.end(), rest.begin(), rest.end());
    rest.clear();
  }
  for (sinter_session *session : taken) {
    f(session);
    give(session);
  }
}

std::string explainChange(const CompiledForm *before, const CompiledForm &now) {
  if (!before)
    return "first call";
  std::string text;
  if (before->inputs.size() != now.inputs.size() || before->paths != now.paths)
    return "the structure of the arguments changed, from " + std::to_string(before->inputs.size()) + " to " +
           std::to_string(now.inputs.size()) + " tensors";
  for (size_t k = 0; k < now.inputs.size(); ++k)
    if (!(before->inputs[k] == now.inputs[k]))
      text += (text.empty() ? "" : ", ") + ("argument " + now.paths[k]) + " changed from " + before->inputs[k].str() +
              " to " + now.inputs[k].str();
  for (const auto &[path, value] : now.fixed)
    if (auto was = before->fixed.find(path); was != before->fixed.end() && was->second != value)
      text += (text.empty() ? "" : ", ") + ("argument " + path) + " changed from " + was->second + " to " + value;
  auto nameOf = [](const capi::EagerDevice *device) { return device ? device->name : std::string("cpu"); };
  if (before->ofArguments != now.ofArguments)
    text += (text.empty() ? "" : ", ") + ("the arguments' device changed from " + nameOf(before->ofArguments)) +
            " to " + nameOf(now.ofArguments);
  return text.empty() ? "a number or text in the arguments changed" : text;
}

void SiteForms::add(GraphScript &&script, const std::shared_ptr<CompiledForm> &form) {
  if (scripts.size() == kMaxScripts)
    scripts.pop_front();
  scripts.push_back({std::move(script), form});
}

namespace {
/// Never destroyed: threads that outlive main may look here.
struct Sites {
  std::mutex lock;
  std::map<std::string, std::shared_ptr<SiteForms>, std::less<>> byKey;
};
} // namespace

static Sites &sites() {
  static Sites &instance = *new Sites();
  return instance;
}

std::shared_ptr<SiteForms> findSite(Where where, const JitSite &site) {
  std::string key = place(where) + ":" + std::to_string(where.column()) + " ";
  key.append(reinterpret_cast<const char *>(&site.type), sizeof site.type);
  key += site.state;
  Sites &all = sites();
  std::lock_guard guard(all.lock);
  std::shared_ptr<SiteForms> &found = all.byKey[key];
  if (!found)
    found = std::make_shared<SiteForms>();
  return found;
}

void clearSites() {
  std::lock_guard guard(sites().lock);
  sites().byKey.clear();
}

} // namespace sinter::inline SINTER_HOST::detail
