// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --device: the GPU that code runs on. Back ends read its number from SINTER_CUDA_DEVICE of the environment, which is
// the one place that says it, also without this program.

#include "tools/sinter/Command.h"
#include "tools/sinter/Sections.h"
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

using namespace sinter::tool;

static const std::string beforeNumber = "cuda:";

static std::string requireDevice(const std::string &text) {
  std::string number = text.starts_with(beforeNumber) ? text.substr(beforeNumber.size()) : "";
  bool isNumber = !number.empty() && number.size() < 5 && number.find_first_not_of("0123456789") == std::string::npos;
  return isNumber ? "" : "requires cuda:0 or another number of a GPU, got '" + text + "'";
}

void SharedOptions::addDeviceTo(CLI::App &command) {
  command
      .add_option("--device", device,
                  "GPU to run on, cuda:0 or another number; a model is compiled for it and the CPU, a module requires "
                  "code for it (default: the CPU, and the first GPU for code of a GPU)")
      ->check(CLI::Validator(requireDevice, "cuda:NUMBER"));
}

void SharedOptions::refuseDevice(const std::string &why) const {
  if (!device.empty())
    throw Stop(Exit::Usage, "--device has no effect on " + why);
}

std::string SharedOptions::targets() const {
  bool isGiven = std::find(compiling.begin(), compiling.end(), "--target") != compiling.end();
  return isGiven || device.empty() ? target : "cpu+cuda";
}

void SharedOptions::useDevice(const std::string &path) const {
  if (device.empty())
    return;
  setenv("SINTER_CUDA_DEVICE", device.substr(beforeNumber.size()).c_str(), 1);
  bool isLibrary = path.ends_with(".so");
  if (!isLibrary && !path.ends_with(".smod"))
    return; // compiled for it
  std::string refusal;
  bool isThere = false, isTaken = false;
  if (!isLibrary)
    for (const nlohmann::json &section : readSections(path, false, refusal))
      if (section.contains("back_end") && section["back_end"] == "cuda") {
        isThere = true;
        isTaken |= section["taken"].get<bool>();
      }
  if (!isThere)
    throw Stop(Exit::Unsupported, path + ": has no code for --device " + device + "; compile it for cpu+cuda");
  if (!isTaken)
    throw Stop(Exit::Unsupported, refusal.empty() ? path + ": --device " + device +
                                                        " does not run its code for cuda, which has a part for the CPU "
                                                        "alone that is taken instead"
                                                  : refusal);
}
