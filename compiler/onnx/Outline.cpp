// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk over the messages of a serialized model, before it is parsed, which finds two things.
//
// What a file becomes in memory: a message of two bytes may become an object of two hundred, so that a file of some
// megabytes would take some of the machine's gigabytes.
//
// An outline, the model without the raw data of its large tensors. Protobuf would copy these out of a text that holds
// the whole file; they are read from the file into blocks of their own instead, or not at all.
//
// Whether the messages are right is for the parser to say.

#include "compiler/onnx/Outline.h"
#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Reader.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
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

/// Raw data that are read beside the outline.
static constexpr uint32_t kOutsideBytes = 1 << 14;
/// Numbers of Tensor's fields: bytes of a tensor, and where they were put.
static constexpr uint32_t kRawData = onnxfile::Tensor::kRawDataFieldNumber;
static constexpr uint32_t kOutside = onnxfile::Tensor::kOutsideFieldNumber;

namespace {
/// What the walk counts, and what it writes where there is an outline.
class Walk {
public:
  Walk(CodedInputStream &in, uint64_t most) : in(in), most(most) {}

  /// The rest of a message of this kind, up to the limit of `in`. False at what is no message, or takes more than
  /// `most`, or where raw data cannot be read.
  bool addMessage(const Kind &kind, int depth);

  uint64_t bytes = 0;         // of memory
  Outline *outline = nullptr; // null: memory is counted alone
  int file = -1;              // raw data of large tensors are read from, -1: these are left out
  std::string problem;        // of reading them

private:
  bool addChild(const Kind &kind, uint32_t tag, uint32_t length, int depth);
  bool addText(uint32_t tag, uint32_t length);
  bool addOutside(uint32_t length);
  bool addNumber(uint32_t tag);

  void writeVarint(uint64_t number) {
    for (; number > 127; number >>= 7)
      outline->text.push_back(static_cast<char>(number | 128));
    outline->text.push_back(static_cast<char>(number));
  }

  void writeOutside(uint64_t number) {
    writeVarint(kOutside << 3);
    writeVarint(number);
  }

  CodedInputStream &in;
  uint64_t most;
};
} // namespace

bool Walk::addMessage(const Kind &kind, int depth) {
  bool isTensor = &kind == &tensorKind(), hasOutside = false;
  while (uint32_t tag = in.ReadTag()) {
    uint32_t number = tag >> 3, length;
    if ((tag & 7) != 2) {
      if (!addNumber(tag))
        return false;
      continue;
    }
    // A length beyond its message is damage, not memory: it is not counted.
    if (!in.ReadVarint32(&length) || length > uint32_t(in.BytesUntilLimit()))
      return false;
    const Field *field = find_if(kind.fields, [&](const Field &known) { return known.number == number; });
    bytes += sizeof(void *); // among its equals
    bool ok;
    if (field != kind.fields.end())
      ok = addChild(field->kind(), tag, length, depth);
    else if ((bytes += sizeof(std::string) + length) > most)
      ok = false;
    else if (isTensor && number == kRawData && length >= kOutsideBytes && outline) {
      ok = addOutside(length);
      hasOutside = true;
    } else {
      ok = addText(tag, length);
      if (isTensor && number == kRawData && hasOutside) // of a field that comes twice the last counts
        writeOutside(0);
    }
    if (!ok)
      return false;
  }
  return in.ConsumedEntireMessage(); // not in the middle of a tag
}

/// A message within another. Its length is not known before it is written: five bytes hold any.
bool Walk::addChild(const Kind &kind, uint32_t tag, uint32_t length, int depth) {
  bytes += kind.bytes + 2 * sizeof(void *); // with what the allocator adds
  if (bytes > most || depth == 0)
    return false;
  constexpr size_t room = 5;
  size_t begin = 0;
  if (outline) {
    writeVarint(tag);
    outline->text.append(room, 0);
    begin = outline->text.size();
  }
  CodedInputStream::Limit outer = in.PushLimit(int(length));
  if (!addMessage(kind, depth - 1) || in.BytesUntilLimit() != 0)
    return false;
  in.PopLimit(outer);
  if (outline)
    for (size_t k = 0, size = outline->text.size() - begin; k < room; ++k, size >>= 7)
      outline->text[begin - room + k] = static_cast<char>((size & 127) | (k + 1 < room ? 128 : 0));
  return true;
}

bool Walk::addText(uint32_t tag, uint32_t length) {
  if (!outline)
    return in.Skip(int(length));
  writeVarint(tag);
  writeVarint(length);
  size_t begin = outline->text.size();
  outline->text.resize(begin + length);
  return in.ReadRaw(outline->text.data() + begin, int(length));
}

bool Walk::addOutside(uint32_t length) {
  if (file >= 0) {
    std::shared_ptr<FileBytes> data = FileBytes::read(file, uint64_t(in.CurrentPosition()), length, problem);
    if (!data)
      return false;
    outline->outside.push_back(std::move(data));
    writeOutside(outline->outside.size());
  }
  return in.Skip(int(length));
}

bool Walk::addNumber(uint32_t tag) {
  std::array<char, 8> fixed;
  uint64_t number = 0;
  int size = (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
  switch (tag & 7) {
  case 0:
    if (!in.ReadVarint64(&number))
      return false;
    break;
  case 1:
  case 5:
    if (!in.ReadRaw(fixed.data(), size))
      return false;
    break;
  case 3:
  case 4: // a group's fields are counted as if they were the message's
    break;
  default:
    return false;
  }
  if (!outline || tag >> 3 == kOutside) // a file has none
    return true;
  writeVarint(tag);
  if ((tag & 7) == 0)
    writeVarint(number);
  outline->text.append(fixed.data(), size_t(size));
  return true;
}

static Error checkBytes(uint64_t bytes, uint64_t most) {
  if (bytes <= most)
    return Error::success();
  return createStringError(inconvertibleErrorCode(),
                           "requires a model that takes at most %s bytes of memory (kMinFootprint and %s for each of "
                           "its bytes), found more",
                           std::to_string(most).c_str(), std::to_string(kMaxSpread).c_str());
}

Error checkFootprint(StringRef text) {
  CodedInputStream in(reinterpret_cast<const uint8_t *>(text.data()), int(text.size()));
  in.PushLimit(int(text.size()));
  uint64_t most = kMinFootprint + kMaxSpread * text.size();
  Walk walk(in, most);
  (void)walk.addMessage(modelKind(), kMaxMessageDepth);
  return checkBytes(walk.bytes, most);
}

Expected<std::optional<Outline>> outlineOf(int file, uint64_t size, bool readsData) {
  constexpr int block = 1 << 16;
  google::protobuf::io::FileInputStream stream(file, block);
  CodedInputStream in(&stream);
  in.PushLimit(int(size));
  uint64_t most = kMinFootprint + kMaxSpread * size;
  Outline outline;
  Walk walk(in, most);
  walk.outline = &outline;
  walk.file = readsData ? file : -1;
  bool isWhole = walk.addMessage(modelKind(), kMaxMessageDepth) && in.BytesUntilLimit() == 0;
  if (Error error = checkBytes(walk.bytes, most))
    return std::move(error);
  if (!walk.problem.empty())
    return createStringError(inconvertibleErrorCode(), "%s", walk.problem.c_str());
  if (!isWhole)
    return std::nullopt;
  return outline;
}

} // namespace sinter::onnx
