// The GPU's memory and the host's pinned memory. An allocation ends where a page begins that can't be touched, and another such page is in
// front, so that a kernel that leaves it faults. Under AddressSanitizer that is the sanitizer's task.
#include "emu.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace emu {

static const size_t PAGE = 4096, ALIGN = 16;
static const unsigned char TAIL = 0xA5; // in the bytes between an allocation's end and the next multiple of ALIGN

struct Allocation {
  char *base;
  size_t bytes, mapped;
  bool host;
};
static std::map<uintptr_t, Allocation> allocations; // by address
static size_t used;                                 // of the GPU's

size_t memory_total() { return number("MEMORY", 8l << 30); }
size_t memory_free() { return memory_total() > used ? memory_total() - used : 0; }

static size_t padded(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

Status allocate(size_t bytes, bool host, void **p) {
  if (!bytes) return INVALID_VALUE;
  if (!host && bytes > memory_free()) return OUT_OF_MEMORY;
  Allocation a = {0, bytes, 0, host};
  char *at;
#if EMU_ASAN
  if (posix_memalign((void **)&a.base, 256, bytes)) return OUT_OF_MEMORY;
  at = a.base;
#else
  size_t body = (bytes + PAGE - 1) / PAGE * PAGE;
  a.mapped = body + 2 * PAGE;
  a.base = (char *)mmap(0, a.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (a.base == MAP_FAILED || mprotect(a.base + PAGE, body, PROT_READ | PROT_WRITE)) return OUT_OF_MEMORY;
  at = a.base + PAGE + body - padded(bytes);
  memset(at + bytes, TAIL, padded(bytes) - bytes);
#endif
  memset(at, 0xFF, bytes); // no number in any format, so that reading what nobody wrote shows
  if (!host) used += bytes;
  allocations[(uintptr_t)at] = a;
  *p = at;
  return SUCCESS;
}

Status release(void *p, bool host) {
  auto it = allocations.find((uintptr_t)p);
  if (it == allocations.end() || it->second.host != host) return INVALID_VALUE;
  Allocation a = it->second;
  Status status = SUCCESS;
#if EMU_ASAN
  free(a.base);
#else
  for (size_t i = a.bytes; i < padded(a.bytes); i++)
    if (((unsigned char *)p)[i] != TAIL) {
      complain("something was written behind the end of an allocation of %zu bytes", a.bytes);
      status = sticky = ILLEGAL_ADDRESS;
      break;
    }
  munmap(a.base, a.mapped);
#endif
  if (!host) used -= a.bytes;
  allocations.erase(it);
  return status;
}

static const std::pair<const uintptr_t, Allocation> *find(const void *p) {
  auto it = allocations.upper_bound((uintptr_t)p);
  if (it == allocations.begin()) return 0;
  return &*--it;
}

bool inside(const void *p, size_t n, bool host) {
  auto a = find(p);
  return a && a->second.host == host && (uintptr_t)p + n <= a->first + a->second.bytes;
}

bool on_device(const void *p) {
  auto a = find(p);
  return a && !a->second.host && (uintptr_t)p <= a->first + a->second.bytes;
}

} // namespace emu
