// Grids: blocks one after another. A fault in a kernel becomes a status, as on a GPU; any other goes to the handler that was there before.
#include "emu.h"
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace emu {

extern Dim3 block_index, block_extent, grid_extent;
extern char *dynamic_shared;

static sigjmp_buf escape;
static volatile pid_t kernel_thread; // the thread that runs a kernel, or 0
static volatile int fault;
static void *volatile fault_address;
static struct sigaction before_segv, before_ill;

static void on_fault(int signal, siginfo_t *info, void *context) {
  if (kernel_thread && kernel_thread == (pid_t)syscall(SYS_gettid)) {
    kernel_thread = 0;
    fault = signal, fault_address = info->si_addr;
    siglongjmp(escape, 1);
  }
  struct sigaction &before = signal == SIGSEGV ? before_segv : before_ill;
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else {
    ::signal(signal, SIG_DFL);
    raise(signal);
  }
}

static void catch_faults() {
  static bool done;
  if (done || EMU_ASAN) return;
  done = true;
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGILL, &action, &before_ill); // what a misaligned access is compiled to
}

std::map<std::string, Kernel> &kernels() {
  static std::map<std::string, Kernel> all;
  return all;
}

// shared_memory is a block's dynamic shared memory. It is guarded like any allocation.
static char *shared_memory(unsigned bytes) {
  static std::map<unsigned, void *> blocks; // by size; kernels use few
  if (!bytes) return nullptr;
  void *&p = blocks[bytes];
  if (!p && allocate(bytes, true, &p)) abort(); // the host's own memory is at its end
  return (char *)p;
}

Status run_grid(const std::string &name, Dim3 grid, Dim3 block, unsigned shared, const std::vector<std::vector<char>> &arguments) {
  catch_faults();
  counts.kernels++;
  const Kernel &k = kernels()[name];
  std::vector<void *> pointers;
  for (auto &a : arguments) pointers.push_back((void *)a.data());
  if (!k.pointers_ok(pointers.data())) {
    complain("%s: a pointer is not the GPU's memory", name.c_str());
    return ILLEGAL_ADDRESS;
  }
  std::function<void()> body = [&] { k.call(pointers.data()); };
  block_extent = block, grid_extent = grid;
  dynamic_shared = shared_memory(shared);
  volatile Status status = SUCCESS;
#if !EMU_ASAN
  if (sigsetjmp(escape, 1)) {
    complain("%s: %s %p, %s", name.c_str(), fault == SIGILL ? "misaligned address, at" : "illegal address", fault_address, current().c_str());
    status = fault == SIGILL ? MISALIGNED_ADDRESS : ILLEGAL_ADDRESS;
  }
#endif
  if (!status) {
    kernel_thread = (pid_t)syscall(SYS_gettid);
    for (unsigned z = 0; z < grid.z && !status; z++)
      for (unsigned y = 0; y < grid.y && !status; y++)
        for (unsigned x = 0; x < grid.x && !status; x++) {
          block_index = {x, y, z};
          if (shared) memset(dynamic_shared, 0xFF, shared);
          status = run_block(block.x * block.y * block.z, body);
        }
    kernel_thread = 0;
  }
  if (status == LAUNCH_FAILED) complain("%s: block (%u,%u,%u)", name.c_str(), block_index.x, block_index.y, block_index.z);
  return status;
}

} // namespace emu
