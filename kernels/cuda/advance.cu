// What comes after a step's choices, where the GPU decodes ahead of the host: each text's next token, its place and
// its rule, which the next step finds where this one found its own. (engine.AheadDevice; the rule of timestamps is
// openai/whisper, decoding.py, ApplyTimestampRules)
#include "dev.h"
#include "rule.h"

// Text is what else is known of one.
struct Text {
  int room;        // how many tokens it may still get; 0: it has ended
  int end;         // the token that ends it
  int first_stamp; // where timestamps begin among ids; 0: there are none
  int stamp;       // the last timestamp, or -1
  int draw;        // which of draws is its next uniform; -1: it needs none
};

// ban has a rule's ban number i forbid the ids [from, to).
DEVICE void ban(int *rule, int i, int from, int to) {
  rule[RULE_BANS + 2 * i] = from;
  rule[RULE_BANS + 2 * i + 1] = to;
}

// keep_stamps makes the first two bans for what follows id, which follows before.
DEVICE void keep_stamps(int *rule, Text &text, int before, int id) {
  const bool is = id >= text.first_stamp, opens = is && before >= text.first_stamp, closes = is && !opens;
  if (is) text.stamp = id;
  if (opens) ban(rule, 0, text.first_stamp, 0x7fffffff); // text must follow
  else if (closes) ban(rule, 0, 0, text.end);            // the next segment opens, or all ends
  else ban(rule, 0, 0, 0);
  // No segment is empty, but the next one may open where this one closed.
  if (text.stamp < 0) ban(rule, 1, 0, 0);
  else ban(rule, 1, text.first_stamp, closes ? text.stamp : text.stamp + 1);
}

// advance has a thread for each text. chosen has 2 numbers each, the first being the id, or -1 where none was left;
// places too, slot and position. A text that has ended stays as it is, so that whatever its row still does is what it
// did before.
KERNEL __launch_bounds__(128) advance(const int *chosen, int count, int *ids, int *positions, int *places, int *rules,
                                              Text *texts, const int *draws) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Text text = texts[i];
  const int id = chosen[2 * i];
  if (text.room == 0) return;
  text.room = id < 0 || id == text.end ? 0 : text.room - 1;
  if (text.room > 0) {
    int *rule = rules + RULE_WORDS * i;
    if (text.first_stamp > 0) keep_stamps(rule, text, ids[i], id);
    if (text.draw >= 0) rule[RULE_UNIFORM] = draws[text.draw++];
    ids[i] = id;
    positions[i]++;
    places[2 * i + 1]++;
  }
  texts[i] = text;
}
