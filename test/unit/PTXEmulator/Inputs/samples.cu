// Source of the .ptx files beside it, which are checked in so that nobody needs nvcc. To make them again:
//   nvcc -std=c++17 -O3 -arch=sm_80 -ptx -DSAMPLE=1 samples.cu -o vector_add.ptx     (2 sgemm, 3 mma_gemm, 4 flash)
#include <cuda_bf16.h>
#include <cstdint>

#define DEVICE __device__ __forceinline__

DEVICE uint32_t shared_address(const void *pointer) { return (uint32_t)__cvta_generic_to_shared(pointer); }

DEVICE void copy16(void *to, const void *from, bool inside = true) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(inside ? 16 : 0)
               : "memory");
}
DEVICE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> DEVICE void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }

DEVICE void load_matrix(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
DEVICE void load_matrix_transposed(uint32_t (&r)[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row)));
}
DEVICE void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE uint32_t pack(float low, float high) {
  uint32_t result;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(result) : "f"(high), "f"(low));
  return result;
}

#if SAMPLE == 1

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    c[i] = a[i] + b[i];
}

#elif SAMPLE == 2

// C = A B, row-major, sizes multiples of 32; tiles of 32 × 32, two stages; 8 × 32 threads, 4 rows each.
extern "C" __global__ void __launch_bounds__(256) sgemm(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ __align__(16) float tile_a[2][32][32], tile_b[2][32][32];
  const int column = threadIdx.x % 32, first = threadIdx.x / 32 * 4;
  const int row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
  auto fetch = [&](int stage, int k0) {
    const int row = threadIdx.x / 8, at = threadIdx.x % 8 * 4;
    copy16(&tile_a[stage][row][at], a + (row0 + row) * k + k0 + at);
    copy16(&tile_b[stage][row][at], b + (k0 + row) * n + column0 + at);
    commit();
  };
  float sum[4] = {};
  fetch(0, 0);
  for (int k0 = 0, stage = 0; k0 < k; k0 += 32, stage ^= 1) {
    if (k0 + 32 < k) {
      fetch(stage ^ 1, k0 + 32);
      wait<1>();
    } else {
      wait<0>();
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i)
#pragma unroll
      for (int r = 0; r < 4; ++r)
        sum[r] += tile_a[stage][first + r][i] * tile_b[stage][i][column];
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r)
    c[(row0 + first + r) * n + column0 + column] = sum[r];
}

#elif SAMPLE == 3

// C = A Bᵀ, 64 × 64 × 64, A and B row-major bf16, C f32. 4 warps of 16 rows. Chunks of 16 bytes are XOR-swizzled.
extern "C" __global__ void __launch_bounds__(128) mma_gemm(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c) {
  __shared__ __align__(128) __nv_bfloat16 tile_a[64 * 64], tile_b[64 * 64];
  auto at = [](int row, int chunk) { return row * 64 + ((chunk ^ (row & 7)) * 8); };
  for (int i = threadIdx.x; i < 64 * 8; i += 128) {
    copy16(&tile_a[at(i / 8, i % 8)], a + i * 8);
    copy16(&tile_b[at(i / 8, i % 8)], b + i * 8);
  }
  commit();
  wait<0>();
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum[8][4] = {};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    uint32_t fragment_a[4];
    load_matrix(fragment_a, &tile_a[at(warp * 16 + lane % 16, 2 * k + lane / 16)]);
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      uint32_t fragment_b[4];
      load_matrix(fragment_b, &tile_b[at(n * 16 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2)]);
      mma(sum[2 * n], fragment_a, fragment_b[0], fragment_b[1]);
      mma(sum[2 * n + 1], fragment_a, fragment_b[2], fragment_b[3]);
    }
  }
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    float *row = c + (warp * 16 + lane / 4) * 64 + n * 8 + lane % 4 * 2;
    *(float2 *)row = make_float2(sum[n][0], sum[n][1]);
    *(float2 *)(row + 8 * 64) = make_float2(sum[n][2], sum[n][3]);
  }
}

#elif SAMPLE == 4

// Flash attention forward, D = 64, bf16, one head a blockIdx.y, 64 queries a block (4 warps of 16), key tiles of 64 in
// two stages. softmax(scale Q Kᵀ) V; `causal`: key j ≤ query i. Sizes need not be multiples of 64.
constexpr int D = 64, BQ = 64, BK = 64;

