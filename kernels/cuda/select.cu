// What may come next, by engine.Rule: bans, then the rule of mass, then the k best or one that is drawn. A block is a row.
//
// rules has RULE_WORDS numbers a row. out has k ids for each row and then the bits of k log-probabilities; behind the last id stands -1
// where there are fewer.
#include "peak.h"
#include "reduce.h"
#include "rule.h"

// Rule is a row's. Logits that are no numbers are banned; +Inf is the greatest number, so that differences are numbers too.
struct Rule {
  const u32 *mask; // a bit for each of the first ids, or null
  int masked;      // how many ids it has
  int ban[8];      // from, to
  int mass_from;
  float temperature, uniform;

  DEVICE_MEMBER void read(const int *words) {
    mask = (const u32 *)((unsigned long long)(u32)words[RULE_MASK] | (unsigned long long)(u32)words[RULE_MASK + 1] << 32);
    masked = words[RULE_MASKED];
    for (int i = 0; i < 8; i++) ban[i] = words[RULE_BANS + i];
    mass_from = words[RULE_MASS_FROM];
    temperature = __int_as_float(words[RULE_TEMPERATURE]);
    uniform = __int_as_float(words[RULE_UNIFORM]);
  }
  // left is a logit, or -Inf where it is banned.
  DEVICE_MEMBER float left(float v, int id) const {
    bool banned = v != v || (id < masked && (mask[id / 32] >> id % 32 & 1));
#pragma unroll
    for (int i = 0; i < 4; i++) banned |= id >= ban[2 * i] && id < ban[2 * i + 1];
    return banned ? -INFINITY : fminf(v, 3.402823466e38f);
  }
};

// Row is what is left of a row of logits.
template <class T> struct Row {
  View<T> logits;
  int row, first, end; // ids below first are banned by the rule of mass
  const Rule *rule;

  DEVICE_MEMBER float operator[](int id) const { return id < first ? -INFINITY : rule->left(logits.get(row, id), id); }
};

// Best is an id and its logit, ordered by logit, then id.
struct Best {
  float logit;
  int id;
  DEVICE_MEMBER bool before(float other, int other_id) const { return logit > other || (logit == other && id < other_id); }
  DEVICE_MEMBER void take(float other, int other_id) {
    if (!before(other, other_id)) {
      logit = other;
      id = other_id;
    }
  }
  DEVICE_MEMBER void join_warp() {
#pragma unroll
    for (int o = 1; o < 32; o *= 2) take(shfl_xor(logit, o), shfl_xor(id, o));
  }
};

// choose_best writes the k best. A thread's ids are those that leave its number when divided by the block's size, and mine is the best of
// them. When it was taken, the thread's warp looks for the next.
template <class T> DEVICE void choose_best(int *ids, float *log_probs, int k, const Row<T> &row, Best mine, float all) {
  __shared__ Best shared[MOST_WARPS];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32, threads = blockDim.x;
  for (int n = 0; n < k; n++) {
    Best best = mine;
    best.join_warp();
    __syncthreads();
    if (lane == 0) shared[warp] = best;
    __syncthreads();
    best = shared[0];
    for (int i = 1; i < threads / 32; i++) best.take(shared[i].logit, shared[i].id);
    if (best.logit == -INFINITY) {
      if (thread == 0) ids[n] = -1;
      return;
    }
    if (thread == 0) {
      ids[n] = best.id;
      log_probs[n] = fminf(0.f, best.logit - all); // rounding must not make a probability greater than one
    }
    const int owner = best.id % threads;
    if (n + 1 == k || owner / 32 != warp) continue;
    Best next = {-INFINITY, NOWHERE};
    for (int i = owner + lane * threads; i < row.end; i += 32 * threads) {
      float v = row[i];
      if (best.before(v, i)) next.take(v, i);
    }
    next.join_warp();
    if (thread == owner) mine = next;
  }
}

