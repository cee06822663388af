// A gated linear unit, a convolution over time that keeps channels apart, and an activation: dst = act(conv(a * sigmoid(b))), a and b
// lying side by side in x. A block has ROWS rows of an item and CHANNELS channels. It gates what its rows reach once, in shared memory,
// with zeros outside of the item. taps is [kernel][channels].
#include "activation.h"
#include "items.h"
#include "vector.h"

constexpr int ROWS = 32, CHANNELS = 64, ACROSS = 4; // ACROSS rows are done at a time

template <class T>
DEVICE void gatedconv(const void *x, int ldx, int kindx, const int *starts, const int *cuts, int items, const float *taps,
                      const float *bias, int channels, int kernel, int act, void *dst, int ldd, int kindd) {
  DYN_SHARED(float, gated); // [ROWS+kernel-1][CHANNELS]
  const Stretch s = stretch_of(starts, cuts, items, blockIdx.x, ROWS);
  if (s.length == 0) return;
  const int channel = threadIdx.x % CHANNELS, c = blockIdx.y * CHANNELS + channel, rows = min(ROWS, s.length - s.from);
  const View<T> from(x, ldx, kindx), to(dst, ldd, kindd);
  for (int i = threadIdx.x / CHANNELS; i < rows + kernel - 1; i += ACROSS) {
    const int r = s.from - kernel / 2 + i;
    float v = 0.f;
    if (r >= 0 && r < s.length && c < channels) v = from.get(s.first + r, c) / (1.f + expf(-from.get(s.first + r, channels + c)));
    gated[i * CHANNELS + channel] = v;
  }
  __syncthreads();
  if (c >= channels) return;
  for (int i = threadIdx.x / CHANNELS; i < rows; i += ACROSS) {
    float sum = bias[c];
    for (int k = 0; k < kernel; k++) sum += taps[k * channels + c] * gated[(i + k) * CHANNELS + channel];
    to.put(s.first + s.from + i, c, activate(act, sum));
  }
}

KERNELS(CHANNELS * ACROSS, gatedconv,
        (const void *x, int ldx, int kindx, const int *starts, const int *cuts, int items, const float *taps, const float *bias,
         int channels, int kernel, int act, void *dst, int ldd, int kindd),
        (x, ldx, kindx, starts, cuts, items, taps, bias, channels, kernel, act, dst, ldd, kindd))
