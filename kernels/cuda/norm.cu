// Layer norm, a warp a row: mean, then the mean square of what is left, then the result. A lane has eight columns of every 256, so that the
// order of additions depends on the width alone. What it has of the first KEPT * 256 columns stays in registers, all of it under way
// at once, since with few rows nothing but the wait for them counts; wider rows come from the first-level cache again.
#include "reduce.h"
#include "vector.h"

enum { ROWS_PER_BLOCK = 4, KEPT = 6 }; // rows of 32 threads each

// Row is what a lane has of a row.
template <class T> struct Row {
  const View<T> from;
  int row, width, lane;
  float kept[KEPT][8];

  DEVICE_MEMBER Row(const View<T> &x, int row, int width, int lane) : from(x), row(row), width(width), lane(lane) {
#pragma unroll
    for (int j = 0; j < KEPT; j++)
      from.load(kept[j], row, column(j), width - column(j));
  }
  DEVICE_MEMBER int column(int j) const { return lane * 8 + j * 256; }

  // each calls visit(values, column, number of them) for each piece of eight.
  template <class Visit> DEVICE_MEMBER void each(Visit visit) {
#pragma unroll
    for (int j = 0; j < KEPT; j++)
      if (column(j) < width) visit(kept[j], column(j), width - column(j));
    for (int j = KEPT; column(j) < width; j++) {
      float v[8];
      from.load(v, row, column(j), width - column(j));
      visit(v, column(j), width - column(j));
    }
  }
};

template <class T>
DEVICE void layernorm(const void *x, int ldx, int kindx, const float *gamma, const float *beta, float eps, int rows, int width, void *dst,
                      int ldd, int kindd) {
  const int row = blockIdx.x * ROWS_PER_BLOCK + threadIdx.x / 32;
  if (row >= rows) return;
  Row<T> mine(View<T>(x, ldx, kindx), row, width, threadIdx.x % 32);
  const View<T> to(dst, ldd, kindd);
  float sum = 0.f, squares = 0.f;
  mine.each([&](const float *v, int, int) {
#pragma unroll
    for (int i = 0; i < 8; i++) sum += v[i];
  });
  const float mean = warp_sum(sum) / width;
  mine.each([&](const float *v, int, int n) {
#pragma unroll
    for (int i = 0; i < 8; i++) squares += i < n ? (v[i] - mean) * (v[i] - mean) : 0.f;
  });
  const float scale = rsqrtf(warp_sum(squares) / width + eps);
  mine.each([&](float *v, int c, int n) {
    float g[8], b[8];
    load8(g, gamma + c, n, true);
    load8(b, beta + c, n, true);
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = (v[i] - mean) * scale * g[i] + b[i];
    to.store(v, row, c, n);
  });
}

KERNELS(32 * ROWS_PER_BLOCK, layernorm,
        (const void *x, int ldx, int kindx, const float *gamma, const float *beta, float eps, int rows, int width, void *dst, int ldd,
         int kindd),
        (x, ldx, kindx, gamma, beta, eps, rows, width, dst, ldd, kindd))
