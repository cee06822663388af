// What comes after a step's answers, where the GPU decodes a transducer ahead of the host: for each utterance the piece
// to tell the prediction network, and the frame to ask about next. (engine.TransducerDevice; the order is that of
// NVIDIA NeMo, rnnt_greedy_decoding.py, of a token-and-duration transducer)
#include "dev.h"

// Utterance is what is known of one. The rows that the next step reads are beside it.
struct Utterance {
  int end;          // the row of frames behind its last; 0: it has ended
  int state, spare; // rows of the prediction network's state: its own, and one that nobody needs
  int symbols;      // pieces that the frame has given
};

// transduce has a thread for each utterance. peaks has 8 words each, the first being the best piece, the third its
// log-probability, the fifth the best duration's id, which counts from behind the blank. An utterance that has ended
// stays where it is, and tells its spare state whatever it said last.
KERNEL __launch_bounds__(128) transduce(const int *peaks, int count, int blank, const int *durations, int most_symbols, int *pieces,
                                                int *told, int *frames, Utterance *utterances) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Utterance u = utterances[i];
  told[i] = u.spare;
  if (u.end == 0) return;
  const int piece = peaks[8 * i], duration = durations[peaks[8 * i + 4] - blank - 1];
  const bool nothing = !(((const float *)peaks)[8 * i + 2] > -INFINITY); // not even a number
  int by = duration;
  if (piece == blank || nothing) {
    by = max(duration, 1);
  } else {
    pieces[i] = piece;
    told[i] = u.state;
    u.symbols++;
    if (duration == 0 && u.symbols >= most_symbols) by = 1;
  }
  if (by > 0) u.symbols = 0;
  if (frames[i] + by < u.end) frames[i] += by;
  else u.end = 0;
  utterances[i] = u;
}
