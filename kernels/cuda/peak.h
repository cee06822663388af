// The greatest of some logits, and the sum of all relative to it: what softmax and its logarithm need, in one pass.
#pragma once
#include "vector.h"

enum { NOWHERE = 0x7fffffff };

// MOST_WARPS is the most that a block has.
enum { MOST_WARPS = 16 };

// power is e^x, by one instruction and a multiplication.
DEVICE float power(float x) { return exp2f_approx(x * 1.44269504f); }

// Peak is that of a set of logits. NaN is never the greatest but spoils the sum; a set of -Inf sums up to nothing.
struct Peak {
  float top; // -Inf if there is none
  int at;    // its lowest id, or NOWHERE
  float sum; // of exp(logit - top)

  DEVICE_MEMBER void begin() {
    top = -INFINITY;
    at = NOWHERE;
    sum = 0.f;
  }
  // add takes a logit whose id is above all before.
  DEVICE_MEMBER void add(float v, int id) {
    if (v > top) {
      sum = sum * power(top - v) + 1.f;
      top = v;
      at = id;
    } else if (v == -INFINITY) {
      if (at == NOWHERE) at = id;
    } else {
      sum += power(v - top);
    }
  }
  // join takes what another set has.
  DEVICE_MEMBER void join(float other_top, int other_at, float other_sum) {
    float most = fmaxf(top, other_top);
    sum = sum * decay(top, most) + other_sum * decay(other_top, most);
    if (other_top > top || (other_top == top && other_at < at)) at = other_at;
    top = most;
  }
  // log_sum is the logarithm of the sum of all exp(logit).
  DEVICE_MEMBER float log_sum() const { return top == -INFINITY && sum == 0.f ? top : top + logf(sum); }

  static DEVICE_MEMBER float decay(float from, float to) { return from == to ? 1.f : power(from - to); }
};

// each calls f(logit, id) for those of the ids [from, to) of a row that are this thread's, in ascending order. It reads some ahead, which
// hides how long that takes.
template <class T, class F> DEVICE void each(const View<T> &logits, int row, int from, int to, F f) {
  const int threads = blockDim.x;
  constexpr int AHEAD = 8;
  for (int i = from + threadIdx.x; i < to; i += AHEAD * threads) {
    float v[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; j++) v[j] = i + j * threads < to ? logits.get(row, i + j * threads) : 0.f;
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
      if (i + j * threads < to) f(v[j], i + j * threads);
  }
}

// join_warp gives every lane the peak of all.
DEVICE void join_warp(Peak &p) {
#pragma unroll
  for (int o = 1; o < 32; o *= 2) p.join(shfl_xor(p.top, o), shfl_xor(p.at, o), shfl_xor(p.sum, o));
}

// join_block gives every thread the peak of all. Blocks are whole warps; shared has room for one a warp.
DEVICE void join_block(Peak &p, Peak *shared) {
  join_warp(p);
  __syncthreads(); // nobody reads what was there before
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = p;
  __syncthreads();
  p = shared[0];
  for (int i = 1; i < (int)blockDim.x / 32; i++) p.join(shared[i].top, shared[i].at, shared[i].sum);
}
