// A check for each of dev.h's primitives that are no C++, so that a GPU, or an emulator, on which one is not what kernels take it for is
// told at once. Run by a single warp.
#include "dev.h"

// The checks, by the bit of the answer that says that one failed. engine/cuda's SelfTest names them.
enum { CONVERT, SHUFFLE, LDMATRIX, LDMATRIX_TRANS, MMA, MMA_ORDER, ASYNC, ASYNC_PARTLY, ASYNC_IF, ASYNC_GROUPS, POWER, LOGARITHM, ATOMIC_MAX };

struct Answer {
  u32 failed;
  DEVICE_MEMBER void check(int what, bool right) { failed |= right ? 0u : 1u << what; }
};

DEVICE u32 bits(float f) {
  union {
    float f;
    u32 u;
  } v = {f};
  return v.u;
}

DEVICE void convert(Answer &a) {
  a.check(CONVERT, h2f(0x3c00) == 1.f && h2f(0x8001) == -1.f / 16777216.f && h2f(0x7bff) == 65504.f);
  a.check(CONVERT, f2h(1.f + 1.f / 2048) == 0x3c00 && f2h(1.f + 3.f / 2048) == 0x3c02); // ties go to the even one
  a.check(CONVERT, f2h(-1.f / 16777216.f) == 0x8001 && f2h(1e6f) == 0x7c00 && h2f(f2h(0.f / 0.f)) != h2f(f2h(0.f / 0.f)));
#if HAVE_BF16
  a.check(CONVERT, b2f(0xbf80) == -1.f && f2b(1.f + 1.f / 256) == 0x3f80 && f2b(1.f + 3.f / 256) == 0x3f82 && f2b(3e38f) == 0x7f62);
#endif
}

DEVICE void powers(Answer &a, int lane) {
  const float p = exp2f_approx(lane - 20.f);
  a.check(POWER, fabsf(p - (float)(1u << lane) / (1 << 20)) <= p * 1e-6f);
  a.check(POWER, exp2f_approx(-INFINITY) == 0.f && exp2f_approx(-200.f) == 0.f && exp2f_approx(INFINITY) == INFINITY);
}

DEVICE void logarithm(Answer &a, int lane) {
  a.check(LOGARITHM, fabsf(logf((float)(1u << lane) / (1 << 20)) - (lane - 20) * 0.693147181f) <= 1e-6f * abs(lane - 20));
}

// greatest has all lanes leave a number of which the greatest stays, as bits.
DEVICE void greatest(Answer &a, int lane) {
  __shared__ u32 most;
  if (lane == 0) most = 0;
  __syncwarp();
  atomicMax(&most, bits((lane * 5 + 3) % 32 * 0.3f));
  __syncwarp();
  a.check(ATOMIC_MAX, most == bits(31 * 0.3f));
}

DEVICE void shuffle(Answer &a, int lane) {
  a.check(SHUFFLE, shfl_xor(lane, 5) == (lane ^ 5) && shfl_xor((float)lane, 16) == (float)(lane ^ 16));
  a.check(SHUFFLE, shfl(3 * lane, (lane + 7) % 32) == 3 * ((lane + 7) % 32) && shfl(0.5f * lane, 9) == 4.5f);
}

DEVICE void matrices(Answer &a, int lane) {
  __shared__ __align__(16) u16 m[4][8][8];
  for (int i = lane; i < 256; i += 32) m[i / 64][i / 8 % 8][i % 8] = (u16)i;
  __syncthreads();
  u32 rows[4], columns[4];
  ldmatrix4(rows, m[lane / 8][lane % 8]);
  ldmatrix4_trans(columns, m[lane / 8][lane % 8]);
  const int i = lane / 4, j = lane % 4 * 2;
  for (int k = 0; k < 4; k++) {
    a.check(LDMATRIX, rows[k] == (u32)(k * 64 + i * 8 + j | k * 64 + i * 8 + j + 1 << 16));
    a.check(LDMATRIX_TRANS, columns[k] == (u32)(k * 64 + j * 8 + i | k * 64 + j * 8 + 8 + i << 16));
  }
}

