// A step of a layer of an LSTM. The weights are what is read most of, so a block has 8 units of all sequences and streams their weights,
// those of all 4 gates, once through the tensor cores, for up to SEQUENCES sequences. What is multiplied is input and state side by side,
// each filled up to a multiple of STRETCH; a warp takes every eighth stretch, and their sums are joined in order.
//
// Weights are [units/8][4 gates][8 units][stretches*STRETCH], biases [units/8][4][8]. A lane has 8 numbers of a row side by side: a sum
// doesn't care in which order it takes columns, as long as both factors have the same.
#include "pairs.h"

enum { STRETCH = 32, GATE_WARPS = 8, SEQUENCES = 16, UNITS = 8 };

DEVICE float sigmoid(float v) { return 1.f / (1.f + expf(-v)); }

// lstm updates cells and leaves the new states, [m][hidden], aside: other blocks still read the old ones.
template <class T>
DEVICE void lstm(const void *x, int ldx, int kindx, const void *h, int ldh, int kindh, void *c, int ldc, int kindc, const u16 *weights,
                 const float *bias, int in, int hidden, const int *rows, int m, float *fresh) {
  __shared__ float sums[GATE_WARPS][4][SEQUENCES][UNITS];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = blockIdx.y * SEQUENCES;
  const int inputs = (in + STRETCH - 1) / STRETCH, stretches = inputs + (hidden + STRETCH - 1) / STRETCH;
  const View<T> input(x, ldx, kindx), state(h, ldh, kindh), cells(c, ldc, kindc);
  const u16 *weight = weights + ((size_t)blockIdx.x * 4 * UNITS + lane / 4) * stretches * STRETCH + lane % 4 * 8;

  float sum[4][4] = {};
  for (int s = warp; s < stretches; s += GATE_WARPS) {
    Pairs a[2], b[4];
#pragma unroll
    for (int g = 0; g < 4; g++) b[g] = *(const Pairs *)(weight + ((size_t)g * UNITS * stretches + s) * STRETCH);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const int r = first + lane / 4 + 8 * i, at = (s < inputs ? s : s - inputs) * STRETCH + lane % 4 * 8;
      a[i] = r >= m ? Pairs{} : s < inputs ? load_pairs(input, r, at, in - at) : load_pairs(state, rows[r], at, hidden - at);
    }
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const u32 left[4] = {a[0].w[2 * k], a[1].w[2 * k], a[0].w[2 * k + 1], a[1].w[2 * k + 1]};
#pragma unroll
      for (int g = 0; g < 4; g++) T::mma(sum[g], left, b[g].w + 2 * k);
    }
  }
#pragma unroll
  for (int g = 0; g < 4; g++)
#pragma unroll
    for (int e = 0; e < 4; e++) sums[warp][g][lane / 4 + e / 2 * 8][lane % 4 * 2 + e % 2] = sum[g][e];
  __syncthreads();

  const int r = threadIdx.x / UNITS, u = threadIdx.x % UNITS, unit = blockIdx.x * UNITS + u;
  if (r >= SEQUENCES || first + r >= m || unit >= hidden) return;
  float gate[4];
#pragma unroll
  for (int g = 0; g < 4; g++) {
    gate[g] = bias[(blockIdx.x * 4 + g) * UNITS + u];
    for (int i = 0; i < GATE_WARPS; i++) gate[g] += sums[i][g][r][u];
  }
  const float cell = sigmoid(gate[1]) * cells.get(rows[first + r], unit) + sigmoid(gate[0]) * tanhf(gate[2]);
  cells.put(rows[first + r], unit, cell);
  fresh[(size_t)(first + r) * hidden + unit] = sigmoid(gate[3]) * tanhf(cell);
}

// lstmstate puts the new states where they belong; a block is a sequence.
template <class T>
DEVICE void lstmstate(const float *fresh, int hidden, const int *rows, void *h, int ldh, int kindh, void *dst, int ldd, int kindd) {
  const View<T> state(h, ldh, kindh), to(dst, ldd, kindd);
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    const float v = fresh[(size_t)blockIdx.x * hidden + i];
    state.put(rows[blockIdx.x], i, v);
    to.put(blockIdx.x, i, v);
  }
}

KERNELS(32 * GATE_WARPS, lstm,
        (const void *x, int ldx, int kindx, const void *h, int ldh, int kindh, void *c, int ldc, int kindc, const u16 *weights,
         const float *bias, int in, int hidden, const int *rows, int m, float *fresh),
        (x, ldx, kindx, h, ldh, kindh, c, ldc, kindc, weights, bias, in, hidden, rows, m, fresh))
KERNELS(256, lstmstate,
        (const float *fresh, int hidden, const int *rows, void *h, int ldh, int kindh, void *dst, int ldd, int kindd),
        (fresh, hidden, rows, h, ldh, kindh, dst, ldd, kindd))
