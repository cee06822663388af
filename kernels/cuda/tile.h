// A block's tile of a product on the tensor cores. See matmul.cu.
#pragma once
#include "epilogue.h"

// Rows are an operand's rows as they lie.
template <class T> struct Rows {
  View<T> view;
  int n, k;
  struct Row {
    const u16 *p;
    int index;
  };
  DEVICE_MEMBER Row row(int r) const { return {(const u16 *)view.p + (size_t)r * view.ld, r < n ? r : -1}; }
  // chunk is where 8 elements are, in 16 bits each; false stands for zeros. k is a multiple of 8.
  DEVICE_MEMBER bool chunk(const Row &r, int at, const u16 **from) const {
    *from = r.p + at;
    return r.index >= 0 && at < k;
  }
  DEVICE_MEMBER u16 element(const Row &r, int at) const { return r.index >= 0 && at < k ? view.element(r.index, at) : 0; }
};

// Tile is BM x BN outputs, computed by warps of WM x WN each, over stages of BK in k. With more than one slice there are as many groups
// of such warps; each group takes every so-manieth 16 of k, and what they have is added up in their order at the end.
template <class T, int BM, int BN, int BK, int WM, int WN, int STAGES, int SLICES = 1> struct Tile {
  static const int GROUP = BM / WM * (BN / WN); // warps
  static const int THREADS = SLICES * GROUP * 32;
  static const int CHUNKS = BK / 8;            // a row's pieces of 16 bytes in a stage
  static const int STAGE = (BM + BN) * BK;     // elements
  static const int STRIP = WN + 8;             // row stride of a warp's outputs on their way out, free of bank conflicts
  static_assert(THREADS % CHUNKS == 0 && BM * CHUNKS % THREADS == 0 && BN * CHUNKS % THREADS == 0, "threads share the copies evenly");
  static_assert(WM % 16 == 0 && WN % 16 == 0 && BK % 16 == 0, "a fragment is 16 x 16");
  static_assert(GROUP * 16 * STRIP * 2 <= STAGES * STAGE, "the strips reuse the ring");
  static_assert((SLICES - 1) * BM * BN * 2 <= STAGES * STAGE, "and so do the slices' sums");
  static_assert(CHUNKS % (2 * SLICES) == 0, "a stage has as much for each slice");

  struct Sums {
    float v[WM / 16][WN / 8][4];
  };

  // swizzle is where in its row of a stage a chunk lies, in elements: the eight rows that ldmatrix reads together are spread over all
  // banks. It is the same for a row eight further down.
  static DEVICE_MEMBER u32 swizzle(u32 row, u32 chunk) { return (chunk ^ (CHUNKS < 8 ? row / (8 / CHUNKS) % CHUNKS : row % 8)) * 8; }

  // Loader copies R rows of an operand, each thread the same chunk of every so many rows.
  template <class Operand, int R, bool WHOLE> struct Loader {
    static const int N = R * CHUNKS / THREADS;
    const Operand operand;
    typename Operand::Row rows[N];

    DEVICE_MEMBER Loader(const Operand &o, int first) : operand(o) {
#pragma unroll
      for (int i = 0; i < N; i++) rows[i] = o.row(first + threadIdx.x / CHUNKS + i * (THREADS / CHUNKS));
    }

    DEVICE_MEMBER void load(u16 *to, int k) const {
      const int chunk = threadIdx.x % CHUNKS;
#pragma unroll
      for (int i = 0; i < N; i++) {
        const u32 row = threadIdx.x / CHUNKS + i * (THREADS / CHUNKS);
        u16 *at = to + row * BK + swizzle(row, chunk);
        if (WHOLE) {
          const u16 *from;
          const bool there = operand.chunk(rows[i], k + chunk * 8, &from);
          cp_async16_if(there, at, from);
        } else {
#pragma unroll
          for (int j = 0; j < 8; j++) at[j] = operand.element(rows[i], k + chunk * 8 + j);
        }
      }
    }
  };

  // multiply leaves the products of rows m0.. of a and rows n0.. of b, of length k, in sums. The ring is free when it returns.
  template <bool WHOLE, class A, class B> static DEVICE_MEMBER void multiply(Sums &sums, const A &a, int m0, const B &b, int n0, int k) {
    DYN_SHARED(u16, ring);
    Loader<A, BM, WHOLE> left(a, m0);
    Loader<B, BN, true> right(b, n0);
    auto load = [&](int stage, int step) {
      left.load(ring + stage * STAGE, step * BK);
      right.load(ring + stage * STAGE + BM * BK, step * BK);
    };
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
      for (int j = 0; j < WN / 8; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) sums.v[i][j][e] = 0.f;

    const int steps = (k + BK - 1) / BK;
#pragma unroll 1
    for (int i = 0; i < STAGES - 1; i++) {
      if (i < steps) load(i, i);
      cp_commit();
    }
    int full = 0, empty = STAGES - 1; // the stages to multiply and to fill next
    for (int i = 0; i < steps; i++) {
      cp_wait<STAGES - 2>();
      __syncthreads(); // the stage is there for all, and all have done with the one before
      if (i + STAGES - 1 < steps) load(empty, i + STAGES - 1);
      cp_commit();
      add(sums, ring + full * STAGE);
      full = full + 1 == STAGES ? 0 : full + 1;
      empty = empty + 1 == STAGES ? 0 : empty + 1;
    }
    cp_wait<0>();
    __syncthreads();
    if (SLICES > 1) gather(sums, (float *)ring);
  }

  // gather adds the other slices' sums to the first one's.
  static DEVICE_MEMBER void gather(Sums &sums, float *parts) {
    const int slice = threadIdx.x / 32 / GROUP, lane = threadIdx.x % (32 * GROUP);
    float *mine = &sums.v[0][0][0];
    const int N = sizeof(Sums) / sizeof(float);
#pragma unroll
    for (int i = 0; i < N; i++)
      if (slice) parts[((slice - 1) * N + i) * 32 * GROUP + lane] = mine[i];
    __syncthreads();
#pragma unroll
    for (int s = 0; s < SLICES - 1; s++)
#pragma unroll
      for (int i = 0; i < N; i++)
        if (!slice) mine[i] += parts[(s * N + i) * 32 * GROUP + lane];
    __syncthreads();
  }

  // add adds a stage's products, those of the warp's slice.
  static DEVICE_MEMBER void add(Sums &sums, const u16 *stage) {
    const u32 lane = threadIdx.x % 32, slice = SLICES > 1 ? threadIdx.x / 32 / GROUP : 0;
    const u16 *left = stage + (warp_row() + lane % 16) * BK;
    const u16 *right = stage + (BM + warp_column() + lane % 8 + lane / 16 * 8) * BK;
#pragma unroll
    for (int i = 0; i < CHUNKS / SLICES; i += 2) {
      const u32 c = i * SLICES + 2 * slice;
      u32 a[WM / 16][4], b[WN / 16][4];
#pragma unroll
      for (int i = 0; i < WM / 16; i++) ldmatrix4(a[i], left + i * 16 * BK + swizzle(lane % 8, c + lane / 16));
#pragma unroll
      for (int j = 0; j < WN / 16; j++) ldmatrix4(b[j], right + j * 16 * BK + swizzle(lane % 8, c + lane / 8 % 2));
#pragma unroll
      for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int j = 0; j < WN / 8; j++) T::mma(sums.v[i][j], a[i], &b[j / 2][j % 2 * 2]);
    }
  }

  // store hands the sums on, row by row in pieces of 8. They change hands in shared memory, 16 rows of a warp at a time: a lane's own
  // are scattered in twos.
  static DEVICE_MEMBER void store(const Sums &sums, const Epilogue<T> &epilogue, int m0, int m, int n0, int n) {
    DYN_SHARED(float, strips);
    if (threadIdx.x / 32 >= GROUP) return; // the first slice's warps have the sums
    const int lane = threadIdx.x % 32;
    float *strip = strips + threadIdx.x / 32 * 16 * STRIP;
#pragma unroll
    for (int i = 0; i < WM / 16; i++) {
#pragma unroll
      for (int j = 0; j < WN / 8; j++) {
        float *at = strip + lane / 4 * STRIP + j * 8 + lane % 4 * 2;
        *(float2 *)at = make_float2(sums.v[i][j][0], sums.v[i][j][1]);
        *(float2 *)(at + 8 * STRIP) = make_float2(sums.v[i][j][2], sums.v[i][j][3]);
      }
      __syncwarp();
#pragma unroll 1
      for (int p = lane; p < 16 * WN; p += 32) {
        const int c = n0 + warp_column() + p % WN;
        float *at = strip + p / WN * STRIP + p % WN;
        if (c < n) *at = epilogue.apply(*at, c);
      }
      __syncwarp();
#pragma unroll 1
      for (int p = lane; p < 16 * (WN / 8); p += 32) {
        const int row = p / (WN / 8), column = p % (WN / 8) * 8;
        const int r = m0 + warp_row() + i * 16 + row, c = n0 + warp_column() + column;
        float v[8];
        load8(v, strip + row * STRIP + column, 8, true);
        if (r < m && c < n) epilogue.store(r, c, n - c, v);
      }
      __syncwarp();
    }
  }

  static DEVICE_MEMBER int warp_row() { return threadIdx.x / 32 % GROUP / (BN / WN) * WM; }
  static DEVICE_MEMBER int warp_column() { return threadIdx.x / 32 % (BN / WN) * WN; }
};
