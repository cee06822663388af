// Tensors as kernels see them, and how rows of them are read and written: eight elements at a time, in accesses of 16 bytes where rows
// are aligned to that.
#pragma once
#include "dev.h"

// load8 reads n elements, at most 8, and zeros for the rest.
template <class T> DEVICE void load8(float *v, const u16 *p, int n, bool aligned) {
  u16 h[8] = {};
  if (aligned && n >= 8) {
    uint4 q = *(const uint4 *)p;
    u32 w[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
    for (int i = 0; i < 8; i++) h[i] = (u16)(w[i / 2] >> (i % 2 * 16));
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (i < n) h[i] = p[i];
  }
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = T::get(h[i]);
}

template <class T> DEVICE void store8(u16 *p, const float *v, int n, bool aligned) {
  if (aligned && n >= 8) {
    u32 w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = (u32)T::put(v[2 * i]) | (u32)T::put(v[2 * i + 1]) << 16;
    *(uint4 *)p = make_uint4(w[0], w[1], w[2], w[3]);
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (i < n) p[i] = T::put(v[i]);
  }
}

DEVICE void load8(float *v, const float *p, int n, bool aligned) {
  if (aligned && n >= 8) {
    float4 a = *(const float4 *)p, b = *(const float4 *)(p + 4);
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w;
    v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++) v[i] = i < n ? p[i] : 0.f;
  }
}

DEVICE void store8(float *p, const float *v, int n, bool aligned) {
  if (aligned && n >= 8) {
    *(float4 *)p = make_float4(v[0], v[1], v[2], v[3]);
    *(float4 *)(p + 4) = make_float4(v[4], v[5], v[6], v[7]);
  } else {
#pragma unroll
    for (int i = 0; i < 8; i++)
      if (i < n) p[i] = v[i];
  }
}

// A tensor is three parameters of a kernel: its address, the distance of its rows, and its kind, which is a sum of these.
enum { SINGLE = 1, ALIGNED_ROWS = 2 }; // float32, not the storage format; every row starts on 16 bytes

template <class T> struct View {
  void *p;
  int ld, kind;

  DEVICE_MEMBER View(const void *p, int ld, int kind) : p((void *)p), ld(ld), kind(kind) {}
  DEVICE_MEMBER explicit operator bool() const { return p != nullptr; }

  // load reads n elements of a row from column c on, a multiple of 8: 8 of them where n is 8 or more, and zeros for the rest.
  DEVICE_MEMBER void load(float *v, int row, int c, int n) const {
    const size_t at = (size_t)row * ld + c;
    if (kind & SINGLE) load8(v, (const float *)p + at, n, kind & ALIGNED_ROWS);
    else load8<T>(v, (const u16 *)p + at, n, kind & ALIGNED_ROWS);
  }
  DEVICE_MEMBER void store(const float *v, int row, int c, int n) const {
    const size_t at = (size_t)row * ld + c;
    if (kind & SINGLE) store8((float *)p + at, v, n, kind & ALIGNED_ROWS);
    else store8<T>((u16 *)p + at, v, n, kind & ALIGNED_ROWS);
  }
  // get and put move a single element.
  DEVICE_MEMBER float get(int row, int c) const {
    const size_t at = (size_t)row * ld + c;
    return kind & SINGLE ? ((const float *)p)[at] : T::get(((const u16 *)p)[at]);
  }
  DEVICE_MEMBER void put(int row, int c, float v) const {
    const size_t at = (size_t)row * ld + c;
    if (kind & SINGLE) ((float *)p)[at] = v;
    else ((u16 *)p)[at] = T::put(v);
  }
  // element is one element in the storage format.
  DEVICE_MEMBER u16 element(int row, int c) const {
    const size_t at = (size_t)row * ld + c;
    return kind & SINGLE ? T::put(((const float *)p)[at]) : ((const u16 *)p)[at];
  }
};
