// Convolutions over time, as products: an output row's operand is its receptive field, kernel rows of x one after another, which the
// copies to shared memory pick where they lie. Nothing is gathered in memory before. See matmul.cu.
#include "items.h"
#include "tile.h"

// Windows are the receptive fields of a batch of items. Rows outside of an item are zero.
template <class T> struct Windows {
  View<T> view;
  int in, k, stride, pad, items;
  const int *from, *to; // [items+1], where items begin in x and in dst
  struct Row {
    int first, begin, end; // row of x that the field begins at, be it another item's; rows of the item
  };
  DEVICE_MEMBER Row row(int r) const {
    if (r >= to[items]) return {0, 0, 0};
    const int i = item_of(to, items, r);
    return {from[i] + (r - to[i]) * stride - pad, from[i], from[i + 1]};
  }
  // at is where element k of a field is, or false for a zero.
  DEVICE_MEMBER bool at(const Row &r, int element, int *row, int *column) const {
    const int tap = element / in;
    *row = r.first + tap;
    *column = element - tap * in;
    return element < k && *row >= r.begin && *row < r.end;
  }
  DEVICE_MEMBER bool chunk(const Row &r, int element, const u16 **from) const {
    int row, column;
    const bool inside = at(r, element, &row, &column);
    *from = (const u16 *)view.p + (inside ? (size_t)row * view.ld + column : 0);
    return inside;
  }
  DEVICE_MEMBER u16 element(const Row &r, int element) const {
    int row, column;
    return at(r, element, &row, &column) ? view.element(row, column) : 0;
  }
};

// CONV makes a kernel of a tile's shape. One for whole chunks wants aligned rows of x in the storage format, and in a multiple of 8.
#define CONV(name, T, WHOLE, BM, BN, BK, WM, WN, STAGES)                                                                               \
  KERNEL __launch_bounds__(BM / WM * (BN / WN) * 32)                                                                                   \
  name(const void *x, int ldx, int kindx, int in, int kernel, int stride, const int *from, const int *to, int items, const u16 *w,     \
       int ldw, int m, int n, const float *bias, int act, void *dst, int ldd, int kindd) {                                             \
    typedef Tile<T, BM, BN, BK, WM, WN, STAGES> Tile;                                                                                  \
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;                                                                              \
    const Windows<T> fields = {View<T>(x, ldx, kindx), in, kernel * in, stride, kernel / 2, items, from, to};                          \
    Tile::Sums sums;                                                                                                                   \
    Tile::multiply<WHOLE>(sums, fields, m0, Rows<T>{View<T>(w, ldw, ALIGNED_ROWS), n, ldw}, n0, fields.k);                             \
    Tile::store(sums, Epilogue<T>{bias, act, View<T>(dst, ldd, kindd), View<T>(nullptr, 0, 0)}, m0, m, n0, n);                         \
  }
#define CONVS(T, type)                                       \
  CONV(conv_128x64_##type, T, true, 128, 64, 32, 64, 32, 4)  \
  CONV(conv_any_##type, T, false, 64, 64, 64, 32, 32, 3)

CONVS(F16, f16)
#if HAVE_BF16
CONVS(BF16, bf16)
#endif
