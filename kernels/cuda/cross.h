// A decoder's cache of what an encoder made of a window. Decoding reads it more than anything else, so all is laid out for reading: of
// each slot the keys are [head][length][W] and the values [head][W][length], heads being filled up to W columns and length to a multiple
// of 64, with zeros. A lane of a tensor-core product so has 8 numbers of a row side by side, from memory to its registers with nothing
// between. A sum doesn't care in which order it takes columns, nor softmax in which it takes positions, as long as both factors have the
// same.
//
// Numbers are of the storage format, or bytes with a scale for each column of a head, scales being [slot][keys, values][head][W].
#pragma once
#include "flash.h"

// PART is how many positions a block has, WARP_PART a warp; GROUP is how many rows of one slot are done together.
enum { PART = 256, WARP_PART = 64, GROUP = 16 };

// Half keeps numbers as they come.
struct Half {
  typedef u16 Number;
  template <class T> static DEVICE_MEMBER Pairs load(const Number *p) { return *(const Pairs *)p; }
  template <class T> static DEVICE_MEMBER Number keep(float v, float) { return T::put(v); }
};

// Byte keeps them in 127 steps on either side of zero. As pairs they are exact in either format.
struct Byte {
  typedef signed char Number;
  template <class T> static DEVICE_MEMBER Pairs load(const Number *p) {
    const uint2 bytes = *(const uint2 *)p;
    Pairs x;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const u32 two = (i < 2 ? bytes.x : bytes.y) >> i % 2 * 16;
      x.w[i] = pack<T>((signed char)two, (signed char)(two >> 8));
    }
    return x;
  }
  template <class T> static DEVICE_MEMBER Number keep(float v, float scale) {
    return scale > 0 ? (Number)fmaxf(-127.f, fminf(127.f, rintf(v / scale))) : 0;
  }
};

// Group is rows of one slot that lie side by side, at most GROUP, as a launch gives them: 4 numbers for each blockIdx.z.
struct Group {
  int first, rows, slot, positions;
  DEVICE_MEMBER explicit Group(const int *numbers) : first(numbers[0]), rows(numbers[1]), slot(numbers[2]), positions(numbers[3]) {}
};

// place is the position, out of 64, that column c of tile t of a product with keys is for: what makes a lane's 8 values lie side by side.
DEVICE int place(int t, int c) { return t / 4 * 32 + c / 2 * 8 + t % 4 * 2 + c % 2; }

// load_queries reads a group's queries as a left factor. lane%4 has columns 8*(lane%4) and the next 7 of each 32.
template <class T, int W>
DEVICE void load_queries(u32 (&q)[W / 16][4], const View<T> &x, const Group &g, int column, int width, const float *scales) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int r = lane / 4 + 8 * i;
#pragma unroll
    for (int b = 0; b < W / 32; b++) {
      const int c = b * 32 + lane % 4 * 8;
      Pairs y = load_pairs(x, g.first + r, column + c, r < g.rows ? min(8, max(0, width - c)) : 0);
#pragma unroll
      for (int e = 0; e < 4; e++) {
        if (scales) y.w[e] = pack<T>(low<T>(y.w[e]) * scales[c + 2 * e], high<T>(y.w[e]) * scales[c + 2 * e + 1]);
        q[2 * b + e / 2][i + e % 2 * 2] = y.w[e];
      }
    }
  }
}

// score multiplies a group's queries with WARP_PART keys, of which count are there.
template <class T, class Cache, int W>
DEVICE void score(float (&s)[8][4], const u32 (&q)[W / 16][4], const typename Cache::Number *keys, int count) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < 8; t++) {
    const typename Cache::Number *row = keys + place(t, lane / 4) * W + lane % 4 * 8;
#pragma unroll
    for (int e = 0; e < 4; e++) s[t][e] = 0.f;
#pragma unroll
    for (int b = 0; b < W / 32; b++) {
      const Pairs k = Cache::template load<T>(row + b * 32);
      T::mma(s[t], q[2 * b], k.w);
      T::mma(s[t], q[2 * b + 1], k.w + 2);
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
      if (place(t, lane % 4 * 2 + e % 2) >= count) s[t][e] = -INFINITY;
  }
}

// add_values adds WARP_PART values, weighed by p.
template <class T, class Cache, int W>
DEVICE void add_values(float (&out)[W / 8][4], const float (&p)[8][4], const typename Cache::Number *values, int length) {
  const int lane = threadIdx.x % 32;
  u32 a[4][4];
#pragma unroll
  for (int k = 0; k < 4; k++) flash::pack_weights<T>(a[k], p, k);
#pragma unroll
  for (int n = 0; n < W / 8; n++) {
    const typename Cache::Number *row = values + (size_t)(n * 8 + lane / 4) * length + lane % 4 * 8;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const Pairs v = Cache::template load<T>(row + i * 32);
      T::mma(out[n], a[2 * i], v.w);
      T::mma(out[n], a[2 * i + 1], v.w + 2);
    }
  }
}
