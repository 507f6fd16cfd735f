// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of sm_90a whose answers are known, for the PTX machine: bulk tensor copies, mbarriers, wgmma. nvcc made
// hopper_sm_90a.ptx of this (../make_ptx.py), so nothing of Sinter is in it.
#include <cuda_fp16.h>
#include <stdint.h>

struct alignas(64) Map {
  char bytes[128];
};

static __device__ uint32_t at(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }
static __device__ void init(uint64_t *barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
}
static __device__ void expect(uint64_t *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)), "r"(bytes) : "memory");
}
static __device__ void arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(barrier)) : "memory");
}
static __device__ void wait(uint64_t *barrier, int parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(at(barrier)),
               "r"(parity)
               : "memory");
}
static __device__ void load2(void *to, const Map *map, int x, int y, uint64_t *barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(at(to)), "l"(map), "r"(x),
               "r"(y), "r"(at(barrier))
               : "memory");
}

// A box of a tensor of rank 1, 2 or 3, as it lies in shared memory (bytes of it), and stored again behind the tensor map `back`.
extern "C" __global__ void box(const __grid_constant__ Map map, const __grid_constant__ Map back, uint8_t *out, int bytes, int rank, int x, int y, int z) {
  extern __shared__ __align__(1024) uint8_t slab[];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    init(&barrier, 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    expect(&barrier, bytes);
    if (rank == 1)
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(at(slab)), "l"(&map), "r"(x),
                   "r"(at(&barrier))
                   : "memory");
    else if (rank == 2)
      load2(slab, &map, x, y, &barrier);
    else
      asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(at(slab)), "l"(&map),
                   "r"(x), "r"(y), "r"(z), "r"(at(&barrier))
                   : "memory");
  }
  __syncthreads();
  wait(&barrier, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x)
    out[i] = slab[i];
  __syncthreads();
  if (rank == 2) { // one more in each byte
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
      slab[i] += 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&back), "r"(x), "r"(y), "r"(at(slab)) : "memory");
      asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
    }
  }
}

#define SUMS8(d) "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define D8(a, b, c, d, e, f, g, h) "%" #a ", %" #b ", %" #c ", %" #d ", %" #e ", %" #f ", %" #g ", %" #h
#define D16 "{" D8(0, 1, 2, 3, 4, 5, 6, 7) ", " D8(8, 9, 10, 11, 12, 13, 14, 15) "}"

static __device__ uint64_t descriptor(uint32_t address, uint32_t leading, uint32_t stride, uint64_t mode) {
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | mode << 62;
}

template <int turnsA, int turnsB> static __device__ void multiply(float *d, uint64_t a, uint64_t b, int adds) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " D16 ", %16, %17, p, 1, 1, %19, %20;\n}"
               : SUMS8(d), SUMS8((d + 8))
               : "l"(a), "l"(b), "r"(adds), "n"(turnsA), "n"(turnsB));
}
static __device__ void multiplyHeld(float *d, const uint32_t *a, uint64_t b, int adds) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %21, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 " D16 ", {%16, %17, %18, %19}, %20, p, 1, 1, 0;\n}"
               : SUMS8(d), SUMS8((d + 8))
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds));
}
static __device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
static __device__ void settle(float *d) { asm volatile("wgmma.wait_group.sync.aligned 0;" : SUMS8(d), SUMS8((d + 8))::"memory"); }

