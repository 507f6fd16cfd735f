// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Null in place of every pointer of every function of the runtime.

#include "Nulls.h"
#include "Files.h"
#include "Functions.h"
#include "runtime/dtypes.h"
#include "runtime/embed.h"

using namespace sinter::test;

namespace {

/// a, of 2 elements = x
int32_t copyEntry(sinter_context *ctx, const sinter_tensor_slot *inputs, sinter_tensor_slot *, const int64_t *,
                  const void *) {
  int64_t dims[] = {2};
  auto *a = static_cast<float *>(ctx->output(ctx, 0, dims, 1));
  if (a)
    a[0] = a[1] = static_cast<const float *>(inputs[0].data)[1];
  return a ? SINTER_OK : SINTER_OUT_OF_MEMORY;
}

/// a, whose size only the call tells, = x; keeps a state
int32_t stateEntry(sinter_context *ctx, const sinter_tensor_slot *, sinter_tensor_slot *, const int64_t *symbols,
                   const void *) {
  int64_t dims[] = {2};
  return ctx->output(ctx, 0, symbols, 1) && ctx->output(ctx, 1, dims, 1) ? SINTER_OK : SINTER_OUT_OF_MEMORY;
}

TEST(Nulls, AreRefusedByEveryFunctionOfTheRuntime) {
  Function plain(copyEntry, {{2}}, {{2}});
  Function states(stateEntry, {{-1}, {2}}, {{SINTER_DIM_UNKNOWN}, {2}}, {"n"});
  sinter_state state = {"s", 1, 1, 0, 0, -1};
  states.function.num_states = 1;
  states.function.states = &state;
  const sinter_function *table[] = {&plain.function, nullptr}, *object[] = {&states.function, nullptr};
  sinter_open_options open = {};
  open.struct_size = sizeof open;
  sinter_session_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  sinter_module *module = nullptr, *made = nullptr;
  ASSERT_EQ(sinter_module_open_functions(object, &open, &module), SINTER_OK);
  sinter_session *session = nullptr, *other = nullptr;
  ASSERT_EQ(sinter_session_create(module, 0, &options, &session), SINTER_OK);
  alignas(64) float data[2] = {1, 2};
  sinter_tensor x = view(data, {2}), outputs[2] = {}, read;
  sinter_tensor inputs[2] = {x, x};
  int64_t bytes, n = 2;
  sinter_memory_report report = {};
  report.struct_size = sizeof report;
  Folder folder;
  std::string npy = folder.file("x.npy"), npz = folder.file("x.npz"), safetensors = folder.file("x.safetensors");
  const char *names[] = {"x"};
  sinter_kernel_profile kernel;
  int32_t count;

  WALK(sinter_abi_version, {});
  WALK(sinter_last_error, {});
  WALK(sinter_set_error, {1}, SINTER_OK, "text");
  WALK(sinter_status_name, {}, 99);
  WALK(sinter_dtype_bits, {}, 99);
  WALK(sinter_dtype_bytes, {}, 99);
  WALK(sinter_dtype_name, {}, 99);

  WALK(sinter_session_profile, {}, session, 1, &kernel, &count);
  sinter_kernel_event event;
  int64_t numEvents;
  WALK(sinter_session_trace, {}, session, 1);
  WALK(sinter_session_events, {}, session, 1, &event, &numEvents);
  WALK(sinter_op_register, {1, 2}, "op", nullptr, nullptr);
  WALK(sinter_op_find, {}, "op", 0);
  WALK(sinter_op_call, {}, "op", nullptr, 1, inputs, 1, outputs);
  WALK(sinter_log_to, {}, nullptr, nullptr);
  WALK(sinter_debug_print, {}, "{}", 1, inputs);

  WALK(sinter_module_open, {1}, npy.c_str(), nullptr, &made);
  WALK(sinter_module_open_functions, {1}, nullptr, &open, &made);
  WALK(sinter_module_open_function, {1}, nullptr, &open, &made);
  WALK(sinter_module_close, {}, static_cast<sinter_module *>(nullptr));
  WALK(sinter_module_retain, {}, static_cast<sinter_module *>(nullptr));
  WALK(sinter_module_num_functions, {}, module);
  WALK(sinter_module_function, {}, module, 0);
  WALK(sinter_module_find_function, {}, module, "main");
  WALK(sinter_module_weights_bytes, {}, module);
  WALK(sinter_module_manifest, {}, module, &bytes);
  WALK(sinter_function_find_input, {}, &plain.function, "x");
  WALK(sinter_function_find_output, {}, &plain.function, "a");

  sinter_shared_threads *shared = nullptr;
  WALK(sinter_shared_threads_create, {1}, 1, nullptr);
  ASSERT_EQ(sinter_shared_threads_create(1, &shared), SINTER_OK);
  WALK(sinter_shared_threads_executor, {}, shared);
  sinter_shared_threads_destroy(shared);
  WALK(sinter_shared_threads_destroy, {}, static_cast<sinter_shared_threads *>(nullptr));
  WALK(sinter_session_create, {2}, nullptr, 0, nullptr, &other);
  WALK(sinter_session_create, {0, 2}, module, 0, nullptr, nullptr);
  WALK(sinter_session_destroy, {}, static_cast<sinter_session *>(nullptr));
  WALK(sinter_session_function, {}, session);
  WALK(sinter_session_threads, {}, session);
  WALK(sinter_session_set_input, {2}, session, 0, &x);
  WALK(sinter_session_set_output, {2}, session, 0, &x);
  sinter_dlpack packed = {}, *taken;
  WALK(sinter_session_set_input_on_device, {2}, session, 0, &x);
  WALK(sinter_session_set_output_on_device, {2}, session, 0, &x);
  WALK(sinter_session_set_input_dlpack, {}, session, 0, &packed);
  WALK(sinter_session_set_output_dlpack, {}, session, 0, &packed);
  WALK(sinter_session_take_output_dlpack, {}, session, 0, &taken);
  WALK(sinter_module_stream, {}, module);
  WALK(sinter_module_to_device, {}, module, &x, &taken);
  WALK(sinter_module_to_host, {}, module, &packed, data);
  WALK(sinter_session_run, {}, session);
  WALK(sinter_session_call, {}, session, 2, inputs, 2, outputs);
  ASSERT_EQ(sinter_session_call(session, 2, inputs, 2, outputs), SINTER_OK) << lastError();
  WALK(sinter_session_output, {}, session, 0, &read);
  WALK(sinter_session_cancel, {}, session);
  WALK(sinter_session_memory, {}, session, &report);
  WALK(sinter_session_num_states, {}, session);
  WALK(sinter_session_state_name, {}, session, 0);
  WALK(sinter_session_state_get, {}, session, "s", &read);
  WALK(sinter_session_state_set, {}, session, "s", &x);
  WALK(sinter_session_state_reset, {}, session);
  WALK(sinter_session_save, {}, session, safetensors.c_str());
  WALK(sinter_session_load, {}, session, safetensors.c_str());

  ASSERT_EQ(sinter_npy_write(npy.c_str(), &x), SINTER_OK) << lastError();
  WALK(sinter_npy_read, {}, npy.c_str(), &read);
  WALK(sinter_npy_write, {}, npy.c_str(), &x);
  WALK(sinter_tensor_free, {}, static_cast<sinter_tensor *>(nullptr));
  WALK(sinter_npz_write, {}, npz.c_str(), names, &x, 1);
  ASSERT_EQ(sinter_npz_write(npz.c_str(), names, &x, 1), SINTER_OK) << lastError();
  sinter_npz *archive = nullptr, *archiveToo = nullptr;
  ASSERT_EQ(sinter_npz_open(npz.c_str(), &archive), SINTER_OK) << lastError();
  WALK(sinter_npz_open, {1}, nullptr, &archiveToo);
  WALK(sinter_npz_open, {}, npz.c_str(), static_cast<sinter_npz **>(nullptr));
  WALK(sinter_npz_close, {}, static_cast<sinter_npz *>(nullptr));
  WALK(sinter_npz_count, {}, archive);
  WALK(sinter_npz_name, {}, archive, 0);
  WALK(sinter_npz_read, {}, archive, "x", &read);
  WALK(sinter_safetensors_write, {}, safetensors.c_str(), names, &x, 1);
  ASSERT_EQ(sinter_safetensors_write(safetensors.c_str(), names, &x, 1), SINTER_OK) << lastError();
  sinter_safetensors *file = nullptr, *fileToo = nullptr;
  ASSERT_EQ(sinter_safetensors_open(safetensors.c_str(), &file), SINTER_OK) << lastError();
  WALK(sinter_safetensors_open, {1}, nullptr, &fileToo);
  WALK(sinter_safetensors_open, {}, safetensors.c_str(), static_cast<sinter_safetensors **>(nullptr));
  WALK(sinter_safetensors_close, {}, static_cast<sinter_safetensors *>(nullptr));
  WALK(sinter_safetensors_count, {}, file);
  WALK(sinter_safetensors_name, {}, file, 0);
  WALK(sinter_safetensors_read, {}, file, "x", &read);

  // What STEM_init, STEM_run and the others of an emitted header call.
  WALK(sinter_embed_init, {}, table, 0, 1);
  sinter_session *embedded = sinter_embed_init(table, 0, 1);
  ASSERT_NE(embedded, nullptr);
  void *pointers[] = {data, data + 1};
  for (auto status :
       {sinter_embed_run(nullptr, &n, pointers, nullptr), sinter_embed_run(embedded, &n, nullptr, nullptr)})
    EXPECT_EQ(status, SINTER_INVALID_ARGUMENT);
  for (int at : {0, 1}) {
    void *lacking[] = {at ? data : nullptr, nullptr};
    EXPECT_EQ(sinter_embed_run(embedded, nullptr, lacking, nullptr), SINTER_INVALID_ARGUMENT);
  }
  sinter_embed *step = sinter_embed_open(object, 1);
  ASSERT_NE(step, nullptr);
  const void *viewed = nullptr;
  int64_t dims[1], *places[] = {dims, nullptr}, *noPlaces[] = {nullptr, nullptr};
  void *stepPointers[] = {data, nullptr, &viewed, nullptr}, *noView[] = {data, nullptr, nullptr, nullptr};
  EXPECT_EQ(sinter_embed_call(step, 0, &n, stepPointers, places), SINTER_OK) << lastError();
  EXPECT_EQ(sinter_embed_call(nullptr, 0, &n, stepPointers, places), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_call(step, 0, nullptr, stepPointers, places), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_call(step, 0, &n, nullptr, places), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_call(step, 0, &n, stepPointers, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_call(step, 0, &n, stepPointers, noPlaces), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_call(step, 0, &n, noView, places), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "output 'a' requires places for its address and its sizes, got null");
  EXPECT_EQ(sinter_embed_call(step, 1, &n, stepPointers, places), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(lastError(), "call requires a function index below 1, got 1");
  EXPECT_EQ(sinter_embed_save(nullptr, "x"), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_save(step, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_load(nullptr, "x"), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_load(step, nullptr), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_seed(nullptr, 1), SINTER_INVALID_ARGUMENT);
  EXPECT_EQ(sinter_embed_open(nullptr, 1), nullptr);
  sinter_embed_close(nullptr);
  sinter_embed_free(nullptr);

  sinter_embed_close(step);
  sinter_embed_free(embedded);
  sinter_npz_close(archive);
  sinter_safetensors_close(file);
  sinter_session_destroy(session);
  sinter_module_close(module);
  for (const std::string &name : declared(TEST_HEADER, "", "Compiler (libsinter_compiler)"))
    EXPECT_TRUE(walked().count(name)) << name << " is not walked";
}

} // namespace
