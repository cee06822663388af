// Layer norm, a warp a row: mean, then the mean square of what is left, then the result. The second and third time a row is read it
// comes from the first-level cache. A lane adds up its eight columns of every 256, so that the order depends on the width alone.
#include "reduce.h"
#include "vector.h"

enum { ROWS_PER_BLOCK = 4 }; // of 32 threads each

template <class T>
DEVICE void layernorm(const void *x, int ldx, int kindx, const float *gamma, const float *beta, float eps, int rows, int width, void *dst,
                      int ldd, int kindd) {
  const int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const View<T> from(x, ldx, kindx), to(dst, ldd, kindd);
  float v[8], g[8], b[8], sum = 0.f, squares = 0.f;
  for (int c = lane * 8; c < width; c += 256) {
    from.load(v, row, c, width - c);
#pragma unroll
    for (int i = 0; i < 8; i++) sum += v[i];
  }
  const float mean = warp_sum(sum) / width;
  for (int c = lane * 8; c < width; c += 256) {
    from.load(v, row, c, width - c);
#pragma unroll
    for (int i = 0; i < 8; i++) squares += c + i < width ? (v[i] - mean) * (v[i] - mean) : 0.f;
  }
  const float scale = rsqrtf(warp_sum(squares) / width + eps);
  for (int c = lane * 8; c < width; c += 256) {
    from.load(v, row, c, width - c);
    load8(g, gamma + c, width - c, true);
    load8(b, beta + c, width - c, true);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = (v[i] - mean) * scale * g[i] + b[i];
    to.store(v, row, c, width - c);
  }
}

KERNELS(32 * ROWS_PER_BLOCK, layernorm,
        (const void *x, int ldx, int kindx, const float *gamma, const float *beta, float eps, int rows, int width, void *dst, int ldd,
         int kindd),
        (x, ldx, kindx, gamma, beta, eps, rows, width, dst, ldd, kindd))
