// The few functions of cuBLASLt that are used, on the emulator's streams. Matrices are column-major, as cublasLt.h has them; numbers are those of
// its version 12.
#include "emu.h"
#include <cstring>
#include <immintrin.h>

using namespace emu;

#define API extern "C" __attribute__((visibility("default"))) int

enum { BLAS_SUCCESS = 0, BLAS_INVALID_VALUE = 7, BLAS_NOT_SUPPORTED = 15 };
enum Type { F32 = 0, F16 = 2, BF16 = 14 };

struct Desc {
  int compute, scale, transpose_a = 0, transpose_b = 0, epilogue = 1, bias_type = -1;
  const void *bias = nullptr;
};
struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t ld;
};

static float get(const void *p, int type, size_t i) {
  if (type == F32) return ((const float *)p)[i];
  uint16_t h = ((const uint16_t *)p)[i];
  if (type == F16) return _cvtsh_ss(h);
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
static void put(void *p, int type, size_t i, float f) {
  if (type == F32) {
    ((float *)p)[i] = f;
  } else if (type == F16) {
    ((uint16_t *)p)[i] = _cvtss_sh(f, 0);
  } else {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    ((uint16_t *)p)[i] = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
}

// unpack copies op(matrix) to floats, row after row of the summed dimension.
static std::vector<float> unpack(const void *p, const Layout &l, bool summed_first, size_t outer, size_t summed) {
  std::vector<float> v(outer * summed);
  for (size_t o = 0; o < outer; o++)
    for (size_t k = 0; k < summed; k++) v[o * summed + k] = get(p, l.type, summed_first ? o * l.ld + k : k * l.ld + o);
  return v;
}

static float dot(const float *x, const float *y, size_t n) {
  __m256 sum = _mm256_setzero_ps();
  size_t i = 0;
  for (; i + 8 <= n; i += 8) sum = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i), sum);
  alignas(32) float s[8];
  _mm256_store_ps(s, sum);
  float all = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  for (; i < n; i++) all += x[i] * y[i];
  return all;
}

struct Product {
  Desc d;
  Layout a, b, c, out;
  const void *pa, *pb, *pc;
  void *pout;
  float alpha, beta;
};

static Status run(const Product &p) {
  counts.matmuls++;
  size_t m = p.out.rows, n = p.out.columns, k = p.d.transpose_a ? p.a.rows : p.a.columns;
  std::vector<float> a = unpack(p.pa, p.a, p.d.transpose_a, m, k), b = unpack(p.pb, p.b, !p.d.transpose_b, n, k);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < m; i++) {
      float v = p.alpha * dot(&a[i * k], &b[j * k], k);
      if (p.beta != 0) v += p.beta * get(p.pc, p.c.type, j * p.c.ld + i);
      if (p.d.epilogue & 4) v += get(p.d.bias, p.d.bias_type < 0 ? p.out.type : p.d.bias_type, i);
      put(p.pout, p.out.type, j * p.out.ld + i, v);
    }
  return SUCCESS;
}

API cublasLtGetVersion() { return 120805; }
API cublasLtCreate(void **handle) {
  static int the_handle;
  *handle = &the_handle;
  return number("BLAS_CREATE", BLAS_SUCCESS);
}
API cublasLtDestroy(void *) { return BLAS_SUCCESS; }
API cublasLtMatmulDescCreate(Desc **d, int compute, int scale) { return *d = new Desc{compute, scale}, BLAS_SUCCESS; }
API cublasLtMatmulDescDestroy(Desc *d) { return delete d, BLAS_SUCCESS; }
API cublasLtMatmulDescSetAttribute(Desc *d, int attribute, const void *value, size_t n) {
  switch (attribute) {
  case 3: memcpy(&d->transpose_a, value, 4); break;
  case 4: memcpy(&d->transpose_b, value, 4); break;
  case 7: memcpy(&d->epilogue, value, 4); break;
  case 8: memcpy(&d->bias, value, 8); break;
  case 26: memcpy(&d->bias_type, value, 4); break;
  default: return BLAS_NOT_SUPPORTED;
  }
  return n == (attribute == 8 ? 8 : 4) ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}
