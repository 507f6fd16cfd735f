// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/gradient/CheckpointPolicy.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace sinter;

std::optional<CheckpointPolicy> CheckpointPolicy::parse(StringRef text) {
  if (text == "all")
    return CheckpointPolicy{Kind::All};
  if (text == "recompute")
    return CheckpointPolicy{Kind::Recompute};
  if (text == "implicit")
    return CheckpointPolicy{Kind::Implicit};
  auto [name, rest] = text.split('(');
  CheckpointPolicy policy;
  if (name == "period")
    policy.kind = Kind::Period;
  else if (name == "binomial")
    policy.kind = Kind::Binomial;
  else if (name == "online")
    policy.kind = Kind::Online;
  else
    return std::nullopt;
  if (!rest.consume_back(")") || rest.getAsInteger(10, policy.count) || policy.count < 1 || policy.count > (1 << 20))
    return std::nullopt;
  return policy;
}

FailureOr<CheckpointPolicy> CheckpointPolicy::of(Operation *op) {
  auto text = op->getAttrOfType<StringAttr>("sinter.memory");
  if (!text)
    return CheckpointPolicy();
  if (std::optional<CheckpointPolicy> policy = parse(text.getValue()))
    return *policy;
  return op->emitOpError()
             << "requires a memory policy of all, recompute, period(K), binomial(SLOTS), online(SLOTS) and "
                "implicit with 1 <= K, SLOTS <= 1048576, got '"
             << text.getValue() << "'",
         failure();
}
