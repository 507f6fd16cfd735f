// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/onnx/Schemas.h"

#include "compiler/onnx/Limits.h"
#include "compiler/onnx/Reader.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace sinter::onnx {

using onnxfile::Attribute;

/// Sorted by domain, name and version.
static const Schema kSchemas[] = {
#include "compiler/onnx/Schemas.inc"
};

ArrayRef<Schema> schemasOf(StringRef domain, StringRef name) {
  auto before = [](const Schema &schema, std::pair<StringRef, StringRef> key) {
    return std::pair(StringRef(schema.domain), StringRef(schema.name)) < key;
  };
  auto after = [](std::pair<StringRef, StringRef> key, const Schema &schema) {
    return key < std::pair(StringRef(schema.domain), StringRef(schema.name));
  };
  std::pair key(normalizeDomain(domain), name);
  const Schema *begin = std::lower_bound(std::begin(kSchemas), std::end(kSchemas), key, before);
  return {begin, std::upper_bound(begin, std::end(kSchemas), key, after)};
}

const Schema *findSchema(StringRef domain, StringRef name, int64_t version) {
  const Schema *found = nullptr;
  for (const Schema &schema : schemasOf(domain, name))
    if (schema.since <= version)
      found = &schema;
  return found;
}

int64_t newestVersion(StringRef domain) {
  return StringSwitch<int64_t>(normalizeDomain(domain))
      .Case("", 28)
      .Cases({"ai.onnx.preview.training", "ai.onnx.preview"}, 1)
      .Case("ai.onnx.ml", 5)
      .Default(0);
}

//===--- attributes -----------------------------------------------------------------------------------------------===//

/// Letters of attribute kinds, as in the table, in the order of the file format's numbers.
static constexpr StringLiteral kKindLetters = "?fistgFISTGpPyY";

StringRef describeKind(Attribute::Kind kind) {
  static constexpr StringLiteral names[] = {"nothing",
                                            "a float",
                                            "an integer",
                                            "a string",
                                            "a tensor",
                                            "a graph",
                                            "a list of floats",
                                            "a list of integers",
                                            "a list of strings",
                                            "a list of tensors",
                                            "a list of graphs",
                                            "a sparse tensor",
                                            "a list of sparse tensors",
                                            "a type",
                                            "a list of types"};
  return kind >= 0 && size_t(kind) < std::size(names) ? StringRef(names[kind]) : "an unknown kind of value";
}

template <typename... Args> static Error fail(const char *format, Args &&...args) {
  return createStringError(inconvertibleErrorCode(), "%s", formatv(format, std::forward<Args>(args)...).str().c_str());
}

Expected<Attribute::Kind> kindOf(const Attribute &a) {
  SmallVector<Attribute::Kind, 2> held;
  auto note = [&](bool has, Attribute::Kind kind) {
    if (has)
      held.push_back(kind);
  };
  note(a.has_f(), Attribute::FLOAT_KIND);
  note(a.has_i(), Attribute::INT_KIND);
  note(a.has_s(), Attribute::STRING_KIND);
  note(a.has_t(), Attribute::TENSOR_KIND);
  note(a.has_g(), Attribute::GRAPH_KIND);
  note(a.floats_size(), Attribute::FLOATS_KIND);
  note(a.ints_size(), Attribute::INTS_KIND);
  note(a.strings_size(), Attribute::STRINGS_KIND);
  note(a.tensors_size(), Attribute::TENSORS_KIND);
  note(a.graphs_size(), Attribute::GRAPHS_KIND);
  note(a.has_sparse_tensor(), Attribute::SPARSE_TENSOR_KIND);
  note(a.sparse_tensors_size(), Attribute::SPARSE_TENSORS_KIND);
  note(a.has_tp(), Attribute::TYPE_KIND);
  note(a.type_protos_size(), Attribute::TYPES_KIND);
  std::string name = shortenName(a.name());
  if (held.size() > 1)
    return fail("requires one value for attribute '{0}', found {1} and {2}", name, describeKind(held[0]),
                describeKind(held[1]));
  bool isStated = a.has_type() && a.type() != Attribute::UNKNOWN;
  if (!a.ref_attr_name().empty())
    return isStated ? a.type() : Attribute::UNKNOWN;
  if (held.empty() && !isStated)
    return fail("requires a value for attribute '{0}', found none", name);
  if (held.empty()) { // what is 0 or empty may be left out, but for what has no such value
    bool mayBeEmpty = !is_contained(
        {Attribute::TENSOR_KIND, Attribute::GRAPH_KIND, Attribute::SPARSE_TENSOR_KIND, Attribute::TYPE_KIND}, a.type());
    if (!mayBeEmpty)
      return fail("requires {0} as attribute '{1}', found no value", describeKind(a.type()), name);
    return a.type();
  }
  if (isStated && a.type() != held.front())
    return fail("requires {0} as attribute '{1}', as its type says, found {2}", describeKind(a.type()), name,
                describeKind(held.front()));
  return held.front();
}

