// What becomes of a product's sums: dst = act(sum + bias) + residual.
#pragma once
#include "activation.h"
#include "vector.h"

// Flags of an epilogue: whether rows of dst and of the residual all start on 16 bytes, and which of the two are float32.
enum { ALIGNED_ROWS = 1, SINGLE_DST = 2, SINGLE_RESIDUAL = 4 };

template <class T> struct Epilogue {
  void *dst;
  int ldd;
  const float *bias; // null for none
  int act;
  const void *residual; // null for none; may be dst
  int ldr, flags;

  // apply adds the bias of column c to a sum and activates it.
  DEVICE_MEMBER float apply(float sum, int c) const { return activate(act, bias ? sum + bias[c] : sum); }

  // store adds the residual to n outputs, at most 8, of row r from column c on, c being a multiple of 8.
  DEVICE_MEMBER void store(int r, int c, int n, float *v) const {
    const bool aligned = flags & ALIGNED_ROWS;
    if (residual) {
      const size_t at = (size_t)r * ldr + c;
      float more[8];
      if (flags & SINGLE_RESIDUAL) load8(more, (const float *)residual + at, n, aligned);
      else load8<T>(more, (const u16 *)residual + at, n, aligned);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] += more[i];
    }
    const size_t at = (size_t)r * ldd + c;
    if (flags & SINGLE_DST) store8((float *)dst + at, v, n, aligned);
    else store8<T>((u16 *)dst + at, v, n, aligned);
  }
};