// weight is exp((logit - top) / temperature). What is more than 50 below the greatest weighs nothing.
DEVICE float weight(float v, float top, float temperature) {
  float e = (v - top) / temperature;
  return v != -INFINITY && e > -50 ? expf(e) : 0.f;
}

// draw chooses the id at the point uniform of the cumulative sum of weights. A warp sums up a stretch of the ids; the one whose stretch
// has the point walks through it. At least one logit is left.
template <class T> DEVICE void draw(int *ids, float *log_probs, const Row<T> &row, float top, float all) {
  __shared__ float sums[MOST_WARPS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const float temperature = row.rule->temperature;
  const int stretch = (row.end + warps - 1) / warps, from = warp * stretch, to = min(row.end, from + stretch);
  float sum = 0.f;
  for (int i = from + lane; i < to; i += 32) sum += weight(row[i], top, temperature);
  sum = warp_sum(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  float total = 0.f, below = 0.f;
  for (int i = 0; i < warps; i++) total += sums[i];
  const float point = row.rule->uniform * total;
  int chosen = 0;
  float passed = 0.f;
  for (int i = 0; i < warps; i++) {
    if (sums[i] > 0) {
      chosen = i;
      below = passed;
    }
    passed += sums[i];
    if (sums[i] > 0 && passed > point) break;
  }
  if (warp != chosen) return;

  int id = 0;
  for (int start = from; start < to; start += 32) {
    const int i = start + lane;
    const float w = i < to ? weight(row[i], top, temperature) : 0.f;
    float upto = w;
    for (int o = 1; o < 32; o *= 2) {
      float before = shfl(upto, max(0, lane - o));
      if (lane >= o) upto += before;
    }
    int first = w > 0 && below + upto > point ? i : NOWHERE, last = w > 0 ? i : -1;
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
      first = min(first, shfl_xor(first, o));
      last = max(last, shfl_xor(last, o));
    }
    if (first != NOWHERE) {
      id = first;
      break;
    }
    if (last >= 0) id = last;
    below += shfl(upto, 31);
  }
  if (lane) return;
  ids[0] = id;
  log_probs[0] = fminf(0.f, row[id] - all);
}

template <class T> DEVICE void select(const void *logits, int ldl, int kindl, int vocabulary, const int *rules, int k, int *out) {
  __shared__ Peak shared[MOST_WARPS];
  __shared__ Rule rule;
  if (threadIdx.x == 0) rule.read(rules + RULE_WORDS * blockIdx.x);
  __syncthreads();
  Row<T> row = {View<T>(logits, ldl, kindl), (int)blockIdx.x, 0, vocabulary, &rule};
  const int mass_from = max(0, min(rule.mass_from, vocabulary));
  Peak low, high; // of this thread's ids below mass_from, and of the others
  low.begin();
  high.begin();
  each(row.logits, row.row, 0, vocabulary, [&](float v, int id) {
    v = rule.left(v, id);
    if (id < mass_from) low.add(v, id);
    else high.add(v, id);
  });
  Peak below = low, all = high;
  join_block(below, shared);
  join_block(all, shared);
  Best mine = {high.top, high.at};
  if (mass_from > 0 && all.log_sum() > below.top) {
    row.first = mass_from;
  } else {
    mine.take(low.top, low.at);
    all.join(below.top, below.at, below.sum);
  }
  int *ids = out + (size_t)blockIdx.x * 2 * k;
  float *log_probs = (float *)ids + k;
  if (threadIdx.x == 0) {
    ids[0] = -1;
    if (k > 1) ids[1] = -1;
  }
  if (all.top == -INFINITY) return;
  if (rule.temperature > 0) draw(ids, log_probs, row, all.top, all.log_sum());
  else choose_best(ids, log_probs, k, row, mine, all.log_sum());
}

KERNELS(32 * MOST_WARPS, select, (const void *logits, int ldl, int kindl, int vocabulary, const int *rules, int k, int *out),
        (logits, ldl, kindl, vocabulary, rules, k, out))
