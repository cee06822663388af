// What a test sets: the GPU's properties, calls that are to fail. And what it reads: counts.
#include "emu.h"
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace emu {

static std::mutex lock; // settings may come from any thread
static std::map<std::string, std::string> settings;
struct Failure {
  std::string function;
  int left; // calls until it fails
  Status status;
};

// failures_by_environment reads EMU_FAIL, "function:n:status,…", as emuFail would be told.
static std::vector<Failure> failures_by_environment() {
  std::vector<Failure> all;
  const char *text = getenv("EMU_FAIL");
  char function[64];
  for (int n, status, length; text && sscanf(text, "%63[^:]:%d:%d%n", function, &n, &status, &length) == 3;) {
    all.push_back({function, n, (Status)status});
    text = text[length] == ',' ? text + length + 1 : nullptr;
  }
  return all;
}
static std::vector<Failure> failures = failures_by_environment();
Counts counts;

void complain(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("emulated GPU: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
}

std::string setting(const char *name) {
  std::lock_guard<std::mutex> hold(lock);
  auto it = settings.find(name);
  if (it != settings.end()) return it->second;
  const char *value = getenv((std::string("EMU_") + name).c_str());
  return value ? value : "";
}

long number(const char *name, long otherwise) {
  std::string value = setting(name);
  return value.empty() ? otherwise : atol(value.c_str());
}

Status injected(const char *function) {
  std::lock_guard<std::mutex> hold(lock);
  counts.calls++;
  for (auto f = failures.begin(); f != failures.end(); ++f) {
    if (f->function != function || --f->left > 0) continue;
    Status status = f->status;
    failures.erase(f);
    return status;
  }
  return SUCCESS;
}

} // namespace emu

#define EXPORT extern "C" __attribute__((visibility("default")))

// emuSet sets a property by name, or, with an empty value, leaves it to the environment again.
EXPORT void emuSet(const char *name, const char *value) {
  std::lock_guard<std::mutex> hold(emu::lock);
  emu::settings[name] = value;
}

// emuFail has the n-th call of a function from now on, from 1, fail with a status; with 0 none fails any more.
EXPORT void emuFail(const char *function, int n, int status) {
  std::lock_guard<std::mutex> hold(emu::lock);
  if (n == 0) {
    emu::failures.erase(std::remove_if(emu::failures.begin(), emu::failures.end(), [=](auto &f) { return f.function == function; }), emu::failures.end());
    return;
  }
  emu::failures.push_back({function, n, (emu::Status)status});
}

// emuCounts copies what was counted.
EXPORT void emuCounts(emu::Counts *to) {
  std::lock_guard<std::mutex> hold(emu::lock);
  *to = emu::counts;
}
