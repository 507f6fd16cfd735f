// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of clusters whose answers are known, for the PTX machine: barriers of clusters, shared memory of other
// blocks, copies to several blocks. nvcc made clusters_sm_90a.ptx of this (../make_ptx.py), so nothing of Sinter is in it.
#include <cooperative_groups.h>
#include <stdint.h>

namespace cg = cooperative_groups;

struct alignas(64) Map {
  char bytes[128];
};

// Where a block of clusters of 2 x 2 stands.
extern "C" __global__ void __cluster_dims__(2, 2, 1) places(uint32_t *out) {
  cg::cluster_group cluster = cg::this_cluster();
  const uint32_t block = blockIdx.y * gridDim.x + blockIdx.x;
  uint32_t clusterX, clusterY, clustersX, clustersY;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(clusterX));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(clusterY));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(clustersX));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(clustersY));
  if (threadIdx.x == 0) {
    uint32_t *to = out + block * 8;
    to[0] = cluster.block_rank();
    to[1] = cluster.num_blocks();
    to[2] = cluster.block_index().x;
    to[3] = cluster.block_index().y;
    to[4] = clusterX;
    to[5] = clusterY;
    to[6] = clustersX;
    to[7] = clustersY;
  }
}

// A row for each cluster of four blocks: every block sums its quarter, and the first one the four sums in their order.
extern "C" __global__ void __cluster_dims__(4, 1, 1) sums(const float *in, float *out, int columns) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ float lanes[128];
  __shared__ float part;
  const int rank = int(cluster.block_rank()), row = blockIdx.x / 4;
  float sum = 0;
  for (int i = rank * blockDim.x + threadIdx.x; i < columns; i += 4 * blockDim.x)
    sum += in[row * columns + i];
  lanes[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (int i = 0; i < int(blockDim.x); ++i)
      all += lanes[i];
    part = all;
  }
  cluster.sync();
  if (rank == 0 && threadIdx.x == 0) {
    float all = 0;
    for (int other = 0; other < 4; ++other)
      all += *cluster.map_shared_rank(&part, other);
    out[row] = all;
  }
  cluster.sync();
}

// How often each of 64 values comes; a block of the pair counts 32 of them, for both.
extern "C" __global__ void __cluster_dims__(2, 1, 1) counts(const uint8_t *in, uint32_t *out, int n) {
  cg::cluster_group cluster = cg::this_cluster();
  __shared__ uint32_t bins[32];
  if (threadIdx.x < 32)
    bins[threadIdx.x] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * blockDim.x)
    atomicAdd(cluster.map_shared_rank(&bins[in[i] % 32], in[i] / 32), 1u);
  cluster.sync();
  if (threadIdx.x < 32)
    out[cluster.block_rank() * 32 + threadIdx.x] = bins[threadIdx.x];
}

static __device__ uint32_t at(const void *p) { return uint32_t(__cvta_generic_to_shared(p)); }
static __device__ uint32_t there(const void *p, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(at(p)), "r"(rank));
  return address;
}
static __device__ uint32_t rankInCluster() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
static __device__ void init(uint64_t *barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(barrier)), "r"(count) : "memory");
}
static __device__ void expect(uint64_t *barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(barrier)), "r"(bytes) : "memory");
}
static __device__ void wait(uint64_t *barrier, int parity) {
  asm volatile("{\n.reg .pred p;\nWAIT:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}" ::"r"(
                   at(barrier)),
               "r"(parity)
               : "memory");
}
static __device__ void arriveAt(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
static __device__ void meet() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// The second block of a pair writes its numbers into the first one's memory and arrives at its mbarrier.
extern "C" __global__ void __cluster_dims__(2, 1, 1) hand(const uint32_t *in, uint32_t *out) {
  __shared__ uint32_t room[32];
  __shared__ uint64_t barrier;
  const uint32_t rank = rankInCluster(), lane = threadIdx.x;
  if (rank == 0 && lane == 0)
    init(&barrier, 32);
  meet();
  if (rank == 1) {
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(there(&room[lane], 0)), "r"(in[lane]) : "memory");
    arriveAt(there(&barrier, 0));
  } else {
    wait(&barrier, 0);
    out[lane] = room[31 - lane];
  }
}

// Sums of the columns of rows that are copied to both blocks of a pair: slabs of eight rows of 32 numbers, of which each
// block asks for four, for both. Two slabs are there at once; one is free when both blocks have read it.
extern "C" __global__ void __cluster_dims__(2, 1, 1) shared_rows(const __grid_constant__ Map map, uint32_t *out, int slabs) {
  __shared__ __align__(128) uint32_t rows[2][8][32];
  __shared__ uint64_t full[2], empty[2];
  const uint32_t rank = rankInCluster(), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      init(&full[i], 1);
      init(&empty[i], 2);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  __syncthreads();
  if (warp == 0) {
    if (lane == 0)
#pragma unroll 1
      for (int i = 0; i < slabs; ++i) {
        const int stage = i % 2;
        wait(&empty[stage], (i / 2 + 1) % 2);
        expect(&full[stage], 1024);
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
                at(&rows[stage][rank * 4][0])),
            "l"(&map), "r"(0), "r"(i * 8 + int(rank) * 4), "r"(at(&full[stage])), "h"(uint16_t(3))
            : "memory");
      }
  } else {
    uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < slabs; ++i) {
      const int stage = i % 2;
      wait(&full[stage], i / 2 % 2);
      for (int row = 0; row < 8; ++row)
        sum += rows[stage][row][lane] * (rank + 1);
      __syncwarp();
      if (lane < 2)
        arriveAt(there(&empty[stage], lane));
    }
    out[blockIdx.x * 32 + lane] = sum;
  }
  meet(); // the other block may still arrive here
}

// One copy of 512 bytes to both blocks of a pair, which the second one asks for.
extern "C" __global__ void __cluster_dims__(2, 1, 1) both(const uint32_t *in, uint32_t *out) {
  __shared__ __align__(16) uint32_t room[128];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    expect(&full, 512);
  }
  meet();
  if (rankInCluster() == 1 && threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(at(room)), "l"(in),
                 "r"(512), "r"(at(&full)), "h"(uint16_t(3))
                 : "memory");
  wait(&full, 0);
  out[blockIdx.x * 128 + threadIdx.x] = room[threadIdx.x] + blockIdx.x;
}