// Row and column of a thread's sum number i.
static __device__ void put(float *c, const float *d) {
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  for (int i = 0; i < 16; ++i)
    c[(16 * warp + lane / 4 + i / 2 % 2 * 8) * 32 + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}

// c (64 x 32) = a (64 x 64) b: threads write the operands into shared memory by the layouts of the manual, without a
// swizzle (bytes: 16) or with rows of 32, 64 or 128 bytes. a[row][k] is at a[row * 64 + k], b[k][column] at
// b[column * 64 + k].
template <int bytes, int turnsA, int turnsB> static __device__ void product(const __half *a, const __half *b, float *c) {
  extern __shared__ __align__(1024) uint8_t slab[];
  constexpr int elements = bytes / 2;
  // Eight rows of so many bytes are one after the other; then the next 8 in the direction of rows, then in the other.
  auto place = [](int inner, int outer, int outers) {
    int offset = inner / elements * outers * bytes + outer * bytes + inner % elements * 2;
    return bytes == 16 ? offset : offset ^ (offset >> 7 & (bytes / 16 - 1)) << 4;
  };
  uint8_t *slabB = slab + 8192;
  for (int i = threadIdx.x; i < 64 * 64; i += 128) {
    const int row = i / 64, k = i % 64;
    *(__half *)(slab + (turnsA ? place(row, k, 64) : place(k, row, 64))) = a[i];
  }
  for (int i = threadIdx.x; i < 32 * 64; i += 128) {
    const int column = i / 64, k = i % 64;
    *(__half *)(slabB + (turnsB ? place(column, k, 64) : place(k, column, 32))) = b[i];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  constexpr uint64_t mode = bytes == 16 ? 0 : bytes == 128 ? 1 : bytes == 64 ? 2 : 3;
  float d[16];
  fence();
  for (int k = 0; k < 64; k += 16) {
    auto of = [&](uint8_t *operand, int turns, int outers) {
      const uint32_t step = turns ? k * bytes : (k / elements * outers * bytes + k % elements * 2);
      const uint32_t apart = outers * bytes, eight = 8 * bytes; // from one row of blocks to the next; of 8 rows
      if (bytes == 16)
        return turns ? descriptor(at(operand) + step, eight, apart, mode) : descriptor(at(operand) + step, apart, eight, mode);
      return descriptor(at(operand) + step, turns ? apart : 16, eight, mode);
    };
    multiply<turnsA, turnsB>(d, of(slab, turnsA, 64), of(slabB, turnsB, turnsB ? 64 : 32), k != 0);
  }
  commit();
  settle(d);
  put(c, d);
}
#define PRODUCT(bytes, turnsA, turnsB)                                                                                                     \
  extern "C" __global__ void product_##bytes##_##turnsA##turnsB(const __half *a, const __half *b, float *c) {                             \
    product<bytes, turnsA, turnsB>(a, b, c);                                                                                               \
  }
#define PRODUCTS(bytes) PRODUCT(bytes, 0, 0) PRODUCT(bytes, 0, 1) PRODUCT(bytes, 1, 0) PRODUCT(bytes, 1, 1)
PRODUCTS(16)
PRODUCTS(32)
PRODUCTS(64)
PRODUCTS(128)

// The same with a in registers, by the fragments of mma.
extern "C" __global__ void held(const __half *a, const __half *b, float *c) {
  extern __shared__ __align__(1024) uint8_t slab[];
  for (int i = threadIdx.x; i < 32 * 64; i += 128) {
    const int offset = i / 64 * 128 + i % 64 * 2;
    *(__half *)(slab + (offset ^ (offset >> 7 & 7) << 4)) = b[i];
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float d[16];
  uint32_t rows[4][4];
  for (int k = 0; k < 4; ++k)
    for (int r = 0; r < 4; ++r)
      rows[k][r] = *(const uint32_t *)(a + (16 * warp + lane / 4 + r % 2 * 8) * 64 + 16 * k + lane % 4 * 2 + r / 2 * 8);
  fence();
  for (int k = 0; k < 4; ++k)
    multiplyHeld(d, rows[k], descriptor(at(slab) + 32 * k, 16, 1024, 1), k);
  commit();
  settle(d);
  put(c, d);
}

// Bytes, whose k are 128 and lie side by side in both operands, in rows of 128 bytes: c += a b with sums of 32 bits,
// which go around where they leave their range, or stay at its ends (satfinite). a[row * 128 + k], b[column * 128 + k].
#define PRODUCT_OF_BYTES(name, how, typeA, typeB)                                                                                          \
  extern "C" __global__ void name(const uint8_t *a, const uint8_t *b, int *c) {                                                           \
    extern __shared__ __align__(1024) uint8_t slab[];                                                                                      \
    for (int i = threadIdx.x; i < 96 * 128; i += 128)                                                                                      \
      slab[i ^ (i >> 7 & 7) << 4] = i < 64 * 128 ? a[i] : b[i - 64 * 128];                                                                 \
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                                           \
    __syncthreads();                                                                                                                       \
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;                                                                            \
    int d[16];                                                                                                                             \
    auto place = [&](int i) { return (16 * warp + lane / 4 + i / 2 % 2 * 8) * 32 + i / 4 * 8 + lane % 4 * 2 + i % 2; };                    \
    for (int i = 0; i < 16; ++i)                                                                                                           \
      d[i] = c[place(i)];                                                                                                                  \
    fence();                                                                                                                               \
    for (int k = 0; k < 128; k += 32)                                                                                                      \
      asm volatile("wgmma.mma_async.sync.aligned.m64n32k32" how ".s32." typeA "." typeB " " D16 ", %16, %17, 1;"                          \
                   : WORDS8(d), WORDS8((d + 8))                                                                                            \
                   : "l"(descriptor(at(slab) + k, 16, 1024, 1)), "l"(descriptor(at(slab) + 8192 + k, 16, 1024, 1)));                       \
    commit();                                                                                                                              \
    asm volatile("wgmma.wait_group.sync.aligned 0;" : WORDS8(d), WORDS8((d + 8))::"memory");                                               \
    for (int i = 0; i < 16; ++i)                                                                                                           \
      c[place(i)] = d[i];                                                                                                                  \
  }
#define WORDS8(d) "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]), "+r"(d[7])
PRODUCT_OF_BYTES(bytes_s8_s8, "", "s8", "s8")
PRODUCT_OF_BYTES(bytes_s8_u8, "", "s8", "u8")
PRODUCT_OF_BYTES(bytes_u8_s8, "", "u8", "s8")
PRODUCT_OF_BYTES(bytes_u8_u8, "", "u8", "u8")
PRODUCT_OF_BYTES(bytes_saturated, ".satfinite", "u8", "s8")

// c = a b by tiles of 64 x 32 and slabs of 64: one warp brings slabs through tensor maps into a ring of three, the warpgroup behind
// multiplies. Row and column of the block's tile are blockIdx.y and x; m and n are multiples of the tile, k is not.
extern "C" __global__ void __launch_bounds__(256) pipeline(const __grid_constant__ Map a, const __grid_constant__ Map b, float *c, int n, int k) {
  extern __shared__ __align__(1024) uint8_t slab[];
  __shared__ uint64_t full[3], empty[3];
  constexpr int stageBytes = 8192 + 4096;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) {
      init(&full[i], 1);
      init(&empty[i], 4);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int slabs = (k + 63) / 64;
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 0)
      for (int i = 0; i < slabs; ++i) {
        const int stage = i % 3;
        wait(&empty[stage], (i / 3 & 1) ^ 1);
        expect(&full[stage], stageBytes);
        load2(slab + stage * stageBytes, &a, 64 * i, 64 * blockIdx.y, &full[stage]);
        load2(slab + stage * stageBytes + 8192, &b, 64 * i, 32 * blockIdx.x, &full[stage]);
      }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
  float d[16];
  for (int i = 0; i < 16; ++i)
    d[i] = 0;
  for (int i = 0; i < slabs; ++i) {
    const int stage = i % 3;
    wait(&full[stage], i / 3 & 1);
    fence();
    for (int step = 0; step < 4; ++step)
      multiply<0, 0>(d, descriptor(at(slab + stage * stageBytes) + 32 * step, 16, 1024, 1),
                     descriptor(at(slab + stage * stageBytes + 8192) + 32 * step, 16, 1024, 1), 1);
    commit();
    settle(d);
    if (threadIdx.x % 32 == 0)
      arrive(&empty[stage]);
  }
  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  for (int i = 0; i < 16; ++i)
    c[(64 * blockIdx.y + 16 * warp + lane / 4 + i / 2 % 2 * 8) * n + 32 * blockIdx.x + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
}
