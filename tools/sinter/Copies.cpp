// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Copies.h"
#include "backends/schedule/Dialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include <iostream>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;
using nlohmann::json;

static std::string memoryOf(Value buffer) {
  auto type = cast<schedule::BufferType>(buffer.getType());
  return type.isHost() ? "host" : type.getMemory().str();
}

/// The kernel that wrote a buffer last before `user`; empty for none in the text before it.
static std::string writerOf(Value buffer, Operation *user) {
  std::string name;
  user->getParentOfType<schedule::FunctionOp>()->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == user)
      return WalkResult::interrupt();
    if (auto launch = dyn_cast<schedule::LaunchOp>(op)) {
      SmallVector<Value> buffers;
      llvm::copy_if(launch.getArguments(), std::back_inserter(buffers),
                    [](Value value) { return isa<schedule::BufferType>(value.getType()); });
      for (int64_t written : launch.getWrites())
        if (static_cast<size_t>(written) < buffers.size() && buffers[static_cast<size_t>(written)] == buffer)
          name = launch.getKernel().str();
    }
    return WalkResult::advance();
  });
  return name;
}

static std::string nameOf(Value from, Value to, Operation *copy) {
  if (auto input = from.getDefiningOp<schedule::InputOp>())
    return "input " + std::to_string(input.getIndex());
  if (auto output = to.getDefiningOp<schedule::OutputOp>())
    return "output " + std::to_string(output.getIndex());
  std::string writer = writerOf(from, copy);
  return writer.empty() ? "memory" : "what " + writer + " writes";
}

json tool::describeCopies(ModuleOp module) {
  json list = json::array();
  auto add = [&](Operation *op, Value from, Value to, std::optional<int64_t> bytes) {
    if (memoryOf(from) == memoryOf(to))
      return;
    json copy = {{"of", nameOf(from, to, op)}, {"from", memoryOf(from)}, {"to", memoryOf(to)}};
    if (bytes)
      copy["bytes"] = *bytes;
    copy["in_a_loop"] = op->getParentOfType<LoopLikeOpInterface>() != nullptr;
    list.push_back(std::move(copy));
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto copy = dyn_cast<schedule::CopyOp>(op))
      add(op, copy.getFrom(), copy.getTo(), getConstantIntValue(copy.getBytes()));
    if (auto pieces = dyn_cast<schedule::CopyPiecesOp>(op)) {
      std::optional<int64_t> each = getConstantIntValue(pieces.getBytes()),
                             count = getConstantIntValue(pieces.getCount());
      add(op, pieces.getFrom(), pieces.getTo(), each && count ? std::optional(*each * *count) : std::nullopt);
    }
  });
  return list;
}

void tool::printCopies(const json &copies) {
  for (const json &copy : copies) {
    std::string bytes = copy.contains("bytes") ? copy["bytes"].dump() + " bytes" : "as many bytes as the call tells";
    std::cout << "  copy from " << copy["from"].get<std::string>() << " to " << copy["to"].get<std::string>() << ": "
              << copy["of"].get<std::string>() << ", " << bytes << (copy["in_a_loop"] ? ", in each trip of a loop" : "")
              << "\n";
  }
}
