// Operations that copy or add rows, at the speed of memory. A thread does eight columns of a row.
#include "activation.h"
#include "items.h"
#include "vector.h"

enum { THREADS = 256 };

// Piece is a thread's: columns c to c+n of a row, n being 0 behind the last row.
struct Piece {
  int row, c, n;
  DEVICE_MEMBER Piece(int rows, int columns) {
    const int across = (columns + 7) / 8, i = blockIdx.x * THREADS + threadIdx.x;
    row = i / across;
    c = i % across * 8;
    n = row < rows ? min(8, columns - c) : 0;
  }
};

// copy sets row to[i] of dst to row from[i] of src; no indices stand for 0, 1, 2, … (It gathers, scatters, and converts.)
template <class T>
DEVICE void copy(const void *src, int lds, int kinds, const int *from, int rows, int columns, void *dst, int ldd, int kindd,
                 const int *to) {
  const Piece p(rows, columns);
  if (!p.n) return;
  float v[8];
  View<T>(src, lds, kinds).load(v, from ? from[p.row] : p.row, p.c, p.n);
  View<T>(dst, ldd, kindd).store(v, to ? to[p.row] : p.row, p.c, p.n);
}

// addrows sets row i of dst to act(row arows[i] of a + row brows[i] of b).
template <class T>
DEVICE void addrows(const void *a, int lda, int kinda, const int *arows, const void *b, int ldb, int kindb, const int *brows, int rows,
                    int columns, int act, void *dst, int ldd, int kindd) {
  const Piece p(rows, columns);
  if (!p.n) return;
  float v[8], w[8];
  View<T>(a, lda, kinda).load(v, arows[p.row], p.c, p.n);
  View<T>(b, ldb, kindb).load(w, brows[p.row], p.c, p.n);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = activate(act, v[i] + w[i]);
  View<T>(dst, ldd, kindd).store(v, p.row, p.c, p.n);
}

// addpositions adds row p of a table to row p of every item of x.
template <class T>
DEVICE void addpositions(void *x, int ldx, int kindx, const int *starts, int items, int rows, int columns, const float *table) {
  const Piece p(rows, columns);
  if (!p.n) return;
  const View<T> view(x, ldx, kindx);
  const int position = p.row - starts[item_of(starts, items, p.row)];
  float v[8], w[8];
  view.load(v, p.row, p.c, p.n);
  load8(w, table + (size_t)position * columns + p.c, p.n, columns % 8 == 0);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] += w[i];
  view.store(v, p.row, p.c, p.n);
}

// embed sets row i of dst to row ids[i] of w plus row positions[i] of a table.
template <class T>
DEVICE void embed(const u16 *w, int ldw, const int *ids, const float *table, const int *positions, int rows, int columns, void *dst,
                  int ldd, int kindd) {
  const Piece p(rows, columns);
  if (!p.n) return;
  float v[8], t[8];
  load8<T>(v, w + (size_t)ids[p.row] * ldw + p.c, p.n, true);
  load8(t, table + (size_t)positions[p.row] * columns + p.c, p.n, columns % 8 == 0);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] += t[i];
  View<T>(dst, ldd, kindd).store(v, p.row, p.c, p.n);
}

// apply sets every element of x to act(it), after a product that can't.
template <class T> DEVICE void apply(void *x, int ldx, int kindx, int rows, int columns, int act) {
  const Piece p(rows, columns);
  if (!p.n) return;
  const View<T> view(x, ldx, kindx);
  float v[8];
  view.load(v, p.row, p.c, p.n);
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = activate(act, v[i]);
  view.store(v, p.row, p.c, p.n);
}

KERNELS(THREADS, apply, (void *x, int ldx, int kindx, int rows, int columns, int act), (x, ldx, kindx, rows, columns, act))
KERNELS(THREADS, copy,
        (const void *src, int lds, int kinds, const int *from, int rows, int columns, void *dst, int ldd, int kindd, const int *to),
        (src, lds, kinds, from, rows, columns, dst, ldd, kindd, to))
KERNELS(THREADS, addrows,
        (const void *a, int lda, int kinda, const int *arows, const void *b, int ldb, int kindb, const int *brows, int rows, int columns,
         int act, void *dst, int ldd, int kindd),
        (a, lda, kinda, arows, b, ldb, kindb, brows, rows, columns, act, dst, ldd, kindd))
KERNELS(THREADS, addpositions,
        (void *x, int ldx, int kindx, const int *starts, int items, int rows, int columns, const float *table),
        (x, ldx, kindx, starts, items, rows, columns, table))
KERNELS(THREADS, embed,
        (const u16 *w, int ldw, const int *ids, const float *table, const int *positions, int rows, int columns, void *dst, int ldd,
         int kindd),
        (w, ldw, ids, table, positions, rows, columns, dst, ldd, kindd))
