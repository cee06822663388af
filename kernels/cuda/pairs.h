// Eight elements in the storage format as they are moved at once and as tensor cores take them: four pairs.
#pragma once
#include "vector.h"

struct __align__(16) Pairs {
  u32 w[4];
};

// pack rounds two numbers to a pair.
template <class T> DEVICE u32 pack(float low, float high) { return T::put(low) | (u32)T::put(high) << 16; }

template <class T> DEVICE float low(u32 pair) { return T::get((u16)pair); }
template <class T> DEVICE float high(u32 pair) { return T::get((u16)(pair >> 16)); }

// load_pairs reads n elements of a row from column c on, a multiple of 8: 8 of them where n is 8 or more, and zeros for the rest.
template <class T> DEVICE Pairs load_pairs(const View<T> &x, int row, int c, int n) {
  if (n >= 8 && x.kind == ALIGNED_ROWS) return *(const Pairs *)((const u16 *)x.p + (size_t)row * x.ld + c);
  Pairs p = {};
#pragma unroll
  for (int i = 0; i < 8; i++)
    if (i < n) p.w[i / 2] |= (u32)x.element(row, c + i) << i % 2 * 16;
  return p;
}

// unpack is the numbers of pairs.
template <class T> DEVICE void unpack(float *v, const Pairs &p) {
#pragma unroll
  for (int i = 0; i < 4; i++) {
    v[2 * i] = low<T>(p.w[i]);
    v[2 * i + 1] = high<T>(p.w[i]);
  }
}
