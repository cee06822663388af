// The activations, numbered as engine.Activation.
#pragma once
#include "dev.h"

enum { NO_ACTIVATION, GELU, RELU, SILU };

// Each keeps a NaN. GELU is the exact form; below -40, -Inf included, it has long been zero.
DEVICE float gelu(float v) {
  v = v < -40.f ? -40.f : v;
  return 0.5f * v * (1.f + erff(v * 0.70710678f));
}
DEVICE float relu(float v) { return v < 0.f ? 0.f : v; }
DEVICE float silu(float v) { return v / (1.f + expf(-v)); }

DEVICE float activate(int act, float v) { return act == GELU ? gelu(v) : act == RELU ? relu(v) : act == SILU ? silu(v) : v; }
