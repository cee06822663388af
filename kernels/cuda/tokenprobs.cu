// The probabilities of some ids under the softmax over a row's first limit logits. A block is a run of ids of one row: runs has 3 numbers
// each, the row, and the first and the end of its ids.
#include "peak.h"

template <class T>
DEVICE void tokenprobs(const void *logits, int ldl, int kindl, const int *runs, const int *ids, int limit, float *out) {
  __shared__ Peak shared[MOST_WARPS];
  const View<T> x(logits, ldl, kindl);
  const int *run = runs + 3 * blockIdx.x;
  const int row = run[0];
  Peak p;
  p.begin();
  each(x, row, 0, limit, [&](float v, int id) { p.add(v, id); });
  join_block(p, shared);
  const float all = p.log_sum();
  for (int i = run[1] + threadIdx.x; i < run[2]; i += blockDim.x) {
    const int id = ids[i];
    const float prob = id >= 0 && id < limit ? expf(x.get(row, id) - all) : 0.f;
    out[i] = prob >= 0 ? fminf(prob, 1.f) : 0.f; // none where something is no number
  }
}

KERNELS(32 * MOST_WARPS, tokenprobs, (const void *logits, int ldl, int kindl, const int *runs, const int *ids, int limit, float *out),
        (logits, ldl, kindl, runs, ids, limit, out))
