// Package parakeet runs NVIDIA's Parakeet-TDT over an [engine.Device].
//
// The model is a transducer. Its encoder, a FastConformer (Rekesh et al., "Fast Conformer with Linearly Scalable
// Attention for Efficient Speech Recognition", arXiv:2305.05084), makes one frame of every 80 ms of sound. Its
// decoder has two parts: a prediction network, an LSTM over the pieces written so far, and a joint network that
// takes one frame and one state of the prediction network and says what comes next: a piece, or the blank, which is
// nothing. A token-and-duration transducer (Xu et al., "Efficient Sequence Transduction by Jointly Predicting
// Tokens and Durations", arXiv:2304.06795) also says how many frames to go on by, so that it reads only some of
// them, and knows when everything was said.
//
// The way of a request:
//
//	job      one request: its windows, and in the end its words and segments (job.go, merge.go, words.go, segments.go)
//	window   a span of sound that is heard as a whole, at most as long as the model was loaded for
//	session  one batch on the device: places for windows, encoding, rounds of decoding, windows that
//	         leave and join between rounds (session.go), or steps that the device takes by itself (ahead.go)
//	search   how one window's pieces are chosen: greedily, or by a beam that may lean towards
//	         keywords (greedy.go, beam.go, boost.go)
//
// Windows don't know of each other, but in a sequential job: there they run one after another, and the prediction
// network starts from the text before.
//
// [Model] joins these. features.go is the front end, encoder.go with block.go and subsampling.go the encoder's
// graph, decoder.go that of the decoder. Everything follows NeMo 3.0.0 to the token.
package parakeet
