// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The library as a program sees it: opened at run time, its functions found by name.
#include "test/cuda/driver/Abi.h"

#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

static void *library() {
  static void *handle = dlopen(CUDA_MACHINE, RTLD_NOW | RTLD_LOCAL);
  return handle;
}
// Calls a function of the driver as cuda.h names it.
template <class... A> static CUresult cu(const char *name, A... arguments) {
  auto find = reinterpret_cast<CUresult (*)(const char *, void **, int, uint64_t, int *)>(
      dlsym(library(), "cuGetProcAddress_v2"));
  void *function = nullptr;
  EXPECT_EQ(find(name, &function, 12040, 0, nullptr), CUDA_SUCCESS) << name;
  return reinterpret_cast<CUresult (*)(A...)>(function)(arguments...);
}
static std::string report() { return reinterpret_cast<const char *(*)()>(dlsym(library(), "sinterPtxReport"))(); }
static void reset() { reinterpret_cast<void (*)()>(dlsym(library(), "sinterPtxReset"))(); }
static void fail(const char *kind, uint64_t n) {
  reinterpret_cast<void (*)(const char *, uint64_t)>(dlsym(library(), "sinterPtxFail"))(kind, n);
}

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

static const char *const kText = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .u32 limit = 3;
.extern .shared .align 16 .b8 s[];
.extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);
.visible .entry scale(.param .u64 p, .param .f32 by, .param .u32 n) {
  .reg .b64 %r<4>; .reg .b32 %t<6>; .reg .f32 %f<3>; .reg .pred %p<2>;
  ld.param.u64 %r0, [p]; ld.param.f32 %f0, [by]; ld.param.u32 %t0, [n];
  mov.u32 %t1, %ctaid.x; mov.u32 %t2, %ntid.x; mov.u32 %t3, %tid.x; mad.lo.u32 %t4, %t1, %t2, %t3;
  setp.ge.u32 %p0, %t4, %t0; @%p0 ret;
  mul.wide.u32 %r1, %t4, 4; add.s64 %r0, %r0, %r1; ld.global.f32 %f1, [%r0]; mul.f32 %f1, %f1, %f0; st.global.f32 [%r0], %f1; ret; }
.visible .entry count(.param .u64 p, .param .u64 h) {
  .reg .b64 %r<4>; .reg .b32 %t<6>; .reg .pred %p<2>;
  ld.param.u64 %r0, [p]; ld.param.u64 %r1, [h]; ld.global.u32 %t0, [%r0]; add.u32 %t0, %t0, 1; st.global.u32 [%r0], %t0;
  ld.global.u32 %t1, [limit]; setp.lt.u32 %p0, %t0, %t1; selp.u32 %t2, 1, 0, %p0;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %r1; st.param.b32 [b], %t2; call.uni cudaGraphSetConditional, (a, b); } ret; }
.visible .entry big() { .reg .b32 %t<3>; mov.u32 %t0, %tid.x; shl.b32 %t1, %t0, 4; ret; }
)";

class DriverTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_NE(library(), nullptr) << dlerror();
    setenv("SINTER_PTX_REPORT", "/dev/null", 1);
    OK(cu("cuInit", 0u));
    OK(cu("cuDevicePrimaryCtxRetain", &context, 0));
    OK(cu("cuCtxSetCurrent", context));
    OK(cu("cuModuleLoadData", &module, (const void *)text.c_str()));
    reset();
  }
  void TearDown() override {
    for (const char *kind : {"alloc", "copy", "launch", "module"})
      fail(kind, 0);
    EXPECT_EQ(cu("cuDevicePrimaryCtxRelease", 0), CUDA_SUCCESS);
  }
  CUfunction function(const char *name) {
    CUfunction found = nullptr;
    EXPECT_EQ(cu("cuModuleGetFunction", &found, module, name), CUDA_SUCCESS);
    return found;
  }
  CUdeviceptr put(const std::vector<float> &values) {
    CUdeviceptr p = 0;
    EXPECT_EQ(cu("cuMemAlloc", &p, values.size() * 4), CUDA_SUCCESS);
    EXPECT_EQ(cu("cuMemcpyHtoD", p, (const void *)values.data(), values.size() * 4), CUDA_SUCCESS);
    return p;
  }
  CUresult scale(CUdeviceptr p, float by, unsigned n, CUstream stream = nullptr) {
    void *params[] = {&p, &by, &n};
    return cu("cuLaunchKernel", function("scale"), (n + 31) / 32, 1u, 1u, 32u, 1u, 1u, 0u, stream, params,
              (void **)nullptr);
  }
  std::string text = kText;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
};

