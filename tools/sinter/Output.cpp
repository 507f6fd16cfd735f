// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is checked before anything is done: that an output may take the place of what has its name now.

#include "compiler/onnx/ExternalFiles.h"
#include "tools/sinter/Command.h"
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace sinter;
using namespace sinter::tool;
namespace fs = std::filesystem;

static bool beginsWith(const std::string &bytes, const std::string &magic) { return bytes.starts_with(magic); }

/// Whether a file that begins with these bytes is one that was written as `kind`, as far as that shows.
static bool isOfKind(const std::string &bytes, Kind kind) {
  using namespace std::string_literals;
  bool isText = bytes.find('\0') == std::string::npos;
  switch (kind) {
  case Kind::Module:
    return beginsWith(bytes, "SMOD");
  case Kind::Elf:
    return beginsWith(bytes, "\x7f"
                             "ELF");
  case Kind::Archive:
    return beginsWith(bytes, "!<arch>\n");
  case Kind::Graph:
    return beginsWith(bytes, "\x8fSINTER\n");
  case Kind::Npy:
    return beginsWith(bytes, "\x93NUMPY");
  case Kind::Safetensors:
    return bytes.size() > 8 && bytes[8] == '{';
  case Kind::Onnx: // a protobuf message has no magic: the key of one of a model's fields
    return std::string("\x08\x12\x1a\x22\x2a\x32\x3a\x42\x72\xa2\xca").find(bytes[0]) != std::string::npos;
  case Kind::Csv:
    return beginsWith(bytes, "step,loss");
  case Kind::Svg:
    return beginsWith(bytes, "<svg") || beginsWith(bytes, "<?xml");
  case Kind::Header:
    return beginsWith(bytes, "// Made by sinter.");
  case Kind::Schedules:
    return beginsWith(bytes, "sinter-schedules ");
  case Kind::Text:
    return isText;
  }
  return false;
}

static const char *describe(Kind kind) {
  static constexpr std::array names{"text",         "a module",       "an ELF file",          "an archive",
                                    "a graph",      "an ONNX model",  "an npy file",          "a safetensors file",
                                    "a loss curve", "an SVG picture", "a header of sinter's", "a file of schedules"};
  return names[static_cast<size_t>(kind)];
}

void sinter::tool::requireWritable(const std::string &output, const std::vector<std::string> &inputs, Kind kind,
                                   bool force, const std::string &flag) {
  std::error_code error;
  fs::file_status status = fs::status(output, error); // of what a link leads to: that is what is written
  bool exists = fs::exists(status);
  if (exists && !fs::is_regular_file(status))
    throw Stop(Exit::File, output + ": " + flag + " requires the name of a regular file, found " +
                               (fs::is_directory(status) ? "a folder" : "a device, pipe or socket"));
  for (const std::string &input : inputs)
    if (exists && fs::exists(input, error) && fs::equivalent(output, input, error))
      throw Stop(Exit::File, output + ": " + flag + " requires another file than " +
                                 (input == inputs.front() ? "the model" : "the input " + input));
  // A model's weights may lie in other files.
  if (exists && !inputs.empty() && inputs.front().ends_with(".onnx"))
    for (const std::string &file : onnx::externalFilesOf(inputs.front()))
      if (fs::exists(file, error) && fs::equivalent(output, file, error))
        throw Stop(Exit::File,
                   output + ": " + flag + " requires another file than " + file + ", which the model reads");
  fs::path folder = fs::path(output).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error))
    throw Stop(Exit::File, output + ": " + flag + " requires a folder that exists, " + folder.string() + " does not");
  if (!exists || force)
    return;
  std::string begin(4096, '\0');
  std::ifstream file(output, std::ios::binary);
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  begin.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (!begin.empty() && !isOfKind(begin, kind))
    throw Stop(Exit::File, output + ": " + flag + " replaces " + describe(kind) +
                               ", found a file of another kind (--force replaces it all the same)");
}

void sinter::tool::addForce(CLI::App &command, bool &force) {
  command.add_flag("--force", force, "replace a file even if it is of another kind than what is written");
}
