// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/Backends.h"
#include "ir/Schedules.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

Machine::~Machine() = default;
BackendKind::~BackendKind() = default;

std::string Target::name() const {
  std::string text = host->name;
  for (const std::shared_ptr<const Machine> &device : devices)
    text += "+" + device->name;
  return text;
}

//===- Registry ------------------------------------------------------------------------------------===//

/// Made by the first that registers itself, whichever file that is in.
static std::vector<std::unique_ptr<BackendKind>> &kinds() {
  static std::vector<std::unique_ptr<BackendKind>> all;
  return all;
}

void schedule::registerBackend(std::unique_ptr<BackendKind> kind) {
  assert(!findBackend(kind->name()) && "two back ends of one name");
  assert((!kind->isHost() || llvm::none_of(kinds(), [](auto &other) { return other->isHost(); })) && "one host");
  auto place = llvm::upper_bound(kinds(), kind, [](auto &a, auto &b) { return a->name() < b->name(); });
  kinds().insert(place, std::move(kind));
}

ArrayRef<std::unique_ptr<BackendKind>> schedule::backendKinds() { return kinds(); }

const BackendKind *schedule::findBackend(StringRef name) {
  auto found = llvm::find_if(kinds(), [&](auto &kind) { return kind->name() == name; });
  return found == kinds().end() ? nullptr : found->get();
}

const HostKind &schedule::hostBackend() {
  auto found = llvm::find_if(kinds(), [](auto &kind) { return kind->isHost(); });
  assert(found != kinds().end() && "a program with a compiler holds a host's back end");
  return static_cast<const HostKind &>(**found);
}

static std::string backendNames() {
  return llvm::join(llvm::map_range(kinds(), [](auto &kind) { return kind->name(); }), ", ");
}

//===- Targets -------------------------------------------------------------------------------------===//

/// The parts of "cpu:skylake,+avx512f+cuda:sm_80": a sign behind a comma belongs to an extension.
static SmallVector<StringRef> splitParts(StringRef text) {
  SmallVector<StringRef> parts;
  size_t from = 0;
  for (size_t i = 1; i < text.size(); ++i)
    if (text[i] == '+' && text[i - 1] != ',') {
      parts.push_back(text.slice(from, i));
      from = i + 1;
    }
  parts.push_back(text.drop_front(from));
  return parts;
}

bool schedule::parseTarget(StringRef text, Target &target, std::string &error) {
  target = {};
  auto setHost = [&](StringRef name) {
    std::shared_ptr<const Machine> machine = hostBackend().parse(name, error);
    target.host = std::static_pointer_cast<const HostMachine>(machine);
    return machine != nullptr;
  };
  for (auto [i, part] : llvm::enumerate(splitParts(text))) {
    auto [name, rest] = part.split(':');
    if (part.empty() || part.ends_with(":")) {
      error = ("a target requires the name of a machine or of a back end, got '" + text + "'").str();
      return false;
    }
    const BackendKind *kind = findBackend(name);
    if (i == 0 && (!kind || kind->isHost())) {
      if (!setHost(kind ? rest : part))
        return false;
      continue;
    }
    if (!kind || kind->isHost()) {
      error = ("target '" + text + "' requires back ends of this compiler behind '+' (" + backendNames() + "), got '" +
               name + "'")
                  .str();
      return false;
    }
    if (llvm::any_of(target.devices, [&](const auto &device) { return &device->kind() == kind; })) {
      error = ("target '" + text + "' requires each back end once, got '" + name + "' twice").str();
      return false;
    }
    target.devices.push_back(kind->parse(rest, error));
    if (!target.devices.back())
      return false;
  }
  llvm::sort(target.devices, [](const auto &a, const auto &b) { return a->kind().name() < b->kind().name(); });
  return target.host || setHost("");
}

bool schedule::readTarget(ModuleOp module, Target &target, std::string &error) {
  target = {};
  Attribute host = module->getAttr(TargetAttr::moduleAttr), given = module->getAttr(kDevicesAttr);
  if (host) {
    target.host = std::static_pointer_cast<const HostMachine>(hostBackend().read(host, error));
    if (!target.host)
      return false;
  }
  if (!given)
    return true;
  auto devices = dyn_cast<DictionaryAttr>(given);
  if (!devices || !host) {
    error = kDevicesAttr.str() + " does not fit: it requires a dictionary, and a sinter.target beside it";
    return false;
  }
  for (NamedAttribute device : devices) {
    const BackendKind *kind = findBackend(device.getName());
    if (!kind || kind->isHost()) {
      error = (kDevicesAttr + " does not fit: it requires back ends beside the host's (of " + backendNames() +
               "), got '" + device.getName().getValue() + "'")
                  .str();
      return false;
    }
    target.devices.push_back(kind->read(device.getValue(), error));
    if (!target.devices.back())
      return false;
  }
  return true;
}

void schedule::writeTarget(ModuleOp module, const Target &target) {
  module->removeAttr(TargetAttr::moduleAttr);
  module->removeAttr(kDevicesAttr);
  if (!target.host)
    return;
  MLIRContext *context = module.getContext();
  module->setAttr(TargetAttr::moduleAttr, target.host->attribute(context));
  SmallVector<NamedAttribute> devices;
  for (const std::shared_ptr<const Machine> &device : target.devices)
    devices.emplace_back(StringAttr::get(context, device->kind().name()), device->attribute(context));
  if (!devices.empty())
    module->setAttr(kDevicesAttr, DictionaryAttr::get(context, devices));
}

Devices::Devices(const Target &target, int optLevel) {
  for (const std::shared_ptr<const Machine> &device : target.devices) {
    owned.push_back(device->kind().create(*device, optLevel));
    raw.push_back(owned.back().get());
  }
}
