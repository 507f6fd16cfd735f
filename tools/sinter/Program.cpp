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

int sinter::tool::runProgram(int argc, char **argv) {
  installCrashHandler(argc, argv);
  PrintableStream out(std::cout), errors(std::cerr);
  CLI::App program{"Sinter compiles models and numerical programs to native code.", "sinter"};
  program.footer("Exit codes: 0 success, 1 inputs or names that do not fit or a run that fails, 2 command line,\n"
                 "3 not supported, 4 numbers differ, 5 a file that cannot be read or written, 6 a damaged file,\n"
                 "7 a limit (memory, stack, open files, sizes), 70 a defect of sinter.");
  program.set_version_flag("--version", "sinter " SINTER_VERSION);
  program.require_subcommand(1);
  Exit result = Exit::Success;
  addCompile(program, result);
  addConvert(program, result);
  addQuantize(program, result);
  addTrainStep(program, result);
  addTrain(program, result);
  addRun(program, result);
  addCheck(program, result);
  addBench(program, result);
  addGrad(program, result);
  addInspect(program, result);
  addData(program, result);
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
    return static_cast<int>(Exit::File);
  } catch (const std::bad_alloc &) {
    std::cerr << "sinter: error: requires more memory than the process may have\n";
    return static_cast<int>(Exit::Limit);
  } catch (const std::length_error &) { // of a container that nobody could fill
    std::cerr << "sinter: error: requires more memory than the process may have\n";
    return static_cast<int>(Exit::Limit);
  } catch (const std::exception &error) {
    std::cerr << "sinter: internal error: " << error.what() << "\n";
    return static_cast<int>(Exit::Internal);
  }
  errno = 0;
  if (!std::cout.flush()) {
    std::cerr << "sinter: error: cannot write to standard output: " << std::strerror(errno ? errno : EIO) << "\n";
    result = result == Exit::Success ? Exit::File : result;
  }
  return static_cast<int>(result);
}
