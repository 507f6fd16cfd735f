// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Trace.h"
#include "Tape.h"

namespace sinter::inline SINTER_HOST::detail {

uint64_t hashBytes(uint64_t hash, const void *bytes, size_t count) {
  auto *data = static_cast<const unsigned char *>(bytes);
  for (; count >= 8; count -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  for (; count; --count)
    hash = (hash ^ *data++) * 1099511628211ull;
  return hash;
}

const char *&currentFunction() {
  static thread_local const char *name = nullptr;
  return name;
}

std::string inFunction(std::string message) {
  const char *name = currentFunction();
  return !name || message.starts_with(name) ? message : std::string(name) + ": " + message;
}

/// `message` with types as programs know them: f32[2, 3] for 'tensor<2x3xf32>'.
static std::string withOwnTypes(std::string message) {
  constexpr std::string_view begin = "'tensor<", end = ">'";
  for (size_t at = 0; (at = message.find(begin, at)) != std::string::npos;) {
    size_t first = at + begin.size(), last = message.find(end, first);
    if (last == std::string::npos)
      break;
    std::string sizes;
    size_t rest = first, separator; // sizes end with an x, the element type does not
    while ((separator = message.find_first_not_of("0123456789?", rest)) > rest && message[separator] == 'x') {
      sizes += (sizes.empty() ? "" : ", ") + message.substr(rest, separator - rest);
      rest = separator + 1;
    }
    std::string element = message.substr(rest, std::min(message.find(',', rest), last) - rest);
    if (element == "i1")
      element = "bool";
    else if (element.starts_with("ui"))
      element.erase(1, 1);
    std::string own = element + "[" + sizes + "]";
    message.replace(at, last + end.size() - at, own);
    at += own.size();
  }
  return message;
}

std::string refusal(const char *op, std::span<const Tensor> operands, std::string message) {
  const char *name = currentFunction() ? currentFunction() : op;
  if (message.find(" must be ") != std::string::npos) // what definitions of ops say of types that they do not take
    for (const Tensor &operand : operands)
      if (is_storage(operand.dtype()))
        return std::string(name) + " requires a dtype to compute in, got " + dtype_name(operand.dtype()) +
               " (convert with astype)";
  return withOwnTypes(std::move(message));
}

sinter_value_type valueType(const TensorType &type) {
  sinter_value_type result;
  result.dtype = int32_t(type.dtype);
  result.rank = type.shape.size();
  std::memcpy(result.dims, type.shape.data(), sizeof(int64_t) * size_t(type.shape.size()));
  return result;
}

TensorType tensorType(const sinter_value_type &type) {
  return {DType(type.dtype), Shape(std::span<const int64_t>(type.dims, size_t(type.rank)))};
}

Tensor adoptTensor(const sinter_tensor &owned, Where where) {
  Value *value = Value::create(0);
  value->tensor = owned;
  value->where = where;
  value->drop = [](Value *self) { sinter_tensor_free(&self->tensor); };
  return Tensor::adopt(value);
}

std::string leakMessage(const Tensor &tensor) {
  return "a tensor leaked out of its trace: it was made at " + place(tensor.where()) +
         " while a function was traced; return it from that function instead of keeping it";
}

Tensor errorTensor(const Error &error) {
  Value *value = Value::create(0);
  value->kind = Value::Kind::error;
  value->tensor = {};
  value->tensor.dtype = SINTER_F32;
  value->error = new Error(error);
  value->where = error.where();
  return Tensor::adopt(value);
}

Trace::Trace(sinter_graph *graph, bool typesOnly, ScriptedGraph *scripted)
    : graph(graph), scripted(scripted), outer(std::exchange(currentSlot(), this)), typesOnly(typesOnly),
      serial(++serials()), outerSerial(std::exchange(serialOfOpenTrace(), serial)) {}
Trace::~Trace() {
  currentSlot() = outer;
  serialOfOpenTrace() = outerSerial;
}

Trace *&Trace::currentSlot() {
  static thread_local Trace *trace = nullptr;
  return trace;
}

void Trace::note(const Error &error) {
  if (!failure)
    failure = std::make_unique<Error>(error);
}

Tensor Trace::wrap(uint32_t id, Where where) {
  sinter_value_type type;
  if (scripted ? scripted->valueType(id, &type) : sinter_graph_value_type(graph, id, &type))
    return fail(where, sinter_last_error());
  Value *value = Value::create(0);
  value->kind = Value::Kind::traced;
  value->tensor.data = nullptr;
  value->tensor.dtype = type.dtype;
  value->tensor.rank = type.rank;
  std::memcpy(value->tensor.dims, type.dims, sizeof(int64_t) * size_t(type.rank));
  value->id = id;
  value->depth = int32_t(regions.size());
  value->region = regions.empty() ? 0 : regions.back();
  value->where = where;
  return Tensor::adopt(value);
}

uint32_t Trace::use(const Tensor &tensor, Where where, Tensor &problem) {
  if (!tensor.defined()) {
    problem = fail(where, "a traced function requires tensors, got a Tensor() without a value");
    return 0;
  }
  const Value *value = tensor.value();
  if (value->kind == Value::Kind::error) {
    problem = tensor;
    return 0;
  }
  if (value->kind == Value::Kind::eager)
    return useConstant(tensor, where, problem);
  size_t depth = size_t(value->depth);
  if (depth == 0 || depth > regions.size() || regions[depth - 1] != value->region) {
    problem = fail(where, leakMessage(tensor));
    return 0;
  }
  return value->id;
}

bool Trace::replay(uint64_t hash, std::span<const uint32_t> operands, Where where, Step *&step, Tensor &problem) {
  Frame &frame = *top;
  step = nullptr;
  if (frame.cursor >= frame.log.size())
    return false;
  Step &known = frame.log[frame.cursor];
  bool early = frame.branches < frame.decisions.size() && frame.cursor >= frame.decisions[frame.branches].position;
  if (early || known.hash != hash || known.where.line() != where.line() ||
      !std::equal(operands.begin(), operands.end(), known.operands.begin(), known.operands.end())) {
    problem = nonDeterministic(where, early ? frame.decisions[frame.branches].where : known.where);
    return true;
  }
  ++frame.cursor;
  step = &known;
  return true;
}

Trace::Step &Trace::append(uint64_t hash, std::span<const uint32_t> operands, Where where) {
  Frame &frame = *top;
  frame.log.push_back({hash, where, {operands.begin(), operands.end()}, {}, nullptr, nullptr});
  ++frame.cursor;
  return frame.log.back();
}

const void *Trace::known(uint64_t hash, const void *tag) {
  Frame &frame = *top;
  if (frame.cursor >= frame.log.size() || frame.log[frame.cursor].hash != hash || frame.log[frame.cursor].tag != tag)
    return nullptr;
  return frame.log[frame.cursor++].outcome.get();
}

void Trace::remember(uint64_t hash, Where where, std::shared_ptr<void> outcome, const void *tag) {
  Step &step = append(hash, {}, where);
  step.outcome = std::move(outcome);
  step.tag = tag;
}

bool Trace::record(const char *op, std::span<const Tensor> operands, std::span<const sinter_attr> attrs, uint64_t hash,
                   std::span<Tensor> results, int &count, Where where) {
  constexpr size_t room = 16;
  uint32_t inlineIds[room], *ids = inlineIds;
  std::vector<uint32_t> manyIds;
  if (operands.size() > room) {
    manyIds.resize(operands.size());
    ids = manyIds.data();
  }
  count = 1;
  if (failure) {
    results[0] = errorTensor(*failure);
    return false;
  }
  for (size_t k = 0; k < operands.size(); ++k) {
    ids[k] = 0;
    Tensor problem;
    if (operands[k].defined() && !(ids[k] = use(operands[k], where, problem))) {
      results[0] = problem;
      return false;
    }
  }
  std::span<const uint32_t> used(ids, operands.size());
  Step *step;
  if (Tensor problem; replay(hash, used, where, step, problem)) {
    if (!step) {
      results[0] = problem;
      return false;
    }
    count = int(step->results.size());
    std::copy_n(step->results.begin(), std::min(step->results.size(), results.size()), results.begin());
    return true;
  }
  uint32_t outputs[room];
  int32_t given = 0;
  if (!addOp(op, used, attrs, int32_t(std::min(room, results.size())), outputs, given, where)) {
    results[0] = fail(where, inFunction(refusal(op, operands, graphMessage(where))));
    return false;
  }
  count = given;
  for (int k = 0; k < given; ++k)
    results[size_t(k)] = wrap(outputs[k], where);
  append(hash, used, where).results.assign(results.begin(), results.begin() + given);
  return true;
}

bool Trace::addConstant(const sinter_tensor &tensor, Where where, uint32_t &id) {
  if (scripted)
    return !scripted->constant(tensor, &id, where);
  locate(where);
  return !sinter_graph_constant(graph, &tensor, &id);
}
bool Trace::addOp(const char *op, std::span<const uint32_t> operands, std::span<const sinter_attr> attrs, int32_t room,
                  uint32_t *results, int32_t &count, Where where) {
  if (scripted)
    return !scripted->op(op, operands, attrs, room, results, &count, where);
  locate(where);
  return !sinter_graph_op(graph, op, int32_t(operands.size()), operands.data(), int32_t(attrs.size()), attrs.data(),
                          room, results, &count);
}

bool Trace::ask(GraphCall &&call, uint32_t *results, int32_t &count, Where where) {
  if (scripted)
    return !scripted->ask(std::move(call), results, &count, where);
  locate(where);
  return !call.make(graph, call, results, &count);
}

void Trace::locate(Where where) {
  if (scripted) // each call has its own
    return;
  if (located.file_name() == where.file_name() && located.line() == where.line() && located.column() == where.column())
    return;
  located = where;
  sinter_graph_location(graph, where.file_name(), int32_t(where.line()), int32_t(where.column()),
                        where.function_name());
}

std::string Trace::graphMessage(Where where) {
  std::string message = sinter_last_error(), prefix = place(where) + ":";
  if (message.starts_with(prefix))
    if (size_t at = message.find(": ", prefix.size() - 1); at != std::string::npos)
      message.erase(0, at + 2);
  return message;
}

Tensor Trace::nonDeterministic(Where where, Where before) {
  return fail(where,
              "a function with `if (tensor)` runs once per outcome and requires the same ops each time up to the "
              "branch, got another one here than before, at " +
                  place(before) + "; use only its arguments, and no random numbers or counters of the host");
}

void Trace::dropRegions(size_t depth, const Mark &mark) {
  regions.resize(depth);
  if (scripted)
    scripted->truncate(mark.inScript);
  else
    sinter_graph_truncate(graph, mark.inGraph);
}

bool Trace::materialize(AnyTree tree, Where where, std::vector<uint32_t> &ids, std::vector<TensorType> &types) {
  bool good = true;
  tree.each([&](Tensor &leaf) {
    Tensor problem;
    uint32_t id = good ? use(leaf, where, problem) : 0;
    if (id) {
      ids.push_back(id);
      types.push_back(leaf.type());
      if (!leaf.traced())
        leaf = wrap(id, where);
    } else if (good) {
      good = false;
      leaf = problem;
    }
  });
  return good;
}

std::atomic<uint64_t> &Trace::serials() {
  static std::atomic<uint64_t> last{0};
  return last;
}

uint32_t Trace::useConstant(const Tensor &tensor, Where where, Tensor &problem) {
  for (Frame *frame = top; frame; frame = frame->parent)
    if (auto known = frame->constants.find(tensor.value()); known != frame->constants.end())
      return known->second.value()->id;
  if (auto known = bound.find(tensor.value()); known != bound.end())
    return known->second.value()->id;
  if (isRecorded(std::span(&tensor, 1))) {
    problem =
        fail(where, "a function that is traced requires tensors from outside without requires_grad, whose gradient "
                    "would be lost; pass the tensor as an argument, or detach it");
    return 0;
  }
  int64_t number = collected ? collectCapture(tensor) : -1;
  int64_t bytes = number >= 0 ? 0 : dtype_bytes(tensor.dtype(), tensor.known_size());
  if (bytes > kSilentConstantBytes && typesOnly)
    return useType(tensor, where, problem);
  if (bytes > kSilentConstantBytes && !tensor.value()->large) {
    problem = fail(where, "a captured constant requires at most 1 MiB, got " + std::to_string(bytes) + " bytes of " +
                              tensor.type().str() +
                              "; pass the tensor as an argument, or allow it with sinter::constant(tensor)");
    return 0;
  }
  uint64_t hash = hashBytes(uint64_t(tensor.dtype()) * 7919 + uint64_t(tensor.rank()), tensor.value()->tensor.dims,
                            size_t(tensor.rank()) * 8);
  hash = number >= 0 ? hashBytes(hash, &number, sizeof number) : hashBytes(hash, tensor.view().data, size_t(bytes));
  Step *step;
  if (!replay(hash, {}, where, step, problem)) {
    uint32_t id = number >= 0 ? useType(tensor, where, problem) : 0;
    if (number < 0 && !addConstant(tensor.view(), where, id))
      problem = failGraph(where);
    if (problem.defined())
      return 0;
    step = &append(hash, {}, where);
    step->results.push_back(wrap(id, where));
  } else if (!step) {
    return 0;
  }
  const Tensor &result = step->results[0];
  top->constants.emplace(tensor.value(), result);
  top->kept.push_back(tensor);
  return result.value()->id;
}

int64_t Trace::collectCapture(const Tensor &tensor) {
  constexpr int64_t manyElements = 64; // fewer integers may be sizes or axes, which are part of types
  auto note = [&](const void *data, size_t count) { collected->log.append(static_cast<const char *>(data), count); };
  std::vector<Tensor> &seen = collected->tensors;
  if (tensor.weak() || tensor.value()->region == serial ||
      (!is_float(tensor.dtype()) && tensor.known_size() <= manyElements)) {
    auto bytes = size_t(dtype_bytes(tensor.dtype(), tensor.known_size()));
    uint64_t hash[2] = {hashBytes(1, tensor.view().data, bytes), hashBytes(2, tensor.view().data, bytes)};
    note("constant", 8);
    note(bytes <= 64 ? tensor.view().data : hash, bytes <= 64 ? bytes : sizeof hash);
    return -1;
  }
  auto same = std::find_if(seen.begin(), seen.end(), [&](const Tensor &t) { return t.value() == tensor.value(); });
  int64_t number = same - seen.begin();
  if (same == seen.end())
    seen.push_back(tensor);
  note("capture", 7);
  note(&number, sizeof number);
  return number;
}

uint32_t Trace::useType(const Tensor &tensor, Where where, Tensor &problem) {
  int64_t zero = 0;
  sinter_tensor number{};
  number.dtype = int32_t(tensor.dtype());
  number.data = &zero;
  sinter_value_type type{};
  type.dtype = number.dtype;
  type.rank = tensor.rank();
  std::memcpy(type.dims, tensor.value()->tensor.dims, sizeof(int64_t) * size_t(type.rank));
  const int64_t segments[] = {1, 0, 0};
  sinter_attr attrs[3] = {};
  attrs[0].name = "axes";
  attrs[0].kind = SINTER_ATTR_I64S;
  attrs[1].name = "type";
  attrs[1].kind = SINTER_ATTR_TYPE;
  attrs[1].type = &type;
  attrs[2].name = "operandSegmentSizes";
  attrs[2].kind = SINTER_ATTR_I64S;
  attrs[2].count = 3;
  attrs[2].i64s = segments;
  uint32_t id = 0, spread = 0;
  int32_t count = 0;
  if (!addConstant(number, where, id))
    problem = failGraph(where);
  else if (type.rank == 0)
    return id;
  else if (!addOp("broadcast", std::span(&id, 1), attrs, 1, &spread, count, where))
    problem = failGraph(where);
  return spread;
}

Tensor fail(Where where, std::string message) {
  Error error(std::move(message), where);
#if SINTER_HAS_EXCEPTIONS
  throw error;
#else
  if (Trace *trace = Trace::current())
    trace->note(error);
  return errorTensor(error);
#endif
}

void cannotRead(const Tensor &tensor, const char *what, Where where) {
  if (!tensor.defined())
    return hostError(Error(std::string(what) + " requires a tensor, got a Tensor() without a value", where));
  if (tensor.error())
    return hostError(*tensor.error());
  Error error(Trace::current() ? std::string(what) + " requires elements, got a tensor of a trace, made at " +
                                     place(tensor.where()) +
                                     ", which has none yet; use cond, while_loop or where, or return the tensor"
                               : leakMessage(tensor),
              where);
#if !SINTER_HAS_EXCEPTIONS
  if (Trace *trace = Trace::current())
    return trace->note(error);
#endif
  hostError(error);
}

} // namespace sinter::inline SINTER_HOST::detail
