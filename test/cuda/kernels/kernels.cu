// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs whose answers are known, for the PTX machine. nvcc made kernels.ptx of this (../make_ptx.py), so nothing of Sinter is in it.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#include <stdio.h>

// out[block] = the sum of in over the block's part: shuffles in warps, shared memory between them.
extern "C" __global__ void reduce(const float *in, float *out, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += in[i];
  for (int step = 16; step; step /= 2)
    sum += __shfl_down_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
    for (int step = 16; step; step /= 2)
      sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x == 0)
      out[blockIdx.x] = sum;
  }
}

// The whole sum in one launch: the last block adds what the others left.
__device__ unsigned arrived;
extern "C" __global__ void reduceAll(const float *in, float *partial, float *out, int n) {
  __shared__ float tile[128];
  __shared__ bool last;
  float sum = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
    sum += in[i];
  tile[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 64; step; step /= 2) {
    if (threadIdx.x < step)
      tile[threadIdx.x] += tile[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = tile[0];
    __threadfence();
    last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float all = 0;
    for (int i = 0; i < gridDim.x; ++i)
      all += partial[i];
    *out = all;
    arrived = 0;
  }
}

extern "C" __global__ void histogram(const uint8_t *in, unsigned *out, int n) {
  __shared__ unsigned counts[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    counts[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&counts[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    atomicAdd(&out[i], counts[i]);
}

extern "C" __global__ void transpose(const float *in, float *out, int rows, int columns) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < columns && y + j < rows)
      tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (x < rows && y + j < columns)
      out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

// Steps until 1, for each thread another number of them.
extern "C" __global__ void collatz(unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  uint64_t value = i + 1;
  unsigned steps = 0;
  while (value != 1) {
    if (value % 2)
      value = 3 * value + 1;
    else
      value /= 2;
    ++steps;
  }
  out[i] = steps;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursive(unsigned *out) {
  out[threadIdx.x] = fibonacci(threadIdx.x % 11);
  if (threadIdx.x == 3)
    printf("%d of %s is %.1f\n", 3, "fibonacci", 2.0);
}

extern "C" __global__ void elementary(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = in[i];
  out[i] = sinf(x);
  out[n + i] = expf(x);
  out[2 * n + i] = logf(fabsf(x) + 0.25f);
  out[3 * n + i] = tanhf(x);
  out[4 * n + i] = erff(x);
  out[5 * n + i] = 1.0f / x;
  out[6 * n + i] = powf(fabsf(x), 1.5f);
  out[7 * n + i] = (float)lgamma((double)fabsf(x) + 1);
}

extern "C" __global__ void integers(const uint64_t *in, uint64_t *out) {
  uint64_t a = in[threadIdx.x], b = in[31 - threadIdx.x];
  uint64_t *to = out + threadIdx.x * 8;
  to[0] = __umul64hi(a, b);
  to[1] = a / (b | 1);
  to[2] = (uint64_t)((int64_t)a % (int64_t)(b >> 40 | 1));
  to[3] = __popcll(a) + 100 * __clzll(b);
  to[4] = __brevll(a);
  to[5] = __byte_perm((unsigned)a, (unsigned)b, 0x3715) | (uint64_t)__funnelshift_l((unsigned)a, (unsigned)b, 7) << 32;
  to[6] = __float_as_uint((float)a) | (uint64_t)__float2int_rd((float)(int)b * 1e-3f) << 32;
  to[7] = (a << (b & 63)) ^ (uint64_t)((int64_t)a >> (b & 31));
}

extern "C" __global__ void halves(const __half2 *a, const __half2 *b, __half2 *out, const __nv_bfloat16 *c, __nv_bfloat16 *out2) {
  int i = threadIdx.x;
  out[i] = __hfma2(a[i], b[i], __hmul2(b[i], b[i]));
  out2[i] = __hadd(__hmul(c[i], c[i]), c[i]);
}

// Rows of `columns` at most 1024, a block each.
extern "C" __global__ void softmax(const float *in, float *out, int columns) {
  __shared__ float partial[8];
  const float *row = in + blockIdx.x * columns;
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256)
    top = fmaxf(top, row[i]);
  for (int step = 16; step; step /= 2)
    top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = top;
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    top = fmaxf(top, partial[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += 256)
    sum += __expf(row[i] - top);
  for (int step = 16; step; step /= 2)
    sum += __shfl_xor_sync(~0u, sum, step);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i)
    sum += partial[i];
  for (int i = threadIdx.x; i < columns; i += 256)
    out[blockIdx.x * columns + i] = __expf(row[i] - top) / sum;
}

__device__ unsigned shared32(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void copy16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared32(to)), "l"(from) : "memory");
}
__device__ void loadMatrix4(unsigned (&r)[4], const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared32(p)));
}
__device__ void loadMatrix2t(unsigned (&r)[2], const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(shared32(p)));
}

// c[m, n] = a[m, k] b[k, n] in f16 with f32 sums; a block of 128 threads makes 64 x 64 of it, from two stages of 32 columns.
extern "C" __global__ void product(const __half *a, const __half *b, float *c, int m, int n, int k) {
  __shared__ __align__(16) __half as[2][64][40];
  __shared__ __align__(16) __half bs[2][32][72];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
  float sums[8][4] = {};
  auto fetch = [&](int stage, int at) {
    for (int i = threadIdx.x; i < 256; i += 128) {
      copy16(&as[stage][i / 4][i % 4 * 8], a + (row + i / 4) * k + at + i % 4 * 8);
      copy16(&bs[stage][i / 8][i % 8 * 8], b + (at + i / 8) * n + column + i % 8 * 8);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(0, 0);
  for (int at = 0, stage = 0; at < k; at += 32, stage ^= 1) {
    if (at + 32 < k) {
      fetch(stage ^ 1, at + 32);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int step = 0; step < 32; step += 16) {
      unsigned x[4];
      loadMatrix4(x, &as[stage][warp * 16 + lane % 16][step + lane / 16 * 8]);
      for (int j = 0; j < 8; ++j) {
        unsigned y[2];
        loadMatrix2t(y, &bs[stage][step + lane % 16][j * 8]);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 4; ++i)
      c[(row + warp * 16 + lane / 4 + i / 2 * 8) * n + column + j * 8 + lane % 4 * 2 + i % 2] = sums[j][i];
}
