// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/sinter/Remarks.h"
#include "mlir/IR/Remarks.h"
#include "tools/sinter/Exit.h"
#include <mutex>
#include <set>

using namespace mlir;
using namespace sinter;
using namespace sinter::tool;

std::string sinter::tool::place(Location loc) {
  std::string file, node;
  loc->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner); name && node.empty())
      node = name.getName().str();
    if (auto position = dyn_cast<FileLineColLoc>(inner); position && file.empty()) {
      file = position.getFilename().str();
      if (position.getColumn()) // a binary file has none
        file += ":" + std::to_string(position.getLine()) + ":" + std::to_string(position.getColumn());
    }
    return WalkResult::advance();
  });
  std::string text = file;
  if (!node.empty())
    text += (text.empty() ? "" : ": ") + ("'" + node + "'");
  return oneLine(text);
}

struct Remarks::Collected {
  std::mutex mutex; // functions are compiled side by side
  std::set<std::string> lines;
};

class Remarks::Streamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::shared_ptr<Collected> collected) : collected(std::move(collected)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    std::string line = place(remark.getLocation());
    line += line.empty() ? "remark: " : ": remark: ";
    for (const auto &argument : remark.getArgs())
      line += argument.val;
    std::lock_guard<std::mutex> guard(collected->mutex);
    collected->lines.insert(line);
  }

private:
  std::shared_ptr<Collected> collected;
};

Remarks::Remarks(MLIRContext &context) : collected(std::make_shared<Collected>()) {
  remark::RemarkCategories categories;
  categories.missed = categories.passed = ".*";
  // It fails only where the streamer cannot be opened, which has nothing to open.
  (void)remark::enableOptimizationRemarks(context, std::make_unique<Streamer>(collected),
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

std::string Remarks::lines() const {
  std::string text;
  for (const std::string &line : collected->lines)
    text += line + "\n";
  return text;
}
