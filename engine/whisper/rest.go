package whisper

// A short context, and what stands for the rest of its window.
//
// Whisper knows windows of 30 s only. By the silence after the sound, and by where that ends, it hears that nothing
// more is said: without it the last words come twice. But what the encoder makes of the last positions of a window
// hardly depends on what was said before them. So they are computed once, and every short context attends to them in
// each layer of the encoder, and of the decoder, as to positions of its own. That costs a few keys more; silence that
// is encoded with a clip costs as much as its speech.
const (
	// restPositions is how many of a window's last positions stand for its rest. base loses whole clips with 32; 128
	// and 256 are no better.
	restPositions = 64
	// The rest is learned from so many frames of speech, with silence up to learnFrames, of which the last learnEnd
	// positions have the places of a window's last ones. tiny.en and base then err in 233 and 206 of 2733 words in
	// clips; learned from 30 s, which take three times as long, in 232 and 205. Without any speech base errs in 235,
	// with positions from the middle of the silence in 227 to 286.
	learnSpeech, learnFrames, learnEnd = 500, 900, 128
)

// restRows are the rows of a tensor of the rest.
var restRows = func() (rows []int32) {
	for i := range int32(restPositions) {
		rows = append(rows, i)
	}
	return rows
}()

// view is what the encoder is shown of windows.
type view uint8

const (
	wholeView view = iota // all 30 s
	shortView             // the sound and some of the silence after it, and the rest of the window as it was learned
	learnView             // as shortView, but the last learnEnd positions are a window's last ones: of them the rest is learned
)

// viewOf is how windows of so many frames are seen.
func viewOf(frames int) view {
	if frames < framesPerWindow {
		return shortView
	}
	return wholeView
}

// keysIn is how many keys the decoder has for a window of so many frames.
func keysIn(frames int) int {
	n := positionsIn(frames)
	if viewOf(frames) == shortView {
		n += restPositions
	}
	return n
}

// learnRest has the rest learned, if it isn't yet, from the speech that the model was loaded with. It spends what the
// encoder's last run gave. It waits, so that what failed on the way is not taken for the rest.
func (m *Model) learnRest() error {
	if m.knowsRest {
		return nil
	}
	samples := m.speech[:min(len(m.speech), learnSpeech*hopSamples)]
	mel := m.melScratch[:learnFrames*m.config.Mels]
	m.mel.Window(mel, samples, learnFrames) // with silence
	m.dev.Upload(m.enc.mel.Slice(0, learnFrames), mel)
	m.dec.learnRest(m.enc.run([]int{learnFrames}, learnView, nil))
	if err := m.dev.Sync(); err != nil {
		return err
	}
	m.knowsRest = true
	return nil
}
