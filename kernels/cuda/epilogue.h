// What becomes of a product's sums: dst = act(sum + bias) + residual.
#pragma once
#include "activation.h"
#include "vector.h"

template <class T> struct Epilogue {
  const float *bias; // null for none
  int act;
  View<T> dst, residual; // the residual may be none, or dst

  // apply adds the bias of column c to a sum and activates it.
  DEVICE_MEMBER float apply(float sum, int c) const { return activate(act, bias ? sum + bias[c] : sum); }

  // store adds the residual to n outputs, at most 8, of row r from column c on, c being a multiple of 8.
  DEVICE_MEMBER void store(int r, int c, int n, float *v) const {
    if (residual) {
      float more[8];
      residual.load(more, r, c, n);
#pragma unroll
      for (int i = 0; i < 8; i++) v[i] += more[i];
    }
    dst.store(v, r, c, n);
  }
};
