// What the emulator's parts know of each other. See README.md.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#else
#define EMU_ASAN 0
#endif

// EMU_TURING makes a GPU of compute capability 7.5 of it: without bf16, with half as wide tensor cores, and copies that are made at once.
#ifndef EMU_TURING
#define EMU_TURING 0
#endif

namespace emu {

// Statuses that are given out (CUresult in cuda.h).
enum Status {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  NO_DEVICE = 100,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_PTX = 218,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  NOT_READY = 600,
  ILLEGAL_ADDRESS = 700,
  LAUNCH_OUT_OF_RESOURCES = 701,
  MISALIGNED_ADDRESS = 716,
  LAUNCH_FAILED = 719,
  CAPTURE_UNSUPPORTED = 900,
};

struct Dim3 {
  unsigned x, y, z;
};

// complain writes a line to standard error: what a kernel did, and where.
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- settings.cc: what tests set, by name; the environment's EMU_name otherwise ----
std::string setting(const char *name);
long number(const char *name, long otherwise);
// injected is the status that the present call of a function is to fail with, or SUCCESS.
Status injected(const char *function);

// Counts is what has been asked of the GPU; the order is emu.go's.
struct Counts {
  uint64_t launches, kernels, graph_launches, captures, matmuls;
  uint64_t copies_up, bytes_up, copies_down, bytes_down, copies_on, bytes_on, memsets;
  uint64_t waits, allocations, calls;
};
extern Counts counts;

// ---- memory.cc ----
Status allocate(size_t bytes, bool host, void **p);
Status release(void *p, bool host);
// inside reports whether n bytes at p lie in one allocation of the GPU's or the host's.
bool inside(const void *p, size_t n, bool host);
bool on_device(const void *p);
size_t memory_total(), memory_free();

// ---- fiber.cc: the threads of a block ----
// run_block runs body once for every thread of a block.
Status run_block(unsigned threads, const std::function<void()> &body);
// current is where the running thread is, for messages.
std::string current();

// ---- kernel.cc ----
// Kernel is a function of a source: the sizes of its parameters, a check of those that are pointers, and the call.
struct Kernel {
  std::vector<int> sizes;
  std::function<bool(void **)> pointers_ok;
  std::function<void(void **)> call;
};
std::map<std::string, Kernel> &kernels();
Status run_grid(const std::string &name, Dim3 grid, Dim3 block, unsigned shared, const std::vector<std::vector<char>> &arguments);

template <class A> bool pointer_ok(void *p) {
  if constexpr (std::is_pointer_v<A>)
    return *(A *)p == nullptr || on_device((const void *)*(A *)p);
  else
    return true;
}
template <class... A, size_t... I> Kernel make_kernel(void (*f)(A...), std::index_sequence<I...>) {
  return {{(int)sizeof(A)...}, [](void **p) { return (pointer_ok<A>(p[I]) && ...); }, [f](void **p) { f(*(A *)p[I]...); }};
}
// add enters a kernel under its name, before anything runs.
template <class... A> int add(const char *name, void (*f)(A...)) {
  kernels()[name] = make_kernel(f, std::index_sequence_for<A...>{});
  return 0;
}

// ---- stream.cc ----
typedef std::function<Status()> Work;
struct Graph {
  std::vector<Work> work;
};
struct Stream;
struct Event;
Stream *new_stream();
Status destroy(Stream *s);
// push queues work: it runs when somebody waits for it. While a stream is captured it's recorded instead.
Status push(Stream *s, Work w);
Status wait(Stream *s);
Status wait_all();
bool idle(Stream *s);
Status begin_capture(Stream *s);
Status end_capture(Stream *s, Graph **g);
bool capturing(Stream *s);
// any_capture reports whether some stream is being captured, when much is forbidden.
bool any_capture();
Event *new_event(bool timed);
Status record(Event *e, Stream *s);
Status wait(Event *e);
bool passed(Event *e);
Status elapsed(Event *from, Event *to, float *millis);
Status follow(Stream *s, Event *e);
void destroy(Event *e);
// sticky is the fault after which nothing works any more.
extern Status sticky;

} // namespace emu
