// The threads of a block: one fiber each, with a stack of its own, run one at a time until they meet. In which order is a setting, since
// the result of a kernel that lacks a barrier depends on it.
typedef unsigned short u16;
typedef unsigned int u32;
#include "host.h"
#include <sys/mman.h>
#if EMU_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

// emu_switch saves the registers that a call must keep and the stack's place, and goes on where another fiber left off.
asm(".text\n.globl emu_switch\n.hidden emu_switch\n.type emu_switch,@function\nemu_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nmov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");
extern "C" void emu_switch(void **save, void *to);

namespace emu {

Dim3 thread_index, block_index, block_extent, grid_extent;
char *dynamic_shared;

enum State { READY, AT_BLOCK, AT_WARP, DONE };
struct Copy {
  void *dst;
  char data[16];
  int group;
};
struct Fiber {
  void *sp;
  char *stack;
  State state;
  int line; // of the barrier it waits at
  Dim3 thread;
  unsigned id;
  std::vector<Copy> copies;
  int group;
  void *fake; // AddressSanitizer's
};
struct Warp {
  alignas(64) char slots[2][32 * SLOT];
  int phase;
  unsigned arrived, live; // lanes
};

static const unsigned MOST = 1024; // threads of a block
static const size_t STACK = EMU_ASAN ? 262144 : 65536;
static Fiber fibers[MOST];
static Warp warps[MOST / 32];
static Fiber *running;
static void *outside; // the stack that blocks are run from
static const std::function<void()> *body;
#if EMU_ASAN
static void *outside_fake;
static const void *outside_bottom;
static size_t outside_size;
#endif

static void leave(bool for_good) {
  Fiber *f = running;
  (void)for_good;
#if EMU_ASAN
  __sanitizer_start_switch_fiber(for_good ? nullptr : &f->fake, outside_bottom, outside_size);
#endif
  emu_switch(&f->sp, outside);
#if EMU_ASAN
  __sanitizer_finish_switch_fiber(f->fake, &outside_bottom, &outside_size);
#endif
}

static void begin() {
#if EMU_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &outside_bottom, &outside_size);
#endif
  (*body)();
  running->state = DONE;
  leave(true);
  __builtin_trap();
}

static void resume(Fiber *f) {
  running = f;
  thread_index = f->thread;
#if EMU_ASAN
  __sanitizer_start_switch_fiber(&outside_fake, f->stack, STACK);
#endif
  emu_switch(&outside, f->sp);
#if EMU_ASAN
  __sanitizer_finish_switch_fiber(outside_fake, nullptr, nullptr);
#endif
}

std::string current() {
  char text[96];
  snprintf(text, sizeof text, "block (%u,%u,%u) thread (%u,%u,%u)", block_index.x, block_index.y, block_index.z, running->thread.x,
           running->thread.y, running->thread.z);
  return text;
}

unsigned lane() { return running->id & 31; }

static void pause(State s, int line) {
  running->state = s;
  running->line = line;
  leave(false);
}

void meet_block(int line) { pause(AT_BLOCK, line); }

static void wake(Warp &w, unsigned first) {
  w.arrived = 0;
  w.phase ^= 1;
  for (unsigned i = first; i < first + 32 && i < MOST; i++)
    if (fibers[i].state == AT_WARP) fibers[i].state = READY;
}

const char *exchange_with(const void *mine, size_t n, void (*work)(char *)) {
  unsigned id = running->id;
  Warp &w = warps[id / 32];
  char *slots = w.slots[w.phase];
  if (n) memcpy(slots + (id & 31) * SLOT, mine, n);
  w.arrived |= 1u << (id & 31);
  if (w.arrived == w.live) {
    if (work) work(slots);
    wake(w, id & ~31u);
  } else {
    pause(AT_WARP, 0);
  }
  return slots;
}
const char *exchange(const void *mine, size_t n) { return exchange_with(mine, n, nullptr); }

// multiply computes the product of 16x16 and 16x8 out of the pieces that lanes left, and leaves each lane's piece of it. See dev.h for who
// has which. Each of MMA_PARTS is a product of its own.
template <class Get> static void multiply(char *slots, Get get) {
  alignas(32) float a[16][16], b[16][8];
  for (int l = 0; l < 32; l++) {
    u16 in[12];
    memcpy(in, slots + l * SLOT, sizeof in);
    int row = l / 4, column = l % 4 * 2;
    for (int i = 0; i < 2; i++) {
      a[row][column + i] = get(in[i]);
      a[row + 8][column + i] = get(in[2 + i]);
      a[row][column + 8 + i] = get(in[4 + i]);
      a[row + 8][column + 8 + i] = get(in[6 + i]);
      b[column + i][row] = get(in[8 + i]);
      b[column + 8 + i][row] = get(in[10 + i]);
    }
  }
  for (int part = 0, depth = 16 / MMA_PARTS; part < MMA_PARTS; part++)
    for (int r = 0; r < 16; r++) {
      __m256 sum = _mm256_setzero_ps();
      for (int k = part * depth; k < (part + 1) * depth; k++) sum = _mm256_fmadd_ps(_mm256_set1_ps(a[r][k]), _mm256_load_ps(b[k]), sum);
      alignas(32) float c[8];
      _mm256_store_ps(c, sum);
      for (int q = 0; q < 4; q++) memcpy(slots + (r % 8 * 4 + q) * SLOT + part * 16 + r / 8 * 8, c + 2 * q, 8);
    }
}
void multiply_f16(char *slots) { multiply(slots, h2f); }
void multiply_bf16(char *slots) { multiply(slots, b2f); }

void copy_async(void *dst, const void *src, int bytes) {
  Copy c = {dst, {}, running->group};
  if (bytes < 0 || bytes > 16 || (uintptr_t)dst % 16 || (uintptr_t)src % 16) __builtin_trap(); // a misaligned address
  memcpy(c.data, src, bytes);
  if (EMU_TURING)
    memcpy(dst, c.data, 16);
  else
    running->copies.push_back(c);
}
void commit_copies() { running->group++; }
void wait_copies(int groups) {
  auto &copies = running->copies;
  size_t done = 0;
  for (; done < copies.size() && copies[done].group < running->group - groups; done++) memcpy(copies[done].dst, copies[done].data, 16);
  copies.erase(copies.begin(), copies.begin() + done);
}

static void prepare(unsigned threads) {
  for (unsigned i = 0; i < (threads + 31) / 32; i++) warps[i].phase = 0, warps[i].arrived = 0, warps[i].live = 0;
  for (unsigned i = 0; i < threads; i++) {
    Fiber &f = fibers[i];
    if (!f.stack) f.stack = (char *)mmap(0, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void **sp = (void **)(f.stack + STACK - i % 64 * 320); // staggered: equal offsets would fight for one cache set
    *--sp = 0;
    *--sp = (void *)begin;
    sp -= 6;
    for (int k = 0; k < 6; k++) sp[k] = 0;
    f.sp = sp, f.state = READY, f.id = i, f.group = 0, f.fake = 0;
    f.copies.clear();
    f.thread = {i % block_extent.x, i / block_extent.x % block_extent.y, i / block_extent.x / block_extent.y};
    warps[i / 32].live |= 1u << (i & 31);
  }
}

// open_barrier lets the threads at the block's barrier go on, if all that are left are there.
static Status open_barrier(unsigned threads) {
  int line = -1;
  for (unsigned i = 0; i < threads; i++) {
    if (fibers[i].state == AT_WARP) {
      complain("deadlock: thread %u waits for its warp while others wait at a barrier", i);
      return LAUNCH_FAILED;
    }
    if (fibers[i].state != AT_BLOCK) continue;
    if (line >= 0 && fibers[i].line != line) {
      complain("divergent barriers: lines %d and %d", line, fibers[i].line);
      return LAUNCH_FAILED;
    }
    line = fibers[i].line;
    fibers[i].state = READY;
  }
  return SUCCESS;
}

Status run_block(unsigned threads, const std::function<void()> &f) {
  static const bool reverse = setting("ORDER") == "rev";
  body = &f;
  prepare(threads);
  for (unsigned done = 0; done < threads;) {
    bool ran = false;
    for (unsigned k = 0; k < threads; k++) {
      Fiber &f = fibers[reverse ? threads - 1 - k : k];
      if (f.state != READY) continue;
      ran = true;
      resume(&f);
      if (f.state != DONE) continue;
      done++;
      Warp &w = warps[f.id / 32];
      w.live &= ~(1u << (f.id & 31));
      if (w.arrived && w.arrived == w.live) wake(w, f.id & ~31u);
    }
    if (ran || done == threads) continue;
    if (Status s = open_barrier(threads)) return s;
  }
  return SUCCESS;
}

} // namespace emu