namespace {
struct AttributeSpec {
  StringRef name;
  Attribute::Kind kind;
  bool isRequired;
};
} // namespace

static SmallVector<AttributeSpec> attributesOf(const Schema &schema) {
  SmallVector<AttributeSpec> specs;
  SmallVector<StringRef> words;
  StringRef(schema.attributes).split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [name, kind] = word.rsplit(':');
    specs.push_back({name, Attribute::Kind(kKindLetters.find(kind.front())), kind.ends_with("!")});
  }
  return specs;
}

static const AttributeSpec *findIn(ArrayRef<AttributeSpec> specs, StringRef name) {
  const auto *found = find_if(specs, [&](const AttributeSpec &spec) { return spec.name == name; });
  return found == specs.end() ? nullptr : found;
}

bool isRequired(const Schema &schema, StringRef attribute) {
  SmallVector<AttributeSpec> specs = attributesOf(schema);
  const AttributeSpec *spec = findIn(specs, attribute);
  return spec && spec->isRequired;
}

/// Words that an attribute may hold, where an import function would take others for one of them.
static StringRef wordsOf(const Schema &schema, StringRef attribute) {
  static constexpr struct {
    StringLiteral op, attribute, words;
  } table[] = {
      {"ConvTranspose", "auto_pad", "NOTSET SAME_UPPER SAME_LOWER VALID"},
      {"DepthToSpace", "mode", "DCR CRD"},
      {"Gelu", "approximate", "none tanh"},
      {"GridSample", "padding_mode", "zeros border reflection"},
      {"Momentum", "mode", "standard nesterov"},
      {"Resize", "keep_aspect_ratio_policy", "stretch not_larger not_smaller"},
      {"RoiAlign", "coordinate_transformation_mode", "half_pixel output_half_pixel"},
      {"RoiAlign", "mode", "avg max"},
  };
  for (const auto &entry : table)
    if (entry.attribute == attribute && entry.op == schema.name)
      return entry.words;
  return {};
}

/// "opsets 1 to 12" for those in which an attribute exists.
static std::string versionsWith(ArrayRef<Schema> schemas, StringRef attribute) {
  std::string text;
  for (size_t i = 0; i < schemas.size(); ++i) {
    if (!findIn(attributesOf(schemas[i]), attribute))
      continue;
    int64_t from = schemas[i].since;
    while (i + 1 < schemas.size() && findIn(attributesOf(schemas[i + 1]), attribute))
      ++i;
    text += (text.empty() ? "" : " and ") + std::to_string(from);
    text += i + 1 < schemas.size() ? " to " + std::to_string(schemas[i + 1].since - 1) : " and later";
  }
  return text;
}

