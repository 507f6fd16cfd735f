// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/Targets.h"
#include "ir/Schedules.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Triple.h"

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

std::string sinter::requirementsOf(const cpu::Target &target) {
  StringRef required = target.requiredFeatures;
  StringRef kind = llvm::Triple(target.triple).isAArch64() ? "aarch64" : "x86-64";
  if (required.empty())
    return kind.str();
  return required.starts_with(kind) ? required.str() : (kind + " " + required).str();
}

/// What a target demands, to be compared in this order.
static std::tuple<int64_t, StringRef, size_t> demandsOf(const cpu::Target &target) {
  SmallVector<StringRef> words;
  StringRef(target.requiredFeatures).split(words, ' ', -1, /*KeepEmpty=*/false);
  StringRef level = words.empty() || !words.front().starts_with("x86-64") ? StringRef() : words.front();
  return {target.vectorBytes, level, words.size()};
}

bool sinter::parseTargets(StringRef text, std::vector<cpu::Target> &targets, std::string &error) {
  targets.clear();
  for (const std::string &name : splitTargets(text)) {
    cpu::Target target;
    if (!cpu::Target::parse(name, target, error))
      return false;
    for (const cpu::Target &other : targets)
      if (other.triple == target.triple && other.cpu == target.cpu && other.features == target.features) {
        error = "a list of targets requires different ones, got '" + name + "' after '" + other.name + "'";
        return false;
      }
    auto place = llvm::upper_bound(
        targets, target, [](const cpu::Target &a, const cpu::Target &b) { return demandsOf(a) < demandsOf(b); });
    targets.insert(place, std::move(target));
  }
  return true;
}

bool sinter::findTargets(ModuleOp module, StringRef text, std::vector<cpu::Target> &targets, std::string &error) {
  Attribute given = module->getAttr(TargetAttr::moduleAttr);
  auto own = dyn_cast_or_null<TargetAttr>(given);
  if (given && !own) {
    error = "sinter.target does not fit: it requires a #sinter.target";
    return false;
  }
  if (text.empty() && own) {
    targets.assign(1, cpu::Target::of(own));
    return true;
  }
  if (!parseTargets(text.empty() ? "native" : text, targets, error))
    return false;
  auto isOwn = [&](const cpu::Target &target) { return target.attribute(module.getContext()) == own; };
  if (!own || llvm::all_of(targets, isOwn))
    return true;
  error = ("target '" + text + "' does not fit text for '" + own.getName() +
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
