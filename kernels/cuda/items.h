// Batches: items of different lengths, one after another without gaps.
#pragma once
#include "dev.h"

// item_of is the item that holds a row, starts [items+1] being the first row of each and the end of the last. Items may be empty.
DEVICE int item_of(const int *starts, int items, int row) {
  int low = 0, high = items; // starts[low] <= row < starts[high]
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (starts[middle] <= row) low = middle;
    else high = middle;
  }
  return low;
}

// Stretch is some consecutive rows of one item.
struct Stretch {
  int item, first, length; // the item, its first row in the batch, and how many it has
  int from;                // the item's row that the stretch begins at
};

// stretch_of is stretch number n of a batch whose items are cut from their starts on, at multiples of rows; items' starts are those of
// item_of, and cuts [items+1] counts the stretches before each item. Behind the last stretch the length is 0.
DEVICE Stretch stretch_of(const int *starts, const int *cuts, int items, int n, int rows) {
  if (n >= cuts[items]) return {0, 0, 0, 0};
  const int item = item_of(cuts, items, n);
  return {item, starts[item], starts[item + 1] - starts[item], (n - cuts[item]) * rows};
}
