// The convolutions before a FastConformer, each 3 x 3 over time and frequency, with stride 2 and padding 1: the first from one channel to
// all, with a ReLU, the others keeping channels apart. Between them rows are times, with the channels of each frequency side by side. What
// is 1 x 1 across channels is a product, and not here.
//
// The first convolution's output would be some 60 times as large as what comes in, so it is never written: subsample makes the second
// one's of it as it goes, a frequency after the other.
#include "activation.h"
#include "items.h"
#include "vector.h"

enum { SIDE = 3, TAPS = SIDE * SIDE };

// Source is where an output row finds the rows before it: row r of its item, which has length of them, is row at+r of the tensor. Its own
// number in the item is row.
struct Source {
  int row, at, length;
};

// source_of is that of an output row. Output rows come in stretches, which begin at starts [count+1]; sources has 3 numbers for each, the
// number in the item of the stretch's first row, at, and length.
DEVICE Source source_of(const int *starts, const int *sources, int count, int row) {
  const int n = item_of(starts, count, row);
  return {sources[3 * n] + row - starts[n], sources[3 * n + 1], sources[3 * n + 2]};
}

// First is the first convolution as a thread has it, for one channel. x is in shared memory, [rows][mels+2], with zeros around it.
struct First {
  float taps[TAPS], bias;

  DEVICE_MEMBER First(const float *w, const float *b, int channels, int c) : bias(b[c]) {
#pragma unroll
    for (int i = 0; i < TAPS; i++) taps[i] = w[i * channels + c];
  }
  // at is its output from x's rows from p on, at a frequency.
  DEVICE_MEMBER float at(const float *p, int ld, int frequency) const {
    float sum = bias;
#pragma unroll
    for (int i = 0; i < TAPS; i++) sum += taps[i] * p[i / SIDE * ld + 2 * frequency + i % SIDE];
    return relu(sum);
  }
};

// fill copies count rows of an item from row first on to shared memory, with zeros around it.
template <class T> DEVICE void fill(float *to, const View<T> &x, const Source &s, int first, int count, int mels) {
  for (int i = threadIdx.x; i < count * (mels + 2); i += blockDim.x) {
    const int r = first + i / (mels + 2), m = i % (mels + 2) - 1;
    to[i] = r >= 0 && r < s.length && m >= 0 && m < mels ? x.get(s.at + r, m) : 0.f;
  }
  __syncthreads();
}

// subsample_first makes an output row of the first convolution alone; a block has as many channels as threads.
template <class T>
DEVICE void subsample_first(const void *x, int ldx, int kindx, int mels, const int *starts, const int *sources, int count,
                            const float *w, const float *b, int channels, void *dst, int ldd, int kindd) {
  DYN_SHARED(float, rows);
  const Source s = source_of(starts, sources, count, blockIdx.x);
  fill(rows, View<T>(x, ldx, kindx), s, 2 * s.row - 1, SIDE, mels);
  const int c = blockIdx.y * blockDim.x + threadIdx.x;
  if (c >= channels) return;
  const First conv(w, b, channels, c);
  const View<T> to(dst, ldd, kindd);
  for (int f = 0; f < (mels + 1) / 2; f++) to.put(blockIdx.x, f * channels + c, conv.at(rows, mels + 2, f));
}

// subsample makes an output row of the second convolution out of 7 rows of x; a block has as many channels as threads.
template <class T>
DEVICE void subsample(const void *x, int ldx, int kindx, int mels, const int *starts, const int *sources, int count, const float *w,
                      const float *b, const float *taps, const float *bias, int channels, u16 *dst) {
  DYN_SHARED(float, rows);
  const Source s = source_of(starts, sources, count, blockIdx.x);
  const int ld = mels + 2, first = 2 * s.row - 1; // of the first convolution's rows
  fill(rows, View<T>(x, ldx, kindx), s, 2 * first - 1, 2 * SIDE + 1, mels);
  const int c = blockIdx.y * blockDim.x + threadIdx.x, middle = (mels + 1) / 2, frequencies = (middle + 1) / 2;
  if (c >= channels) return;
  const First conv(w, b, channels, c);
  float tap[TAPS], left[SIDE] = {}, centre[SIDE], right[SIDE];
#pragma unroll
  for (int i = 0; i < TAPS; i++) tap[i] = taps[i * channels + c];
  for (int f = 0; f < frequencies; f++) {
    float sum = bias[c];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
      const bool there = first + i >= 0 && first + i < (s.length + 1) / 2;
      const float *p = rows + 2 * i * ld;
      centre[i] = there ? conv.at(p, ld, 2 * f) : 0.f;
      right[i] = there && 2 * f + 1 < middle ? conv.at(p, ld, 2 * f + 1) : 0.f;
      sum += tap[i * SIDE] * left[i] + tap[i * SIDE + 1] * centre[i] + tap[i * SIDE + 2] * right[i];
      left[i] = right[i];
    }
    dst[((size_t)blockIdx.x * frequencies + f) * channels + c] = T::put(sum);
  }
}

// subsample_next makes an output row of a later convolution; x is [rows][before][channels].
template <class T>
DEVICE void subsample_next(const u16 *x, int before, const int *starts, const int *sources, int count, const float *taps,
                           const float *bias, int channels, u16 *dst) {
  const Source s = source_of(starts, sources, count, blockIdx.x);
  const int frequencies = (before + 1) / 2;
  for (int i = threadIdx.x; i < frequencies * channels; i += blockDim.x) {
    const int f = i / channels, c = i % channels;
    float sum = bias[c];
#pragma unroll
    for (int t = 0; t < TAPS; t++) {
      const int r = 2 * s.row - 1 + t / SIDE, g = 2 * f - 1 + t % SIDE;
      if (r >= 0 && r < s.length && g >= 0 && g < before)
        sum += taps[t * channels + c] * T::get(x[((size_t)(s.at + r) * before + g) * channels + c]);
    }
    dst[(size_t)blockIdx.x * frequencies * channels + i] = T::put(sum);
  }
}

KERNELS(256, subsample_first,
        (const void *x, int ldx, int kindx, int mels, const int *starts, const int *sources, int count, const float *w, const float *b,
         int channels, void *dst, int ldd, int kindd),
        (x, ldx, kindx, mels, starts, sources, count, w, b, channels, dst, ldd, kindd))
KERNELS(256, subsample,
        (const void *x, int ldx, int kindx, int mels, const int *starts, const int *sources, int count, const float *w, const float *b,
         const float *taps, const float *bias, int channels, u16 *dst),
        (x, ldx, kindx, mels, starts, sources, count, w, b, taps, bias, channels, dst))
KERNELS(256, subsample_next,
        (const u16 *x, int before, const int *starts, const int *sources, int count, const float *taps, const float *bias, int channels,
         u16 *dst),
        (x, before, starts, sources, count, taps, bias, channels, dst))
