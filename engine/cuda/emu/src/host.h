// The kernels' dialect for g++: what CUDA's compiler has built in, and the primitives that dev.h writes in PTX. Every CUDA thread is
// a fiber; threads of a warp meet in an exchange, at which each leaves what it has and takes what it needs.
#pragma once
#include "emu.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <immintrin.h>

#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static // blocks run one after another, so what is static is the block's
#define __constant__ static
#define KERNEL static void
#define DYN_SHARED(T, name) T *name = (T *)emu::dynamic_shared
#define threadIdx emu::thread_index
#define blockIdx emu::block_index
#define blockDim emu::block_extent
#define gridDim emu::grid_extent
#define warpSize 32
#define __syncthreads() emu::meet_block(__LINE__)
#define __syncwarp(...) emu::exchange(nullptr, 0)
#define INFINITY_F __builtin_inff()
#define HAVE_BF16 !EMU_TURING

namespace emu {
extern Dim3 thread_index, block_index, block_extent, grid_extent;
extern char *dynamic_shared;
// SLOT is the most that a thread can leave at an exchange.
enum { SLOT = 64 };
// exchange has a warp's threads meet. It returns 32 slots, valid until the next exchange but one.
const char *exchange(const void *mine, size_t n);
// exchange_with is exchange, at which the last to come runs work on the slots, once.
const char *exchange_with(const void *mine, size_t n, void (*work)(char *slots));
void meet_block(int line);
unsigned lane();
// MMA_PARTS is in how many products, one after another, the tensor cores multiply what mma_f16 is given.
enum { MMA_PARTS = EMU_TURING ? 2 : 1 };
// Asynchronous copies arrive when they are waited for.
void copy_async(void *dst, const void *src, int bytes);
void commit_copies();
void wait_copies(int groups);
void multiply_f16(char *slots);
void multiply_bf16(char *slots);
} // namespace emu

struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(8) uint2 { unsigned x, y; };
struct __align__(16) uint4 { unsigned x, y, z, w; };
struct __align__(8) int2 { int x, y; };
struct __align__(16) int4 { int x, y, z, w; };
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline int2 make_int2(int x, int y) { return {x, y}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }

using std::max;
using std::min;
static inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
static inline float exp2f_approx(float x) { float y = exp2f(x); return y < 0x1p-126f ? 0 : y; }
// Macros, since libm has functions of these names.
#define __expf expf
#define __logf logf
#define __powf powf
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.f / x; }
static inline float __fmul_rn(float x, float y) { volatile float p = x * y; return p; }
static inline float __fadd_rn(float x, float y) { volatile float s = x + y; return s; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class To, class From> static inline To emu_bits(From v) { To t; static_assert(sizeof t == sizeof v); memcpy(&t, &v, sizeof t); return t; }
static inline float __uint_as_float(unsigned v) { return emu_bits<float>(v); }
static inline float __int_as_float(int v) { return emu_bits<float>(v); }
static inline unsigned __float_as_uint(float v) { return emu_bits<unsigned>(v); }
static inline int __float_as_int(float v) { return emu_bits<int>(v); }
static inline int __popc(unsigned v) { return __builtin_popcount(v); }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
// Threads run one at a time, so these are atomic.
template <class T> static inline T atomicAdd(T *p, T v) { T old = *p; *p += v; return old; }
template <class T> static inline T atomicMax(T *p, T v) { T old = *p; *p = max(old, v); return old; }
template <class T> static inline T atomicMin(T *p, T v) { T old = *p; *p = min(old, v); return old; }
template <class T> static inline T atomicExch(T *p, T v) { T old = *p; *p = v; return old; }
template <class T> static inline T atomicCAS(T *p, T is, T v) { T old = *p; if (old == is) *p = v; return old; }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

static inline float h2f(u16 h) { return _cvtsh_ss(h); }
static inline u16 f2h(float f) { return _cvtss_sh(f, 0); }
static inline float b2f(u16 h) { return __uint_as_float((u32)h << 16); }
static inline u16 f2b(float f) {
  u32 u = __float_as_uint(f);
  return (u & 0x7fffffff) > 0x7f800000 ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16; // the GPU's NaN
}

template <class T> static inline T emu_take(T v, unsigned from) {
  const char *s = emu::exchange(&v, sizeof v);
  memcpy(&v, s + (from & 31) * emu::SLOT, sizeof v);
  return v;
}
template <class T> static inline T shfl_xor(T v, int lanes) { return emu_take(v, emu::lane() ^ lanes); }
template <class T> static inline T shfl(T v, int lane) { return emu_take(v, lane); }
template <class T> static inline T shfl_up(T v, int lanes) { unsigned l = emu::lane(); return emu_take(v, l < (unsigned)lanes ? l : l - lanes); }
template <class T> static inline T shfl_down(T v, int lanes) { unsigned l = emu::lane(); return emu_take(v, l + lanes > 31 ? l : l + lanes); }
static inline u32 ballot(bool v) {
  int mine = v;
  const char *s = emu::exchange(&mine, sizeof mine);
  u32 all = 0;
  for (int i = 0; i < 32; i++) {
    int other;
    memcpy(&other, s + i * emu::SLOT, sizeof other);
    all |= (u32)(other != 0) << i;
  }
  return all;
}

static inline void ldmatrix4(u32 *r, const void *p) {
  const char *s = emu::exchange(&p, sizeof p);
  unsigned l = emu::lane();
  for (int i = 0; i < 4; i++) {
    const u32 *row;
    memcpy(&row, s + (i * 8 + l / 4) * emu::SLOT, sizeof row);
    r[i] = row[l % 4];
  }
}
static inline void ldmatrix4_trans(u32 *r, const void *p) {
  const char *s = emu::exchange(&p, sizeof p);
  unsigned l = emu::lane();
  for (int i = 0; i < 4; i++) {
    const u16 *row0, *row1;
    memcpy(&row0, s + (i * 8 + l % 4 * 2) * emu::SLOT, sizeof row0);
    memcpy(&row1, s + (i * 8 + l % 4 * 2 + 1) * emu::SLOT, sizeof row1);
    r[i] = row0[l / 4] | (u32)row1[l / 4] << 16;
  }
}

// A thread leaves its parts of a and b at the exchange, and finds its part of the product in the same slot.
static inline void emu_mma(float *c, const u32 *a, const u32 *b, void (*multiply)(char *)) {
  u32 in[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  const char *s = emu::exchange_with(in, sizeof in, multiply) + emu::lane() * emu::SLOT;
  float product[4 * emu::MMA_PARTS];
  memcpy(product, s, sizeof product);
  for (int i = 0; i < 4 * emu::MMA_PARTS; i++) c[i % 4] += product[i];
}
static inline void mma_f16(float *c, const u32 *a, const u32 *b) { emu_mma(c, a, b, emu::multiply_f16); }
static inline void mma_bf16(float *c, const u32 *a, const u32 *b) { emu_mma(c, a, b, emu::multiply_bf16); }

static inline void cp_async16(void *dst, const void *src, int bytes = 16) { emu::copy_async(dst, src, bytes); }
static inline void cp_async16_if(bool copy, void *dst, const void *src) { emu::copy_async(dst, src, copy ? 16 : 0); }
static inline void cp_commit() { emu::commit_copies(); }
template <int N> static inline void cp_wait() { emu::wait_copies(N); }
