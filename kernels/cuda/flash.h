// Self-attention on the tensor cores without its matrix of scores (FlashAttention, Dao et al. 2022): a block has some queries of one
// head of one item, goes through the item's keys a tile at a time, and keeps for each query the greatest score so far, the sum of the
// weights relative to it, and the values weighed by them.
//
// A tile's values are fetched while its keys are multiplied, and the next tile's keys while its values are. Heads are filled up to W
// columns with zeros. Blocks are counted from an item's start, so that its results are the same wherever in a batch it lies.
#pragma once
#include "items.h"
#include "pairs.h"

// relative is what scores are taken relative to: the greatest, or zero where there is none.
DEVICE float relative(float top) { return top == -INFINITY ? 0.f : top; }

namespace flash {
enum { THREADS = 128 };

// Softmax is that of rows lane/4 and lane/4+8 of a warp's tile, as far as it has come. Four lanes share a row.
struct Softmax {
  float top[2]; // the greatest score, scaled to powers of two
  float sum[2]; // of this lane's weights alone

  DEVICE_MEMBER void begin() {
    top[0] = top[1] = -INFINITY;
    sum[0] = sum[1] = 0.f;
  }

  // weigh turns a tile's scores into weights, and sets decay to what the weights before are to be multiplied by.
  template <int NT> DEVICE_MEMBER void weigh(float (&s)[NT][4], float scale, float (&decay)[2]) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      float most = -INFINITY;
#pragma unroll
      for (int t = 0; t < NT; t++) most = fmaxf(most, fmaxf(s[t][2 * i], s[t][2 * i + 1]));
      most = fmaxf(most, shfl_xor(most, 1));
      most = fmaxf(most, shfl_xor(most, 2));
      const float next = fmaxf(top[i], most * scale), base = relative(next);
      decay[i] = exp2f_approx(top[i] - base);
      top[i] = next;
      sum[i] *= decay[i];
#pragma unroll
      for (int t = 0; t < NT; t++)
#pragma unroll
        for (int e = 2 * i; e < 2 * i + 2; e++) sum[i] += s[t][e] = exp2f_approx(s[t][e] * scale - base);
    }
  }

  // total is the sum of all of a row's weights.
  DEVICE_MEMBER float total(int i) const {
    const float two = sum[i] + shfl_xor(sum[i], 1);
    return two + shfl_xor(two, 2);
  }
};

// pack_weights makes the left factor of 16 keys, number k of them, out of weights as they lie in sums.
template <class T, int NT> DEVICE void pack_weights(u32 (&a)[4], const float (&p)[NT][4], int k) {
#pragma unroll
  for (int i = 0; i < 4; i++) a[i] = pack<T>(p[2 * k + i / 2][i % 2 * 2], p[2 * k + i / 2][i % 2 * 2 + 1]);
}

// Part is one head of some rows of a tensor.
template <class T> struct Part {
  View<T> x;
  int first, rows;   // of the tensor
  int column, width; // the head's
  bool whole;        // can be copied 16 bytes at a time

  DEVICE_MEMBER Part(const View<T> &x, int first, int rows, int column, int width)
      : x(x), first(first), rows(rows), column(column), width(width), whole(x.kind == ALIGNED_ROWS && column % 8 == 0 && width % 8 == 0) {}
};

// fetch copies rows [from, from+ROWS) of a part to shared memory, [ROWS][W+8], with zeros for what there is not. They are there after
// cp_wait and a barrier. The 8 elements between rows keep ldmatrix free of bank conflicts.
template <int ROWS, int W, class T> DEVICE void fetch(u16 *to, const Part<T> &part, int from) {
  for (int i = threadIdx.x; i < ROWS * (W / 8); i += THREADS) {
    const int r = i / (W / 8), c = i % (W / 8) * 8, row = from + r;
    const int n = row >= 0 && row < part.rows ? min(8, max(0, part.width - c)) : 0;
    u16 *t = to + r * (W + 8) + c;
    if (part.whole) {
      const u16 *p = (const u16 *)part.x.p;
      cp_async16(t, n ? p + (size_t)(part.first + row) * part.x.ld + part.column + c : p, n * 2);
    } else {
#pragma unroll 1
      for (int e = 0; e < 8; e++) t[e] = e < n ? part.x.element(part.first + row, part.column + c + e) : 0;
    }
  }
}

// load_left reads 16 rows and 16 columns, number k of them, as a left factor. load_right reads the same turned, as a right factor, and
// load_values as they are, as a right factor of 16 columns, number n of them.
template <int W> DEVICE void load_left(u32 (&a)[4], const u16 *rows, int k) {
  const int lane = threadIdx.x % 32;
  ldmatrix4(a, rows + lane % 16 * (W + 8) + k * 16 + lane / 16 * 8);
}
template <int W> DEVICE void load_right(u32 (&b)[4], const u16 *rows, int k) {
  const int lane = threadIdx.x % 32;
  ldmatrix4(b, rows + (lane % 8 + lane / 16 * 8) * (W + 8) + k * 16 + lane / 8 % 2 * 8);
}
template <int W> DEVICE void load_values(u32 (&b)[4], const u16 *rows, int n) {
  const int lane = threadIdx.x % 32;
  ldmatrix4_trans(b, rows + lane % 16 * (W + 8) + n * 16 + lane / 16 * 8);
}

// mask gives keys from count on, which are not there, no weight.
template <int NT> DEVICE void mask(float (&s)[NT][4], int count) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < NT; t++)
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (t * 8 + lane % 4 * 2 + e % 2 >= count) s[t][e] = -INFINITY;
}

// accumulate lets out decay, then adds the values weighed by p.
template <class T, int W, int NT>
DEVICE void accumulate(float (&out)[W / 8][4], const float (&p)[NT][4], const u16 *values, const float (&decay)[2]) {
#pragma unroll
  for (int n = 0; n < W / 8; n++)
#pragma unroll
    for (int e = 0; e < 4; e++) out[n][e] *= decay[e / 2];
#pragma unroll
  for (int k = 0; k < NT / 2; k++) {
    u32 a[4];
    pack_weights<T>(a, p, k);
#pragma unroll
    for (int n = 0; n < W / 16; n++) {
      u32 b[4];
      load_values<W>(b, values + k * 16 * (W + 8), n);
      T::mma(out[2 * n], a, b);
      T::mma(out[2 * n + 1], a, b + 2);
    }
  }
}

// store writes a warp's 16 rows, from row from of the part on, each divided by the sum of its weights.
template <class T, int W> DEVICE void store(const Part<T> &dst, int from, const float (&out)[W / 8][4], const Softmax &softmax) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float inverse = 1.f / softmax.total(i);
    const int r = from + lane / 4 + 8 * i;
    if (r >= dst.rows) continue;
#pragma unroll
    for (int n = 0; n < W / 8; n++) {
      const int c = n * 8 + lane % 4 * 2;
      const float a = out[n][2 * i] * inverse, b = out[n][2 * i + 1] * inverse;
      if (dst.whole) {
        if (c < dst.width) *(u32 *)((u16 *)dst.x.p + (size_t)(dst.first + r) * dst.x.ld + dst.column + c) = pack<T>(a, b);
      } else {
        if (c < dst.width) dst.x.put(dst.first + r, dst.column + c, a);
        if (c + 1 < dst.width) dst.x.put(dst.first + r, dst.column + c + 1, b);
      }
    }
  }
}
} // namespace flash
