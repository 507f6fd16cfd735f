// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Trace.h"
#include "TrainStep.h"

namespace sinter::inline SINTER_HOST::detail {

std::vector<KeptState> StepCore::State::kept() const {
  std::vector<KeptState> result;
  for (size_t k = 0; k < leaves.size(); ++k)
    result.push_back({names[k], leaves[k]});
  for (const auto &[name, value] : moments)
    result.push_back({name, value});
  return result;
}

/// Takes the states out of the session that has them.
void StepCore::State::fetch() {
  if (!current || !current->session)
    return;
  for (size_t k = 0; k < leaves.size(); ++k)
    leaves[k] = current->session->state(names[k], where);
  for (auto &[name, value] : moments)
    value = current->session->state(name, where);
}

void StepCore::model(AnyTree into) const {
  state_->fetch();
  into.setLeaves(state_->leaves);
}
Status StepCore::setModel(AnyTree from) {
  State &s = *state_;
  s.fetch();
  std::vector<Tensor> leaves = from.leaves();
  for (size_t k = 0; k < leaves.size(); ++k)
    if (k >= s.leaves.size() || !leaves[k].defined() || leaves[k].error() || !(leaves[k].type() == s.leaves[k].type()))
      return report(Error("set_model requires a model like the one that the step was made for", s.where));
  s.leaves = std::move(leaves);
  s.current = nullptr;
  return {};
}

std::vector<std::string> StepCore::states() const {
  std::vector<std::string> names;
  for (const KeptState &state : state_->kept())
    names.push_back(state.name);
  return names;
}
Tensor StepCore::state(const std::string &name, Where where) const {
  state_->fetch();
  for (const KeptState &state : state_->kept())
    if (state.name == name)
      return state.value;
  return fail(where, "a training step requires the name of a state, got '" + name + "'");
}
Status StepCore::setState(const std::string &name, const Tensor &value, Where where) {
  State &s = *state_;
  s.fetch();
  auto set = [&](Tensor &held) -> Status {
    if (!value.defined() || value.traced() || value.error() || !(value.type() == held.type()))
      return report(Error("set_state requires a tensor of type " + held.type().str() + " for '" + name + "', got " +
                              (value.defined() ? value.type().str() : std::string("none")),
                          where));
    held = value;
    s.current = nullptr;
    return {};
  };
  for (size_t k = 0; k < s.names.size(); ++k)
    if (s.names[k] == name)
      return set(s.leaves[k]);
  if (auto found = s.moments.find(name); found != s.moments.end())
    return set(found->second);
  return report(Error("a training step requires the name of a state, got '" + name + "'", where));
}
std::vector<std::string> StepCore::trained() const {
  return state_->known ? state_->weightNames() : std::vector<std::string>();
}

Status StepCore::save(const std::string &path, Where where) const {
  state_->fetch();
  std::vector<KeptState> all = state_->kept();
  std::vector<const char *> names;
  std::vector<sinter_tensor> views;
  for (const KeptState &state : all) {
    names.push_back(state.name.c_str());
    views.push_back(state.value.view());
  }
  if (sinter_status_code code = sinter_safetensors_write(path.c_str(), names.data(), views.data(), int32_t(all.size())))
    return report(Error(sinter_last_error(), where, StatusCode(code)));
  return {};
}

Status StepCore::load(const std::string &path, Where where) {
  State &s = *state_;
  s.fetch();
  sinter_safetensors *raw = nullptr;
  if (sinter_status_code code = sinter_safetensors_open(path.c_str(), &raw))
    return report(Error(sinter_last_error(), where, StatusCode(code)));
  std::unique_ptr<sinter_safetensors, void (*)(sinter_safetensors *)> file(raw, sinter_safetensors_close);
  std::vector<Tensor> values;
  std::vector<KeptState> all = s.kept();
  for (const KeptState &state : all) {
    sinter_tensor read{};
    if (sinter_status_code code = sinter_safetensors_read(raw, state.name.c_str(), &read))
      return report(Error(sinter_last_error(), where, StatusCode(code)));
    values.push_back(adoptTensor(read, where));
    if (!(values.back().type() == state.value.type()))
      return report(Error("'" + path + "' requires type " + state.value.type().str() + " for '" + state.name +
                              "', got " + values.back().type().str(),
                          where, StatusCode::corrupt));
  }
  if (!s.known)
    for (int32_t k = 0; k < sinter_safetensors_count(raw); ++k) {
      std::string name = sinter_safetensors_name(raw, k);
      sinter_tensor read{};
      if (sinter_status_code code = sinter_safetensors_read(raw, name.c_str(), &read))
        return report(Error(sinter_last_error(), where, StatusCode(code)));
      s.loaded[name] = adoptTensor(read, where);
    }
  for (size_t k = 0; k < s.leaves.size(); ++k)
    s.leaves[k] = values[k];
  size_t next = s.leaves.size();
  for (auto &[name, value] : s.moments)
    value = values[next++];
  s.current = nullptr;
  return {};
}

} // namespace sinter::inline SINTER_HOST::detail