API cublasLtMatrixLayoutCreate(Layout **l, int type, uint64_t rows, uint64_t columns, int64_t ld) {
  return *l = new Layout{type, rows, columns, ld}, BLAS_SUCCESS;
}
API cublasLtMatrixLayoutDestroy(Layout *l) { return delete l, BLAS_SUCCESS; }
// Preference is what is asked of an algorithm. Unless less is asked for, it may count on every matrix being aligned to 256 bytes.
struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = 7, alignment[4] = {256, 256, 256, 256}; // of A, B, C and D
};
API cublasLtMatmulPreferenceCreate(Preference **p) { return *p = new Preference, BLAS_SUCCESS; }
API cublasLtMatmulPreferenceDestroy(Preference *p) { return delete p, BLAS_SUCCESS; }
API cublasLtMatmulPreferenceSetAttribute(Preference *p, int attribute, const void *value, size_t n) {
  if (n != (attribute == 1 ? 8 : 4)) return BLAS_INVALID_VALUE;
  switch (attribute) {
  case 1: memcpy(&p->workspace, value, 8); break;
  case 3: memcpy(&p->reductions, value, 4); break;
  case 5: case 6: case 7: case 8: memcpy(&p->alignment[attribute - 5], value, 4); break;
  default: return BLAS_NOT_SUPPORTED;
  }
  return BLAS_SUCCESS;
}

static int check(const Desc *d, const Layout *a, const Layout *b, const Layout *out) {
  uint64_t m = d->transpose_a ? a->columns : a->rows, k = d->transpose_a ? a->rows : a->columns;
  uint64_t n = d->transpose_b ? b->rows : b->columns, kb = d->transpose_b ? b->columns : b->rows;
  bool fits = k == kb && out->rows == m && out->columns == n && a->ld >= (int64_t)a->rows && b->ld >= (int64_t)b->rows && out->ld >= (int64_t)m;
  return fits ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}

// The result is 96 bytes: an algorithm of 64, here the alignments that it counts on, the workspace it wants, a status, and more that nobody reads.
API cublasLtMatmulAlgoGetHeuristic(void *, Desc *d, Layout *a, Layout *b, Layout *, Layout *out, Preference *p, int wanted, void *results, int *n) {
  if (int status = check(d, a, b, out)) return status;
  memset(results, 0, 96 * wanted);
  memcpy(results, p->alignment, sizeof p->alignment);
  *n = number("BLAS_ALGORITHMS", 1);
  return BLAS_SUCCESS;
}
API cublasLtMatmulAlgoCheck(void *, Desc *d, Layout *a, Layout *b, Layout *, Layout *out, const void *, void *result) {
  if (int status = check(d, a, b, out)) return status;
  memset(result, 0, 96);
  return BLAS_SUCCESS;
}
API cublasLtMatmul(void *, Desc *d, const float *alpha, const void *pa, Layout *a, const void *pb, Layout *b, const float *beta, const void *pc,
                   Layout *c, void *pout, Layout *out, const uint32_t *alignment, void *, size_t, Stream *s) {
  if (int status = check(d, a, b, out)) return status;
  const void *matrices[] = {pa, pb, pc, pout};
  for (int i = 0; i < 4; i++)
    if ((uintptr_t)matrices[i] % alignment[i]) return BLAS_NOT_SUPPORTED;
  Product p = {*d, *a, *b, *c, *out, pa, pb, pc, pout, *alpha, *beta};
  if (!capturing(s)) counts.launches++;
  return push(s, [p] { return run(p); }) ? BLAS_INVALID_VALUE : BLAS_SUCCESS;
}
