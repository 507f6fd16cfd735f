// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../data/Media.h"
#include "../decimal.h"
#include "Inputs.h"

using namespace sinter;
using namespace sinter::train;
using Input = Folder::Input;

Folder::Folder(const std::string &path) : path(path), source(data::openFolder(path, data::mediaSuffixes())) {}

std::string Folder::describeOthers() const { return data::describeOthers(path, data::mediaSuffixes()); }

static std::string textOf(const std::vector<int64_t> &dims) {
  std::string text;
  for (int64_t size : dims)
    text += (text.empty() ? "" : "x") + (size < 0 ? "?" : std::to_string(size));
  return text.empty() ? "scalar" : text;
}

[[noreturn]] static void misfit(const Input &input, const std::string &what, const data::Dims &got) {
  throw data::Error(SINTER_INVALID_ARGUMENT, "input '" + input.name + "' requires " + what + " of " +
                                                 textOf(input.dims) + ", got " + got.text());
}

static bool fits(int64_t wanted, int64_t size) { return wanted < 0 || wanted == size; }
static bool areChannels(int64_t size) { return size == 1 || size == 3 || size == 4; }

/// Pixels in [0, 1] as [height, width], [height, width, channels], [channels, height, width], or one behind the other.
static data::Value pictureFor(std::string_view bytes, const Input &input) {
  const std::vector<int64_t> &dims = input.dims;
  bool isChannelsFirst = dims.size() == 3 && areChannels(dims[0]) && !areChannels(dims[2]);
  int64_t channels = dims.size() == 2                           ? 1
                     : isChannelsFirst                          ? dims[0]
                     : dims.size() == 3 && areChannels(dims[2]) ? dims[2]
                                                                : 0;
  data::Value picture = data::decodePicture(bytes, channels);
  int64_t height = picture.dims()[0], width = picture.dims()[1];
  if (dims.size() == 1 && dims[0] != picture.count()) { // as gray or as colours
    channels = dims[0] == height * width ? 1 : 3;
    picture = data::decodePicture(bytes, channels);
  }
  channels = picture.dims()[2];
  bool isFit = dims.size() == 1   ? fits(dims[0], picture.count())
               : dims.size() == 2 ? fits(dims[0], height) && fits(dims[1], width)
               : isChannelsFirst
                   ? fits(dims[1], height) && fits(dims[2], width)
                   : dims.size() == 3 && fits(dims[0], height) && fits(dims[1], width) && fits(dims[2], channels);
  if (!isFit)
    misfit(input, "pictures", picture.dims());
  std::vector<float> values(static_cast<size_t>(picture.count()));
  auto fill = [&](auto pixels, float full) {
    for (int64_t i = 0; i < picture.count(); ++i) {
      int64_t to = isChannelsFirst ? i % channels * height * width + i / channels : i;
      values[static_cast<size_t>(to)] = static_cast<float>(pixels[static_cast<size_t>(i)]) / full;
    }
  };
  if (picture.dtype() == SINTER_U16)
    fill(picture.as<uint16_t>(), 65535);
  else
    fill(picture.as<uint8_t>(), 255);
  data::Dims shape = dims.size() == 1   ? data::Dims{picture.count()}
                     : dims.size() == 2 ? data::Dims{height, width}
                     : isChannelsFirst  ? data::Dims{channels, height, width}
                                        : picture.dims();
  return data::Value::of(std::span<const float>(values), shape);
}

/// The mean of the channels, cut or continued by silence to the frames that the input takes.
static data::Value soundFor(std::string_view bytes, const Input &input) {
  data::Value sound = data::decodeWavF32(bytes);
  if (input.dims.size() != 1)
    misfit(input, "sounds", sound.dims());
  int64_t channels = sound.dims()[1], frames = input.dims[0] < 0 ? sound.dims()[0] : input.dims[0];
  std::vector<float> values(static_cast<size_t>(frames));
  auto all = sound.as<float>();
  for (int64_t i = 0; i < std::min(frames, sound.dims()[0]); ++i) {
    for (int64_t c = 0; c < channels; ++c)
      values[static_cast<size_t>(i)] += all[static_cast<size_t>(i * channels + c)];
    values[static_cast<size_t>(i)] /= static_cast<float>(channels);
  }
  return data::Value::of(values);
}

