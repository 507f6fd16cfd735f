// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Changes of graph files that get past the header: sizes stay consistent, so that what is changed is seen by
// the verifier and the validator. The fuzzer and the tests without sanitizers share it.

#ifndef SINTER_TEST_FUZZ_MUTATEGRAPH_H
#define SINTER_TEST_FUZZ_MUTATEGRAPH_H

#include "ir/Dialect.h"
#include "ir/file/GraphFile.h"
#include "ir/file/Header.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace sinter::fuzz {

/// Makes the header of `bytes` say what sizes there are: a graph of `graphBytes`, then the rest as weights.
inline void fixHeader(std::string &bytes, uint64_t graphBytes) {
  if (bytes.size() < sizeof(file::Header))
    return;
  file::Header header = {};
  std::memcpy(header.magic, file::kMagic, sizeof header.magic);
  header.version = file::kVersion;
  header.headerBytes = header.graphOffset = sizeof header;
  header.graphBytes = std::min<uint64_t>(graphBytes, bytes.size() - sizeof header);
  header.weightsOffset = file::alignUp(header.graphOffset + header.graphBytes);
  header.weightsBytes = header.weightsOffset < bytes.size() ? bytes.size() - header.weightsOffset : 0;
  header.fileBytes = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
}

inline uint64_t graphBytesOf(const std::string &bytes) {
  file::Header header = {};
  if (bytes.size() >= sizeof header)
    std::memcpy(&header, bytes.data(), sizeof header);
  return header.graphBytes;
}

/// A few changes by `seed`: bytes, words (small numbers, limits, others from the file), and now and then the size.
inline void mutateGraph(std::string &bytes, unsigned seed) {
  std::minstd_rand random(seed);
  auto below = [&](uint64_t n) { return n ? random() % n : 0; };
  uint64_t graphBytes = std::min<uint64_t>(graphBytesOf(bytes), bytes.size());
  if (bytes.size() <= sizeof(file::Header) + 8)
    return;
  for (uint64_t left = 1 + below(4); left > 0; --left) {
    uint64_t at = sizeof(file::Header) + below(std::max<uint64_t>(graphBytes, 8));
    uint64_t word = std::min(at / 4 * 4, bytes.size() - 4), other = below(bytes.size() - 4) / 4 * 4;
    static const uint32_t special[] = {0, 1, 2, 3, 4, 63, 64, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe};
    uint32_t value;
    std::memcpy(&value, &bytes[word], sizeof value);
    switch (below(8)) {
    case 0:
      bytes[std::min(at, bytes.size() - 1)] = static_cast<char>(below(256));
      continue;
    case 1:
      value = special[below(std::size(special))];
      break;
    case 2:
      value += static_cast<uint32_t>(below(9)) - 4;
      break;
    case 3:
      value ^= 1u << below(32);
      break;
    case 4:
      std::memcpy(&value, &bytes[other], sizeof value);
      break;
    case 5: // two words change places
      std::memcpy(&bytes[word], &bytes[other], sizeof value);
      word = other;
      break;
    case 6:
      value = static_cast<uint32_t>(below(16));
      break;
    default:
      if (below(16) == 0)
        bytes.resize(sizeof(file::Header) + 8 + below(bytes.size()));
      else
        bytes[std::min(at, bytes.size() - 1)] ^= static_cast<char>(1 << below(8));
      if (bytes.size() <= sizeof(file::Header) + 8)
        return;
      continue;
    }
    std::memcpy(&bytes[std::min(word, bytes.size() - 4)], &value, sizeof value);
  }
  if (below(32) != 0)
    fixHeader(bytes, graphBytes);
}

/// Ends the process, as fuzzers do, unless `holds`.
inline void require(bool holds, const char *what, const std::string &message) {
  if (holds)
    return;
  std::fprintf(stderr, "requires %s, found: %s\n", what, message.c_str());
  std::abort();
}

/// Reads; refused files must be refused with one line, others must be written and read again as the same bytes. True
/// when the file was read.
inline bool readAny(mlir::MLIRContext &context, llvm::ArrayRef<char> bytes) {
  std::string message;
  int count = 0;
  mlir::ScopedDiagnosticHandler collect(&context, [&](mlir::Diagnostic &diagnostic) {
    message = diagnostic.str();
    ++count;
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = readGraph(&context, bytes, "fuzz");
  require(count == (module ? 0 : 1) && (module || message.rfind("fuzz: ", 0) == 0), "one line for a file", message);
  if (!module)
    return false;
  std::string once, twice;
  require(mlir::succeeded(serializeGraph(*module, once)), "to write what was read", message);
  mlir::OwningOpRef<mlir::ModuleOp> again = readGraph(&context, llvm::ArrayRef<char>(once.data(), once.size()), "fuzz");
  require(bool(again), "to read what was written", message);
  require(mlir::succeeded(serializeGraph(*again, twice)), "to write it again", message);
  return true;
}

} // namespace sinter::fuzz

#endif
