// Package whisper runs OpenAI's Whisper over an [engine.Device].
//
// The model (Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision",
// arXiv:2212.04356) is an encoder-decoder transformer. The encoder takes the log-mel
// spectrogram of 30 s, 3000 frames, and gives 1500 encoder positions of 20 ms. The decoder
// writes tokens one by one, attending to its own tokens so far (through a cache) and to
// the encoder positions (cross-attention, whose keys and values are computed once a window).
// A prompt of special tokens says the language, the task and whether timestamps are wanted;
// the text is then framed by timestamp tokens, a pair around each segment.
//
// The way of a request:
//
//	job      one request: its chains (job.go)
//	chain    a stretch of sound, decoded pass by pass: each pass looks at up to
//	         30 s from seek on, and the timestamps it wrote say where the next one
//	         starts (chain.go, segments.go, words.go)
//	session  one batch on the device: places for windows, encoding, steps of
//	         decoding, windows that leave and join between steps (session.go)
//	search   how one pass's next tokens are chosen: greedy, sampled or by
//	         beam, under the timestamp rules (search.go, rules.go)
//
// A windowed request is a chain for each of its spans, all independent; a sequential one
// is a single chain over the whole file, conditioned on the text before. A sequential chain does what the reference
// does. A window, which audioprep ends where speech pauses, knows more: text below music and full stops in silence are
// dropped (fallback.go), speech behind an early last timestamp is heard (chain.go), and a short context whose text is
// in doubt gives way to the whole 30 s (context.go).
//
// [Model] joins these; encoder.go and decoder.go hold the graph, weights.go reads
// it from safetensors (Hugging Face) or CTranslate2 form.
package whisper
