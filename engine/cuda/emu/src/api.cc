// The driver's functions, under the names that libcuda.so.1 exports them by. They do what cuda.h 12.0 says, for one GPU and one context.
#include "emu.h"
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

using namespace emu;

#define API extern "C" __attribute__((visibility("default"))) int

static std::recursive_mutex lock;
static bool initialized;
static thread_local bool has_context;

// ENTER begins a function that needs cuInit, ENTER_CONTEXT one that needs a context; FORBID_CAPTURE is for those that a capture forbids.
#define ENTER                                                     \
  std::lock_guard<std::recursive_mutex> hold(lock);               \
  if (Status s = injected(__func__)) return is_sticky(s) ? sticky = s : s; \
  if (!initialized) return NOT_INITIALIZED
#define ENTER_CONTEXT                    \
  ENTER;                                 \
  if (!has_context) return INVALID_CONTEXT; \
  if (sticky) return sticky
#define FORBID_CAPTURE \
  if (any_capture()) return CAPTURE_UNSUPPORTED

static bool is_sticky(Status s) { return s == ILLEGAL_ADDRESS || s == MISALIGNED_ADDRESS || s == LAUNCH_FAILED; }

API cuGetErrorName(int status, const char **name) {
  static const std::map<int, const char *> names = {
      {SUCCESS, "CUDA_SUCCESS"}, {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"}, {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"}, {34, "CUDA_ERROR_STUB_LIBRARY"}, {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
      {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"}, {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"}, {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
      {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"}, {INVALID_PTX, "CUDA_ERROR_INVALID_PTX"}, {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
      {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"}, {NOT_READY, "CUDA_ERROR_NOT_READY"}, {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}, {MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}, {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},
      {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"}, {999, "CUDA_ERROR_UNKNOWN"}};
  auto it = names.find(status);
  if (it == names.end()) return *name = nullptr, INVALID_VALUE;
  *name = it->second;
  return SUCCESS;
}

// ---- the driver and its GPU ----

API cuInit(unsigned) {
  std::lock_guard<std::recursive_mutex> hold(lock);
  if (Status s = injected(__func__)) return s;
  if (long s = number("INIT", 0)) return s;
  initialized = true;
  return SUCCESS;
}
API cuDriverGetVersion(int *version) { return *version = number("VERSION", 12080), SUCCESS; }
API cuDeviceGetCount(int *n) {
  ENTER;
  *n = number("DEVICES", 1);
  return SUCCESS;
}
API cuDeviceGet(int *device, int ordinal) {
  ENTER;
  if (ordinal < 0 || ordinal >= number("DEVICES", 1)) return INVALID_DEVICE;
  *device = ordinal;
  return SUCCESS;
}
API cuDeviceGetName(char *name, int n, int) {
  ENTER;
  std::string given = setting("NAME");
  snprintf(name, n, "%s", given.empty() ? "emulated GPU" : given.c_str());
  return SUCCESS;
}
API cuDeviceTotalMem_v2(size_t *n, int) {
  ENTER;
  *n = memory_total();
  return SUCCESS;
}
static long capability() { return number("CAPABILITY", EMU_TURING ? 75 : 89); }
static long most_shared() { return capability() < 80 ? 64 << 10 : capability() < 90 ? 99 << 10 : 227 << 10; }
API cuDeviceGetAttribute(int *value, int attribute, int) {
  ENTER;
  switch (attribute) {
  case 16: *value = number("SMS", 4); return SUCCESS;
  case 38: *value = 4 << 20; return SUCCESS;
  case 75: *value = capability() / 10; return SUCCESS;
  case 76: *value = capability() % 10; return SUCCESS;
  case 97: *value = most_shared(); return SUCCESS;
  }
  return INVALID_VALUE;
}
static int the_context;
API cuDevicePrimaryCtxSetFlags_v2(int, unsigned) {
  ENTER;
  return SUCCESS;
}
API cuDevicePrimaryCtxRetain(void **context, int) {
  ENTER;
  *context = &the_context;
  return sticky;
}
API cuDevicePrimaryCtxRelease_v2(int) {
  ENTER;
  wait_all();
  return SUCCESS;
}
API cuCtxSetCurrent(void *context) {
  ENTER;
  if (context && context != &the_context) return INVALID_CONTEXT;
  has_context = context;
  return SUCCESS;
}
API cuCtxSynchronize() {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  counts.waits++;
  return wait_all();
}

// ---- memory ----

API cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER_CONTEXT;
  *free = memory_free(), *total = memory_total();
  return SUCCESS;
}
API cuMemAlloc_v2(void **p, size_t n) {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  counts.allocations++;
  return allocate(n, false, p);
}
API cuMemFree_v2(void *p) {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  wait_all();
  return p ? release(p, false) : SUCCESS;
}
API cuMemHostAlloc(void **p, size_t n, unsigned) {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  return allocate(n, true, p);
}
API cuMemFreeHost(void *p) {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  wait_all();
  return release(p, true);
}
API cuMemcpyHtoDAsync_v2(char *to, const char *from, size_t n, Stream *s) {
  ENTER_CONTEXT;
  if (!inside(to, n, false)) return INVALID_VALUE;
  counts.copies_up++, counts.bytes_up += n;
  if (inside(from, n, true)) return push(s, [=] { return memcpy(to, from, n), SUCCESS; });
  auto copy = std::make_shared<std::string>(from, n); // from ordinary memory: read at once
  return push(s, [=] { return memcpy(to, copy->data(), n), SUCCESS; });
}
API cuMemcpyDtoHAsync_v2(char *to, const char *from, size_t n, Stream *s) {
  ENTER_CONTEXT;
  if (!inside(from, n, false)) return INVALID_VALUE;
  counts.copies_down++, counts.bytes_down += n;
  Status status = push(s, [=] { return memcpy(to, from, n), SUCCESS; });
  if (inside(to, n, true) || capturing(s)) return status;
  return wait(s); // to ordinary memory: done when it returns
}
API cuMemcpyDtoDAsync_v2(char *to, const char *from, size_t n, Stream *s) {
  ENTER_CONTEXT;
  if (!inside(to, n, false) || !inside(from, n, false)) return INVALID_VALUE;
  return push(s, [=] {
    counts.copies_on++, counts.bytes_on += n;
    memmove(to, from, n);
    return SUCCESS;
  });
}
API cuMemsetD8Async(char *to, unsigned char value, size_t n, Stream *s) {
  ENTER_CONTEXT;
  if (!inside(to, n, false)) return INVALID_VALUE;
  return push(s, [=] {
    counts.memsets++;
    memset(to, value, n);
    return SUCCESS;
  });
}

// ---- modules: the real PTX, whose entries must be those that the sources were compiled to ----

struct Function {
  std::string name;
  std::vector<int> sizes;
  unsigned threads = 1024;       // the most of a block
  unsigned shared = 48u << 10;   // the most dynamic shared memory
};
struct Module {
  std::map<std::string, Function> functions;
};

// parse_parameter reads the size of a parameter: ".param .u64 name" or ".param .align 8 .b8 name[24]".
static int parse_parameter(const std::string &text) {
  size_t bracket = text.find('[');
  if (bracket != text.npos) return atoi(text.c_str() + bracket + 1);
  int bits = 0;
  size_t type = text.find_first_of("0123456789");
  if (type != text.npos) bits = atoi(text.c_str() + type);
  return bits / 8;
}

// parse_entry reads an entry's head, from its name to the brace.
static Function parse_entry(const std::string &head) {
  Function f;
  f.name = head.substr(0, head.find_first_of("( \n"));
  size_t end = head.find(')'), at = 0;
  while ((at = head.find(".param .", at)) < end) {
    size_t stop = std::min(head.find(',', at), end);
    f.sizes.push_back(parse_parameter(head.substr(at + 7, stop - at - 7)));
    at = stop;
  }
  size_t limit = head.find(".maxntid ");
  unsigned x = 1024, y = 1, z = 1;
  if (limit != head.npos && sscanf(head.c_str() + limit, ".maxntid %u, %u, %u", &x, &y, &z) >= 1) f.threads = x * y * z;
  return f;
}

API cuModuleLoadDataEx(Module **module, const char *ptx, unsigned options, int *names, void **values) {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  std::string text(ptx), log;
  if (text.find(".version") == text.npos) return INVALID_IMAGE;
  auto m = std::make_unique<Module>();
  for (size_t at = 0; (at = text.find(".entry ", at)) != text.npos;) {
    at += 7;
    Function f = parse_entry(text.substr(at, text.find('{', at) - at));
    auto k = kernels().find(f.name);
    if (k == kernels().end() || k->second.sizes != f.sizes) log = "entry " + f.name + " is not what the source says: generate the PTX anew";
    m->functions[f.name] = f;
  }
  if (log.empty()) return *module = m.release(), SUCCESS;
  complain("%s", log.c_str());
  for (unsigned i = 0; i + 1 < options; i++)
    if (names[i] == 5 && names[i + 1] == 6) snprintf((char *)values[i], (size_t)values[i + 1], "%s", log.c_str());
  return INVALID_PTX;
}
API cuModuleUnload(Module *m) {
  ENTER_CONTEXT;
  wait_all();
  delete m;
  return SUCCESS;
}
API cuModuleGetFunction(Function **f, Module *m, const char *name) {
  ENTER_CONTEXT;
  auto it = m->functions.find(name);
  if (it == m->functions.end()) return NOT_FOUND;
  *f = &it->second;
  return SUCCESS;
}
API cuFuncSetAttribute(Function *f, int attribute, int value) {
  ENTER_CONTEXT;
  if (attribute == 8 && value > most_shared()) return INVALID_VALUE;
  if (attribute == 8) f->shared = value;
  return SUCCESS;
}
API cuFuncGetAttribute(int *value, int attribute, Function *f) {
  ENTER_CONTEXT;
  *value = attribute == 0 ? f->threads : attribute == 8 ? f->shared : 0; // no registers here
  return SUCCESS;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *, int threads, size_t shared) {
  ENTER_CONTEXT;
  *blocks = std::min<size_t>(1536 / std::max(threads, 1), shared ? most_shared() / shared : 16);
  return SUCCESS;
}
API cuLaunchKernel(Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Stream *s,
                   void **parameters, void **) {
  ENTER_CONTEXT;
  if (!f) return INVALID_HANDLE;
  if (!gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffff || gy > 65535 || gz > 65535 || bz > 64) {
    complain("%s: a grid of (%u,%u,%u) blocks of (%u,%u,%u) threads", f->name.c_str(), gx, gy, gz, bx, by, bz);
    return INVALID_VALUE;
  }
  if ((uint64_t)bx * by * bz > f->threads) {
    complain("%s: %u threads in a block, it was compiled for %u at most", f->name.c_str(), bx * by * bz, f->threads);
    return LAUNCH_OUT_OF_RESOURCES;
  }
  if (shared > f->shared) {
    complain("%s: %u bytes of shared memory, %u were asked for", f->name.c_str(), shared, f->shared);
    return INVALID_VALUE;
  }
  std::vector<std::vector<char>> arguments;
  for (size_t i = 0; i < f->sizes.size(); i++) arguments.emplace_back((char *)parameters[i], (char *)parameters[i] + f->sizes[i]);
  if (!capturing(s)) counts.launches++;
  std::string name = f->name;
  return push(s, [=] { return run_grid(name, {gx, gy, gz}, {bx, by, bz}, shared, arguments); });
}

// ---- streams, events, graphs ----

API cuStreamCreateWithPriority(Stream **s, unsigned, int) {
  ENTER_CONTEXT;
  *s = new_stream();
  return SUCCESS;
}
API cuStreamDestroy_v2(Stream *s) {
  ENTER_CONTEXT;
  return destroy(s);
}
API cuStreamSynchronize(Stream *s) {
  ENTER_CONTEXT;
  return wait(s);
}
API cuStreamWaitEvent(Stream *s, Event *e, unsigned) {
  ENTER_CONTEXT;
  return follow(s, e);
}
API cuEventCreate(Event **e, unsigned flags) {
  ENTER_CONTEXT;
  *e = new_event(!(flags & 2));
  return SUCCESS;
}
API cuEventDestroy_v2(Event *e) {
  ENTER_CONTEXT;
  destroy(e);
  return SUCCESS;
}
API cuEventRecord(Event *e, Stream *s) {
  ENTER_CONTEXT;
  return record(e, s);
}
API cuEventQuery(Event *e) {
  ENTER_CONTEXT;
  return passed(e) ? SUCCESS : NOT_READY;
}
API cuEventSynchronize(Event *e) {
  ENTER_CONTEXT;
  FORBID_CAPTURE;
  return wait(e);
}
API cuEventElapsedTime(float *millis, Event *from, Event *to) {
  ENTER_CONTEXT;
  return elapsed(from, to, millis);
}
API cuStreamBeginCapture_v2(Stream *s, int) {
  ENTER_CONTEXT;
  return begin_capture(s);
}
API cuStreamEndCapture(Stream *s, Graph **g) {
  std::unique_lock<std::recursive_mutex> first(lock);
  Graph *recorded = nullptr;
  Status ended = end_capture(s, &recorded); // whatever else fails, the capture has ended
  ENTER_CONTEXT;
  *g = recorded;
  return ended;
}
API cuGraphInstantiateWithFlags(Graph **exec, Graph *g, unsigned long long) {
  ENTER_CONTEXT;
  *exec = new Graph(*g);
  return SUCCESS;
}
API cuGraphLaunch(Graph *exec, Stream *s) {
  ENTER_CONTEXT;
  counts.graph_launches++;
  for (auto &w : exec->work) push(s, w);
  return SUCCESS;
}
API cuGraphExecDestroy(Graph *exec) {
  ENTER_CONTEXT;
  wait_all();
  delete exec;
  return SUCCESS;
}
API cuGraphDestroy(Graph *g) {
  ENTER_CONTEXT;
  delete g;
  return SUCCESS;
}
