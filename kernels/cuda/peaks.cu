// The best id of a range of logits, its log-probability, and the sum of all probabilities raised to a power. A block is one range of one
// row; ranges has 2 numbers each, the first id and the end.
//
// out has 4 words for each: id, logit, log-probability and sum of powers.
#include "peak.h"
#include "reduce.h"

template <class T> DEVICE void peaks(const void *logits, int ldl, int kindl, const int *ranges, float exponent, float *out) {
  __shared__ Peak shared[MOST_WARPS];
  __shared__ float sums[MOST_WARPS];
  const View<T> x(logits, ldl, kindl);
  const int row = blockIdx.y, from = ranges[2 * blockIdx.x], to = ranges[2 * blockIdx.x + 1];
  Peak p;
  p.begin();
  each(x, row, from, to, [&](float v, int id) { p.add(v, id); });
  join_block(p, shared);

  float sum = 0.f;
  if (exponent > 0) {
    each(x, row, from, to, [&](float v, int) { sum += power(exponent * (v - p.top)); });
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.f;
    for (int i = 0; i < (int)blockDim.x / 32; i++) sum += sums[i];
    sum *= power(exponent * (p.top - p.log_sum()));
  }
  if (threadIdx.x) return;
  const int id = p.at == NOWHERE ? from : p.at; // where there are none but NaNs
  const float logit = x.get(row, id), log_prob = logit - p.log_sum();
  out += 4 * ((size_t)row * gridDim.x + blockIdx.x);
  ((int *)out)[0] = id;
  out[1] = logit;
  out[2] = log_prob > 0 ? 0.f : log_prob; // rounding must not make a probability greater than one
  out[3] = sum;
}

KERNELS(32 * MOST_WARPS, peaks, (const void *logits, int ldl, int kindl, const int *ranges, float exponent, float *out),
        (logits, ldl, kindl, ranges, exponent, out))
