// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Command.h"
#include "tools/sinter/Crash.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>

using namespace sinter::tool;

/// `-O2` as one word becomes `-O 2`.
static std::vector<std::string> splitLevels(int argc, char **argv) {
  std::vector<std::string> words;
  for (int i = argc - 1; i > 0; --i) { // CLI11 takes them in reverse
    std::string word = argv[i];
    if (word.size() == 3 && word.starts_with("-O")) {
      words.push_back(word.substr(2));
      word = "-O";
    }
    words.push_back(word);
  }
  return words;
}

int main(int argc, char **argv) {
  installCrashHandler(argc, argv);
  CLI::App program{"Sinter compiles models and numerical programs to native code.", "sinter"};
  program.set_version_flag("--version", "sinter " SINTER_VERSION);
  program.require_subcommand(1);
  Exit result = Exit::Success;
  addCompile(program, result);
  addConvert(program, result);
  addTrainStep(program, result);
  addTrain(program, result);
  addRun(program, result);
  addCheck(program, result);
  addBench(program, result);
  addGrad(program, result);
  addInspect(program, result);
  addDoctor(program, result);
  try {
    program.parse(splitLevels(argc, argv));
  } catch (const CLI::Success &help) {
    return program.exit(help);
  } catch (const CLI::ParseError &error) {
    bool isUnknown = program.get_subcommands().empty() && argc > 1 && argv[1][0] != '-';
    std::cerr << "sinter: error: " << (isUnknown ? std::string("no subcommand is called ") + argv[1] : error.what())
              << " (see sinter --help)\n";
    return static_cast<int>(Exit::Usage);
  } catch (const Stop &stop) {
    std::cerr << "sinter: error: " << stop.what() << "\n";
    return static_cast<int>(stop.code);
  } catch (const std::filesystem::filesystem_error &error) {
    std::cerr << "sinter: error: " << error.path1().string() << ": " << error.code().message() << "\n";
    return static_cast<int>(Exit::Failure);
  } catch (const std::bad_alloc &) {
    std::cerr << "sinter: error: requires more memory than there is\n";
    return static_cast<int>(Exit::Failure);
  } catch (const std::exception &error) {
    std::cerr << "sinter: internal error: " << error.what() << "\n";
    return static_cast<int>(Exit::Internal);
  }
  errno = 0;
  if (!std::cout.flush()) {
    std::cerr << "sinter: error: cannot write to standard output: " << std::strerror(errno ? errno : EIO) << "\n";
    result = result == Exit::Success ? Exit::Failure : result;
  }
  return static_cast<int>(result);
}
