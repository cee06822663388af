package parakeet

import "hark/engine"

// steps are what a decoder may do at a frame: write a piece or the blank, and go on by one of the durations.
type steps struct {
	blank     int32
	durations []int
	// maxSymbols is how many pieces one frame may give before the decoder is moved on.
	maxSymbols int
}

// search finds the pieces of one window. It's told what the joint network says and says what it wants to know next.
type search interface {
	// predictions appends what the prediction network has to be told before the search can
	// go on. It's asked once for each.
	predictions(dst []prediction) []prediction
	// looks appends what the joint network is to be asked, in order; nothing while
	// predictions are due, or when the search has ended.
	looks(dst []look) []look
	// take takes the answers to looks.
	take(answers []answer)
	// ended reports whether the end of the window was reached.
	ended() bool
	// tokens are what was found.
	tokens() []token
}

// prediction is a step of the prediction network: the state in slot to becomes that in slot from after one token more.
type prediction struct {
	token    int32
	from, to int32
}

// look is a question to the joint network: what does frame say after the text whose state is in slot?
type look struct {
	frame int
	slot  int32
	// ids are the pieces whose probabilities are wanted beside the best ones. Only beams have any.
	ids []int32
}

// answer is what the joint network says.
type answer struct {
	// piece is the best piece or the blank, by a softmax over these; duration the best duration, its ID an index.
	piece, duration engine.Peak
	// best are the likeliest pieces, the blank among them, for a beam; durations the log-probability of every
	// duration; probabilities those of look.ids.
	best          engine.Choice
	durations     []float32
	probabilities []float32
}
