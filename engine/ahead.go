package engine

// AheadDevice is a device that decodes ahead of its host: it feeds what it has chosen to the next step by itself, and
// the host learns of it while further steps run. A GPU would else stand still at every token, while the host hears of
// it, thinks, and queues the next step.
type AheadDevice interface {
	// Ahead goes on with some texts, a token of each a step. step is called for each step with a device to queue it
	// on, and returns the logits [len(texts)][V] of the tokens to be chosen. On that device the operations that ask
	// for tokens and their places ([Device.Embed] and [Device.CachedAttention], with a row for each text, in order)
	// don't heed what they are given but take what was chosen last.
	//
	// take gets what each step chose, in order, an element for each text, and says whether to go on. The steps that
	// have been queued by then, a few, are taken all the same. A text that has ended (by its End, its Room, or
	// because nothing was left to be chosen) stays as it is, and its further choices mean nothing.
	//
	// Choices are those of [Device.Select] with the rules that texts stand under, one step after another. Ahead
	// returns when all steps have been taken, or with the first failure. Texts are read before step is first called.
	Ahead(texts []Continuation, step func(d Device) Tensor, take func(choices []Choice) bool) error
}

// Continuation is a text to be gone on with by [AheadDevice.Ahead].
type Continuation struct {
	// Written is what there is of it, at least one token. The last one has not been run yet: Place is where.
	Written []int32
	Place   CacheRow
	// Rule is the one for the next token. Later ones have its mask, mass and temperature, and if there are no
	// timestamps its bans too.
	Rule Rule
	// Uniforms are, where the rule has a temperature, [Rule.Uniform] for the next token
	// and those after it, Room in all.
	Uniforms []float32
	// End is the token that ends it, Room how many more it may get, at least one.
	End  int32
	Room int
	// FirstTimestamp, if above zero, is where timestamps begin among ids, which lie behind End. They come in pairs,
	// except right before the end, and never decrease; the first two of a rule's bans see to it. (Whisper: a segment
	// opens with one and closes with one.)
	FirstTimestamp int32
}

// TransducerDevice is a device that decodes a transducer ahead of its host, as an [AheadDevice] decodes texts.
type TransducerDevice interface {
	// Transduce goes on with some utterances, greedily, a question to the joint network of each a step. step is called
	// for each step with a device to queue it on: it tells the prediction network the pieces found last, asks the joint
	// network, and returns its logits, whose ids are [Transducer]'s. On that device the operations that ask for rows
	// don't heed what they are given but take, for each utterance, in order: [Device.Gather] the piece to be told,
	// [Device.LSTM] and [Device.Scatter] the state that is told, and [Device.AddRows] the frame and the state that are
	// asked about. Where there is no piece to be told a spare state is told any.
	//
	// take gets what each step answered, in order, for each utterance the best piece and the best duration (its ID
	// among all of a row's), and says whether to go on. The steps that have been queued by then, a few, are taken all
	// the same. An utterance that has ended stays as it is, and its further answers mean nothing.
	//
	// Transduce returns when take has said no and all steps have been taken, when no utterance can
	// have any left, or with the first failure.
	Transduce(list []Utterance, t Transducer, step func(d Device) Tensor, take func(peaks []Peak) bool) error
}

// Utterance is where a transducer has got to in what is said in a window, for [TransducerDevice.Transduce].
type Utterance struct {
	// Frame is the row of frames to look at next, End the one behind the last; Frame is less.
	Frame, End int32
	// State is the row of the prediction network's state, and Spare one that nobody needs.
	// They differ, and are no other utterance's.
	State, Spare int32
	// Piece has been found but not been told to the prediction network yet; below zero there is none.
	Piece int32
	// Symbols is how many pieces Frame has given already.
	Symbols int32
}

// Transducer says what a transducer's logits mean: ids below Blank are pieces, Blank
// is nothing, and behind it stand durations.
type Transducer struct {
	Blank int32
	// Durations are how many frames to go on by. A blank goes on by one at least, and so
	// does the MostSymbols-th piece of a frame.
	Durations   []int
	MostSymbols int
	// Power is that of [Peak.PowerSum].
	Power float32
}
