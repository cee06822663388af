// Log-mel spectrograms. mel_frames has a warp for each frame: it transforms the samples, weighs the powers and takes logarithms, in
// float32, [frames][bins]. What becomes of these needs all frames of a sound: mel_cut is Whisper's way, mel_level NeMo's.
//
// The transform of fft real samples is that of half as many complex numbers, even samples being real parts and odd ones imaginary. It is
// done by Stockham's passes, each of a radix of 2 to 5, from one part of shared memory to another and back.
#include "items.h"
#include "reduce.h"
#include "vector.h"

enum { FRAMES = 8, PASSES = 8 };  // frames of a block of mel_frames; most passes of a transform
enum { BINS = 32, LINES = 16 };   // a block of mel_level has so many bins, and so many of their frames at a time

// Spec is what is the same for all frames. A bin's value is scale * log(max(power, least) + guard).
struct Spec {
  int fft, hop, bins, mirrored;
  float emphasis, least, guard, scale;
  int radices[PASSES]; // of the passes, then zeros; their product is fft/2
};

// Band is a mel bin's weights, those of some consecutive powers.
struct Band {
  int first, count; // of the powers
  int weights;      // where their weights begin
};

// Sound is the samples that an item's frames reach.
struct Sound {
  int at;         // where they lie
  int begin, end; // their positions in the whole sound
  int frame;      // the first frame to be computed

  // get is the signal at a position, beyond those samples as well.
  DEVICE_MEMBER float get(const float *samples, int p, const Spec &spec) const {
    if (p < 0 && spec.mirrored) p = -p;
    if (p < begin || p >= end) return 0.f;
    const float *x = samples + at + (p - begin);
    return p > begin && spec.emphasis != 0.f ? x[0] - spec.emphasis * x[-1] : x[0];
  }
};

DEVICE float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
DEVICE float square(float2 a) { return a.x * a.x + a.y * a.y; }

// pass does the butterflies of one radix, from x to y. stride is the product of the radices before; roots[k] is e^(-2πi k/fft).
template <int R> DEVICE void pass(const float2 *x, float2 *y, int stride, int half, const float2 *roots, int lane) {
  const int apart = half / R;
  for (int i = lane; i < apart; i += 32) {
    const int turn = i / stride * stride;
    float2 a[R];
#pragma unroll
    for (int j = 0; j < R; j++) a[j] = x[i + j * apart];
#pragma unroll
    for (int k = 0; k < R; k++) {
      float2 sum = a[0];
#pragma unroll
      for (int j = 1; j < R; j++) {
        const float2 part = times(a[j], roots[j * k % R * (2 * apart)]);
        sum.x += part.x, sum.y += part.y;
      }
      y[i + turn * (R - 1) + k * stride] = k ? times(sum, roots[2 * turn * k]) : sum;
    }
  }
  __syncwarp();
}

// transform leaves a transform of x in x or in y, which are swapped if it is y.
DEVICE void transform(float2 *&x, float2 *&y, const Spec &spec, const float2 *roots, int lane) {
  const int half = spec.fft / 2;
  for (int n = 0, stride = 1; n < PASSES && spec.radices[n]; n++) {
    const int radix = spec.radices[n];
    switch (radix) {
    case 2: pass<2>(x, y, stride, half, roots, lane); break;
    case 3: pass<3>(x, y, stride, half, roots, lane); break;
    case 4: pass<4>(x, y, stride, half, roots, lane); break;
    default: pass<5>(x, y, stride, half, roots, lane); break;
    }
    float2 *other = x;
    x = y, y = other;
    stride *= radix;
  }
}

// powers takes apart what even and odd samples have become, x, and writes the squares of the whole transform, [fft/2+1].
DEVICE void powers(float *power, const float2 *x, const Spec &spec, const float2 *roots, int lane) {
  const int half = spec.fft / 2;
  for (int k = lane; k <= half / 2; k += 32) {
    const float2 a = x[k], b = x[k ? half - k : 0];
    const float2 even = make_float2((a.x + b.x) / 2, (a.y - b.y) / 2), odd = make_float2((a.y + b.y) / 2, (b.x - a.x) / 2);
    const float2 turned = times(odd, roots[k]);
    power[k] = square(make_float2(even.x + turned.x, even.y + turned.y));
    power[half - k] = square(make_float2(even.x - turned.x, even.y - turned.y));
  }
  __syncwarp();
}

