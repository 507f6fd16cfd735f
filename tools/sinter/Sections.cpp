// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Sections.h"
#include "runtime/driver.h"
#include "runtime/smod.h"
#include "tools/sinter/Command.h"
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

using namespace sinter::tool;
using nlohmann::json;

static std::string kindName(uint32_t kind) {
  return kind == SINTER_SMOD_MANIFEST ? "manifest"
         : kind == SINTER_SMOD_CODE   ? "code"
         : kind == SINTER_SMOD_PTX    ? "ptx"
                                      : "weights";
}

json sinter::tool::readSections(const std::string &path, bool digests, std::string &refusal) {
  sinter_smod *opened;
  if (sinter_smod_open(path.c_str(), &opened) != SINTER_OK)
    throw Stop(Exit::Failure, sinter_last_error());
  std::unique_ptr<sinter_smod, decltype(&sinter_smod_close)> smod(opened, sinter_smod_close);
  int32_t taken = -1;
  if (sinter_smod_choose(smod.get(), &taken) != SINTER_OK)
    refusal = sinter_last_error();
  json list = json::array();
  for (int32_t i = 0; i < sinter_smod_count(smod.get()); ++i) {
    const sinter_smod_section &section = *sinter_smod_section_at(smod.get(), i);
    json entry = {{"kind", kindName(section.kind)}, {"bytes", section.bytes}};
    if (section.kind == SINTER_SMOD_CODE) {
      entry["back_end"] = section.back_end;
      entry["requirements"] = section.requirements;
      // Code of a device goes with the host's of the same priority.
      bool isDevice = section.back_end != std::string("cpu");
      entry["taken"] = i == taken || (isDevice && taken >= 0 &&
                                      section.priority == sinter_smod_section_at(smod.get(), taken)->priority);
      if (isDevice)
        entry["driver"] = sinter_driver_find(section.back_end) != nullptr;
      int64_t read = 0;
      for (int32_t r = 0; r < section.num_ranges; ++r)
        read += section.ranges[r].bytes;
      if (section.num_ranges)
        entry["weight_bytes"] = read;
    }
    if (digests) {
      char text[65];
      sinter_sha256(section.data, section.bytes, text);
      entry["sha256"] = text;
      entry["sha256_stated"] = section.has_sha256 != 0;
    }
    list.push_back(entry);
  }
  return list;
}

std::string sinter::tool::digestOf(const std::string &path, const std::string &expected) {
  if (!expected.empty() &&
      (expected.size() != 64 || expected.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos))
    throw Stop(Exit::Usage, "--expect-sha256 requires 64 hexadecimal digits, got '" + expected + "'");
  char text[65];
  if (sinter_sha256_file(path.c_str(), text) != SINTER_OK)
    throw Stop(Exit::File, sinter_last_error());
  std::string wanted = expected;
  for (char &c : wanted)
    c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  if (!wanted.empty() && wanted != text)
    throw Stop(Exit::Damage, path + ": requires the SHA-256 " + wanted + ", got " + text);
  return text;
}

void sinter::tool::printSections(const json &sections) {
  for (const json &section : sections) {
    std::cout << "  section " << section["kind"].get<std::string>();
    if (section.contains("back_end"))
      std::cout << " " << section["back_end"].get<std::string>() << " (" << section["requirements"].get<std::string>()
                << ")";
    std::cout << ": " << section["bytes"] << " bytes";
    if (section.contains("weight_bytes"))
      std::cout << ", reads " << section["weight_bytes"] << " bytes of the weights";
    if (!section.value("driver", true))
      std::cout << ", no driver here";
    if (section.value("taken", false))
      std::cout << ", taken by this machine";
    if (section.contains("sha256"))
      std::cout << "\n    sha256 " << section["sha256"].get<std::string>()
                << (section["sha256_stated"].get<bool>() ? ", as it states" : "");
    std::cout << "\n";
  }
}
