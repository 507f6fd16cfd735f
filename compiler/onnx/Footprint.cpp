// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a file becomes in memory, before it does: a message of two bytes may become an object of two hundred, so that a
// file of some megabytes would take some of the machine's gigabytes. The walk follows the messages of onnx.proto and
// counts; whether they are right is for the parser to say.

#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Reader.h"
#include "google/protobuf/io/coded_stream.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using google::protobuf::io::CodedInputStream;

namespace sinter::onnx {

namespace {
struct Kind;
struct Field {
  uint32_t number;
  const Kind &(*kind)(); // of the message that it holds; what is not listed holds numbers or text
};
/// A message type.
struct Kind {
  size_t bytes;
  ArrayRef<Field> fields;
};
} // namespace

template <typename Message, const auto &Fields> static const Kind &kindOf() {
  static const Kind kind{sizeof(Message), Fields};
  return kind;
}

static const Kind &attributeKind();
static const Kind &graphKind();
static const Kind &typeKind();
static constexpr std::array<Field, 0> kNoFields{};
static const Kind &entryKind() { return kindOf<onnxfile::Entry, kNoFields>(); }
static const Kind &dimKind() { return kindOf<onnxfile::Shape_Dim, kNoFields>(); }
static const Kind &operatorSetKind() { return kindOf<onnxfile::OperatorSet, kNoFields>(); }
static const Kind &segmentKind() { return kindOf<onnxfile::Tensor_Segment, kNoFields>(); }
static constexpr std::array<Field, 2> kTensorFields{{{3, segmentKind}, {13, entryKind}}};
static const Kind &tensorKind() { return kindOf<onnxfile::Tensor, kTensorFields>(); }
static constexpr std::array<Field, 2> kSparseFields{{{1, tensorKind}, {2, tensorKind}}};
static const Kind &sparseKind() { return kindOf<onnxfile::SparseTensor, kSparseFields>(); }
static constexpr std::array<Field, 1> kShapeFields{{{1, dimKind}}};
static const Kind &shapeKind() { return kindOf<onnxfile::Shape, kShapeFields>(); }
static constexpr std::array<Field, 1> kOfTensorFields{{{2, shapeKind}}};
static const Kind &ofTensorKind() { return kindOf<onnxfile::Type_OfTensor, kOfTensorFields>(); }
static constexpr std::array<Field, 2> kElementFields{{{1, typeKind}, {2, typeKind}}};
static const Kind &elementKind() {
  return kindOf<onnxfile::Type_OfMap, kElementFields>();
} // sequences and optionals, too
static constexpr std::array<Field, 5> kTypeFields{
    {{1, ofTensorKind}, {4, elementKind}, {5, elementKind}, {8, ofTensorKind}, {9, elementKind}}};
static const Kind &typeKind() { return kindOf<onnxfile::Type, kTypeFields>(); }
static constexpr std::array<Field, 1> kValueFields{{{2, typeKind}}};
static const Kind &valueKind() { return kindOf<onnxfile::ValueInfo, kValueFields>(); }
static constexpr std::array<Field, 8> kAttributeFields{{{5, tensorKind},
                                                        {6, graphKind},
                                                        {10, tensorKind},
                                                        {11, graphKind},
                                                        {14, typeKind},
                                                        {15, typeKind},
                                                        {22, sparseKind},
                                                        {23, sparseKind}}};
static const Kind &attributeKind() { return kindOf<onnxfile::Attribute, kAttributeFields>(); }
static constexpr std::array<Field, 1> kNodeFields{{{5, attributeKind}}};
static const Kind &nodeKind() { return kindOf<onnxfile::Node, kNodeFields>(); }
static constexpr std::array<Field, 6> kGraphFields{
    {{1, nodeKind}, {5, tensorKind}, {11, valueKind}, {12, valueKind}, {13, valueKind}, {15, sparseKind}}};
static const Kind &graphKind() { return kindOf<onnxfile::Graph, kGraphFields>(); }
static constexpr std::array<Field, 3> kFunctionFields{{{7, nodeKind}, {9, operatorSetKind}, {11, attributeKind}}};
static const Kind &functionKind() { return kindOf<onnxfile::Function, kFunctionFields>(); }
static constexpr std::array<Field, 4> kModelFields{
    {{7, graphKind}, {8, operatorSetKind}, {14, entryKind}, {25, functionKind}}};
static const Kind &modelKind() { return kindOf<onnxfile::Model, kModelFields>(); }

/// Adds what the rest of a message of this kind takes, up to the limit of `in`. False at what is no message, or beyond
/// `most`.
static bool addFootprint(CodedInputStream &in, const Kind &kind, int depth, uint64_t most, uint64_t &bytes) {
  while (uint32_t tag = in.ReadTag()) {
    uint64_t number;
    uint32_t length;
    switch (tag & 7) {
    case 0:
      if (!in.ReadVarint64(&number))
        return false;
      break;
    case 1:
      if (!in.Skip(8))
        return false;
      break;
    case 2: {
      // A length beyond its message is damage, not memory: it is not counted.
      if (!in.ReadVarint32(&length) || length > uint32_t(in.BytesUntilLimit()))
        return false;
      const Field *field = find_if(kind.fields, [&](const Field &known) { return known.number == tag >> 3; });
      bytes += sizeof(void *); // among its equals
      if (field == kind.fields.end()) {
        bytes += sizeof(std::string) + length;
        if (bytes > most || !in.Skip(int(length)))
          return false;
        break;
      }
      bytes += field->kind().bytes + 2 * sizeof(void *); // with what the allocator adds
      CodedInputStream::Limit outer = in.PushLimit(int(length));
      bool ok = bytes <= most && depth > 0 && addFootprint(in, field->kind(), depth - 1, most, bytes);
      if (!ok || in.BytesUntilLimit() != 0)
        return false;
      in.PopLimit(outer);
      break;
    }
    case 3:
    case 4: // a group's fields are counted as if they were the message's
      break;
    case 5:
      if (!in.Skip(4))
        return false;
      break;
    default:
      return false;
    }
  }
  return true;
}

Error checkFootprint(StringRef text) {
  CodedInputStream in(reinterpret_cast<const uint8_t *>(text.data()), int(text.size()));
  uint64_t bytes = 0, most = kMinFootprint + kMaxSpread * text.size();
  in.PushLimit(int(text.size()));
  (void)addFootprint(in, modelKind(), kMaxMessageDepth, most, bytes);
  if (bytes > most)
    return createStringError(inconvertibleErrorCode(),
                             "requires a model that takes at most %s bytes of memory (kMinFootprint and %s for each of "
                             "its bytes), found more",
                             std::to_string(most).c_str(), std::to_string(kMaxSpread).c_str());
  return Error::success();
}

} // namespace sinter::onnx
