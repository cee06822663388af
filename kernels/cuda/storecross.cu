// What an encoder made of a window, kept as cross.h has it. x holds keys and values side by side.
#include "cross.h"

enum { COLUMNS = 32, STORE_WARPS = 8 };

// crossscale finds the scales of a slot's columns; a block is COLUMNS of one head's keys (blockIdx.z 0) or values (1).
template <class T> DEVICE void crossscale(const void *x, int ldx, int kindx, int rows, int width, int heads, int W, float *scales) {
  __shared__ float most[STORE_WARPS][COLUMNS];
  const int dh = width / heads, lane = threadIdx.x % 32, warp = threadIdx.x / 32, c = blockIdx.x * COLUMNS + lane;
  const View<T> from(x, ldx, kindx);
  float m = 0.f;
  if (c < dh)
    for (int r = warp; r < rows; r += STORE_WARPS) m = fmaxf(m, fabsf(from.get(r, blockIdx.z * width + blockIdx.y * dh + c)));
  most[warp][lane] = m;
  __syncthreads();
  if (warp) return;
  for (int i = 1; i < STORE_WARPS; i++) m = fmaxf(m, most[i][lane]);
  scales[(blockIdx.z * heads + blockIdx.y) * W + c] = m / 127.f;
}

// storecross lays out keys and values; a block is WARP_PART positions of COLUMNS of a head.
template <class T, class Cache>
DEVICE void storecross(const void *x, int ldx, int kindx, int rows, int width, int heads, int W, int length, const float *scales,
                       typename Cache::Number *keys, typename Cache::Number *values) {
  __shared__ typename Cache::Number turned[COLUMNS][WARP_PART + 4];
  const int dh = width / heads, lane = threadIdx.x % 32, warp = threadIdx.x / 32, head = blockIdx.y, c = blockIdx.z * COLUMNS + lane;
  const int begin = blockIdx.x * WARP_PART;
  const float key_scale = scales ? scales[head * W + c] : 1.f, value_scale = scales ? scales[(heads + head) * W + c] : 1.f;
  const View<T> from(x, ldx, kindx);
  for (int i = warp; i < WARP_PART; i += STORE_WARPS) {
    const bool there = begin + i < rows && c < dh;
    const float k = there ? from.get(begin + i, head * dh + c) : 0.f, v = there ? from.get(begin + i, width + head * dh + c) : 0.f;
    keys[((size_t)head * length + begin + i) * W + c] = Cache::template keep<T>(k, key_scale);
    turned[lane][i] = Cache::template keep<T>(v, value_scale);
  }
  __syncthreads();
  for (int i = warp; i < COLUMNS; i += STORE_WARPS)
    for (int r = lane; r < WARP_PART; r += 32) values[((size_t)head * W + blockIdx.z * COLUMNS + i) * length + begin + r] = turned[i][r];
}

#define PARAMS(Number)                                                                                                                  \
  (const void *x, int ldx, int kindx, int rows, int width, int heads, int W, int length, const float *scales, Number *keys,            \
   Number *values)
#define ARGS (x, ldx, kindx, rows, width, heads, W, length, scales, keys, values)
template <class T> DEVICE void storecross_half PARAMS(u16) { storecross<T, Half> ARGS; }
template <class T> DEVICE void storecross_byte PARAMS(signed char) { storecross<T, Byte> ARGS; }
KERNELS(32 * STORE_WARPS, storecross_half, PARAMS(u16), ARGS)
KERNELS(32 * STORE_WARPS, storecross_byte, PARAMS(signed char), ARGS)
KERNELS(32 * STORE_WARPS, crossscale, (const void *x, int ldx, int kindx, int rows, int width, int heads, int W, float *scales),
        (x, ldx, kindx, rows, width, heads, W, scales))
#undef PARAMS
#undef ARGS
