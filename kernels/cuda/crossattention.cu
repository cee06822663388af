// A decoder's cross-attention, over the cache of cross.h. A block of crossattention is PART positions of one head, for one group of rows;
// what the parts found is joined by crossjoin, in order. Which positions make a part is fixed, so that a row's result depends on nothing
// beside it.
//
// parts is [row][head][part][W+2]: the values weighed, the greatest score, and the sum of the weights relative to it.
#include "cross.h"

template <class T, class Cache, int W>
DEVICE void crossattention(const void *q, int ldq, int kindq, const typename Cache::Number *keys, const typename Cache::Number *values,
                           const float *scales, int length, int width, int heads, const int *groups, float scale, float *parts) {
  constexpr int WARPS = PART / WARP_PART;
  __shared__ float outs[WARPS][GROUP][W], tops[WARPS][GROUP], sums[WARPS][GROUP];
  const Group g(groups + 4 * blockIdx.z);
  const int first = blockIdx.x * PART, head = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32, dh = width / heads;
  if (first >= g.positions) return;
  const int from = first + warp * WARP_PART;
  const size_t at = ((size_t)g.slot * heads + head) * length * W;
  float out[W / 8][4] = {};
  flash::Softmax softmax;
  softmax.begin();
  if (from < g.positions) {
    u32 query[W / 16][4];
    load_queries<T, W>(query, View<T>(q, ldq, dh % 8 == 0 ? kindq : kindq & SINGLE), g, head * dh, dh,
                       scales ? scales + ((size_t)g.slot * 2 * heads + head) * W : nullptr);
    float s[8][4], decay[2];
    score<T, Cache, W>(s, query, keys + at + (size_t)from * W, g.positions - from);
    softmax.weigh(s, scale, decay);
    if (sizeof(typename Cache::Number) == 1) __syncwarp(); // reading bytes ahead from here on would take more registers than there are
    add_values<T, Cache, W>(out, s, values + at + from, length);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int r = lane / 4 + 8 * i;
    const float sum = softmax.total(i);
    if (r >= g.rows) continue;
    tops[warp][r] = softmax.top[i];
    sums[warp][r] = sum;
#pragma unroll
    for (int n = 0; n < W / 8; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) outs[warp][r][n * 8 + lane % 4 * 2 + e] = out[n][2 * i + e];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < g.rows * W; i += blockDim.x) {
    const int r = i / W, c = i % W;
    float top = -INFINITY, sum = 0.f, o = 0.f;
    for (int w = 0; w < WARPS; w++) top = fmaxf(top, tops[w][r]);
    for (int w = 0; w < WARPS; w++) {
      const float weight = exp2f_approx(tops[w][r] - relative(top));
      sum += weight * sums[w][r];
      o += weight * outs[w][r][c];
    }
    float *part = parts + (((size_t)(g.first + r) * heads + head) * gridDim.x + blockIdx.x) * (W + 2);
    part[c] = o;
    if (c == 0) {
      part[W] = top;
      part[W + 1] = sum;
    }
  }
}

// crossjoin makes a row's result of its parts, of which there is room for count; a block is one head of one row, a thread one of W
// columns. The first part keeps the greatest score and the sum of all weights. group_of is the row's group.
template <class T>
DEVICE void crossjoin(float *parts, int count, const float *scales, int width, int heads, const int *groups, const int *group_of,
                      void *dst, int ldd, int kindd) {
  const int head = blockIdx.x, row = blockIdx.y, c = threadIdx.x, W = blockDim.x, dh = width / heads;
  const Group g(groups + 4 * group_of[row]);
  const int n = (g.positions + PART - 1) / PART;
  float *part = parts + ((size_t)row * heads + head) * count * (W + 2);
  float top = -INFINITY, sum = 0.f, out = 0.f;
  for (int i = 0; i < n; i++) top = fmaxf(top, part[i * (W + 2) + W]);
  for (int i = 0; i < n; i++) {
    const float weight = exp2f_approx(part[i * (W + 2) + W] - relative(top));
    sum += weight * part[i * (W + 2) + W + 1];
    out += weight * part[i * (W + 2) + c];
  }
  if (scales) out *= scales[((size_t)(g.slot * 2 + 1) * heads + head) * W + c];
  if (c < dh) View<T>(dst, ldd, kindd).put(row, head * dh + c, n ? out / sum : 0.f);
  __syncthreads();
  if (c == 0 && n) {
    part[W] = top;
    part[W + 1] = sum;
  }
}

