// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "backends/schedule/KeepPolicy.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace sinter;
using namespace sinter::schedule;

std::optional<KeepPolicy> KeepPolicy::parse(StringRef text, std::string &error) {
  KeepPolicy policy;
  if (text == "none")
    return policy;
  if (text == "full") {
    policy.kind = Kind::Full;
    return policy;
  }
  StringRef rest = text;
  if (rest.consume_front("named:")) {
    policy.kind = Kind::Named;
    policy.names = rest.str();
    std::string reason;
    if (rest.empty() || !llvm::Regex(rest).isValid(reason)) {
      error = "requires a regular expression after named:, got '" + rest.str() + "'" +
              (reason.empty() ? "" : ": " + reason);
      return std::nullopt;
    }
    return policy;
  }
  if (rest.consume_front("budget:")) {
    bool isShare = rest.consume_back("%");
    int shift = 0;
    if (!isShare)
      shift = rest.consume_back("K") ? 10 : rest.consume_back("M") ? 20 : rest.consume_back("G") ? 30 : 0;
    int64_t number = 0;
    bool isNumber = !rest.empty() && llvm::isDigit(rest.front()) && !rest.getAsInteger(10, number) && number > 0;
    if (isNumber && isShare && number <= 100) {
      policy.kind = Kind::Share;
      policy.share = static_cast<double>(number) / 100;
      return policy;
    }
    if (isNumber && !isShare && number <= (INT64_MAX >> shift)) {
      policy.kind = Kind::Bytes;
      policy.bytes = number << shift;
      return policy;
    }
  }
  error = "requires none, full, named:REGEX, budget:BYTES (with K, M or G) or budget:SHARE% (1 to 100), got '" +
          text.str() + "'";
  return std::nullopt;
}

LogicalResult schedule::verifyKeepPolicies(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    Attribute attribute = function->getAttr(kKeepAttr);
    auto text = dyn_cast_or_null<StringAttr>(attribute);
    std::string error;
    if (attribute && !text)
      return function.emitError() << kKeepAttr << " requires a policy as text, got " << attribute;
    if (text && !KeepPolicy::parse(text.getValue(), error))
      return function.emitError() << kKeepAttr << " " << error;
  }
  return success();
}
