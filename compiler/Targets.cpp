// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;

llvm::SmallVector<std::string> sinter::splitTargets(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ',');
  SmallVector<std::string> names;
  for (StringRef word : words) {
    word = word.trim();
    if (!names.empty() && (word.starts_with("+") || word.starts_with("-")))
      names.back() += ("," + word).str();
    else
      names.push_back(word.str());
  }
  return names;
}

/// What a target demands, to be compared in this order.
static std::vector<int64_t> demandsOf(const schedule::Target &target) {
  std::vector<int64_t> demands = {static_cast<int64_t>(target.devices.size())};
  for (const auto &device : target.devices)
    llvm::append_range(demands, device->demands);
  llvm::append_range(demands, target.host->demands);
  return demands;
}

static bool haveSameCode(const schedule::Target &a, const schedule::Target &b) {
  return a.host->code == b.host->code && llvm::equal(a.devices, b.devices, [](const auto &one, const auto &other) {
           return &one->kind() == &other->kind() && one->code == other->code;
         });
}

bool sinter::parseTargets(StringRef text, std::vector<schedule::Target> &targets, std::string &error) {
  targets.clear();
  for (const std::string &name : splitTargets(text)) {
    schedule::Target target;
    if (!schedule::parseTarget(name, target, error))
      return false;
    for (const schedule::Target &other : targets)
      if (haveSameCode(other, target)) {
        error = "a list of targets requires different ones, got '" + name + "' after '" + other.name() + "'";
        return false;
      }
    auto place = llvm::upper_bound(targets, target, [](const schedule::Target &a, const schedule::Target &b) {
      return demandsOf(a) < demandsOf(b);
    });
    targets.insert(place, std::move(target));
  }
  SmallVector<std::shared_ptr<const schedule::HostMachine>> hosts;
  for (const schedule::Target &target : targets)
    hosts.push_back(target.host);
  schedule::hostBackend().shareConstants(hosts);
  for (auto [target, host] : llvm::zip(targets, hosts))
    target.host = std::move(host);
  return true;
}

bool sinter::findTargets(ModuleOp module, StringRef text, std::vector<schedule::Target> &targets, std::string &error) {
  schedule::Target own;
  if (!schedule::readTarget(module, own, error))
    return false;
  if (text.empty() && own.host) {
    targets.assign(1, own);
    return true;
  }
  if (!parseTargets(text.empty() ? "native" : text, targets, error))
    return false;
  MLIRContext *context = module.getContext();
  auto isOwn = [&](const schedule::Target &target) {
    return target.host->attribute(context) == own.host->attribute(context) &&
           llvm::equal(target.devices, own.devices, [&](const auto &a, const auto &b) {
             return &a->kind() == &b->kind() && a->attribute(context) == b->attribute(context);
           });
  };
  if (!own.host || llvm::all_of(targets, isOwn))
    return true;
  error = ("target '" + text + "' does not fit text for '" + own.name() +
           "': leave the target out, or take sinter.target and the schedules out of the text")
              .str();
  return false;
}

static bool sameTensors(ArrayRef<schedule::Signature::Tensor> one, ArrayRef<schedule::Signature::Tensor> other) {
  return llvm::equal(one, other, [](const auto &a, const auto &b) {
    return a.name == b.name && a.elementType == b.elementType && a.dims == b.dims;
  });
}

bool sinter::haveSameSignatures(ArrayRef<schedule::Signature> one, ArrayRef<schedule::Signature> other,
                                std::string &error) {
  if (one.size() != other.size()) {
    error =
        ("code for two targets requires the same functions, got " + Twine(one.size()) + " and " + Twine(other.size()))
            .str();
    return false;
  }
  for (auto [a, b] : llvm::zip(one, other)) {
    const char *what = a.name != b.name                     ? "name"
                       : !sameTensors(a.inputs, b.inputs)   ? "inputs"
                       : !sameTensors(a.outputs, b.outputs) ? "outputs"
                       : a.symbols != b.symbols             ? "symbols"
                       : !llvm::equal(a.states, b.states,
                                      [](const auto &s, const auto &t) {
                                        return s.name == t.name && s.input == t.input && s.output == t.output &&
                                               s.initial == t.initial;
                                      })
                           ? "states"
                           : nullptr;
    if (what) {
      error = "code for two targets requires functions that are alike, got other " + std::string(what) + " of '" +
              a.name + "'";
      return false;
    }
  }
  return true;
}