static Error checkAttribute(const Schema &schema, ArrayRef<AttributeSpec> specs, const Attribute &attribute,
                            int64_t version) {
  StringRef op = schema.name;
  std::string name = shortenName(attribute.name());
  const AttributeSpec *spec = findIn(specs, attribute.name());
  if (!spec) {
    std::string others = versionsWith(schemasOf(schema.domain, schema.name), attribute.name());
    if (!others.empty())
      return fail("{0} of opset {1} has no attribute '{2}', only {0} of opset {3} has", op, version, name, others);
    std::string known = join(map_range(specs, [](const AttributeSpec &s) { return s.name; }), ", ");
    return fail("{0} has no attribute '{1}', it has {2}", op, name, known.empty() ? "none" : known);
  }
  Expected<Attribute::Kind> kind = kindOf(attribute);
  if (!kind)
    return kind.takeError();
  if (*kind != Attribute::UNKNOWN && *kind != spec->kind)
    return fail("requires {0} as attribute '{1}', found {2}", describeKind(spec->kind), name, describeKind(*kind));
  StringRef words = wordsOf(schema, attribute.name());
  SmallVector<StringRef> allowed;
  words.split(allowed, ' ');
  if (!words.empty() && attribute.has_s() && !attribute.s().empty() && !is_contained(allowed, attribute.s()))
    return fail("requires {0} as attribute '{1}', found '{2}'", join(allowed, " or "), name,
                shortenName(attribute.s()));
  return Error::success();
}

/// The type variable of input `i` with its mark; empty if there is none.
static StringRef inputSpec(const Schema &schema, int i) {
  SmallVector<StringRef> words;
  StringRef(schema.inputs).split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.empty())
    return {};
  bool repeats = words.back().ends_with("*") || words.back().ends_with("~");
  if (size_t(i) >= words.size())
    return repeats ? words.back() : StringRef();
  return words[size_t(i)];
}

Error checkAgainst(const Schema &schema, const onnxfile::Node &node, int64_t version) {
  SmallVector<AttributeSpec> specs = attributesOf(schema);
  for (const Attribute &attribute : node.attribute())
    if (Error error = checkAttribute(schema, specs, attribute, version))
      return error;
  for (const AttributeSpec &spec : specs)
    if (spec.isRequired &&
        none_of(node.attribute(), [&](const Attribute &given) { return StringRef(given.name()) == spec.name; }))
      return fail("requires the attribute '{0}', found none", spec.name);
  int inputs = node.input_size();
  while (inputs > 0 && node.input(inputs - 1).empty())
    --inputs;
  if (inputs > schema.maxInputs)
    return fail("requires at most {0} inputs, found {1}", schema.maxInputs, inputs);
  if (inputs < schema.minInputs)
    return fail("requires at least {0} inputs, found {1}", schema.minInputs, inputs);
  for (int i = 0; i < inputs; ++i)
    if (StringRef spec = inputSpec(schema, i); node.input(i).empty() && (spec.ends_with("*") || spec.ends_with("~")))
      return fail("requires all inputs of a list, found input {0} left out", i);
  if (node.output_size() > schema.maxOutputs)
    return fail("requires at most {0} outputs, found {1}", schema.maxOutputs, node.output_size());
  return Error::success();
}

//===--- types of inputs
//--------------------------------------------------------------------------------------------===//

StringRef inputTypeVariable(const Schema &schema, int i) {
  StringRef spec = inputSpec(schema, i);
  return spec.ends_with("~") ? StringRef() : spec.rtrim("?*");
}

uint64_t inputTypes(const Schema &schema, int i) {
  uint64_t all = 0;
  for (const Schema &other : schemasOf(schema.domain, schema.name)) {
    StringRef variable = inputSpec(other, i).rtrim("?*~");
    SmallVector<StringRef> words;
    StringRef(other.types).split(words, ' ', -1, /*KeepEmpty=*/false);
    uint64_t bits = ~uint64_t(0);
    for (StringRef word : words)
      if (auto [name, mask] = word.split('='); name == variable)
        (void)mask.getAsInteger(16, bits);
    if (!variable.empty())
      all |= bits;
  }
  return all ? all : ~uint64_t(0);
}

} // namespace sinter::onnx
