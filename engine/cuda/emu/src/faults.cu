// Kernels with faults, which the emulator's own tests look for, and one without.
#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#else
#include "dev.h"
#endif

// fill_up writes n numbers by 64 threads of one block.
KERNEL fill_up(float *y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = i;
}
// past_end writes one number too many.
KERNEL past_end(float *y, int n) {
  for (int i = threadIdx.x; i <= n; i += blockDim.x) y[i] = i;
}
// misaligned writes four bytes at an address that is no multiple of four.
KERNEL misaligned(float *y, int n) {
  if (threadIdx.x == 3) *(float *)((char *)y + 2) = n;
}
// no_barrier reads what another thread may not have written yet.
KERNEL no_barrier(float *y, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = threadIdx.x + n;
  y[threadIdx.x] = s[threadIdx.x ^ 32];
}
// divergent_barriers has threads of a block wait at different places.
KERNEL divergent_barriers(float *y, int n) {
  if (threadIdx.x < 5)
    __syncthreads();
  else
    __syncthreads();
  y[threadIdx.x] = n;
}
// out_of_shared writes past its dynamic shared memory of n bytes.
KERNEL out_of_shared(float *y, int n) {
#ifdef __CUDACC__
  extern __shared__ float s[];
#else
  DYN_SHARED(float, s);
#endif
  s[n / 4 + threadIdx.x] = 1;
  y[threadIdx.x] = s[n / 4 + threadIdx.x];
}
