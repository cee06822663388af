// Self-attention that also looks at distances, as Transformer-XL (Dai et al. 2019) has it and FastConformer uses it:
//
//	score[i][j] = ((q[i] + bias[0])·k[j] + (q[i] + bias[1])·pos[middle-i+j]) * scale
//
// What a warp's 16 queries and a tile's keys meet of the positions lies along diagonals. The warp multiplies with all positions that any
// of them meets, 16 more than there are keys, and shifts each row of the product to its place. A block's positions are a ring in shared
// memory: from one tile of keys to the next they move on by as many.
#include "flash.h"

// add_bias sets a to q plus 16 columns of a row of biases.
template <class T> DEVICE void add_bias(u32 (&a)[4], const u32 (&q)[4], const flash::Part<T> &bias, int row, int c) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const int at = c + i / 2 * 8 + lane % 4 * 2;
    const float b0 = at < bias.width ? bias.x.get(row, bias.column + at) : 0.f;
    const float b1 = at + 1 < bias.width ? bias.x.get(row, bias.column + at + 1) : 0.f;
    a[i] = pack<T>(low<T>(q[i]) + b0, high<T>(q[i]) + b1);
  }
}

// shift moves the products with positions so that each row has those that it meets: column j of row i is column j+15-i of met.
//
// For rows 0 to 7 that is one tile of 8 columns further than for rows 8 to 15, and a rotation among the four lanes that share a row: what
// a lane has goes to one lane, and the lane sees by itself from which tile that one needs it.
template <int NT> DEVICE void shift(float (&s)[NT][4], const float (&met)[NT + 2][4]) {
  const int lane = threadIdx.x % 32, mine = lane % 4;
#pragma unroll
  for (int e = 0; e < 2; e++) {
    const int by = e + 7 - lane / 4, odd = by & 1;
    const int source = lane / 4 * 4 + (mine * 2 + by) / 2 % 4; // whose number comes here
    const bool further = mine * 2 + odd < by;                  // whoever gets this lane's needs it from the next tile
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const float *near = met[t + 1 - i] + 2 * i, *far = met[t + 2 - i] + 2 * i;
        const float first = further ? far[0] : near[0], second = further ? far[1] : near[1];
        s[t][2 * i + e] = shfl(odd ? second : first, source);
      }
  }
}

// relattention has 4 warps of 16 queries, and W columns of a head.
template <class T, int W, int KEYS>
DEVICE void relattention(const void *x, int ldx, int kindx, const void *pos, int ldp, int kindp, int positions, const void *bias, int ldb,
                         int kindb, const int *starts, const int *cuts, int items, int width, int heads, float scale, void *dst, int ldd,
                         int kindd) {
  constexpr int LD = W + 8, NT = KEYS / 8, QUERIES = 64, RING = QUERIES + KEYS;
  __shared__ __align__(16) u16 keys[(2 * KEYS + RING) * LD];
  u16 *values = keys + KEYS * LD, *ring = values + KEYS * LD;
  const Stretch s = stretch_of(starts, cuts, items, blockIdx.x, QUERIES);
  if (s.length == 0) return;
  const int dh = width / heads, column = blockIdx.y * dh, warp = threadIdx.x / 32;
  const View<T> view(x, ldx, kindx);
  const flash::Part<T> q(view, s.first, s.length, column, dh), k(view, s.first, s.length, width + column, dh),
      v(view, s.first, s.length, 2 * width + column, dh), p(View<T>(pos, ldp, kindp), 0, positions, column, dh),
      b(View<T>(bias, ldb, kindb), 0, 2, column, dh);

  u32 to_keys[W / 16][4], to_positions[W / 16][4];
  flash::fetch<QUERIES, W>(ring, q, s.from);
  cp_commit();
  cp_wait<0>();
  __syncthreads();
#pragma unroll
  for (int i = 0; i < W / 16; i++) {
    u32 a[4];
    flash::load_left<W>(a, ring + warp * 16 * LD, i);
    add_bias(to_keys[i], a, b, 0, i * 16);
    add_bias(to_positions[i], a, b, 1, i * 16);
  }
  __syncthreads();

  float out[W / 8][4] = {};
  flash::Softmax softmax;
  softmax.begin();
  const int base = (positions - 1) / 2 - (s.from + QUERIES - 1); // where the last query meets the first key
  flash::fetch<KEYS, W>(keys, k, 0);
  flash::fetch<RING, W>(ring, p, base);
  cp_commit();
  for (int j = 0; j < s.length; j += KEYS) {
    cp_wait<0>();
    __syncthreads(); // keys and positions are there, and the values before them are done with
    flash::fetch<KEYS, W>(values, v, j);
    cp_commit();
    float score[NT][4];
    {
      float met[NT + 2][4] = {};
      const int at = j + QUERIES - 16 * (warp + 1);
#pragma unroll
      for (int n = 0; n < NT / 2 + 1; n++) {
        const u16 *rows = ring + (at + n * 16) % RING * LD;
#pragma unroll
        for (int i = 0; i < W / 16; i++) {
          u32 right[4];
          flash::load_right<W>(right, rows, i);
          T::mma(met[2 * n], to_positions[i], right);
          T::mma(met[2 * n + 1], to_positions[i], right + 2);
        }
      }
      shift<NT>(score, met);
    }
#pragma unroll
    for (int n = 0; n < NT / 2; n++)
#pragma unroll
      for (int i = 0; i < W / 16; i++) {
        u32 right[4];
        flash::load_right<W>(right, keys + n * 16 * LD, i);
        T::mma(score[2 * n], to_keys[i], right);
        T::mma(score[2 * n + 1], to_keys[i], right + 2);
      }
    cp_wait<0>();
    __syncthreads(); // the values are there, and keys and positions are done with
    if (j + KEYS < s.length) {
      flash::fetch<KEYS, W>(keys, k, j + KEYS);
      flash::fetch<KEYS, W>(ring + j % RING * LD, p, base + j + RING);
    }
    cp_commit();
    float decay[2];
    if (j + KEYS > s.length) flash::mask(score, s.length - j);
    softmax.weigh(score, scale, decay);
    flash::accumulate<T, W>(out, score, values, decay);
  }
  flash::store<T, W>(flash::Part<T>(View<T>(dst, ldd, kindd), s.first, s.length, column, dh), s.from + warp * 16, out, softmax);
}

#define PARAMS                                                                                                                          \
  (const void *x, int ldx, int kindx, const void *pos, int ldp, int kindp, int positions, const void *bias, int ldb, int kindb,         \
   const int *starts, const int *cuts, int items, int width, int heads, float scale, void *dst, int ldd, int kindd)
#define ARGS                                                                                                                            \
  (x, ldx, kindx, pos, ldp, kindp, positions, bias, ldb, kindb, starts, cuts, items, width, heads, scale, dst, ldd, kindd)
template <class T> DEVICE void relattention32 PARAMS { relattention<T, 32, 64> ARGS; }
template <class T> DEVICE void relattention64 PARAMS { relattention<T, 64, 64> ARGS; }
template <class T> DEVICE void relattention128 PARAMS { relattention<T, 128, 32> ARGS; }
KERNELS(flash::THREADS, relattention32, PARAMS, ARGS)
KERNELS(flash::THREADS, relattention64, PARAMS, ARGS)
KERNELS(flash::THREADS, relattention128, PARAMS, ARGS)
#undef PARAMS
#undef ARGS