// mel_frames computes the frames of some sounds, starts being those of item_of. logs may be none; peaks, which begin as zeros, become
// the greatest max(power, least) + guard of each sound: numbers above zero are in the order of their bits.
KERNEL __launch_bounds__(32 * FRAMES)
mel_frames(const float *samples, const Sound *sounds, const int *starts, int items, const Spec *specs, const float *window,
           const float2 *all_roots, const Band *bands, const float *weights, float *logs, u32 *peaks) {
  DYN_SHARED(float2, shared); // [fft] roots, then x and y [fft/2] of each warp
  const Spec &spec = *specs;
  float2 *roots = shared;
  for (int i = threadIdx.x; i < spec.fft; i += blockDim.x) roots[i] = all_roots[i];
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, half = spec.fft / 2, row = blockIdx.x * FRAMES + warp;
  if (row >= starts[items]) return;
  const int item = item_of(starts, items, row);
  const Sound sound = sounds[item];
  const int from = (sound.frame + row - starts[item]) * spec.hop - half;
  float2 *x = shared + (1 + warp) * spec.fft, *y = x + half;
  for (int i = lane; i < half; i += 32)
    x[i] = make_float2(window[2 * i] * sound.get(samples, from + 2 * i, spec), window[2 * i + 1] * sound.get(samples, from + 2 * i + 1, spec));
  __syncwarp();
  transform(x, y, spec, roots, lane);
  float *power = (float *)y;
  powers(power, x, spec, roots, lane);

  float most = 0.f;
  for (int b = lane; b < spec.bins; b += 32) {
    const Band band = bands[b];
    float sum = 0.f;
    for (int i = 0; i < band.count; i++) sum += weights[band.weights + i] * power[band.first + i];
    sum = fmaxf(sum, spec.least) + spec.guard; // a sum that is no number is as good as none
    most = fmaxf(most, sum);
    if (logs) logs[(size_t)row * spec.bins + b] = spec.scale * logf(sum);
  }
  most = warp_max(most);
  if (lane == 0) atomicMax(peaks + item, __float_as_uint(most));
}

// Wanted is which of a sound's frames are to be written.
struct Wanted {
  int row, frames; // the first one's row of logs, and how many there are
  float peak;      // of the whole sound; 0: the one in peaks
};

// mel_cut raises values to a distance below their sound's peak and scales them. starts are those of dst's items, whose rows beyond the
// frames that are wanted become zero. A thread has eight columns.
template <class T>
DEVICE void mel_cut(const float *logs, int bins, const Wanted *wanted, const int *starts, int items, const u32 *peaks, float scale,
                    float range, void *dst, int ldd, int kindd) {
  const int across = (bins + 7) / 8, i = blockIdx.x * blockDim.x + threadIdx.x, row = i / across, c = i % across * 8;
  if (row >= starts[items]) return;
  const int item = item_of(starts, items, row), frame = row - starts[item];
  const Wanted w = wanted[item];
  float v[8] = {};
  if (frame < w.frames) {
    const float peak = w.peak > 0 ? w.peak : __uint_as_float(peaks[item]), lowest = scale * logf(peak) - range;
    load8(v, logs + (size_t)(w.row + frame) * bins + c, bins - c, bins % 4 == 0);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] = fmaxf(v[j], lowest) / 4 + 1;
  }
  View<T>(dst, ldd, kindd).store(v, row, c, bins - c);
}

// column_sum adds up what the threads of a column have, in the order of lines.
DEVICE float column_sum(float (*sums)[BINS], float v) {
  const int column = threadIdx.x % BINS, line = threadIdx.x / BINS;
  __syncthreads(); // nobody reads what was there before
  sums[line][column] = v;
  __syncthreads();
  float sum = 0.f;
  for (int i = 0; i < LINES; i++) sum += sums[i][column];
  return sum;
}

// mel_level brings bins to mean 0 and deviation 1 over a sound's frames. A block has BINS bins of one sound. Everything is relative to a
// bin's first value, so that one that doesn't change becomes 0.
template <class T>
DEVICE void mel_level(const float *logs, int bins, const Wanted *wanted, const int *starts, float deviation, void *dst, int ldd, int kindd) {
  __shared__ float sums[LINES][BINS];
  const Wanted w = wanted[blockIdx.y];
  const int line = threadIdx.x / BINS, bin = blockIdx.x * BINS + threadIdx.x % BINS, frames = bin < bins ? w.frames : 0;
  const float *x = logs + (size_t)w.row * bins + bin;
  const float first = frames ? x[0] : 0.f;
  auto value = [&](int t) { return x[(size_t)t * bins] - first; };
  float sum = 0.f, squares = 0.f;
  for (int t = line; t < frames; t += LINES) sum += value(t);
  const float mean = column_sum(sums, sum) / w.frames;
  for (int t = line; t < frames; t += LINES) squares += (value(t) - mean) * (value(t) - mean);
  const float scale = 1.f / (sqrtf(column_sum(sums, squares) / max(1, w.frames - 1)) + deviation);
  if (bin >= bins) return;
  const View<T> to(dst, ldd, kindd);
  const int start = starts[blockIdx.y], rows = starts[blockIdx.y + 1] - start;
  for (int t = line; t < rows; t += LINES) to.put(start + t, bin, t < frames ? (value(t) - mean) * scale : 0.f);
}

KERNELS(256, mel_cut,
        (const float *logs, int bins, const Wanted *wanted, const int *starts, int items, const u32 *peaks, float scale, float range,
         void *dst, int ldd, int kindd),
        (logs, bins, wanted, starts, items, peaks, scale, range, dst, ldd, kindd))
KERNELS(BINS * LINES, mel_level,
        (const float *logs, int bins, const Wanted *wanted, const int *starts, float deviation, void *dst, int ldd, int kindd),
        (logs, bins, wanted, starts, deviation, dst, ldd, kindd))
