// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each version of ONNX's operators takes, as onnx itself states it (tools/dev/onnx_schemas.py writes the table).

#ifndef SINTER_COMPILER_ONNX_SCHEMAS_H
#define SINTER_COMPILER_ONNX_SCHEMAS_H

#include "compiler/onnx/onnx.pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace sinter::onnx {

/// One version of an operator; the texts are explained in tools/dev/onnx_schemas.py.
struct Schema {
  const char *domain, *name;
  int64_t since;
  int minInputs, maxInputs, maxOutputs;
  const char *attributes, *inputs, *types;
};

/// All versions of an operator, the oldest first; empty if onnx has none.
llvm::ArrayRef<Schema> schemasOf(llvm::StringRef domain, llvm::StringRef name);
/// The one that operator set `version` has; null if it has none.
const Schema *findSchema(llvm::StringRef domain, llvm::StringRef name, int64_t version);
/// Newest version of a domain of onnx that is known; 0 for other domains.
int64_t newestVersion(llvm::StringRef domain);

/// The attributes of a node that has a schema: each known, of the right type, with a value, and none missing; as many
/// inputs and outputs as the operator has. The error names neither node nor file.
llvm::Error checkAgainst(const Schema &schema, const onnxfile::Node &node, int64_t version);

/// True if a node of the operator must have the attribute.
bool isRequired(const Schema &schema, llvm::StringRef attribute);

/// The kind of an attribute's value, from what it states or else from what it holds. Fails unless it is one.
llvm::Expected<onnxfile::Attribute::Kind> kindOf(const onnxfile::Attribute &attribute);
/// What a message calls values of a kind: "an integer", "a list of floats".
llvm::StringRef describeKind(onnxfile::Attribute::Kind kind);

/// The element types that input `i` may have in any version of the operator, as a set of bits; ~0 if all.
uint64_t inputTypes(const Schema &schema, int i);
/// The name of the type that input `i` shares with other inputs; empty if with none.
llvm::StringRef inputTypeVariable(const Schema &schema, int i);

} // namespace sinter::onnx

#endif // SINTER_COMPILER_ONNX_SCHEMAS_H
