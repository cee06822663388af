// A decoder's self-attention through its cache, [slot][length][width] keys and values of one layer, in the storage format: a row's
// key and value are stored at its position, then its query attends to that slot's positions up to its own.
//
// places has 2 numbers a row, slot and position. A block is one head of one row; it stores its own key and value, and takes all before them
// from the cache. Where a call has several rows of a slot, cachestore must have run first.
#include "flash.h"

// cachestore puts keys and values into the cache; a block is a row.
template <class T>
DEVICE void cachestore(const void *x, int ldx, int kindx, u16 *keys, u16 *values, int length, int width, const int *places) {
  const View<T> from(x, ldx, kindx);
  const int row = blockIdx.x;
  const size_t at = ((size_t)places[2 * row] * length + places[2 * row + 1]) * width;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    keys[at + c] = from.element(row, width + c);
    values[at + c] = from.element(row, 2 * width + c);
  }
}

// Found is what attention to some of the positions has come to: 8 columns of their weighed values.
struct Found {
  float top, sum, out[8];

  DEVICE_MEMBER void begin() {
    top = -INFINITY;
    sum = 0.f;
#pragma unroll
    for (int e = 0; e < 8; e++) out[e] = 0.f;
  }
  // rise lets weights be relative to a score where that is greater, and returns what to take scores relative to.
  DEVICE_MEMBER float rise(float score) {
    const float next = fmaxf(top, score), base = relative(next), decay = exp2f_approx(top - base);
    top = next;
    sum *= decay;
#pragma unroll
    for (int e = 0; e < 8; e++) out[e] *= decay;
    return base;
  }
  // join adds what the lane so many lanes away has found.
  DEVICE_MEMBER void join(int lanes) {
    rise(shfl_xor(top, lanes));
    sum += shfl_xor(sum, lanes);
#pragma unroll
    for (int e = 0; e < 8; e++) out[e] += shfl_xor(out[e], lanes);
  }
};

// cachedattention has W columns of a head; W/8 lanes share a position, and take several positions at a time.
template <class T, int W>
DEVICE void cachedattention(const void *x, int ldx, int kindx, u16 *keys, u16 *values, int length, int width, int heads,
                            const int *places, float scale, void *dst, int ldd, int kindd) {
  constexpr int WARPS = flash::THREADS / 32, LANES = W / 8, POSITIONS = flash::THREADS / LANES, AT_ONCE = 4;
  __shared__ float tops[WARPS], sums[WARPS], outs[WARPS][W];
  const int row = blockIdx.y, thread = threadIdx.x, dh = width / heads, column = blockIdx.x * dh, last = places[2 * row + 1];
  const int c = thread % LANES * 8, n = min(8, max(0, dh - c)), mine = thread / LANES;
  const bool whole = width % 8 == 0 && dh % 8 == 0;
  const size_t begin = (size_t)places[2 * row] * length * width + column;
  const View<T> from(x, ldx, whole ? kindx : kindx & SINGLE), key(keys + begin, width, whole ? ALIGNED_ROWS : 0),
      value(values + begin, width, whole ? ALIGNED_ROWS : 0);
  const Pairs own_query = load_pairs(from, row, column + c, n), own_key = load_pairs(from, row, width + column + c, n),
              own_value = load_pairs(from, row, 2 * width + column + c, n);
  if (thread < dh) {
    keys[begin + (size_t)last * width + thread] = from.element(row, width + column + thread);
    values[begin + (size_t)last * width + thread] = from.element(row, 2 * width + column + thread);
  }
  float q[8];
  unpack<T>(q, own_query);

  Found found;
  found.begin();
  for (int start = 0; start <= last; start += POSITIONS * AT_ONCE) {
    Pairs k[AT_ONCE], v[AT_ONCE];
    float score[AT_ONCE], most = -INFINITY;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      const int p = start + i * POSITIONS + mine;
      k[i] = p < last ? load_pairs(key, p, c, n) : own_key;
      v[i] = p < last ? load_pairs(value, p, c, n) : own_value;
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      float w[8];
      unpack<T>(w, k[i]);
      score[i] = 0.f;
#pragma unroll
      for (int e = 0; e < 8; e++) score[i] += q[e] * w[e];
#pragma unroll
      for (int lanes = 1; lanes < LANES; lanes *= 2) score[i] += shfl_xor(score[i], lanes);
      score[i] = start + i * POSITIONS + mine <= last ? score[i] * scale : -INFINITY;
      most = fmaxf(most, score[i]);
    }
    const float base = found.rise(most);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      float w[8];
      unpack<T>(w, v[i]);
      const float weight = exp2f_approx(score[i] - base);
      found.sum += weight;
#pragma unroll
      for (int e = 0; e < 8; e++) found.out[e] += weight * w[e];
    }
  }

#pragma unroll
  for (int lanes = LANES; lanes < 32; lanes *= 2) found.join(lanes);
  if (thread % 32 < LANES) {
    const int warp = thread / 32;
    tops[warp] = found.top;
    sums[warp] = found.sum;
#pragma unroll
    for (int e = 0; e < 8; e++) outs[warp][c + e] = found.out[e];
  }
  __syncthreads();
  if (thread >= dh) return;
  float top = -INFINITY, sum = 0.f, out = 0.f;
  for (int i = 0; i < WARPS; i++) top = fmaxf(top, tops[i]);
  for (int i = 0; i < WARPS; i++) {
    const float weight = exp2f_approx(tops[i] - relative(top));
    sum += weight * sums[i];
    out += weight * outs[i][thread];
  }
  View<T>(dst, ldd, kindd).put(row, column + thread, out / sum);
}

#define PARAMS                                                                                                                          \
  (const void *x, int ldx, int kindx, u16 *keys, u16 *values, int length, int width, int heads, const int *places, float scale,         \
   void *dst, int ldd, int kindd)
#define ARGS (x, ldx, kindx, keys, values, length, width, heads, places, scale, dst, ldd, kindd)
template <class T> DEVICE void cachedattention64 PARAMS { cachedattention<T, 64> ARGS; }
template <class T> DEVICE void cachedattention128 PARAMS { cachedattention<T, 128> ARGS; }
KERNELS(flash::THREADS, cachedattention64, PARAMS, ARGS)
KERNELS(flash::THREADS, cachedattention128, PARAMS, ARGS)
KERNELS(flash::THREADS, cachestore,
        (const void *x, int ldx, int kindx, u16 *keys, u16 *values, int length, int width, const int *places),
        (x, ldx, kindx, keys, values, length, width, places))
#undef PARAMS
#undef ARGS