static data::Record converted(const data::Record &file, const std::string &folder, const std::vector<Input> &inputs) {
  std::string name(file["file"].bytes());
  int64_t label = file["label"].as<int64_t>()[0];
  data::Record record;
  for (const Input &input : inputs) {
    try {
      if (input.isLabel) {
        if (label < 0)
          throw data::Error(SINTER_INVALID_ARGUMENT, "a label requires a folder around the file");
        record.set(input.name, input.dtype == SINTER_I32 ? data::Value::scalar(static_cast<int32_t>(label))
                                                         : data::Value::scalar(label));
        continue;
      }
      std::string_view bytes = file["bytes"].bytes();
      record.set(input.name, data::isSound(name) ? soundFor(bytes, input) : pictureFor(bytes, input));
    } catch (const data::Error &error) {
      throw data::Error(error.code(), error.what(), {folder + "/" + name, -1, -1});
    }
  }
  return record;
}

void Folder::require(const sinter_tensor_type &type) {
  Input input{.name = type.name, .dtype = type.dtype};
  for (int32_t d = 1; d < type.rank; ++d)
    input.dims.push_back(std::max<int64_t>(type.dims[d], -1));
  input.isLabel = type.rank == 1 && (type.dtype == SINTER_I64 || type.dtype == SINTER_I32);
  if (type.rank < 1 || (!input.isLabel && type.dtype != SINTER_F32))
    throw data::Error(SINTER_INVALID_ARGUMENT,
                      "data " + input.name + " requires f32 for pictures and sounds or a vector of i64 or i32 " +
                          "for labels to be fed from a folder, the step takes " + sinter_dtype_name(type.dtype) +
                          " of rank " + std::to_string(type.rank));
  if (source->size() == 0)
    throw data::Error(SINTER_INVALID_ARGUMENT,
                      path + ": training requires pictures (.png, .jpg, .ppm, ...) or sounds (.wav) in the folder");
  inputs.push_back(input);
  converted(source->read(0), path, {input});
}

namespace {
/// Some of the files.
class Chosen : public data::Source {
public:
  Chosen(std::shared_ptr<const data::Source> all, std::vector<int64_t> files, std::string text)
      : all(std::move(all)), files(std::move(files)), text(std::move(text)) {}
  int64_t size() const override { return static_cast<int64_t>(files.size()); }
  data::Record read(int64_t i) const override { return all->read(files[static_cast<size_t>(i)]); }
  std::string signature() const override { return all->signature() + text; }

private:
  std::shared_ptr<const data::Source> all;
  std::vector<int64_t> files;
  std::string text;
};
} // namespace

Batches Folder::batches(const BatchPlan &plan, const Share &share) const {
  std::shared_ptr<const data::Source> files = source;
  if (share.part != Share::All)
    files = std::make_shared<Chosen>(source, share.of(source->size()),
                                     " part " + std::to_string(share.part) + " of " + decimal(share.validation) +
                                         " seed " + std::to_string(share.seed));
  auto from = [files, plan, path = path, inputs = inputs](int64_t first) {
    data::Dataset records =
        plan.shuffle ? data::Dataset::shuffledFrom(files, *plan.shuffle) : data::Dataset::from(files);
    if (first)
      records = records.skip(first * plan.size);
    return records
        .map([path, inputs](const data::Record &file) { return converted(file, path, inputs); }, {.threads = 2})
        .batch({.size = plan.size, .dropRemainder = plan.dropsRest});
  };
  return Batches(from, stepsOf(files->size(), plan));
}
