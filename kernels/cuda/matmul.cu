// Products of activations and weights, with what stands around them fused in: dst = act(x Wᵀ + bias) + residual.
//
// x is [m][k] and W [n][k], k-contiguous, W with rows of a multiple of 8 elements, zeros behind k. A block makes
// a tile of dst on the tensor cores: it moves stages of x and W, BK wide, to a ring in shared memory by asynchronous copies,
// several ahead of the one it multiplies. Rows are swizzled there, 16 bytes at a time, so that neither copies nor ldmatrix meet bank
// conflicts. What lies outside of a matrix is read as zero.
//
// Every output is a chain of additions, 16 products at a time over ascending k, whatever the tile. So a row's result depends neither on the
// number of rows nor on the tile that was chosen for it: tiles are a matter of speed alone. Big tiles read least, small ones keep all
// of a GPU busy where there are few rows.
//
// With few rows, in decoding, the weights are the traffic, each read once by one block; what counts is how many bytes are under way, and
// that the chain does not take longer than they do. So a decoder's weights have tiles of their own, whose warps share out k: every fourth 16 of it is
// a chain, and the four are added up at the end. These tiles agree with each other, to the bit, but not with the others.
#include "tile.h"

template <class T, class Tile, int BM, int BN, bool WHOLE>
DEVICE void matmul(const Rows<T> &x, const Rows<T> &w, const Epilogue<T> &epilogue) {
  const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
  typename Tile::Sums sums;
  Tile::template multiply<WHOLE>(sums, x, m0, w, n0, x.k);
  Tile::store(sums, epilogue, m0, x.n, n0, w.n);
}

// MATMUL makes a kernel of a tile's shape. One for whole chunks wants aligned rows of x in the storage format; the other one takes any.
#define MATMUL(name, T, WHOLE, BM, BN, BK, WM, WN, STAGES, SLICES)                                                                     \
  KERNEL __launch_bounds__(SLICES * (BM / WM) * (BN / WN) * 32)                                                                        \
  name(const void *x, int ldx, int kindx, const u16 *w, int ldw, int m, int n, int k, const float *bias, int act, void *dst, int ldd,  \
       int kindd, const void *residual, int ldr, int kindr) {                                                                          \
    matmul<T, Tile<T, BM, BN, BK, WM, WN, STAGES, SLICES>, BM, BN, WHOLE>(Rows<T>{View<T>(x, ldx, kindx), m, k},                       \
                                                                          Rows<T>{View<T>(w, ldw, ALIGNED_ROWS), n, ldw},              \
                                                                          Epilogue<T>{bias, act, View<T>(dst, ldd, kindd),             \
                                                                                      View<T>(residual, ldr, kindr)});                 \
  }
#define MATMULS(T, type)                                             \
  MATMUL(matmul_128x128_##type, T, true, 128, 128, 32, 64, 32, 3, 1) \
  MATMUL(matmul_128x64_##type, T, true, 128, 64, 32, 64, 32, 4, 1)   \
  MATMUL(matmul_64x64_##type, T, true, 64, 64, 64, 32, 32, 3, 1)     \
  MATMUL(matmul_32x32_##type, T, true, 32, 32, 64, 16, 16, 6, 1)     \
  MATMUL(matmul_any_##type, T, false, 64, 64, 64, 32, 32, 3, 1)      \
  MATMUL(decode_64x64_##type, T, true, 64, 64, 64, 32, 64, 3, 4)     \
  MATMUL(decode_32x32_##type, T, true, 32, 32, 64, 32, 32, 6, 4)     \
  MATMUL(decode_16x16_##type, T, true, 16, 16, 128, 16, 16, 6, 4)    \
  MATMUL(decode_any_##type, T, false, 64, 64, 64, 32, 64, 3, 4)

MATMULS(F16, f16)
#if HAVE_BF16
MATMULS(BF16, bf16)
#endif
