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