// product computes a lane's part of A B + 1, A and B being functions of row and column.
template <class T, class A, class B> DEVICE void product(float *c, int lane, A a, B b) {
  const int i = lane / 4, j = lane % 4 * 2;
  u32 fa[4], fb[2];
  for (int k = 0; k < 4; k++)
    fa[k] = (u32)T::put(a(i + k % 2 * 8, j + k / 2 * 8)) | (u32)T::put(a(i + k % 2 * 8, j + k / 2 * 8 + 1)) << 16;
  for (int k = 0; k < 2; k++) fb[k] = (u32)T::put(b(j + k * 8, i)) | (u32)T::put(b(j + k * 8 + 1, i)) << 16;
  for (int k = 0; k < 4; k++) c[k] = 1.f;
  T::mma(c, fa, fb);
}

// multiply checks products of small integers, which are exact, and that an output's bits do not depend on where in the matrix it is:
// the promise that a row has the same result in any batch rests on that.
template <class T> DEVICE void multiply(Answer &a, int lane) {
  auto left = [](int i, int k) { return (float)((i * 3 + k * 5) % 7 - 3); };
  auto right = [](int k, int j) { return (float)((k * 2 + j * 3) % 5 - 2); };
  float c[4];
  product<T>(c, lane, left, right);
  for (int e = 0; e < 4; e++) {
    const int i = lane / 4 + e / 2 * 8, j = lane % 4 * 2 + e % 2;
    float want = 1.f;
    for (int k = 0; k < 16; k++) want += left(i, k) * right(k, j);
    a.check(MMA, c[e] == want);
  }

  __shared__ float first[16][8];
  auto rough = [](int i, int k) { return (float)((i * 7919 + k * 104729) % 1009 - 504) * 0.37f / (1 << (i + 5 * k) % 11); };
  product<T>(c, lane, rough, rough);
  __syncthreads();
  for (int e = 0; e < 4; e++) first[lane / 4 + e / 2 * 8][lane % 4 * 2 + e % 2] = c[e];
  __syncthreads();
  product<T>(c, lane, [=](int i, int k) { return rough((i + 5) % 16, k); }, [=](int k, int j) { return rough(k, (j + 3) % 8); });
  for (int e = 0; e < 4; e++)
    a.check(MMA_ORDER, bits(c[e]) == bits(first[(lane / 4 + e / 2 * 8 + 5) % 16][(lane % 4 * 2 + e % 2 + 3) % 8]));
}

// copies has every lane copy 16 bytes, whole and in part, of numbers 0, 1, 2, ….
DEVICE void copies(Answer &a, int lane, const u16 *numbers) {
  __shared__ __align__(16) u16 whole[32][8], part[32][8], some[32][8];
  for (int i = 0; i < 8; i++) whole[lane][i] = part[lane][i] = some[lane][i] = 0xffff;
  cp_async16(whole[lane], numbers + lane * 8);
  cp_commit();
  cp_async16(part[lane], numbers + lane * 8, lane % 9 * 2);
  cp_async16_if(lane % 3, some[lane], numbers + lane * 8);
  cp_commit();
  cp_wait<1>();
  __syncthreads();
  const int other = lane ^ 1;
  for (int i = 0; i < 8; i++) a.check(ASYNC_GROUPS, whole[other][i] == other * 8 + i);
  cp_wait<0>();
  __syncthreads();
  for (int i = 0; i < 8; i++) {
    a.check(ASYNC, whole[lane][i] == lane * 8 + i);
    a.check(ASYNC_IF, some[other][i] == (other % 3 ? other * 8 + i : 0));
    a.check(ASYNC_PARTLY, part[other][i] == (i < other % 9 ? other * 8 + i : 0));
  }
}

// selftest sets failed[lane] to the checks that failed there. numbers is 0 to 255.
KERNEL __launch_bounds__(32) selftest(const u16 *numbers, u32 *failed) {
  const int lane = threadIdx.x;
  Answer a = {0};
  convert(a);
  shuffle(a, lane);
  powers(a, lane);
  logarithm(a, lane);
  greatest(a, lane);
  matrices(a, lane);
  multiply<F16>(a, lane);
#if HAVE_BF16
  multiply<BF16>(a, lane);
#endif
  copies(a, lane, numbers);
  failed[lane] = a.failed;
}
