// Copies of slots of a decoder's cache, as if all were made at once. The cache is [part][slot][length][width], a part being keys or values of
// a layer, in the storage format. Every element stays at its place within a slot, so that a thread makes all copies of its elements one
// after another, in an order in which none is overwritten before it was read; where copies go round in a circle, one is put aside first.
//
// steps has 3 numbers each: the slot to copy to, the one to copy from, and how many positions. Slot -1 is what was put aside. Copies
// that have a slot in common are a chain: blockIdx.z makes the steps [chains[z], chains[z+1]).
#include "dev.h"

// copyslots moves whole units; width is how many a position has.
template <class Unit> DEVICE void copyslots(Unit *cache, int slots, int length, int width, const int *chains, const int *steps) {
  Unit *part = cache + (size_t)blockIdx.y * slots * length * width;
  const int begin = chains[blockIdx.z], end = chains[blockIdx.z + 1];
  int longest = 0;
  for (int s = begin; s < end; s++) longest = max(longest, steps[3 * s + 2]);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < longest * width; i += gridDim.x * blockDim.x) {
    Unit aside = {};
    for (int s = begin; s < end; s++) {
      const int to = steps[3 * s], from = steps[3 * s + 1];
      if (i >= steps[3 * s + 2] * width) continue;
      const Unit unit = from < 0 ? aside : part[(size_t)from * length * width + i];
      if (to < 0) aside = unit;
      else part[(size_t)to * length * width + i] = unit;
    }
  }
}

KERNEL __launch_bounds__(256) copyslots_1(u16 *cache, int slots, int length, int width, const int *chains, const int *steps) {
  copyslots(cache, slots, length, width, chains, steps);
}
KERNEL __launch_bounds__(256) copyslots_8(uint4 *cache, int slots, int length, int width, const int *chains, const int *steps) {
  copyslots(cache, slots, length, width, chains, steps);
}
