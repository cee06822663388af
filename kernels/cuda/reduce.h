// Sums and maxima over the 32 lanes of a warp. Every lane gets the result, in the same bits.
#pragma once
#include "dev.h"

DEVICE float warp_sum(float v) {
  for (int lanes = 16; lanes; lanes /= 2) v += shfl_xor(v, lanes);
  return v;
}

DEVICE float warp_max(float v) {
  for (int lanes = 16; lanes; lanes /= 2) v = fmaxf(v, shfl_xor(v, lanes));
  return v;
}
