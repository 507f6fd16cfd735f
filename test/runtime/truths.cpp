// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Booleans of others: any byte but 0 is true, and compiled code is given 0 and 1, whoever brings them.

#include "Files.h"
#include "Functions.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace sinter::test;

namespace {

/// a = the bytes of x as they are.
int32_t copyEntry(sinter_context *context, const sinter_tensor_slot *inputs, sinter_tensor_slot *,
                  const int64_t *symbols, const void *) {
  void *a = context->output(context, 0, symbols, 1);
  if (!a)
    return SINTER_OUT_OF_MEMORY;
  memcpy(a, inputs[0].data, static_cast<size_t>(symbols[0]));
  return SINTER_OK;
}

struct CopyFunction : Function {
  CopyFunction() : Function(copyEntry, {{-1}}, {{-1}}, {"n"}) {
    for (sinter_tensor_type &type : types)
      type.dtype = SINTER_I1;
  }
};

sinter_tensor truthsOf(void *data, int64_t count) {
  sinter_tensor tensor = {};
  tensor.data = data;
  tensor.dtype = SINTER_I1;
  tensor.rank = 1;
  tensor.dims[0] = count;
  return tensor;
}

TEST(Truths, InputsOfCallersBecomeZeroAndOne) {
  CopyFunction copy;
  sinter_module *module = nullptr;
  sinter_session *session = nullptr;
  ASSERT_EQ(sinter_module_open_function(&copy.function, nullptr, &module), SINTER_OK) << lastError();
  ASSERT_EQ(sinter_session_create(module, 0, nullptr, &session), SINTER_OK) << lastError();
  // Around the blocks that the scan works in, and unaligned.
  for (int64_t count : {1, 256, 4095, 4096, 4097, 10000})
    for (size_t shift : {0, 1}) {
      std::vector<unsigned char> room(static_cast<size_t>(count) + 128);
      unsigned char *begin = room.data() + (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64 + shift;
      for (int64_t i = 0; i < count; ++i)
        begin[i] = static_cast<unsigned char>(i * 7);
      sinter_tensor x = truthsOf(begin, count), a;
      ASSERT_EQ(sinter_session_set_input(session, 0, &x), SINTER_OK) << lastError();
      ASSERT_EQ(sinter_session_run(session), SINTER_OK) << lastError();
      ASSERT_EQ(sinter_session_output(session, 0, &a), SINTER_OK) << lastError();
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(static_cast<unsigned char *>(a.data)[i], i * 7 % 256 != 0) << i << " of " << count;
        ASSERT_EQ(begin[i], static_cast<unsigned char>(i * 7)) << "the caller's bytes are theirs";
      }
    }
  sinter_session_destroy(session);
  sinter_module_close(module);
}

TEST(Truths, FilesGiveZeroAndOne) {
  Folder folder;
  std::string data("\x00\x01\x02\xff", 4);
  std::string header = "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }";
  header.resize(117, ' ');
  std::string npy = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + data;
  std::string json = R"({"b":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(json.size());
  sinter_tensor fromNpy, fromSafetensors;
  ASSERT_EQ(sinter_npy_read(folder.write("b.npy", npy).c_str(), &fromNpy), SINTER_OK) << lastError();
  sinter_safetensors *file = nullptr;
  ASSERT_EQ(sinter_safetensors_open(folder.write("b.safetensors", length + json + data).c_str(), &file), SINTER_OK)
      << lastError();
  ASSERT_EQ(sinter_safetensors_read(file, "b", &fromSafetensors), SINTER_OK) << lastError();
  for (const sinter_tensor *tensor : {&fromNpy, &fromSafetensors})
    EXPECT_EQ(std::string(static_cast<char *>(tensor->data), 4), std::string("\0\1\1\1", 4));
  sinter_tensor_free(&fromNpy);
  sinter_tensor_free(&fromSafetensors);
  sinter_safetensors_close(file);
}

} // namespace