// crossprobs makes the distributions of some heads, chosen[blockIdx.y], after crossjoin: row blockIdx.y*rows+i of probs is row i's.
template <class T, class Cache, int W>
DEVICE void crossprobs(const void *q, int ldq, int kindq, const typename Cache::Number *keys, const float *scales, int length, int width,
                       int heads, const int *groups, const int *chosen, const float *parts, float scale, int rows, void *probs, int ldp,
                       int kindp) {
  const Group g(groups + 4 * blockIdx.z);
  const int head = chosen[blockIdx.y], warp = threadIdx.x / 32, lane = threadIdx.x % 32, dh = width / heads;
  const int from = blockIdx.x * PART + warp * WARP_PART;
  if (from >= g.positions) return;
  u32 query[W / 16][4];
  load_queries<T, W>(query, View<T>(q, ldq, dh % 8 == 0 ? kindq : kindq & SINGLE), g, head * dh, dh,
                     scales ? scales + ((size_t)g.slot * 2 * heads + head) * W : nullptr);
  float s[8][4];
  score<T, Cache, W>(s, query, keys + (((size_t)g.slot * heads + head) * length + from) * W, g.positions - from);
  const View<T> to(probs, ldp, kindp);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int r = lane / 4 + 8 * i;
    if (r >= g.rows) continue;
    const float *part = parts + ((size_t)(g.first + r) * heads + head) * gridDim.x * (W + 2);
    const float base = relative(part[W]), inverse = 1.f / part[W + 1];
#pragma unroll
    for (int t = 0; t < 8; t++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        const int p = from + place(t, lane % 4 * 2 + e);
        if (p < g.positions) to.put(blockIdx.y * rows + g.first + r, p, exp2f_approx(s[t][2 * i + e] * scale - base) * inverse);
      }
  }
}

#define PARAMS(Number)                                                                                                                  \
  (const void *q, int ldq, int kindq, const Number *keys, const Number *values, const float *scales, int length, int width, int heads, \
   const int *groups, float scale, float *parts)
#define ARGS (q, ldq, kindq, keys, values, scales, length, width, heads, groups, scale, parts)
#define PROBS_PARAMS(Number)                                                                                                            \
  (const void *q, int ldq, int kindq, const Number *keys, const float *scales, int length, int width, int heads, const int *groups,     \
   const int *chosen, const float *parts, float scale, int rows, void *probs, int ldp, int kindp)
#define PROBS_ARGS (q, ldq, kindq, keys, scales, length, width, heads, groups, chosen, parts, scale, rows, probs, ldp, kindp)

// CROSS makes the kernels for a width of heads and a kind of cache.
#define CROSS(W, name, Cache, Number)                                                                           \
  template <class T> DEVICE void crossattention##W##_##name PARAMS(Number) { crossattention<T, Cache, W> ARGS; } \
  template <class T> DEVICE void crossprobs##W##_##name PROBS_PARAMS(Number) { crossprobs<T, Cache, W> PROBS_ARGS; } \
  KERNELS(flash::THREADS, crossattention##W##_##name, PARAMS(Number), ARGS)                                     \
  KERNELS(flash::THREADS, crossprobs##W##_##name, PROBS_PARAMS(Number), PROBS_ARGS)
CROSS(64, half, Half, u16)
CROSS(128, half, Half, u16)
CROSS(64, byte, Byte, signed char)
KERNELS(flash::THREADS, crossjoin,
        (float *parts, int count, const float *scales, int width, int heads, const int *groups, const int *group_of, void *dst, int ldd,
         int kindd),
        (parts, count, scales, width, heads, groups, group_of, dst, ldd, kindd))
#undef PARAMS
#undef ARGS
#undef PROBS_PARAMS
#undef PROBS_ARGS
