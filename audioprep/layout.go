package audioprep

import "math"

// speaker is where a channel is meant to be heard from.
type speaker uint8

const (
	front  speaker = iota // left or right
	centre                // the voice, in films
	back                  // surround, of any kind
	low                   // rumble: the LFE channel
)

// The order of channels is the codec's, not the container's: WAV, FLAC and what is kin to them
// have front left, front right, centre, LFE, then the back ones (SMPTE; RFC 9639, table 14); Vorbis
// and Opus left, centre, right, the back ones, LFE (Vorbis I, section 4.3.9; RFC 7845, section 5.1.1.2);
// AAC and ALAC centre, left, right, the back ones, LFE (ISO/IEC 14496-3, table 1.19; "Apple Lossless Format
// Description", channel layouts).
var layouts = map[string][9][]speaker{
	"": {
		3: {front, front, centre}, 4: {front, front, back, back}, 5: {front, front, centre, back, back},
		6: {front, front, centre, low, back, back}, 7: {front, front, centre, low, back, back, back},
		8: {front, front, centre, low, back, back, back, back},
	},
	"vorbis": {
		3: {front, centre, front}, 4: {front, front, back, back}, 5: {front, centre, front, back, back},
		6: {front, centre, front, back, back, low}, 7: {front, centre, front, back, back, back, low},
		8: {front, centre, front, back, back, back, back, low},
	},
	"aac": {
		3: {centre, front, front}, 4: {centre, front, front, back}, 5: {centre, front, front, back, back},
		6: {centre, front, front, back, back, low}, 7: {centre, front, front, back, back, back, low},
		8: {centre, front, front, front, front, back, back, low},
	},
}

// mixWeights is what each of so many channels is multiplied by to be mixed to one. Two are
// halved, so that what is the same on both stays as loud. More have the weights of ITU-R BS.775-3,
// table 2: the centre as it is, the front 3 dB less, the back 6 dB less, rumble not at all.
// Beyond eight no order is known: they are weighed alike, as if they had nothing in common.
func mixWeights(codec string, channels int) []float32 {
	w := make([]float32, channels)
	if channels <= 2 {
		for i := range w {
			w[i] = 1 / float32(channels)
		}
		return w
	}
	switch codec {
	case "opus":
		codec = "vorbis"
	case "alac":
		codec = "aac"
	case "vorbis", "aac":
	default:
		codec = ""
	}
	if channels >= len(layouts[codec]) {
		for i := range w {
			w[i] = float32(1 / math.Sqrt(float64(channels)))
		}
		return w
	}
	for i, s := range layouts[codec][channels] {
		w[i] = [...]float32{front: math.Sqrt2 / 2, centre: 1, back: 0.5, low: 0}[s]
	}
	return w
}
