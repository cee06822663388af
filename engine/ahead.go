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
	// Uniforms are, where the rule has a temperature, [Rule.Uniform] for the next token and those after it, Room in all.
	Uniforms []float32
	// End is the token that ends it, Room how many more it may get, at least one.
	End  int32
	Room int
	// FirstTimestamp, if above zero, is where timestamps begin among ids, which lie behind End. They come in pairs,
	// except right before the end, and never decrease; the first two of a rule's bans see to it. (Whisper: a segment
	// opens with one and closes with one.)
	FirstTimestamp int32
}
