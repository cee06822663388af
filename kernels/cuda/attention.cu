// An encoder's self-attention, without a mask. x holds an item's queries, keys and values side by side, and behind each item some more
// rows, of which keys and values count.
#include "flash.h"

// attention has 4 warps of M times 16 queries, and W columns of a head.
template <class T, int W, int M, int KEYS>
DEVICE void attention(const void *x, int ldx, int kindx, const int *starts, const int *cuts, int items, int more, int width, int heads,
                      float scale, void *dst, int ldd, int kindd) {
  constexpr int LD = W + 8, NT = KEYS / 8, QUERIES = 64 * M;
  static_assert(QUERIES <= 2 * KEYS, "queries lie first where keys and values come");
  __shared__ __align__(16) u16 keys[2 * KEYS * LD];
  u16 *values = keys + KEYS * LD;
  const Stretch s = stretch_of(starts, cuts, items, blockIdx.x, QUERIES);
  if (s.length == 0) return;
  const int dh = width / heads, column = blockIdx.y * dh, warp = threadIdx.x / 32;
  const int first = s.first + s.item * more, count = s.length + more; // the item's keys
  const View<T> view(x, ldx, kindx);
  const flash::Part<T> q(view, first, s.length, column, dh), k(view, first, count, width + column, dh),
      v(view, first, count, 2 * width + column, dh);

  u32 query[M][W / 16][4];
  flash::fetch<QUERIES, W>(keys, q, s.from);
  cp_commit();
  cp_wait<0>();
  __syncthreads();
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int i = 0; i < W / 16; i++) flash::load_left<W>(query[m][i], keys + (warp * M + m) * 16 * LD, i);
  __syncthreads();

  float out[M][W / 8][4] = {};
  flash::Softmax softmax[M];
#pragma unroll
  for (int m = 0; m < M; m++) softmax[m].begin();
  flash::fetch<KEYS, W>(keys, k, 0);
  cp_commit();
  for (int j = 0; j < count; j += KEYS) {
    cp_wait<0>();
    __syncthreads(); // the keys are there, and the values before them are done with
    flash::fetch<KEYS, W>(values, v, j);
    cp_commit();
    float score[M][NT][4] = {};
#pragma unroll
    for (int n = 0; n < NT / 2; n++)
#pragma unroll
      for (int i = 0; i < W / 16; i++) {
        u32 b[4];
        flash::load_right<W>(b, keys + n * 16 * LD, i);
#pragma unroll
        for (int m = 0; m < M; m++) {
          T::mma(score[m][2 * n], query[m][i], b);
          T::mma(score[m][2 * n + 1], query[m][i], b + 2);
        }
      }
    cp_wait<0>();
    __syncthreads(); // the values are there, and the keys are done with
    if (j + KEYS < count) flash::fetch<KEYS, W>(keys, k, j + KEYS);
    cp_commit();
#pragma unroll
    for (int m = 0; m < M; m++) {
      float decay[2];
      if (j + KEYS > count) flash::mask(score[m], count - j);
      softmax[m].weigh(score[m], scale, decay);
      flash::accumulate<T, W>(out[m], score[m], values, decay);
    }
  }
  const flash::Part<T> to(View<T>(dst, ldd, kindd), s.first, s.length, column, dh);
#pragma unroll
  for (int m = 0; m < M; m++) flash::store<T, W>(to, s.from + (warp * M + m) * 16, out[m], softmax[m]);
}

#define PARAMS                                                                                                                          \
  (const void *x, int ldx, int kindx, const int *starts, const int *cuts, int items, int more, int width, int heads, float scale,       \
   void *dst, int ldd, int kindd)
#define ARGS (x, ldx, kindx, starts, cuts, items, more, width, heads, scale, dst, ldd, kindd)
template <class T> DEVICE void attention64 PARAMS { attention<T, 64, 2, 64> ARGS; }
template <class T> DEVICE void attention128 PARAMS { attention<T, 128, 1, 32> ARGS; }
KERNELS(flash::THREADS, attention64, PARAMS, ARGS)
KERNELS(flash::THREADS, attention128, PARAMS, ARGS)
#undef PARAMS
#undef ARGS
