// Products of activations and weights, with what stands around them fused in: dst = act(x Wᵀ + bias) + residual.
//
// x is [m][ldx], W is [n][ldw], both 16-bit and k-contiguous, W with rows of a multiple of 8 elements, zeros behind k. A block makes
// a tile of dst on the tensor cores: it moves stages of x and W, BK wide, to a ring in shared memory by asynchronous copies,
// several ahead of the one it multiplies. Rows are swizzled there, 16 bytes at a time, so that neither copies nor ldmatrix meet bank
// conflicts. What lies outside of a matrix is read as zero.
//
// Every output is one chain of additions, 16 products at a time over ascending k, whatever the tile. So a row's result depends neither
// on the number of rows nor on the tile that was chosen for it: tiles are a matter of speed alone. Big tiles read least, small ones
// keep all of a GPU busy where there are few rows, which is decoding: there the weights are the traffic, each read once by one block,
// and what counts is how many bytes are under way.
#include "tile.h"

// Rows are an operand's rows as they lie.
struct Rows {
  const u16 *base;
  int ld, n, k;
  struct Row {
    const u16 *p;
    bool inside;
  };
  DEVICE_MEMBER Row row(int r) const { return {base + (size_t)r * ld, r < n}; }
  // chunk is where 8 elements are, and how many bytes of them count.
  DEVICE_MEMBER const u16 *chunk(const Row &r, int at, int *bytes) const {
    *bytes = r.inside ? max(0, min(16, (k - at) * 2)) : 0;
    return *bytes ? r.p + at : base;
  }
  DEVICE_MEMBER u16 element(const Row &r, int at) const { return r.inside && at < k ? r.p[at] : 0; }
};

template <class Tile, class T, int BM, int BN, bool ALIGNED>
DEVICE void matmul(const u16 *x, int ldx, const u16 *w, int ldw, int m, int n, int k, void *dst, int ldd, const float *bias, int act,
                   const void *residual, int ldr, int flags) {
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  typename Tile::Sums sums;
  Tile::template multiply<ALIGNED>(sums, Rows{x, ldx, m, k}, m0, Rows{w, ldw, n, ldw}, n0, k);
  Tile::store(sums, Epilogue<T>{dst, ldd, bias, act, residual, ldr, flags}, m0, m, n0, n);
}

// MATMUL makes a kernel of a tile's shape. An aligned one wants rows of x to start on 16 bytes each.
#define MATMUL(name, T, ALIGNED, BM, BN, BK, WM, WN, STAGES)                                                                          \
  KERNEL __launch_bounds__(BM / WM * (BN / WN) * 32)                                                                                  \
  name(const u16 *x, int ldx, const u16 *w, int ldw, int m, int n, int k, void *dst, int ldd, const float *bias, int act,             \
       const void *residual, int ldr, int flags) {                                                                                    \
    matmul<Tile<T, BM, BN, BK, WM, WN, STAGES>, T, BM, BN, ALIGNED>(x, ldx, w, ldw, m, n, k, dst, ldd, bias, act, residual, ldr, flags); \
  }
#define MATMULS(T, type)                                            \
  MATMUL(matmul_128x128_##type, T, true, 128, 128, 32, 64, 32, 3)   \
  MATMUL(matmul_128x64_##type, T, true, 128, 64, 32, 64, 32, 4)     \
  MATMUL(matmul_64x64_##type, T, true, 64, 64, 64, 32, 32, 3)       \
  MATMUL(matmul_32x32_##type, T, true, 32, 32, 64, 16, 16, 6)       \
  MATMUL(matmul_16x16_##type, T, true, 16, 16, 128, 16, 16, 6)      \
  MATMUL(matmul_unaligned_##type, T, false, 64, 64, 64, 32, 32, 3)

MATMULS(F16, f16)
#if HAVE_BF16
MATMULS(BF16, bf16)
#endif
