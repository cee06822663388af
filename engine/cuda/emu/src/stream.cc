// Streams, events and graphs. A stream is a queue that runs only when somebody waits for it, so that a missing wait shows.
#include "emu.h"
#include <chrono>
#include <deque>
#include <set>

namespace emu {

Status sticky;

struct Stream {
  std::deque<Work> queue;
  uint64_t queued = 0, done = 0;
  Graph *capture = nullptr;
};
struct Event {
  bool timed;
  Stream *stream = nullptr;
  uint64_t place = 0;
  double seconds = 0;
};
static std::set<Stream *> streams;
static Stream legacy; // the stream 0

static Stream *real(Stream *s) { return s ? s : &legacy; }

Stream *new_stream() { return *streams.insert(new Stream).first; }

// run runs a stream's work up to a place.
static Status run(Stream *s, uint64_t to) {
  while (s->done < to && !s->queue.empty()) {
    Work w = std::move(s->queue.front());
    s->queue.pop_front();
    s->done++;
    if (!sticky) sticky = w();
  }
  return sticky;
}

Status wait(Stream *s) {
  if (real(s)->capture) return CAPTURE_UNSUPPORTED;
  counts.waits++;
  return run(real(s), ~0ull);
}

Status wait_all() {
  for (Stream *s : streams) run(s, ~0ull);
  return run(&legacy, ~0ull);
}

Status destroy(Stream *s) {
  run(s, ~0ull);
  streams.erase(s);
  delete s;
  return SUCCESS;
}

bool idle(Stream *s) { return real(s)->queue.empty(); }
bool capturing(Stream *s) { return real(s)->capture; }
bool any_capture() {
  for (Stream *s : streams)
    if (s->capture) return true;
  return false;
}

Status push(Stream *s, Work w) {
  s = real(s);
  if (s->capture) {
    s->capture->work.push_back(std::move(w));
    return SUCCESS;
  }
  s->queue.push_back(std::move(w));
  s->queued++;
  return SUCCESS;
}

Status begin_capture(Stream *s) {
  if (!s || s->capture) return CAPTURE_UNSUPPORTED; // the stream 0 can't be captured
  s->capture = new Graph;
  counts.captures++;
  return SUCCESS;
}

Status end_capture(Stream *s, Graph **g) {
  if (!s || !s->capture) return INVALID_VALUE;
  *g = s->capture;
  s->capture = nullptr;
  return SUCCESS;
}

Event *new_event(bool timed) { return new Event{timed}; }


Status record(Event *e, Stream *s) {
  s = real(s);
  if (s->capture) return SUCCESS; // only orders what is recorded, which is in order
  push(s, [e] {
    e->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    return SUCCESS;
  });
  e->stream = s;
  e->place = s->queued;
  return SUCCESS;
}

bool passed(Event *e) { return !e->stream || e->stream->done >= e->place; }
Status wait(Event *e) {
  if (passed(e)) return sticky;
  counts.waits++;
  return run(e->stream, e->place);
}

void destroy(Event *e) {
  if (!passed(e)) run(e->stream, e->place);
  delete e;
}

Status elapsed(Event *from, Event *to, float *millis) {
  if (!from->timed || !to->timed || !from->stream || !to->stream) return INVALID_HANDLE;
  if (!passed(from) || !passed(to)) return NOT_READY;
  *millis = (to->seconds - from->seconds) * 1e3;
  return SUCCESS;
}

Status follow(Stream *s, Event *e) {
  Stream *other = e->stream;
  uint64_t place = e->place;
  return push(s, [=] { return other ? run(other, place) : SUCCESS; });
}

} // namespace emu
