// Eight elements at a time: 16 bytes of a 16-bit format are one access where they are aligned. What is aligned, and whole, the caller
// knows; otherwise n elements are moved one by one.
#pragma once
#include "dev.h"

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