TEST_F(DriverTest, tensor_maps_are_checked) {
  const uint64_t sizes[] = {64, 8}, strides[] = {128}, wrong[] = {136};
  const uint32_t box[] = {64, 8}, ones[] = {1, 1};
  alignas(64) char map[128];
  CUdeviceptr p;
  OK(cu("cuMemAlloc_v2", &p, size_t(1024)));
  auto encode = [&](const uint64_t *apart) {
    return cu("cuTensorMapEncodeTiled", (void *)map, 6, 2u, (void *)p, &sizes[0], apart, &box[0], &ones[0], 0, 3, 0, 0);
  };
  EXPECT_EQ(encode(strides), CUDA_SUCCESS);
  EXPECT_EQ(encode(wrong), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(report().find("a stride of 136 bytes, a multiple of 16 is required"), std::string::npos) << report();
  OK(cu("cuMemFree_v2", p));
}

TEST_F(DriverTest, copies_launches_and_frees) {
  CUdeviceptr p = put({1, 2, 3, 4, 5});
  OK(scale(p, 2, 5));
  std::vector<float> got(5);
  OK(cu("cuMemcpyDtoH", (void *)got.data(), p, size_t(20)));
  EXPECT_EQ(got, (std::vector<float>{2, 4, 6, 8, 10}));
  OK(cu("cuMemFree", p));
  EXPECT_EQ(report(), "");
}

TEST_F(DriverTest, faults_become_the_error_of_the_context) {
  CUdeviceptr p = put({1, 2, 3});
  OK(scale(p, 2, 4));
  EXPECT_EQ(cu("cuCtxSynchronize"), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cu("cuMemAlloc", &p, size_t(4)), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(report().find("out of bounds: kernel scale, module.ptx:12"), std::string::npos) << report();
  EXPECT_NE(report().find("thread (3,0,0): 4 bytes at"), std::string::npos) << report();
}

TEST_F(DriverTest, leaks_and_wrong_frees_are_told) {
  CUdeviceptr p = put({1});
  OK(cu("cuMemFree", p));
  EXPECT_EQ(cu("cuMemFree", p), CUDA_ERROR_INVALID_VALUE);
  CUcontext other;
  OK((cu("cuCtxCreate_v2", &other, 0u, 0)));
  put({1, 2});
  OK(cu("cuCtxDestroy", other));
  EXPECT_NE(report().find("free: nothing is allocated"), std::string::npos);
  EXPECT_NE(report().find("of 8 bytes was not freed when its context ended"), std::string::npos) << report();
}

TEST_F(DriverTest, wrong_launches_leave_the_context_usable) {
  CUdeviceptr p = put({1});
  void *params[] = {&p, &p, &p};
  EXPECT_EQ(cu("cuLaunchKernel", function("scale"), 1u, 1u, 1u, 2048u, 1u, 1u, 0u, CUstream(nullptr), params,
               (void **)nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cu("cuLaunchKernel", function("big"), 1u, 1u, 1u, 32u, 1u, 1u, 65536u, CUstream(nullptr), (void **)nullptr,
               (void **)nullptr),
            CUDA_ERROR_INVALID_VALUE);
  OK(cu("cuFuncSetAttribute", function("big"), 8, 65536));
  OK(cu("cuLaunchKernel", function("big"), 1u, 1u, 1u, 32u, 1u, 1u, 65536u, CUstream(nullptr), (void **)nullptr,
        (void **)nullptr));
  OK(scale(p, 2, 1));
  OK(cu("cuMemFree", p));
}

TEST_F(DriverTest, errors_in_ptx_come_back_in_the_log) {
  char log[256];
  int options[] = {5, 6};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule bad;
  EXPECT_EQ(cu("cuModuleLoadDataEx", &bad, (const void *)".version 8.0\n.target sm_80\n.entry k() {\n odd; }", 2u,
               options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_STREQ(log, "module.ptx:4: unknown instruction odd");
  values[1] = reinterpret_cast<void *>(sizeof log);
  EXPECT_EQ(cu("cuModuleLoadDataEx", &bad, (const void *)".version 8.0\n.target sm_120\n", 2u, options, values),
            CUDA_ERROR_INVALID_PTX);
  EXPECT_STREQ(log, "module.ptx: .target sm_120 on a device of sm_90");
}

TEST_F(DriverTest, injected_failures_come_when_asked_for) {
  CUdeviceptr p = 0, q = 0;
  fail("alloc", 2);
  OK(cu("cuMemAlloc", &p, size_t(4)));
  EXPECT_EQ(cu("cuMemAlloc", &q, size_t(4)), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cu("cuMemAlloc", &q, size_t(4)));
  fail("copy", 1);
  float value = 1;
  EXPECT_EQ(cu("cuMemcpyHtoD", p, (const void *)&value, size_t(4)), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cu("cuMemcpyHtoD", p, (const void *)&value, size_t(4)));
  fail("launch", 1);
  EXPECT_EQ(scale(p, 2, 1), CUDA_ERROR_LAUNCH_FAILED);
}

TEST_F(DriverTest, clusters_of_the_text_need_nothing_of_the_launch) {
  // Each block writes what the other one of its pair has in shared memory.
  const char *const pairs = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry pair(.param .u64 p) .explicitcluster .reqnctapercluster 2, 1, 1 {
  .reg .b64 %r<3>; .reg .b32 %t<6>; .shared .align 4 .b8 s[4];
  ld.param.u64 %r0, [p]; mov.u32 %t0, %ctaid.x; mov.u32 %t1, %cluster_ctarank; mov.u32 %t2, s; st.shared.u32 [s], %t0;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  xor.b32 %t3, %t1, 1; mapa.shared::cluster.u32 %t4, %t2, %t3; ld.shared::cluster.u32 %t5, [%t4];
  mul.wide.u32 %r1, %t0, 4; add.s64 %r0, %r0, %r1; st.global.u32 [%r0], %t5;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret; }
)";
  CUmodule clusters;
  CUfunction pair = nullptr;
  OK(cu("cuModuleLoadData", &clusters, (const void *)pairs));
  OK(cu("cuModuleGetFunction", &pair, clusters, "pair"));
  CUdeviceptr p = put({0, 0, 0, 0});
  void *params[] = {&p};
  auto launch = [&](unsigned blocks, CUstream stream) {
    return cu("cuLaunchKernel", pair, blocks, 1u, 1u, 1u, 1u, 1u, 0u, stream, params, (void **)nullptr);
  };
  std::vector<uint32_t> got(4);
  OK(launch(4, nullptr));
  OK(cu("cuMemcpyDtoH", (void *)got.data(), p, size_t(16)));
  EXPECT_EQ(got, (std::vector<uint32_t>{1, 0, 3, 2}));
  EXPECT_EQ(launch(3, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(report(), "wrong launch: kernel pair: a grid of (3,1,1) blocks in clusters of (2,1,1)\n");
  reset();
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  OK(cu("cuStreamCreate", &stream, 0u));
  OK(cu("cuMemsetD8", p, (unsigned char)9, size_t(16)));
  OK(cu("cuStreamBeginCapture", stream, 0));
  OK(launch(4, stream));
  OK(cu("cuStreamEndCapture", stream, &graph));
  OK(cu("cuGraphInstantiate", &exec, graph, 0ull));
  OK(cu("cuGraphLaunch", exec, stream));
  OK(cu("cuMemcpyDtoH", (void *)got.data(), p, size_t(16)));
  EXPECT_EQ(got, (std::vector<uint32_t>{1, 0, 3, 2}));
  EXPECT_EQ(report(), "");
  OK(cu("cuGraphExecDestroy", exec));
  OK(cu("cuGraphDestroy", graph));
  OK(cu("cuStreamDestroy", stream));
  OK(cu("cuModuleUnload", clusters));
  OK(cu("cuMemFree", p));
}

TEST_F(DriverTest, captured_work_runs_when_the_graph_does_and_can_be_changed) {
  CUdeviceptr p = put({1, 1});
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  OK(cu("cuStreamCreate", &stream, 0u));
  OK((cu("cuStreamBeginCapture", stream, 0)));
  OK(scale(p, 3, 2, stream));
  OK(scale(p, 5, 1, stream));
  OK(cu("cuStreamEndCapture", stream, &graph));
  OK(cu("cuGraphInstantiate", &exec, graph, 0ull));
  std::vector<float> got(2);
  OK(cu("cuMemcpyDtoH", (void *)got.data(), p, size_t(8)));
  EXPECT_EQ(got, (std::vector<float>{1, 1}));
  OK(cu("cuGraphLaunch", exec, stream));
  OK(cu("cuGraphLaunch", exec, stream));
  OK(cu("cuMemcpyDtoH", (void *)got.data(), p, size_t(8)));
  EXPECT_EQ(got, (std::vector<float>{225, 9}));
  CUgraphNode nodes[2];
  size_t count = 2;
  OK(cu("cuGraphGetNodes", graph, nodes, &count));
  float by = 10;
  unsigned n = 1;
  void *params[] = {&p, &by, &n};
  CUDA_KERNEL_NODE_PARAMS changed{function("scale"), 1, 1, 1, 32, 1, 1, 0, params, nullptr, nullptr, nullptr};
  OK(cu("cuGraphExecKernelNodeSetParams", exec, nodes[0], (const CUDA_KERNEL_NODE_PARAMS *)&changed));
  OK(cu("cuGraphLaunch", exec, stream));
  OK(cu("cuMemcpyDtoH", (void *)got.data(), p, size_t(8)));
  EXPECT_EQ(got, (std::vector<float>{11250, 9}));
  OK(cu("cuGraphExecDestroy", exec));
  OK(cu("cuGraphDestroy", graph));
  OK(cu("cuMemFree", p));
}

TEST_F(DriverTest, while_nodes_run_until_the_device_says_stop) {
  CUdeviceptr p;
  OK(cu("cuMemAlloc", &p, size_t(4)));
  OK((cu("cuMemsetD32", p, 0u, size_t(1))));
  CUgraph graph;
  OK(cu("cuGraphCreate", &graph, 0u));
  uint64_t handle;
  OK(cu("cuGraphConditionalHandleCreate", &handle, graph, context, 1u, 1u));
  CUgraphNodeParams loop{};
  loop.type = 13;
  loop.conditional = {handle, 1, 1, nullptr, context};
  CUgraphNode node;
  OK(cu("cuGraphAddNode", &node, graph, (const CUgraphNode *)nullptr, (const void *)nullptr, size_t(0), &loop));
  CUgraph body = loop.conditional.phGraph_out[0];
  void *params[] = {&p, &handle};
  CUDA_KERNEL_NODE_PARAMS step{function("count"), 1, 1, 1, 1, 1, 1, 0, params, nullptr, nullptr, nullptr};
  OK(cu("cuGraphAddKernelNode", &node, body, (const CUgraphNode *)nullptr, size_t(0),
        (const CUDA_KERNEL_NODE_PARAMS *)&step));
  CUgraphExec exec;
  OK(cu("cuGraphInstantiate", &exec, graph, 0ull));
  unsigned got = 0;
  OK(cu("cuGraphLaunch", exec, CUstream(nullptr)));
  OK(cu("cuMemcpyDtoH", (void *)&got, p, size_t(4)));
  EXPECT_EQ(got, 3u); // the limit
  OK(cu("cuGraphLaunch", exec, CUstream(nullptr)));
  OK(cu("cuMemcpyDtoH", (void *)&got, p, size_t(4)));
  EXPECT_EQ(got, 4u); // the condition starts anew
  CUdeviceptr limit;
  size_t bytes;
  OK((cu("cuModuleGetGlobal", &limit, &bytes, module, "limit")));
  EXPECT_EQ(bytes, 4u);
  OK((cu("cuMemsetD32", limit, 9u, size_t(1))));
  OK(cu("cuGraphLaunch", exec, CUstream(nullptr)));
  OK(cu("cuMemcpyDtoH", (void *)&got, p, size_t(4)));
  EXPECT_EQ(got, 9u);
  OK(cu("cuGraphExecDestroy", exec));
  OK(cu("cuGraphDestroy", graph));
  OK(cu("cuMemFree", p));
  EXPECT_EQ(report(), "");
}

TEST_F(DriverTest, graphs_that_are_used_wrongly_are_told) {
  CUgraph graph, other;
  CUgraphExec exec;
  OK(cu("cuGraphCreate", &graph, 0u));
  OK(cu("cuGraphCreate", &other, 0u));
  CUgraphNode node, foreign;
  OK(cu("cuGraphAddEmptyNode", &foreign, other, (const CUgraphNode *)nullptr, size_t(0)));
  EXPECT_EQ(cu("cuGraphAddEmptyNode", &node, graph, (const CUgraphNode *)&foreign, size_t(1)),
            CUDA_ERROR_INVALID_VALUE);
  CUDA_KERNEL_NODE_PARAMS none{function("big"), 0, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr, nullptr};
  EXPECT_EQ(cu("cuGraphAddKernelNode", &node, graph, (const CUgraphNode *)nullptr, size_t(0),
               (const CUDA_KERNEL_NODE_PARAMS *)&none),
            CUDA_ERROR_INVALID_VALUE);
  uint64_t handle;
  OK(cu("cuGraphConditionalHandleCreate", &handle, other, context, 1u, 1u));
  CUgraphNodeParams loop{};
  loop.type = 13;
  loop.conditional = {handle, 1, 1, nullptr, context};
  EXPECT_EQ(cu("cuGraphAddNode", &node, graph, (const CUgraphNode *)nullptr, (const void *)nullptr, size_t(0), &loop),
            CUDA_ERROR_INVALID_VALUE);
  OK(cu("cuGraphAddEmptyNode", &node, graph, (const CUgraphNode *)nullptr, size_t(0)));
  OK(cu("cuGraphInstantiate", &exec, graph, 0ull));
  CUDA_KERNEL_NODE_PARAMS big{function("big"), 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr, nullptr};
  EXPECT_EQ(cu("cuGraphExecKernelNodeSetParams", exec, foreign, (const CUDA_KERNEL_NODE_PARAMS *)&big),
            CUDA_ERROR_INVALID_VALUE);
  OK(cu("cuGraphExecDestroy", exec));
  EXPECT_EQ(cu("cuGraphLaunch", exec, CUstream(nullptr)), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cu("cuGraphExecDestroy", exec), CUDA_ERROR_INVALID_HANDLE);
  OK(cu("cuGraphDestroy", other));
  EXPECT_EQ(cu("cuGraphDestroy", other), CUDA_ERROR_INVALID_VALUE);
  for (const char *told :
       {"wrong graph: a node depends on one of another graph",
        "wrong launch: kernel big: a grid or a block of no threads",
        "wrong graph: a conditional node requires a condition of its graph that no other node has",
        "wrong graph: an update of a node that the executable graph has not",
        "use after free: cuGraphLaunch of what is no executable graph",
        "free: cuGraphExecDestroy of what is no executable graph", "free: cuGraphDestroy of what is no graph"})
    EXPECT_NE(report().find(told), std::string::npos) << told << " in\n" << report();
  OK(cu("cuGraphDestroy", graph));
}

TEST_F(DriverTest, graphs_that_nobody_destroys_are_leaks) {
  CUcontext own;
  OK((cu("cuCtxCreate_v2", &own, 0u, 0)));
  CUgraph graph;
  CUgraphExec exec;
  OK(cu("cuGraphCreate", &graph, 0u));
  OK(cu("cuGraphInstantiate", &exec, graph, 0ull));
  OK(cu("cuCtxDestroy", own));
  EXPECT_NE(report().find("leak: 1 executable graphs were not destroyed"), std::string::npos) << report();
  EXPECT_NE(report().find("leak: a graph of 0 nodes was not destroyed"), std::string::npos) << report();
}

TEST_F(DriverTest, kernels_see_mapped_memory_of_the_host) {
  void *host = nullptr;
  CUdeviceptr p = 0;
  OK(cu("cuMemHostAlloc", &host, size_t(8), 2u));
  static_cast<float *>(host)[0] = 3;
  OK(cu("cuMemHostGetDevicePointer", &p, host, 0u));
  OK(scale(p, 2, 1));
  EXPECT_EQ(static_cast<float *>(host)[0], 6);
  OK(cu("cuMemFreeHost", host));
  EXPECT_EQ(cu("cuMemFreeHost", host), CUDA_ERROR_INVALID_VALUE);
  EXPECT_NE(report().find("free: no memory of the host"), std::string::npos) << report();
}

/// A program that forgot a dependency gets the wrong result.
TEST_F(DriverTest, nodes_that_are_free_run_in_another_order_than_they_were_made) {
  CUdeviceptr p = put({1});
  CUgraph graph;
  CUgraphExec exec;
  OK(cu("cuGraphCreate", &graph, 0u));
  CUDA_MEMSET_NODE_PARAMS fill{p, 0, 0x40400000, 4, 1, 1, nullptr}; // 3
  CUgraphNode first, second;
  OK(cu("cuGraphAddMemsetNode", &first, graph, (const CUgraphNode *)nullptr, size_t(0),
        (const CUDA_MEMSET_NODE_PARAMS *)&fill, context));
  float by = 2;
  unsigned n = 1;
  void *params[] = {&p, &by, &n};
  CUDA_KERNEL_NODE_PARAMS twice{function("scale"), 1, 1, 1, 32, 1, 1, 0, params, nullptr, nullptr, nullptr};
  OK(cu("cuGraphAddKernelNode", &second, graph, (const CUgraphNode *)nullptr, size_t(0),
        (const CUDA_KERNEL_NODE_PARAMS *)&twice));
  OK(cu("cuGraphInstantiate", &exec, graph, 0ull));
  OK(cu("cuGraphLaunch", exec, CUstream(nullptr)));
  float got = 0;
  OK(cu("cuMemcpyDtoH", (void *)&got, p, size_t(4)));
  EXPECT_EQ(got, 3);
  OK(cu("cuGraphExecDestroy", exec));
  OK(cu("cuGraphDestroy", graph));
  OK(cu("cuMemFree", p));
}

TEST_F(DriverTest, occupancy_attributes_and_names) {
  int value = 0;
  OK(cu("cuDeviceGetAttribute", &value, 75, 0));
  EXPECT_EQ(value, 9);
  OK(cu("cuOccupancyMaxActiveBlocksPerMultiprocessor", &value, function("scale"), 256, size_t(0)));
  EXPECT_EQ(value, 8);
  const char *name;
  OK(cu("cuGetErrorName", CUresult(CUDA_ERROR_ILLEGAL_ADDRESS), &name));
  EXPECT_STREQ(name, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(sizeof(CUgraphNodeParams), 256u);
  EXPECT_EQ(sizeof(CUDA_MEMCPY3D), 200u);
  EXPECT_EQ(sizeof(CUlaunchConfig), 56u);
}