extern "C" __global__ void __launch_bounds__(128)
    flash(const __nv_bfloat16 *q, const __nv_bfloat16 *k, const __nv_bfloat16 *v, __nv_bfloat16 *o, int sq, int sk,
          float scale_log2e, int causal) {
  extern __shared__ __align__(128) __nv_bfloat16 memory[];
  __nv_bfloat16 *tile_q = memory, *tile_k = memory + BQ * D, *tile_v = tile_k + 2 * BK * D;
  auto at = [](int row, int chunk) { return row * D + ((chunk ^ (row & 7)) * 8); };
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, q0 = blockIdx.x * BQ;
  q += (size_t)blockIdx.y * sq * D, o += (size_t)blockIdx.y * sq * D;
  k += (size_t)blockIdx.y * sk * D, v += (size_t)blockIdx.y * sk * D;
  auto fetch = [&](__nv_bfloat16 *tile, const __nv_bfloat16 *from, int row0, int rows) {
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {
      const bool inside = row0 + i / 8 < rows;
      copy16(&tile[at(i / 8, i % 8)], from + (size_t)(inside ? row0 + i / 8 : 0) * D + i % 8 * 8, inside);
    }
  };
  const int keys = causal ? min(sk, q0 + BQ) : sk, tiles = (keys + BK - 1) / BK;
  fetch(tile_q, q, q0, sq);
  fetch(tile_k, k, 0, sk);
  commit();
  fetch(tile_v, v, 0, sk);
  commit();

  uint32_t fragment_q[4][4];
  float acc[8][4] = {}, row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    const int stage = tile & 1, k0 = tile * BK;
    wait<1>();
    __syncthreads();
    if (tile == 0)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        load_matrix(fragment_q[i], &tile_q[at(warp * 16 + lane % 16, 2 * i + lane / 16)]);
    if (tile + 1 < tiles)
      fetch(tile_k + (stage ^ 1) * BK * D, k, k0 + BK, sk);
    commit();
    float s[8][4] = {};
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        uint32_t b[4];
        load_matrix(b, &tile_k[stage * BK * D + at(n * 16 + lane % 8 + lane / 16 * 8, 2 * i + lane / 8 % 2)]);
        mma(s[2 * n], fragment_q[i], b[0], b[1]);
        mma(s[2 * n + 1], fragment_q[i], b[2], b[3]);
      }
    const int last = causal ? q0 + warp * 16 + lane / 4 : sk - 1;
    if (k0 + BK > sk || (causal && k0 + BK > q0))
#pragma unroll
      for (int n = 0; n < 8; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int key = k0 + n * 8 + lane % 4 * 2 + (i & 1);
          if (key >= sk || (causal && key > last + (i & 2) * 4))
            s[n][i] = -INFINITY;
        }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = row_max[half];
#pragma unroll
      for (int n = 0; n < 8; ++n)
        most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
      const float base = most == -INFINITY ? 0 : most * scale_log2e;
      float factor;
      asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(factor) : "f"(row_max[half] * scale_log2e - base));
      row_max[half] = most;
      row_sum[half] *= factor;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        acc[n][2 * half] *= factor, acc[n][2 * half + 1] *= factor;
#pragma unroll
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(s[n][i]) : "f"(fmaf(s[n][i], scale_log2e, -base)));
          row_sum[half] += s[n][i];
        }
      }
    }
    wait<1>();
    __syncthreads();
    if (tile + 1 < tiles)
      fetch(tile_v + (stage ^ 1) * BK * D, v, k0 + BK, sk);
    commit();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t p[4] = {pack(s[2 * i][0], s[2 * i][1]), pack(s[2 * i][2], s[2 * i][3]),
                             pack(s[2 * i + 1][0], s[2 * i + 1][1]), pack(s[2 * i + 1][2], s[2 * i + 1][3])};
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        uint32_t b[4];
        load_matrix_transposed(b, &tile_v[stage * BK * D + at(i * 16 + lane % 16, 2 * n + lane / 16)]);
        mma(acc[2 * n], p, b[0], b[1]);
        mma(acc[2 * n + 1], p, b[2], b[3]);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    row_sum[half] += __shfl_xor_sync(0xffffffff, row_sum[half], 1);
    row_sum[half] += __shfl_xor_sync(0xffffffff, row_sum[half], 2);
    row_sum[half] = row_sum[half] == 0 ? 0 : 1 / row_sum[half];
  }
  // Through the warp's own 16 rows of Q's tile, so that a thread stores 16 bytes.
  __syncwarp();
#pragma unroll
  for (int n = 0; n < 8; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *(uint32_t *)&tile_q[at(warp * 16 + lane / 4 + 8 * half, n) + lane % 4 * 2] =
          pack(acc[n][2 * half] * row_sum[half], acc[n][2 * half + 1] * row_sum[half]);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = i * 4 + lane / 8;
    if (q0 + warp * 16 + row < sq)
      *(uint4 *)(o + (size_t)(q0 + warp * 16 + row) * D + lane % 8 * 8) =
          *(const uint4 *)&tile_q[at(warp * 16 + row, lane % 8)];
  }
}

#endif
