// The dialect that the kernels of this folder are written in: CUDA C++ without any of the toolkit's headers, and what is below. NVRTC
// compiles it to PTX; g++ compiles the very same sources for the emulator, whose host.h then stands in for everything that CUDA's
// compiler has built in and for the section marked "device only".
//
// That section is all that the emulator can't run: inline PTX, one instruction each. selftest.cu has a check for every one of
// them, for a real GPU.
#pragma once
typedef unsigned short u16;
typedef unsigned int u32;

#define DEVICE_MEMBER __device__ __forceinline__
#define DEVICE static DEVICE_MEMBER

#ifdef __CUDACC__ // device only
#define KERNEL extern "C" __global__ void
// DYN_SHARED names the shared memory whose size a launch gives.
#define DYN_SHARED(T, name) extern __shared__ __align__(16) unsigned char dyn_shared[]; T *name = (T *)dyn_shared

DEVICE float h2f(u16 h) { float f; asm("cvt.f32.f16 %0,%1;" : "=f"(f) : "h"(h)); return f; }
DEVICE u16 f2h(float f) { u16 h; asm("cvt.rn.f16.f32 %0,%1;" : "=h"(h) : "f"(f)); return h; }
DEVICE float b2f(u16 h) { return __uint_as_float((u32)h << 16); }
DEVICE u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }
DEVICE float shfl_xor(float v, int lanes) { return __shfl_xor_sync(0xffffffffu, v, lanes); }
DEVICE int shfl_xor(int v, int lanes) { return __shfl_xor_sync(0xffffffffu, v, lanes); }
DEVICE float shfl(float v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }
DEVICE int shfl(int v, int lane) { return __shfl_sync(0xffffffffu, v, lane); }
// exp2f_approx is 2^x to within two units of the last place, and 0 where that is below the normal numbers: one instruction, unlike exp2f.
DEVICE float exp2f_approx(float x) { float y; asm("ex2.approx.ftz.f32 %0,%1;" : "=f"(y) : "f"(x)); return y; }
#define INFINITY __int_as_float(0x7f800000)

// ldmatrix4 reads four 8x8 matrices of 16-bit numbers from shared memory: lane i gives the address of row i%8 of matrix i/8, and
// gets the numbers 2*(lane%4) and the next of row lane/4 of each. ldmatrix4_trans gives columns for rows.
DEVICE void ldmatrix4(u32 *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}
DEVICE void ldmatrix4_trans(u32 *r, const void *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(shared_address(p)) : "memory");
}

#if __CUDA_ARCH__ >= 800
#define HAVE_BF16 1
DEVICE u16 f2b(float f) { u16 h; asm("cvt.rn.bf16.f32 %0,%1;" : "=h"(h) : "f"(f)); return h; }

// mma_f16 adds the product of a 16x16 matrix a and a 16x8 matrix b to c. A lane holds, of a, the pairs (row lane/4, columns 2*(lane%4)
// and the next), the same 8 rows below, the same 8 columns on, and both; of b the pairs (rows 2*(lane%4) and the next, column
// lane/4) and the same 8 rows below; of c the pair (row lane/4, columns 2*(lane%4) and the next) and the same 8 rows below.
DEVICE void mma_f16(float *c, const u32 *a, const u32 *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_bf16(float *c, const u32 *a, const u32 *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// cp_async16 copies 16 bytes to shared memory behind the thread's back: the first bytes of src, then zeros. Copies since the last
// cp_commit are a group; cp_wait<N> waits until at most the last N groups are under way. Other threads see them after a barrier.
DEVICE void cp_async16(void *dst, const void *src, int bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(shared_address(dst)), "l"(src), "r"(bytes) : "memory");
}
// cp_async16_if copies 16 bytes, or zeros. It takes fewer instructions than a number of bytes that isn't known.
DEVICE void cp_async16_if(bool copy, void *dst, const void *src) {
  asm volatile("{.reg .pred ignore; setp.eq.u32 ignore,%2,0; cp.async.cg.shared.global [%0],[%1],16,ignore;}"
               ::"r"(shared_address(dst)), "l"(src), "r"((u32)copy) : "memory");
}
DEVICE void cp_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void cp_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }
#else // Turing multiplies half as much at a time, copies at once, and has no bf16
#define HAVE_BF16 0
DEVICE void mma_f16(float *c, const u32 *a, const u32 *b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[2]), "r"(a[3]), "r"(b[1]));
}
DEVICE void cp_async16(void *dst, const void *src, int bytes = 16) {
  u16 v[8] = {};
  if (bytes == 16) {
    *(uint4 *)dst = *(const uint4 *)src;
    return;
  }
  for (int i = 0; i < 8; i++)
    if (2 * i < bytes) v[i] = ((const u16 *)src)[i];
  for (int i = 0; i < 8; i++) ((u16 *)dst)[i] = v[i];
}
DEVICE void cp_async16_if(bool copy, void *dst, const void *src) { *(uint4 *)dst = copy ? *(const uint4 *)src : make_uint4(0, 0, 0, 0); }
DEVICE void cp_commit() {}
template <int N> DEVICE void cp_wait() {}
#endif
#else
#include "host.h" // the emulator's; it has all of the above
#endif

// F16 and BF16 are the number formats that tensors are stored in. Both have 16 bits; sums and functions are float's.
struct F16 {
  static DEVICE_MEMBER float get(u16 v) { return h2f(v); }
  static DEVICE_MEMBER u16 put(float f) { return f2h(f); }
  static DEVICE_MEMBER void mma(float *c, const u32 *a, const u32 *b) { mma_f16(c, a, b); }
};
#if HAVE_BF16
struct BF16 {
  static DEVICE_MEMBER float get(u16 v) { return b2f(v); }
  static DEVICE_MEMBER u16 put(float f) { return f2b(f); }
  static DEVICE_MEMBER void mma(float *c, const u32 *a, const u32 *b) { mma_bf16(c, a, b); }
};
#endif

// KERNELS(threads, name, params, args) makes the kernels name_f16 and name_bf16, of at most so many threads a block, out of the
// template name<class T>, T being the storage format.
#define KERNEL_OF(T, threads, name, function, params, args) \
  KERNEL __launch_bounds__(threads) name params { function<T> args; }
#if HAVE_BF16
#define KERNELS(threads, name, params, args)                \
  KERNEL_OF(F16, threads, name##_f16, name, params, args)   \
  KERNEL_OF(BF16, threads, name##_bf16, name, params, args)
#else
#define KERNELS(threads, name, params, args) KERNEL_OF(F16, threads, name##_f16, name, params, args)
#endif
